"""`railyard moved`: whether a fault followed a module that was moved (Ezell, CUG'13, section III.F).

Models: two outputs of topobw (`--json`), before and after two modules changed places. A router is bad when the links at
it, in both directions, miss more than a limit in the median. Leaves out: modules that were replaced, and faults of a
single link, which have no place that moves.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from railyard.base.commands import example
from railyard.base.errors import InputError
from railyard.records import benchmark
from railyard.records.benchmark import Benchmark

LINK = re.compile(r"[XYZ][+-] (\d+,\d+,\d+)>(\d+,\d+,\d+)")
SWAP = re.compile(r"(\d+,\d+,\d+)=(\d+,\d+,\d+)")
FILE = click.Path(path_type=Path, exists=True, dir_okay=False)


@click.command(epilog=example("railyard moved before.out after.out --swap 0,1,0=2,1,0"))
@click.argument("before", type=FILE)
@click.argument("after", type=FILE)
@click.option(
    "--swap", required=True, multiple=True, help="Routers whose modules changed places: X,Y,Z=X,Y,Z."
)
@click.option(
    "--limit",
    type=click.FloatRange(0, 100),
    default=3.0,
    show_default=True,
    help="Percent that the links at a bad router miss, in the median.",
)
def moved(before: Path, after: Path, swap: Sequence[str], limit: float) -> None:
    """Compare two outputs of topobw, BEFORE and AFTER modules changed places, and print where each fault went."""
    first, second = missing(benchmark.load(before), str(before)), missing(benchmark.load(after), str(after))
    for text in swap:
        match = SWAP.fullmatch(text)
        if match is None:
            raise InputError("--swap", "", text, "X,Y,Z=X,Y,Z")
        for here, there in ((match[1], match[2]), (match[2], match[1])):
            for router, name, routers in ((here, before, first), (there, after, second)):
                if router not in routers:
                    raise InputError("--swap", "", router, f"a router with links in {name}")
            click.echo(verdict(here, there, first, second, limit=limit))


def missing(output: Benchmark, source: str) -> dict[str, float]:
    """Return the median of what the links at each router miss, in percent; InputError for another benchmark."""
    if output.benchmark != "topobw":
        raise InputError(source, "benchmark", output.benchmark, "topobw")
    by_router: dict[str, list[float]] = {}
    for series in output.series:
        match = LINK.fullmatch(str(series.labels.get("link", "")))
        if series.fom == "missing_percent" and match and series.samples:
            for router in match.groups():
                by_router.setdefault(router, []).append(max(series.samples))
    return {router: statistics.median(values) for router, values in by_router.items()}


def verdict(
    here: str, there: str, before: Mapping[str, float], after: Mapping[str, float], *, limit: float
) -> str:
    """Return what became of the module that was at `here` and is now at `there`, in one line."""
    if before[here] <= limit:
        return f"({here}): sound before, its links missed {before[here]:.1f} %"
    then = f"({here}): its links missed {before[here]:.1f} %"
    if after[there] > limit >= after[here]:
        return f"{then}; the fault followed the module to ({there}), whose links miss {after[there]:.1f} %"
    if after[here] > limit:
        return f"{then}; the fault stayed, the links miss {after[here]:.1f} % with another module"
    return f"{then}; the fault is gone from both places"
