"""What a benchmark program leaves behind: one JSON document a launch (docs/formats.md).

Models: the document, validated against `schema/benchmark-v1.json` and the rules a schema cannot say (ranks
numbered without a gap, samples inside their unit's range, no series twice). Leaves out: whether the placement
was obeyed and what the samples mean; `results.assemble` and `analysis` decide.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import orjson

from railyard.errors import InputError
from railyard.records import json_io, units
from railyard.records.json_io import Json

SCHEMA = "benchmark-v1.json"
#: Ranks that are parsed once are kept, in bytes of their JSON.
_MOST_KEPT = 1 << 16
Label = str | int
Labels = tuple[tuple[str, Label], ...]
#: Labels that say between which hosts or ranks a series was taken: evidence, and no part of what is compared.
HOST_LABELS = frozenset({"from", "to", "from_rank", "to_rank"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Rank:
    """Where one rank stood, as seen from inside; None where the program could not tell."""

    rank: int
    host: str
    cpu: int | None
    allowed_cpus: tuple[int, ...] | None
    numa_node: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """Raw samples of one FOM at one point of its labels, in the order taken, in the FOM's unit."""

    fom: str
    labels: Mapping[str, Label]
    samples: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unmeasured:
    """A point that a launch could not take, and why."""

    fom: str
    labels: Mapping[str, Label]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """One launch's output. A record takes over the three `_json` parts as they are."""

    benchmark: str
    version: str
    parameters: Mapping[str, Json]
    mpi_library: str
    mpi_standard: str
    verified: bool | None
    ranks: tuple[Rank, ...]
    series: tuple[Series, ...]
    ranks_json: Sequence[Json]
    series_json: Sequence[Json]
    not_measured_json: Sequence[Json]
    reported: Mapping[str, Json] = field(default_factory=dict)


def load(path: Path) -> Benchmark:
    """The output in a file; raises InputError naming file, field, value and what is valid there."""
    return parse(json_io.read(path), str(path))


def parse(document: Json, source: str) -> Benchmark:
    """The output in a JSON document; raises InputError."""
    json_io.validate(document, SCHEMA, source)
    ranks, series = parse_ranks(document["ranks"]), parse_series(document["series"])
    check_ranks(ranks, source, "ranks", document["mpi"]["ranks"])
    check_series(series, source, "series")
    if document["verified"] and not series:
        raise InputError(source, "series", problem="empty", valid="at least one series in a verified output")
    return Benchmark(
        benchmark=document["benchmark"],
        version=document["version"],
        parameters=document["parameters"],
        mpi_library=" ".join(document["mpi"]["library"].split()),
        mpi_standard=document["mpi"]["standard"],
        verified=document["verified"],
        ranks=ranks,
        series=series,
        ranks_json=document["ranks"],
        series_json=document["series"],
        not_measured_json=document.get("not_measured", []),
        reported=document.get("reported", {}),
    )


def parse_ranks(items: Sequence[Json]) -> tuple[Rank, ...]:
    """Ranks of a document that the schema accepted; launches of one placement mostly have the same."""
    written = orjson.dumps(items)
    return _known_ranks(written) if len(written) <= _MOST_KEPT else _ranks(items)


@functools.lru_cache(maxsize=64)
def _known_ranks(written: bytes) -> tuple[Rank, ...]:
    return _ranks(orjson.loads(written))


def _ranks(items: Sequence[Json]) -> tuple[Rank, ...]:
    return tuple(
        Rank(
            rank=item["rank"],
            host=item["host"],
            cpu=item.get("cpu"),
            allowed_cpus=None if item.get("allowed_cpus") is None else tuple(item["allowed_cpus"]),
            numa_node=item.get("numa_node"),
        )
        for item in items
    )


def parse_series(items: Sequence[Json]) -> tuple[Series, ...]:
    """Series of a document that the schema accepted."""
    return tuple(
        Series(fom=item["fom"], labels=item["labels"], samples=tuple(map(float, item["samples"])))
        for item in items
    )


def check_ranks(ranks: Sequence[Rank], source: str, field: str, wanted: int | None = None) -> None:
    """Raises InputError unless the ranks are 0, 1, 2, ... in order, and `wanted` many where that is known."""
    for place, rank in enumerate(ranks):
        if rank.rank != place:
            raise InputError(
                source, f"{field}[{place}].rank", rank.rank, f"{place} (ranks in order, none left out)"
            )
    if wanted is not None and len(ranks) != wanted:
        raise InputError(source, field, problem=f"{len(ranks)} ranks", valid=f"{wanted}, as mpi.ranks says")


def check_series(series: Sequence[Series], source: str, field: str) -> None:
    """Raises InputError for a sample outside its unit's range and for a series given twice."""
    seen: set[tuple[str, frozenset[tuple[str, Label]]]] = set()
    for place, item in enumerate(series):
        units.check_samples(item.fom, item.samples, source, f"{field}[{place}]")
        key = (item.fom, frozenset(item.labels.items()))
        if key in seen:
            raise InputError(source, f"{field}[{place}]", item.fom, "each FOM once for the same labels")
        seen.add(key)


def point(labels: Mapping[str, Label]) -> Labels:
    """Return what a series was taken at, as a key: its labels by name, without those that name hosts or ranks."""
    if not labels:
        return ()
    return tuple(sorted((name, value) for name, value in labels.items() if name not in HOST_LABELS))
