"""Host files: the nodes of an allocation, or the node of each rank, as schedulers, launchers and people write them.

    cn01                              one node per line, repeated for each slot (PBS, LSF, OAR)
    cn01 slots=4 max_slots=8          Open MPI; np=, cpus= and ppn= count likewise
    cn01:4    cn01*4    cn01 4 q@cn01 UNDEFINED       Hydra and Intel MPI; Slurm; Grid Engine
    cn[01-03],cn07                    a host list
    cn01 cn01 cn02    cn01 2 cn02 1   LSB_HOSTS and LSB_MCPU_HOSTS, which are one line
    192.0.2.10 cn01 cn01.site         an address and the names of one host (/etc/hosts)
    rank 0=cn01 slot=0                a rank file; the number orders the lines

`#` starts a comment. `cn01` and `cn01.site` are one node, by the name that comes first. Anything else is an error that
names the line. The names are those of the topology: a node that it does not have has no coordinate.
"""

from __future__ import annotations

import contextlib
import dataclasses
import ipaddress
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from railyard.base.errors import InputError
from railyard.placements.arrays import NDArray, np
from railyard.placements.hosts import hostlist
from railyard.placements.hosts.hostlist import expand, split_outside_brackets
from railyard.placements.hosts.text import content_lines, readable
from railyard.placements.topology.base import Node, Topology

#: A host's name or address; a number alone and the head of a column of names are none.
NAME = re.compile(r"(?![0-9]+$|NODELIST$|HOSTNAMES?$)[A-Za-z0-9_][A-Za-z0-9._-]{0,254}")
RANK = re.compile(r"rank\s+(\d{1,9})\s*=\s*(\S+)(?:\s+slots?\s*=.*)?", re.IGNORECASE)
OPTION = re.compile(r"([A-Za-z_-]+)=(\S*)")
COUNTED = re.compile(r"(.*[^:*])[:*](\d{1,6})", re.DOTALL)
#: A word of a line; blanks inside brackets are part of it.
WORD = re.compile(r"(?:[^\s\[]|\[[^\]]*\])+")
#: The most ranks in a file; three times those of 10,000 nodes with 128 each.
MOST_RANKS = 1 << 22
#: The most digits in a number of slots.
MOST_DIGITS = 9
SLOTS = ("slots", "np", "cpus", "cpu", "ppn")
FORMS = "HOST, HOST:SLOTS, HOST*SLOTS, HOST slots=N, a host list such as cn[01-03], or `rank N=HOST`"


@dataclass(frozen=True, slots=True, kw_only=True)
class HostEntry:
    """One host in a host file: its line, its slots there, and the number of ranks that it takes in a row."""

    line: int
    name: str
    slots: int = 1
    ranks: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Nic:
    """Where a rank runs: a node, and the rail that it sends on."""

    node: Node
    rail: int = 0


def granted(path: Path, topology: Topology) -> NDArray[np.int64]:
    """Return the nodes of a host file as indices into `topology.nodes`, each once, in the file's order.

    Raises InputError, in one line, for a file that cannot be read or is empty, or a node that the topology lacks.
    """
    return np.array(list(dict.fromkeys(of_ranks(path, topology, most=MOST_RANKS).tolist())), dtype=np.int64)


def of_ranks(path: Path, topology: Topology, *, most: int) -> NDArray[np.int64]:
    """Return the node of each rank as an index into `topology.nodes`: a host file's lines, one rank each.

    `NODE:COUNT` and `NODE*COUNT` are so many ranks. Raises InputError as `granted`, and for a node that is named more
    than `most` times.
    """
    index = {node.name: k for k, node in enumerate(topology.nodes)}
    indices: list[int] = []
    seen: Counter[str] = Counter()
    for entry in entries(path):
        where, name = f"line {entry.line}", entry.name
        if name not in index:
            valid = f"a node of {topology.name}, whose coordinate is known: {_some(topology)}"
            raise InputError(str(path), where, name, valid)
        seen[name] += entry.ranks
        if seen[name] > most:
            times = "once" if most == 1 else f"at most {most} times"
            raise InputError(str(path), where, problem=f"{name} is named again", valid=f"each node {times}")
        indices += [index[name]] * entry.ranks
    return np.array(indices, dtype=np.int64)


def read_nics(path: Path, topology: Topology) -> list[Nic]:
    """Return where each rank runs: line k names the node of rank k (`n0-0-0`), or one of its NICs (`n0-0-0.nic1`).

    Raises InputError that names the line.
    """
    nodes = {node.name: node for node in topology.nodes}
    nics = []
    for entry in parse(readable(path), str(path), has_aliases=False):
        name, _, nic = (entry.name, "", "") if entry.name in nodes else entry.name.rpartition(".nic")
        rail = int(nic) if re.fullmatch(r"[0-9]{1,6}", nic) else 0
        if name not in nodes or rail >= topology.rails or (nic and not nic.isdecimal()):
            valid = f"a node of {topology.name}, {_some(topology)}, or NODE.nicK"
            raise InputError(str(path), f"line {entry.line}", entry.name, valid)
        nics += [Nic(node=nodes[name], rail=rail)] * entry.ranks
    return nics


def names(path: Path) -> list[str]:
    """Return the nodes in a host file, each once, in its order; raises InputError for a file without one."""
    return list(slots(entries(path)))


def slots(parsed: Iterable[HostEntry]) -> dict[str, int]:
    """Return host -> all its slots, in the order of the entries."""
    counts: dict[str, int] = {}
    for entry in parsed:
        counts[entry.name] = counts.get(entry.name, 0) + entry.slots
    return counts


def entries(path: Path) -> list[HostEntry]:
    """Return the hosts of a file in its order; InputError names the line that is not a host, or that there is none."""
    return parse(readable(path), str(path))


def parse(text: str, source: str, *, has_aliases: bool = True) -> list[HostEntry]:
    """Return the hosts of a host file's text; InputError as `entries`.

    `has_aliases` is whether `cn01` and `cn01.site` are one host.
    """
    hostlist.check(text, source)
    parsed: list[HostEntry] = []
    by_rank: dict[int, HostEntry] = {}
    lines = list(content_lines(text))
    for number, line in lines:
        try:
            if rank := RANK.fullmatch(line):
                by_rank[int(rank[1])] = HostEntry(line=number, name=_host(rank[2]))
            else:
                parsed += [
                    HostEntry(line=number, name=_host(name), slots=count, ranks=ranks)
                    for name, count, ranks in _hosts(line, is_only=len(lines) == 1)
                ]
        except InputError as error:
            raise InputError(source, f"line {number}", line, FORMS) from error
    if sum(entry.ranks for entry in parsed) > MOST_RANKS:
        raise InputError(source, "", problem="too many ranks", valid=f"at most {MOST_RANKS:,}")
    parsed += [entry for _, entry in sorted(by_rank.items())]
    if not parsed:
        raise InputError(source, "", problem="no node", valid=FORMS)
    return _without_aliases(parsed) if has_aliases else parsed


def _without_aliases(parsed: list[HostEntry]) -> list[HostEntry]:
    """Return the hosts with one name for each: `cn01` and `cn01.site` get the one that comes first."""
    first = dict.fromkeys(entry.name for entry in parsed)
    long = Counter(label for name in first if (label := name.partition(".")[0]) != name and label in first)
    same = {name: label for name in first if long[label := name.partition(".")[0]] == 1}
    chosen = {label: name for name, label in reversed(same.items())}
    return [
        dataclasses.replace(entry, name=chosen[same[entry.name]]) if entry.name in same else entry for entry in parsed
    ]


def _hosts(line: str, *, is_only: bool) -> Iterator[tuple[str, int, int]]:
    """Yield name, slots and ranks of each host of a line; only one that is all of its text may name several."""
    if line.count("[") != line.count("]"):
        raise InputError("host file", "", line, FORMS)
    for sign in "=,":
        line = sign.join(part.strip() for part in line.split(sign))
    first, *rest = WORD.findall(line) or [line]
    if rest and rest[0].isdecimal():
        pairs = len(rest) % 2 == 1 and all(word.isdecimal() for word in rest[::2])
        later = zip(rest[1::2], rest[2::2], strict=True) if pairs else ()
        for name, count in ((first, rest[0]), *later):
            yield from ((host, _count(count), 1) for host in expand(name))
        return
    options = {match[1]: match[2] for word in rest if (match := OPTION.fullmatch(word))}
    words = (first, *(word for word in rest if not OPTION.fullmatch(word)))
    if 0 < sum(map(_is_address, words)) < len(words):
        words = (first := _named(words),)
    if len(words) > 1 and not options:
        labels = {word.partition(".")[0] for word in words}
        if len({*words}) > 1 and len(labels) == 1 and labels < {*words}:
            words = words[:1]
        elif not is_only and len({*words}) > 1 and not any(re.search(r"[:*,\[]", word) for word in words):
            raise InputError("host file", "", line, FORMS)
        if not all(re.search(r"\d", word) for word in words):  # a state or a property, as sinfo prints it
            raise InputError("host file", "", line, FORMS)
        for word in words:
            yield from _counted(word)
        return
    count = next((_count(options[key]) for key in SLOTS if options.get(key, "").isdecimal()), None)
    for name, slots_of_name, ranks in _counted(first):
        yield name, slots_of_name if count is None else count, ranks


def _is_address(word: str) -> bool:
    with contextlib.suppress(ValueError):
        return bool(ipaddress.ip_address(word))
    return False


def _named(words: Sequence[str]) -> str:
    """Return the first name of a host that a line gives with an address.

    Raises InputError for the loopback and groups, for words that are not names, and for several hosts after a name.
    """
    addresses = [ipaddress.ip_address(word) for word in words if _is_address(word)]
    names = [word for word in words if not _is_address(word)]
    labels = [name.partition(".")[0] for name in names if "." in name]
    is_host = not any(one.is_loopback or one.is_multicast or one.is_unspecified for one in addresses)
    are_names = all(re.search(r"[\d.]", name) or name in labels for name in names)
    if not (is_host and are_names and (_is_address(words[0]) or len({*names}) == 1)):
        raise InputError("host file", "", " ".join(words), FORMS)
    return names[0]


def _counted(word: str) -> Iterator[tuple[str, int, int]]:
    for part in split_outside_brackets(word):
        match = COUNTED.fullmatch(part)
        name, count = (match[1], int(match[2])) if match else (part, 1)
        for host in expand(name):
            yield host, count, count


def _count(word: str) -> int:
    if len(word) > MOST_DIGITS:
        raise InputError("host file", "", word, FORMS)
    return int(word)


def _host(name: str) -> str:
    if not NAME.fullmatch(name):
        raise InputError("host file", "", name, FORMS)
    return name


def _some(topology: Topology) -> str:
    return ", ".join(node.name for node in topology.nodes[:2]) + ", ..."


def without_batch_node(parsed: Iterable[HostEntry]) -> tuple[list[str], str]:
    """Return the nodes of an LSF host file without its batch node, and that node's name, empty if there is none.

    LSF lists the node of the batch script first, with one slot, before compute nodes that all have the same number of
    slots. The first node is taken for it if that number is above 1.
    """
    counts = slots(parsed)
    first, *others = counts
    of_others = {counts[name] for name in others}
    if counts[first] == 1 and len(of_others) == 1 and max(of_others) > 1:
        return others, first
    return [first, *others], ""
