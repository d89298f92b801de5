"""The rate of halo's packing beside that of a plain strided copy: one rank, the presets of Pena et al.

Pack and unpack time of the variant `manual` over that of `copy`. Medians, because a neighbour that takes the processor
for a moment spoils a mean. `perf.osu` compares the other benchmarks with OSU.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from rich.console import Console
from rich.table import Table

from railyard.base.checkout import BUILD

HALO = BUILD / "benchmarks-openmpi/bin/halo"
MPIRUN = ("mpirun.openmpi", "-q", "--bind-to", "core", "-n", "1")
PRESETS = {"pena2013-2d": 4 * 2 * 65536 * 8, "pena2013-3d": 4 * 3 * 1536 * 1536 * 8}
console = Console(width=110)


def measure() -> list[dict[str, Any]]:
    """A row for each preset; prints the table."""
    rows = [packing(preset) for preset in PRESETS]
    show(rows)
    return rows


def packing(preset: str) -> dict[str, Any]:
    """Rates of packing and unpacking over those of the plain copy, and whether the volume is exact."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder, "halo.json")
        options = ["--preset", preset, "--variants", "manual,copy", "--repeats", "30", "--json", str(output)]
        as_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        command = [*MPIRUN, str(HALO), *options]
        subprocess.run(command, capture_output=True, env=os.environ | as_root, check=True)
        document = json.loads(output.read_text())
    of = {(s["labels"]["variant"], s["fom"]): median(s["samples"]) for s in document["series"]}
    return {
        "preset": preset,
        "pack": of["copy", "pack_us"] / of["manual", "pack_us"],
        "unpack": of["copy", "unpack_us"] / of["manual", "unpack_us"],
        "exchanged_bytes": document["parameters"]["exchanged_bytes"],
        "exact": document["parameters"]["exchanged_bytes"] == PRESETS[preset],
    }


def show(rows: list[dict[str, Any]]) -> None:
    """One row for each preset."""
    table = Table(
        "preset", "pack", "unpack", "exchanged", title="halo: rate of packing over that of a plain copy"
    )
    for row in rows:
        volume = f"{row['exchanged_bytes']} B, {'exact' if row['exact'] else 'WRONG'}"
        table.add_row(row["preset"], f"{row['pack']:.1%}", f"{row['unpack']:.1%}", volume)
    console.print(table, "")
