"""The matrices that vendors' tools print: `nvidia-smi topo -m` (and -mp), and `rocm-smi --showtopo`.

Leaves out links between GPUs. `rocm-smi` knows no NICs: its maps only have GPUs and their NUMA domains.
"""

from __future__ import annotations

import re

from railyard.base.errors import InputError
from railyard.placements.maps.node_map import DISTANCES, Device, MapReader, NodeMap

_ANSI = re.compile(r"\x1b\[[0-9;]*m")
_COLUMN = re.compile(r"GPU\d+|NIC\d+|(mlx|bnxt|irdma|efa|cxi|roce|ib|rdmap|hfi)\w*")
_CELL = re.compile(rf"X|NV\d+|SOC|{'|'.join(DISTANCES)}")
_LEGEND = re.compile(r"\s*(NIC\d+):\s*(\S+)")
_NUMA = re.compile(r"GPU\[(\d+)\]\s*:\s*\(Topology\) Numa Node:\s*(-?\d+)")


def nvidia(text: str, node: str, source: str) -> NodeMap:
    """Return the map of a matrix; InputError for a row or cell that is missing, or contradicts another."""
    lines = _ANSI.sub("", text).splitlines()
    start = next(at for at, line in enumerate(lines) if re.match(r"\s*GPU0\s+GPU1|\s*GPU0\s+\S", line))
    columns = []
    for word in lines[start].split():
        if not _COLUMN.fullmatch(word):
            break
        columns.append(word)
    rows: dict[str, list[str]] = {}
    tails: dict[str, list[str]] = {}
    for number, line in enumerate(lines[start + 1 :], start=start + 2):
        words = line.split()
        if words and words[0] in columns:
            if words[0] in rows:
                raise InputError(
                    source, f"line {number}", problem=f"{words[0]} is there twice", valid="each row once"
                )
            cells = words[1 : len(columns) + 1]
            wrong = next((cell for cell in cells if not _CELL.fullmatch(cell)), None)
            if wrong is not None or len(cells) < len(columns):
                what = f"cell {wrong}" if wrong is not None else f"{len(cells)} cells"
                valid = f"{len(columns)} of X, NV#, {', '.join(DISTANCES)}"
                raise InputError(source, f"line {number}", f"{words[0]}: {what}", valid)
            rows[words[0]], tails[words[0]] = cells, words[len(columns) + 1 :]
    lacking = [name for name in columns if name not in rows]
    if lacking or len(set(columns)) < len(columns):
        raise InputError(
            source, "matrix", problem=f"no row of {', '.join(lacking[:4])}", valid="a row per column"
        )
    _check_symmetry(columns, rows, source)
    legend = {match[1]: match[2] for line in lines if (match := _LEGEND.fullmatch(line.rstrip()))}
    names = {column: legend.get(column, column) for column in columns}
    gpus = [column for column in columns if column.startswith("GPU")]
    nics = [column for column in columns if column not in gpus]
    return NodeMap(
        node=node,
        source=source,
        kind="nvidia-smi",
        gpus=tuple(Device(name=gpu.lower(), numa=_numa(tails[gpu])) for gpu in gpus),
        nics=tuple(Device(name=names[nic]) for nic in nics),
        distances={(gpu.lower(), names[nic]): rows[gpu][columns.index(nic)] for gpu in gpus for nic in nics},
    )


def _check_symmetry(columns: list[str], rows: dict[str, list[str]], source: str) -> None:
    for at, one in enumerate(columns):
        for other_at, other in enumerate(columns):
            there, back = rows[one][other_at], rows[other][at]
            if there != back or (there == "X") != (at == other_at):
                problem = f"{one} to {other} is {there}, {other} to {one} is {back}"
                raise InputError(
                    source, "matrix", problem=problem, valid="one distance both ways, X on itself"
                )


def _numa(tail: list[str]) -> int | None:
    """Return the NUMA affinity after the CPUs; None for several or none."""
    return int(tail[1]) if len(tail) > 1 and tail[1].isdecimal() else None


def rocm(text: str, node: str, source: str) -> NodeMap:
    """Return the GPUs and their NUMA domains; InputError where matrices and domains have unlike GPUs."""
    numa = {int(gpu): int(domain) for gpu, domain in _NUMA.findall(text)}
    rows = [int(number) for number in re.findall(r"^GPU(\d+)\s+\S", text, re.MULTILINE)]
    counts = {rows.count(gpu) for gpu in rows}
    if not numa or (rows and (set(rows) != set(numa) or len(counts) > 1)):
        problem = f"matrices of {len(set(rows))} GPUs, NUMA nodes of {len(numa)}"
        raise InputError(
            source, "Numa Nodes", problem=problem, valid="the whole output of rocm-smi --showtopo"
        )
    gpus = tuple(
        Device(name=f"gpu{gpu}", numa=domain if domain >= 0 else None) for gpu, domain in sorted(numa.items())
    )
    return NodeMap(node=node, source=source, kind="rocm-smi", gpus=gpus)


READERS = (
    MapReader(
        name="nvidia-smi",
        does="the output of nvidia-smi topo -m",
        matches=lambda text: (
            re.search(r"^\s*GPU0\s+\S", _ANSI.sub("", text), re.MULTILINE) is not None
            and "Weight between two GPUs" not in text
            and "(Topology) Numa" not in text
        ),
        parse=nvidia,
    ),
    MapReader(
        name="rocm-smi",
        does="the output of rocm-smi --showtopo",
        matches=lambda text: "Weight between two GPUs" in text or "(Topology) Numa" in text,
        parse=rocm,
    ),
)
