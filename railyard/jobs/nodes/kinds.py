"""Group the nodes of a job by their CPUs, NICs and GPUs, and make scripts that work on all of them. Pure.

Models: nodes with equal layouts are one kind. The kind of most nodes comes first, and is assumed for nodes without a
description. A script that differs by kind becomes one that chooses by the host's name. Leaves out how a node is
described (`railyard.jobs.nodes.node`) and what follows from one layout (`railyard.placements.hosts.node`).
"""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from railyard.base import host_names
from railyard.base.errors import InputError
from railyard.placements.hosts import node as node_layout
from railyard.placements.hosts.node import NodeLayout

CHOOSE = """\
#!/bin/sh
# The nodes of this job differ: each kind has a script of its own.
case $(uname -n) in
{cases}*) exec ./{usual} "$@" ;;
esac
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeKind:
    """Nodes with one layout: their names as granted, and the hosts' own names, in the same order."""

    layout: NodeLayout
    names: tuple[str, ...]
    hosts: tuple[str, ...]

    def some(self) -> str:
        """Return the nodes for a message: the first, and how many more there are."""
        more = len(self.names) - 1
        return self.names[0] + (f" and {more} more" if more else "")


def of(described: Mapping[str, Mapping[str, Any]], devices: Sequence[str] | None) -> list[NodeKind]:
    """Return the kinds of nodes, the largest first; `described` maps a node to its description.

    `devices` are the NICs that are compared. Nodes whose description has no core are left out.
    """
    counting = {device.partition(":")[0] for device in devices or ()}
    nodes: dict[str, list[str]] = {}
    for name, description in described.items():
        # The layout as text, without Ethernet addresses, so that equal nodes have equal text.
        nics = [
            {field: value for field, value in nic.items() if field != "mac"}
            for nic in description.get("nics", [])
            if nic["name"] in counting
        ]
        same = {field: description.get(field, []) for field in ("cores", "distances", "gpus")}
        nodes.setdefault(json.dumps({**same, "nics": nics}), []).append(name)
    kinds = [(node_layout.parse(json.loads(text)), names) for text, names in nodes.items()]
    return [
        NodeKind(layout=layout, names=tuple(names), hosts=tuple(str(described[name]["host"]) for name in names))
        for layout, names in sorted(kinds, key=lambda kind: -len(kind[1]))
        if layout is not None
    ]


def own_names(kinds: Sequence[NodeKind]) -> dict[str, str]:
    """Return a host's own name -> the scheduler's, for hosts where neither is a form of the other.

    A host that is several nodes is left out.
    """
    pairs = [pair for kind in kinds for pair in zip(kind.hosts, kind.names, strict=True)]
    alike = host_names.matched([host for host, _ in pairs], [node for _, node in pairs])
    counts = Counter(host for host, _ in pairs)
    return {host: node for host, node in pairs if alike.get(host) != node and counts[host] == 1}


def among(kinds: Sequence[NodeKind], names: Collection[str]) -> list[NodeKind]:
    """Return the kinds that have one of these nodes, or the first where none of these nodes described itself."""
    of_nodes = set(names)
    return [kind for kind in kinds if not of_nodes.isdisjoint(kind.names)] or list(kinds[:1])


def one_script(name: str, texts: Sequence[str], kinds: Sequence[NodeKind]) -> dict[str, str]:
    """Return the files of a script whose text is given for each kind: itself, or one for each text and a chooser.

    The text of the first kind is for every host that no other kind names.
    """
    different = list(dict.fromkeys(texts))
    if len(different) == 1:
        return {name: different[0]}
    files = {text: f"{name.removesuffix('.sh')}.{number}.sh" for number, text in enumerate(different)}
    cases = "".join(
        f'{"|".join(map(shlex.quote, kind.hosts))}) exec ./{files[text]} "$@" ;;\n'
        for kind, text in zip(kinds, texts, strict=True)
        if text != texts[0]
    )
    chooser = CHOOSE.format(cases=cases, usual=files[texts[0]])
    return {name: chooser, **{file: text for text, file in files.items()}}


@contextmanager
def naming(kind: NodeKind) -> Iterator[None]:
    """Add the names of the nodes to an InputError that is raised inside."""
    try:
        yield
    except InputError as error:
        words = error.problem or (f"{error.value!r} is not valid" if error.value is not None else "no value")
        problem = f"{words} on {kind.some()}"
        raise InputError(error.source, error.field, valid=error.valid, problem=problem) from error
