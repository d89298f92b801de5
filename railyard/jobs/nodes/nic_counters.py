"""Read the bytes of NICs that the ranks of a launch counted, under the names that NIC policies use.

The file is written by every benchmark and by `railyard-witness` (docs/formats.md, "NICs"); the virtual torus and the
simulator count by themselves instead. Models: ports (`mlx5_0:1` is `mlx5_0`), hosts with and without their domain, the
two names of a Slingshot NIC. Leaves out: the verdict on the bytes (`railyard.placements.nics.evidence`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from railyard.base import host_names
from railyard.records.folded import nic_bytes
from railyard.records.folded.nic_bytes import Nics

FORMAT = "railyard-nics/1"
ETHERNET = "linux-net"
#: Names of the NICs of a node whose partition names none.
DEFAULT_NAMES = tuple(f"nic{k}" for k in range(64))
#: The library's adapter and the network device of one Slingshot NIC.
SLINGSHOT = re.compile(r"(cxi|hsn)(\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """The bytes of the NICs, or None and the reason in one line; `gpus` is the GPU that each rank reported."""

    nics: Nics | None
    reason: str = ""
    gpus: tuple[str | None, ...] = ()


def document(path: Path) -> dict[str, Any]:
    """Return the contents of a file of NICs; empty if the path has none."""
    try:
        contents = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return contents if isinstance(contents, dict) and contents.get("format") == FORMAT else {}


def read(
    path: Path,
    devices: Sequence[str] | None,
    hosts: Sequence[str],
    own_names: Mapping[str, str],
) -> Counted:
    """Return the bytes of each NIC of each node of a launch.

    `devices` are the names of the partition's NICs; others (storage, management) are left out. Where the partition
    names none, nic0, nic1, ... count, or else all NICs of a fabric, or else all Ethernet devices. `hosts` are the nodes
    as the record names them; `own_names` maps a host's own name to the scheduler's, where they differ.
    """
    try:
        counted = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return Counted(nics=None, reason="the ranks left no bytes of their NICs")
    if not isinstance(counted, dict) or counted.get("format") != FORMAT:
        return Counted(nics=None, reason=f"{path.name} is not of format {FORMAT}")
    rows = [{**row, "node": own_names.get(row["node"], row["node"])} for row in counted["nics"]]
    chosen = _called(rows, devices) if devices else _called(rows, DEFAULT_NAMES) or _of_fabrics(rows)
    reason = counted["reason"] or ""
    gpus = tuple(gpu["sees"] for gpu in counted.get("gpus", []))
    if not chosen:
        return Counted(nics=None, reason=reason or f"no NIC was counted but {_list(rows)}", gpus=gpus)
    node_names = host_names.matched({row["node"] for row in chosen}, hosts)
    nics = nic_bytes.of_rows([{**row, "node": node_names.get(row["node"], row["node"])} for row in chosen])
    return Counted(nics=nics, reason=reason, gpus=gpus)


def _list(rows: Sequence[Mapping[str, Any]]) -> str:
    return ", ".join(sorted({row["nic"] for row in rows})) or "none"


def _called(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[dict[str, Any]]:
    """Return the rows of the NICs with these names, renamed to them; the fabric's row if a NIC has two."""
    by_nic: dict[tuple[str, str], dict[str, Any]] = {}
    called = {nic: _name(nic, names) for nic in {row["nic"] for row in rows}}
    for row in rows:
        name = called[row["nic"]]
        if name is not None:
            by_nic.setdefault((row["node"], name), {**row, "nic": name})
    return list(by_nic.values())


def _name(nic: str, names: Sequence[str]) -> str | None:
    """Return the first of `names` that is a name of this NIC; None if none is."""
    own = _names(nic)
    return next((name for name in names if name in own), None)


def _of_fabrics(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    fabric = [dict(row) for row in rows if row["group"] != ETHERNET]
    return fabric or [dict(row) for row in rows]


def _names(nic: str) -> set[str]:
    """Return all names of a NIC: with and without its port, and both names of a Slingshot NIC."""
    names = {nic, nic.partition(":")[0]}
    if match := SLINGSHOT.fullmatch(nic):
        names |= {f"cxi{match[2]}", f"hsn{match[2]}"}
    return names
