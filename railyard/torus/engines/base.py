"""Define what an engine is: it makes the nodes of a torus. With every engine, `netns` makes the network.

A module of this folder that defines `ENGINE` is an engine; `railyard.torus.engines` finds it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from railyard.base.errors import InputError

Progress = Callable[[int], None]


def replace_file(path: Path, text: str) -> None:
    """Write a file of a torus atomically: another process reads the old text or the new one."""
    temporary = path.with_name(f".{path.name}")
    temporary.write_text(text, encoding="utf-8")
    temporary.rename(path)


@dataclass(frozen=True, slots=True, kw_only=True)
class Containers:
    """The containers that are nodes: their image, and folders of this machine, mounted under the same path."""

    image: str
    image_sha256: str
    volumes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeOrder:
    """A request to an engine for the nodes of a torus.

    `made_of` is None for an engine without containers. `hosts` is the content of /etc/hosts, name -> address. `folder`
    is the folder of the torus. A service in every container may need environment variables, and files and folders of
    this machine: `mounts(host)` maps each path in the host's container to the path on this machine.
    """

    torus: str
    nodes: Sequence[str]
    made_of: Containers | None
    hosts: Mapping[str, str]
    folder: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    mounts: Callable[[str], Mapping[Path, Path]] = lambda host: {}


def _of_no_image(image: str | None, volumes: Sequence[str]) -> Containers | None:
    """Return None, because nodes are namespaces only. InputError for options of engines of containers."""
    for option, value in (("--image", image), ("--volume", " ".join(volumes))):
        if value:
            raise InputError(option, "", value, "only with an engine of containers, such as --engine docker")
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """An engine, as functions. By default nodes are namespaces only, and `netns` makes all of them.

    `missing(image)` returns in one line why no torus can be made now, and an empty text if one can.
    `made_of(image, volumes)` checks the options of `torus up` and returns None for nodes that need no image.
    `create(order, progress)` makes the nodes and returns node -> process number of its first process.
    `remove(torus, settle_s)` removes what `create` made, and waits `settle_s` seconds for nodes that a killed `up` has
    requested and that do not exist yet.
    `tori()` returns the names of the tori of which any node exists. `ended(torus, folder)` returns the nodes that no
    longer run, and `keepers(folder)` the processes that only keep nodes alive.
    """

    name: str
    missing: Callable[[str], str] = lambda image: ""
    made_of: Callable[[str | None, Sequence[str]], Containers | None] = _of_no_image
    create: Callable[[NodeOrder, Progress], Mapping[str, int]] = lambda order, progress: {}
    remove: Callable[[str, float], None] = lambda torus, settle_s: None
    tori: Callable[[], set[str]] = set
    ended: Callable[[str, Path], list[str]] = lambda torus, folder: []
    keepers: Callable[[Path], set[int]] = lambda folder: set()
