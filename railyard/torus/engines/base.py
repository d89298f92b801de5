"""What an engine is: what the nodes of a torus are made of. All networking stays with `netns`, whichever engine.

A module of this folder that defines `ENGINE` is an engine; `railyard.torus.engines` finds it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Containers:
    """What the nodes are made of: an image, and this machine's folders that they see under the same path."""

    image: str
    image_sha256: str
    volumes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeService:
    """What a service that runs in every container needs there: environment variables, and this machine's files and
    folders by the path under which a host's container sees them.
    """

    environment: Mapping[str, str] = field(default_factory=dict)
    seen: Callable[[str], Mapping[Path, Path]] = lambda host: {}


NO_SERVICE = NodeService()


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeOrder:
    """The nodes that an engine is to make: of which torus, of what, with which /etc/hosts (name -> address).

    `folder` is the torus's own.
    """

    torus: str
    nodes: Sequence[str]
    made_of: Containers | None
    hosts: Mapping[str, str]
    folder: Path
    service: NodeService = NO_SERVICE


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """One engine, as functions.

    `missing(image)` says in one line why no torus can be made now; empty where one can.
    `made_of(image, volumes)` checks the options of `torus up`; None for nodes that need no image.
    `create(order, progress)` makes the nodes: node -> first process, empty where `netns` makes all of a node.
    `remove(torus, settle_s)` removes what `create` made, and waits so long for what a killed `up` requested.
    `tori()` names the tori of which any node exists. `ended(torus, folder)` lists the nodes that no longer run,
    `keepers(folder)` the processes that only keep nodes alive.
    """

    name: str
    missing: Callable[[str], str]
    made_of: Callable[[str | None, Sequence[str]], Containers | None]
    create: Callable[[NodeOrder, Progress], Mapping[str, int]]
    remove: Callable[[str, float], None]
    tori: Callable[[], set[str]]
    ended: Callable[[str, Path], list[str]]
    keepers: Callable[[Path], set[int]]
