"""Declare the figures of merit that synthetic outputs and records of the tests have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from railyard.records import benchmark, own_figures, units
from railyard.records.units import Fom

#: Names of figures that are no benchmark's of railyard, by unit and direction.
_NAMES = {
    ("%", "neither"): "a_percent",
    ("s", "lower"): "a_s allreduce_s iteration_s run_s loop_s init_s min_init_s max_init_s",
    ("us", "lower"): "a_us b_us run_us time_us",
    ("GB/s", "higher"): "b_gbyte_s average_bus_bandwidth_gbyte_s",
    ("MB/s", "higher"): "stream_mbyte_s",
    ("Gflop/s", "higher"): "rate_gflop_s rating_gflop_s raw_gflop_s",
    ("Tflop/s", "higher"): "hpl_tflop_s",
    ("Mflop/s", "higher"): "iteration_mflop_s",
    ("1/s", "higher"): "simulated_per_s updates_per_s",
}
_OTHERS: dict[str, Fom] = {
    name: units.fom(name, unit, better) for (unit, better), names in _NAMES.items() for name in names.split()
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
