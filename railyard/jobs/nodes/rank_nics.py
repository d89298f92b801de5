"""Read which NICs carried each rank's bytes, from the ranks' own TCP connections, as series `rank_sent_percent`.

The file is that of the NICs (docs/formats.md, "NICs"). Models: a connection leaves by the NIC that has its address; a
NIC counts for a rank if it carried a hundredth of the rank's bytes. Ranks with the same NICs share a series, whose
sample is their share of all bytes that the nodes' NICs sent. Leaves out, as not known: launches whose connections
carried less than half of those bytes, because their MPI library bypasses the kernel or has closed them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from railyard.jobs.nodes.nic_counters import ETHERNET, document
from railyard.records import units
from railyard.records.benchmark import Series
from railyard.records.folded import columns

FOM = units.fom(units.RANK_SENT, "%", "neither")
#: Of a rank's bytes: a NIC with less carried a connection that MPI hardly used.
LEAST = 0.01
#: Of the bytes of all NICs: less proves nothing.
EXPLAINED = 0.5
#: Longest list of ranks in a label.
LONGEST = 200


def read(path: Path) -> list[Series]:
    """Return a series for each set of NICs that ranks used; empty if the NICs of the ranks are not known."""
    counted = document(path)
    rows = counted.get("ranks", [])
    total = _total(counted.get("nics", []), {(row["node"], row["nic"]) for row in rows})
    if not total or sum(row["tx_bytes"] for row in rows) < EXPLAINED * total:
        return []
    by_rank: dict[int, dict[str, int]] = {}
    for row in rows:
        by_rank.setdefault(row["rank"], {})[row["nic"]] = row["tx_bytes"]
    groups: dict[str, list[int]] = {}
    for rank, sent in sorted(by_rank.items()):
        groups.setdefault(_name(sent), []).append(rank)
    return [
        Series(
            fom=FOM,
            labels={"nic": name, "ranks": _listed(ranks)},
            samples=(100 * sum(sum(by_rank[rank].values()) for rank in ranks) / total,),
        )
        for name, ranks in sorted(groups.items())
        if name
    ]


def _total(nics: Sequence[Mapping[str, Any]], used: set[tuple[str, str]]) -> int:
    """Return what the fabric's NICs sent, or the Ethernet devices that ranks used: one device may have both names."""
    fabric: int = sum(row["tx_bytes"] for row in nics if row["group"] != ETHERNET)
    own: int = sum(row["tx_bytes"] for row in nics if (row["node"], row["nic"]) in used)
    return max(fabric, own)


def _name(sent: Mapping[str, int]) -> str:
    least = LEAST * sum(sent.values())
    return "+".join(sorted(nic for nic, size in sent.items() if size and size >= least))


def _listed(ranks: Sequence[int]) -> str:
    """Return ranks as `0-3,8`, or how many there are if that is long."""
    text = columns.fold(ranks)
    return text if len(text) <= LONGEST else f"{len(ranks)} ranks from {ranks[0]}"
