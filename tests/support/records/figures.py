"""Declare the figures of merit that synthetic outputs and records of the tests have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from railyard.records import benchmark, own_figures, units
from railyard.records.units import Fom
from railyard.reference import variables

_OTHERS: dict[str, Fom] = {str(one): one for points in variables.EXAMPLES.values() for one, _ in points}
_OTHERS |= {
    str(one): one
    for one in (
        units.fom("a_percent", "%", "neither"),
        units.fom("a_s", "s", "lower"),
        units.fom("a_us", "us", "lower"),
        units.fom("allreduce_s", "s", "lower"),
        units.fom("b_gbyte_s", "GB/s", "higher"),
        units.fom("b_us", "us", "lower"),
        units.fom("hpl_tflop_s", "Tflop/s", "higher"),
        units.fom("iteration_mflop_s", "Mflop/s", "higher"),
        units.fom("iteration_s", "s", "lower"),
        units.fom("rate_gflop_s", "Gflop/s", "higher"),
        units.fom("run_s", "s", "lower"),
        units.fom("run_us", "us", "lower"),
        units.fom("stream_mbyte_s", "MB/s", "higher"),
        units.fom("simulated_per_s", "1/s", "higher"),
        units.fom("updates_per_s", "1/s", "higher"),
    )
}


def fom(name: str) -> Fom:
    """Return the figure of a name: one of railyard's own, or one of the tests'."""
    figure = _OTHERS.get(name) or own_figures.find(name)
    assert figure is not None, name
    return figure


def of_series(*lists: Iterable[Any]) -> dict[str, Any]:
    """Return the member `figures` of a document with these series; names that nobody declares are left out."""
    names = {
        item["fom"]
        for series in lists
        for item in series
        if isinstance(item, Mapping) and isinstance(item.get("fom"), str)
    }
    return benchmark.figures_json(fom(name) for name in names if name in _OTHERS or own_figures.find(name))


def of_record(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the member `figures` of a record's document."""
    launches = document["launches"]
    roles = [role for launch in launches for role in launch.get("roles") or ()]
    return of_series(
        *(part["series"] for part in [*launches, *roles]), *(launch["not_measured"] for launch in launches)
    )
