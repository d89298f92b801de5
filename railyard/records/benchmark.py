"""Read the output of a benchmark program: one JSON document per launch (docs/formats.md).

Models: the document, validated against `schema/benchmark-v1.json` and the rules that a schema cannot express (ranks
numbered without a gap, samples inside their unit's range, no series twice). Leaves out: whether the placement
was obeyed and what the samples mean; `railyard.records.assemble` and `analysis` decide.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from railyard.base.errors import InputError
from railyard.records import json_io, units
from railyard.records.folded import ranks
from railyard.records.folded.ranks import Ranks
from railyard.records.json_io import Json
from railyard.records.units import Fom

SCHEMA = "benchmark-v1.json"
Label = str | int
Labels = tuple[tuple[str, Label], ...]
#: Labels that name the hosts or ranks between which a series was measured: evidence, ignored in comparisons.
HOST_LABELS = frozenset({"from", "to", "from_rank", "to_rank"})
#: What a benchmark reports besides its figures: when each sample began, in seconds since 1970.
SAMPLE_BEGUN = "sample_begun_s"


class Series(msgspec.Struct, frozen=True, kw_only=True):
    """Raw samples of one figure of merit (FOM) for one set of labels, in the order measured, in the FOM's unit."""

    fom: Fom
    labels: Mapping[str, Label]
    samples: tuple[float, ...]


class Unmeasured(msgspec.Struct, frozen=True, kw_only=True):
    """A series that a launch could not measure, identified by its FOM and labels, and the reason."""

    fom: Fom
    labels: Mapping[str, Label]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """One launch's output. The two `_json` parts are copied into the record unchanged."""

    benchmark: str
    parameters: Mapping[str, Json]
    mpi_library: str
    mpi_standard: str
    verified: bool | None
    ranks: Ranks
    series: tuple[Series, ...]
    figures: Mapping[str, Fom]
    series_json: Sequence[Json]
    not_measured_json: Sequence[Json]
    reported: Mapping[str, Json] = field(default_factory=dict)


def load(path: Path, own_names: Mapping[str, str] | None = None) -> Benchmark:
    """Return the output in a file, with the scheduler's names for the hosts of the ranks.

    `own_names` maps a host's own name to the scheduler's, where they differ. Raises InputError, which names file,
    field, value and what is valid there.
    """
    output = parse(json_io.read(path), str(path))
    if own_names:
        hosts = tuple(own_names.get(host, host) for host in output.ranks.hosts)
        return dataclasses.replace(output, ranks=dataclasses.replace(output.ranks, hosts=hosts))
    return output


def parse(document: Json, source: str) -> Benchmark:
    """Return the output in a JSON document; raises InputError as `load` does."""
    json_io.validate(document, SCHEMA, source)
    figures = _figures_of_output(document, source)
    where = ranks.of_nodes(document["ranks"], source, "ranks")
    series = msgspec.convert(document["series"], tuple[Series, ...], dec_hook=figure_of(figures))
    if len(where) != (wanted := document["mpi"]["ranks"]):
        raise InputError(source, "ranks", problem=f"{len(where)} ranks", valid=f"{wanted}, as mpi.ranks says")
    check_series(series, source, "series")
    if document["verified"] and not series:
        raise InputError(source, "series", problem="empty", valid="at least one series in a verified output")
    return Benchmark(
        benchmark=document["benchmark"],
        parameters=document["parameters"],
        mpi_library=" ".join(document["mpi"]["library"].split()),
        mpi_standard=document["mpi"]["standard"],
        verified=document["verified"],
        ranks=where,
        series=series,
        figures=figures,
        series_json=document["series"],
        not_measured_json=document.get("not_measured", []),
        reported=document.get("reported", {}),
    )


def declared(document: Mapping[str, Json], source: str) -> dict[str, Fom]:
    """Return name -> figure of merit, from the member `figures` of a document."""
    return {
        name: units.fom(name, figure["unit"], figure["better"], source=source, field="figures")
        for name, figure in document["figures"].items()
    }


def figures_json(figures: Iterable[Fom]) -> dict[str, Json]:
    """Return the member `figures` of a document; raises InputError for a name with two declarations."""
    document: dict[str, Json] = {}
    for fom in sorted(set(figures)):
        if document.setdefault(str(fom), fom.document()) != fom.document():
            raise InputError("figures", fom, fom.document(), f"{document[fom]}, as the other launches declare")
    return document


def series_json(series: Series) -> dict[str, Json]:
    """Return a series as it is in documents."""
    return {"fom": str(series.fom), "labels": dict(series.labels), "samples": list(series.samples)}


def _figures_of_output(document: Mapping[str, Json], source: str) -> dict[str, Fom]:
    """Return the figures of an output's series; raises InputError for one that is not declared."""
    figures: dict[str, Fom] = {}
    declarations = declared(document, source)
    for member in ("series", "not_measured"):
        for index, item in enumerate(document.get(member, ())):
            name = item["fom"]
            if name not in declarations:
                valid = 'a figure that `figures` declares: {"NAME": {"unit": "us", "better": "lower"}}'
                raise InputError(source, f"{member}[{index}].fom", name, valid)
            figures[name] = declarations[name]
    return figures


def figure_of(figures: Mapping[str, Fom]) -> Callable[[type, str], Fom]:
    """Return what makes a figure of its name when a document is decoded."""
    return lambda _, name: figures[name]


def check_series(series: Sequence[Series], source: str, field: str) -> None:
    """Raise InputError for a sample outside its unit's range and for two series with the same FOM and labels."""
    seen: set[tuple[str, frozenset[tuple[str, Label]]]] = set()
    for index, item in enumerate(series):
        units.check_samples(item.fom, item.samples, source, f"{field}[{index}]")
        key = (item.fom, frozenset(item.labels.items()))
        if key in seen:
            raise InputError(source, f"{field}[{index}]", item.fom, "each FOM once for the same labels")
        seen.add(key)


def point(labels: Mapping[str, Label]) -> Labels:
    """Return the labels of a series as a sorted tuple for comparisons, without those that name hosts or ranks."""
    if not labels:
        return ()
    return tuple(sorted((name, value) for name, value in labels.items() if name not in HOST_LABELS))
