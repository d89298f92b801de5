"""Read what the ranks of a launch counted on their nodes: NICs, energy, the NICs of each rank's connections, GPUs.

The file `launch-NNN.nics` is written by every benchmark and by `railyard-witness` (docs/formats.md, "NICs"); the
virtual torus and the simulator count by themselves instead.

Models: ports of NICs (`mlx5_0:1` is `mlx5_0`), hosts with and without their domain, the two names of a Slingshot NIC.
Energy: counters of one kind (the packages of a node, its accelerators) are summed over all nodes. A kind that a node
lacks has no series, because a sum over some nodes would look like a saving. Connections: one leaves by the NIC that
has its address, and a NIC counts for a rank if it carried a hundredth of the rank's bytes.

Leaves out: the verdict on the bytes (`railyard.placements.nics.evidence`); which process used the energy, idle nodes,
switches, cooling; and, as not known, connections that carried less than half of the NICs' bytes, because their MPI
library bypasses the kernel or has closed them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from railyard.base import host_names
from railyard.base.json_files import json_object
from railyard.records import units
from railyard.records.benchmark import Series
from railyard.records.folded import columns, health, nic_bytes
from railyard.records.folded.nic_bytes import Nics

FORMAT = "railyard-nics/1"
ETHERNET = "linux-net"
#: Names of the NICs of a node whose partition names none.
DEFAULT_NAMES = tuple(f"nic{k}" for k in range(64))
#: The library's adapter and the network device of one Slingshot NIC.
SLINGSHOT = re.compile(r"(cxi|hsn)(\d+)")
ENERGY = units.fom("energy_joule", "J", "lower")
#: The number of a socket, a die or an accelerator behind a counter's name.
_NUMBER = re.compile(r"(-?\d+)+$")
RANK_SENT = units.fom(units.RANK_SENT, "%", "neither")
#: The least share of a rank's bytes; MPI hardly used the connection of a NIC with less.
LEAST = 0.01
#: The least share of the bytes of all NICs that proves something.
EXPLAINED = 0.5
#: Longest list of ranks in a label.
LONGEST = 200

Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """The content of one file; `reason` is why it has no NICs, or not all, in one line."""

    document: Mapping[str, Any]
    reason: str

    @classmethod
    def read(cls, path: Path) -> Counted | None:
        """Return what a file contains, nothing but a reason if it is cut off; None if there is no such file."""
        if not path.exists():
            return None
        document = json_object(path)
        if document.get("format") == FORMAT:
            return cls(document=document, reason=document.get("reason") or "")
        wrong = f"{path.name} is not of format {FORMAT}"
        return cls(document={}, reason=wrong if document else "the ranks left no bytes of their NICs")

    @property
    def gpus(self) -> tuple[str | None, ...]:
        """Return the GPU that each rank reported."""
        return tuple(gpu["sees"] for gpu in self._rows("gpus"))

    def nics(
        self, devices: Sequence[str] | None, hosts: Sequence[str], own_names: Mapping[str, str]
    ) -> tuple[Nics | None, str]:
        """Return the bytes of each NIC of each node of a launch, or None; and the reason for what is missing.

        `devices` are the names of the partition's NICs; others (storage, management) are left out. Where the partition
        names none, nic0, nic1, ... count, or else all NICs of a fabric, or else all Ethernet devices. `hosts` are the
        nodes as the record names them; `own_names` maps a host's own name to the scheduler's, where they differ.
        """
        if not self.document:
            return None, self.reason
        rows = [{**row, "node": own_names.get(row["node"], row["node"])} for row in self._rows("nics")]
        fabrics = [row for row in rows if row["group"] != ETHERNET]
        chosen = _called(rows, devices) if devices else _called(rows, DEFAULT_NAMES) or fabrics or rows
        if not chosen:
            others = ", ".join(sorted({row["nic"] for row in rows})) or "none"
            return None, self.reason or f"no NIC was counted but {others}"
        node_names = host_names.matched({row["node"] for row in chosen}, hosts)
        renamed = [{**row, "node": node_names.get(row["node"], row["node"])} for row in chosen]
        return nic_bytes.of_rows(renamed), self.reason

    def health(self, own_names: Mapping[str, str]) -> dict[str, Any] | None:
        """Return what error counters and states did, as the record has it; None for a file without them."""
        if (read := self.document.get("health")) is None:
            return None
        events = ({**event, "node": own_names.get(event["node"], event["node"])} for event in read["events"])
        return health.document(read["read"], read["not_read"], events)

    def energy(self, hosts: Sequence[str], own_names: Mapping[str, str]) -> list[Series]:
        """Return the energy that all of `hosts` counted during the launch, a series per kind of counter."""
        sums: dict[str, dict[str, float]] = {}
        for row in self._rows("energy"):
            if isinstance(row["joules"], int | float) and math.isfinite(row["joules"]):
                kind = _NUMBER.sub("", str(row["counter"])) or "other"
                of_node, node = sums.setdefault(kind, {}), own_names.get(row["node"], row["node"])
                of_node[node] = of_node.get(node, 0.0) + row["joules"]
        wanted = list(dict.fromkeys(hosts))
        return [
            Series(fom=ENERGY, labels={"counter": kind}, samples=(math.fsum(by_node.values()),))
            for kind, by_node in sorted(sums.items())
            if len(host_names.matched(wanted, by_node)) == len(wanted)
        ]

    def rank_nics(self) -> list[Series]:
        """Return a series for each set of NICs by which ranks sent; empty if the NICs of the ranks are not known.

        Its sample is the share of these ranks in the bytes that all NICs sent, in percent.
        """
        rows, nics = self._rows("ranks"), self._rows("nics")
        used = {(row["node"], row["nic"]) for row in rows}
        # The fabric's NICs, or the Ethernet devices that ranks used: one device may have both names.
        fabric: int = sum(row["tx_bytes"] for row in nics if row["group"] != ETHERNET)
        own: int = sum(row["tx_bytes"] for row in nics if (row["node"], row["nic"]) in used)
        total = max(fabric, own)
        if not total or sum(row["tx_bytes"] for row in rows) < EXPLAINED * total:
            return []
        by_rank: dict[int, dict[str, int]] = {}
        for row in rows:
            by_rank.setdefault(row["rank"], {})[row["nic"]] = row["tx_bytes"]
        groups: dict[str, list[int]] = {}
        for rank, sent in sorted(by_rank.items()):
            least = LEAST * sum(sent.values())
            name = "+".join(sorted(nic for nic, size in sent.items() if size and size >= least))
            groups.setdefault(name, []).append(rank)
        return [
            Series(
                fom=RANK_SENT,
                labels={"nic": name, "ranks": _listed(ranks)},
                samples=(100 * sum(sum(by_rank[rank].values()) for rank in ranks) / total,),
            )
            for name, ranks in sorted(groups.items())
            if name
        ]

    def _rows(self, name: str) -> Rows:
        rows: Rows = self.document.get(name, [])
        return rows


def _called(rows: Rows, names: Sequence[str]) -> list[dict[str, Any]]:
    """Return the rows of the NICs with these names, renamed to them; the fabric's row if a NIC has two."""
    by_nic: dict[tuple[str, str], dict[str, Any]] = {}
    called = {nic: _name(nic, names) for nic in {row["nic"] for row in rows}}
    for row in rows:
        name = called[row["nic"]]
        if name is not None:
            by_nic.setdefault((row["node"], name), {**row, "nic": name})
    return list(by_nic.values())


def _name(nic: str, names: Sequence[str]) -> str | None:
    """Return the first of `names` that is a name of this NIC, with or without its port; None if none is."""
    own = {nic, nic.partition(":")[0]}
    if match := SLINGSHOT.fullmatch(nic):
        own |= {f"cxi{match[2]}", f"hsn{match[2]}"}
    return next((name for name in names if name in own), None)


def _listed(ranks: Sequence[int]) -> str:
    """Return ranks as `0-3,8`, or how many there are if that is long."""
    text = columns.fold(ranks)
    return text if len(text) <= LONGEST else f"{len(ranks)} ranks from {ranks[0]}"
