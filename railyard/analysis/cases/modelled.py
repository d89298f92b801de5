"""Show what a virtual torus emulates in the units of the machine that it models: 7.30 GB/s, emulated at 1/33,000.

Models: a recorded rate over the torus' rate scale, and a recorded time multiplied by it, of the benchmarks whose time
is that of links. Latencies are converted where the torus scales latency. Ratios, ranks and verdicts are the same in
either unit. Leaves out: programs that compute, and files for programs, which have the recorded numbers.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

from msgspec import structs

from railyard.records.benchmark import Series
from railyard.records.json_io import Json
from railyard.records.record import Origin, Record
from railyard.records.units import Fom

LINK_BOUND = frozenset({"halo", "hops", "paths", "rowcol", "topobw", "contention", "pt2pt", "congestor", "sonar"})
_RATES = frozenset({"data rate", "message rate"})
#: Significant digits of a scale in words.
_DIGITS = 2


def records(recorded: Iterable[Record]) -> list[Record]:
    """Return the records with the rates and times of the modelled machine; others unchanged."""
    return [_record(record) for record in recorded]


def is_converted(origin: str, benchmark: str) -> bool:
    """Return whether rates and times of a benchmark, of numbers of an origin, are converted."""
    return origin == Origin.EMULATED and benchmark in LINK_BOUND


def _scale(torus: Mapping[str, Json] | None, origin: str, benchmark: str) -> float:
    """Return the rate scale by which rates and times are converted; 1 for all that are as recorded."""
    return float(torus["rate_scale"]) if torus and is_converted(origin, benchmark) else 1.0


def unconverted_scale(setting: Mapping[str, Json]) -> float:
    """Return the rate scale with which alone an entry's figures compare; 1 where they are converted, or have none."""
    torus = setting["torus"]
    return float(torus["rate_scale"]) if torus and not is_converted(setting["origin"], setting["benchmark"]) else 1.0


def multiplier(setting: Mapping[str, Json], fom: Fom) -> float:
    """Return the factor from the recorded to the shown values of a figure, for the records of an entry's setting."""
    torus = setting["torus"]
    scale = _scale(torus, setting["origin"], setting["benchmark"])
    return _multiplier(fom, scale, has_latency=scale != 1.0 and bool(torus["latency_scaled"]))


def scale_text(record: Record) -> str:
    """Return `at 1/33,000`; empty for a record whose numbers are as recorded."""
    factor = _scale(record.provenance["torus"], record.origin, record.case.benchmark)
    return "" if factor == 1.0 else f"at 1/{float(f'{1 / factor:.{_DIGITS}g}'):,.0f}"


def _record(record: Record) -> Record:
    torus = record.provenance["torus"]
    factor = _scale(torus, record.origin, record.case.benchmark)
    if factor == 1.0:
        return record

    def converted(recorded: Sequence[Series]) -> tuple[Series, ...]:
        factors = [_multiplier(series.fom, factor, has_latency=torus["latency_scaled"]) for series in recorded]
        return tuple(
            series if by == 1.0 else structs.replace(series, samples=tuple(by * sample for sample in series.samples))
            for series, by in zip(recorded, factors, strict=True)
        )

    launches = tuple(
        structs.replace(
            launch,
            series=converted(launch.series),
            roles=launch.roles and tuple(structs.replace(role, series=converted(role.series)) for role in launch.roles),
        )
        for launch in record.launches
    )
    return dataclasses.replace(record, launches=launches)


def _multiplier(fom: Fom, factor: float, *, has_latency: bool) -> float:
    if fom.unit.measures in _RATES:
        return 1 / factor
    return factor if fom.unit.measures == "time" and (has_latency or "latency" not in fom) else 1.0
