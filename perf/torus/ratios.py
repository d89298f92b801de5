"""Seven ratios of the virtual torus beside the same ratios simulated with its costs (docs/simulated.md).

Jobs of ReFrame: `rowcol_cube` and `halo_3d` on `vtorus:netns` at the default rate scale, and on `simvtorus`. Their
records are kept in build/ratios, so that a call adds what is missing and another the rest. A ratio is the median over
all launches that are not void. Beside Alltoall stands what the router's network alone makes of it
(`perf.packets.messages`): SimGrid's flows have no queues. Leaves out `paths_parallel`, whose ratios are those of single
links.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from rich.console import Console
from rich.table import Table

from perf.packets import messages
from placements.topology import catalog
from railyard.base.checkout import BUILD, CHECKOUT
from railyard.records.record import Launch, Origin
from railyard.records.store import archive, entries

Series = tuple[str, Mapping[str, str]]
#: Name -> check, and the two series whose times are divided: placement and labels.
SPLITS = (("Y", "X"), ("YZ", "XZ"))
RATIOS: Mapping[str, tuple[str, str, Series, Series]] = {
    **{
        f"{collective}, {one} over {other}": (
            "rowcol_cube",
            "slowest_us",
            ("cart-create", {"collective": collective, "split": one}),
            ("cart-create", {"collective": collective, "split": other}),
        )
        for collective in ("alltoall", "allgather")
        for one, other in SPLITS
    },
    **{
        f"halo, {one} over {other}": ("halo_3d", "exchange_us", (one, {}), (other, {}))
        for one, other in (("custom", "plain"), ("custom", "cart-create"), ("cart-create", "plain"))
    },
}
JOBS = ("rowcol_cube", "halo_3d")
EMULATED, SIMULATED = "vtorus:netns", "simvtorus"
WANTED = {EMULATED: 2, SIMULATED: 1}
LIMIT_PERCENT = 4.0
#: What `rowcol_cube` runs on.
TORUS, BLOCK, SIZE_BYTES = "gemini-4x4x4-two-nodes", (4, 2, 4), 1 << 16


def measure(console: Console, minutes: float | None, networks: Sequence[str]) -> list[dict[str, Any]]:
    """Run the jobs that are missing, as far as the time goes, and print the table of every network."""
    deadline = None if minutes is None else time.monotonic() + 60 * minutes
    rows = []
    for network in networks or ["router"]:
        folder = BUILD / "ratios" / network
        for system, wanted in WANTED.items():
            for check in JOBS:
                while len(_launches(folder, system, check)) < wanted * (3 if check == "halo_3d" else 1):
                    if deadline is not None and time.monotonic() >= deadline:
                        break
                    _job(folder, system, check, network)
        rows += [{"network": network, **row} for row in _rows(folder)]
    table = Table("network", "ratio", "emulated", "simulated", "apart (%)", "packets alone", "launches")
    for row in rows:
        table.add_row(*map(_cell, row.values()))
    console.print(table, f"within {LIMIT_PERCENT:g} %: {sum(_is_near(row) for row in rows)} of {len(rows)}")
    return rows


def _cell(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def _is_near(row: Mapping[str, Any]) -> bool:
    return row["apart (%)"] is not None and row["apart (%)"] <= LIMIT_PERCENT


def _job(folder: Path, system: str, check: str, network: str) -> None:
    """Run one job with one launch of each placement; a void launch is a failed job and is kept."""
    folder.mkdir(parents=True, exist_ok=True)
    settings = ("-S", "launches=1", "-S", f"archive={folder}")
    reframe = str(Path(sys.executable).with_name("reframe"))
    command = (reframe, "--nocolor", "-C", "reframe.yml", "-c", "checks", "--prefix", str(folder / "stage"))
    done = subprocess.run(
        [*command, "--system", system, "-n", f"^{check}$", *settings, "-r"],
        cwd=CHECKOUT,
        env={**os.environ, "RAILYARD_NETWORK": network},
        capture_output=True,
        text=True,
        check=False,
    )
    print(f"{system} {check} {network}: status {done.returncode}", file=sys.stderr, flush=True)


def _launches(folder: Path, system: str, check: str) -> list[Launch]:
    origin = Origin.EMULATED if system == EMULATED else Origin.SIMULATED
    if not any(folder.glob("*/*.json")):
        return []
    records = [each for each in archive.load_all(folder) if (each.origin, each.case.check) == (origin, check)]
    return [launch for record in records for launch in record.launches]


def _rows(folder: Path) -> list[dict[str, Any]]:
    rows = []
    for name, (check, fom, one, other) in RATIOS.items():
        found = {
            system: [each for each in _launches(folder, system, check) if each.is_result] for system in WANTED
        }
        emulated, simulated = (_ratio(found[system], fom, one, other) for system in (EMULATED, SIMULATED))
        apart = 100 * abs(emulated / simulated - 1) if emulated and simulated else None
        counts = f"{len(found[EMULATED])} of {len(_launches(folder, EMULATED, check))}"
        rows.append(
            {
                "ratio": name,
                "emulated": emulated,
                "simulated": simulated,
                "apart (%)": apart,
                "packets alone": _packets(check, one, other),
                "launches": counts,
            }
        )
    return rows


def _packets(check: str, one: Series, other: Series) -> float | None:
    """Return the ratio in the router's network alone, of an Alltoall: its messages are all under way at once."""
    if check != "rowcol_cube" or one[1]["collective"] != "alltoall":
        return None
    times = [
        messages.alltoall_s(catalog.load(TORUS), BLOCK, labels["split"], size_bytes=SIZE_BYTES)
        for _, labels in (one, other)
    ]
    return times[0] / times[1]


def _ratio(launches: Sequence[Launch], fom: str, one: Series, other: Series) -> float | None:
    times = [_time(launches, fom, series) for series in (one, other)]
    return None if None in times or not times[1] else (times[0] or 0.0) / times[1]


def _time(launches: Sequence[Launch], fom: str, series: Series) -> float | None:
    placement, wanted = series
    values = [
        value
        for launch in launches
        if launch.placement == placement
        for (name, labels), value in entries.launch_values(launch).items()
        if name == fom and wanted.items() <= dict(labels).items()
    ]
    return median(values) if values else None
