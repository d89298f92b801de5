"""Summarise a record as an entry, which has all that lists and comparisons need.

Models: the setting, which has the fields that many records of an archive share (case, software, machine); the record's
own fields (id, time, status, counts of launches); the value of each series in each launch, which is the median of its
repeats. Leaves out: raw samples, ranks and evidence, which are only in the record, and where entries are stored
(`railyard.records.store.index`).
"""

from __future__ import annotations

import dataclasses
import hashlib
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from railyard.base.errors import InputError
from railyard.records import benchmark, noise, record
from railyard.records.benchmark import Labels, Series
from railyard.records.comparable import BUILD, unnamed
from railyard.records.folded import slow
from railyard.records.folded.slow import SlowLaunch
from railyard.records.json_io import Json, canonical
from railyard.records.record import Launch, Record
from railyard.records.store import archive, levels
from railyard.records.units import Fom

#: Environment variables in which CI services name the commit that they test.
SUBJECT = ("GITHUB_SHA", "CI_COMMIT_SHA")


class SeriesKey(NamedTuple):
    """The combination, FOM and labels that identify a series; a tuple, because it is looked up a million times."""

    placement: str
    nic_policy: str
    software: str
    fom: Fom
    labels: Labels


@dataclass(frozen=True, slots=True)
class Entry:
    """The summary of one record. `results list --json` shows the fields of `setting` and `own` together.

    Entries of one index with equal settings share one object. `values` has, for each series, one value per launch,
    in the FOM's unit.
    """

    path: str
    setting: Mapping[str, Json]
    own: Mapping[str, Json]
    values: Sequence[tuple[SeriesKey, Sequence[float]]]

    @property
    def head(self) -> dict[str, Json]:
        """Return all fields of `own` and `setting`."""
        return {**self.own, **self.setting}


def of_record(read: Record) -> Entry:
    """Return the entry of a record."""
    return Entry(read.source, _setting(read), _own(read), series_values(read))


def of_files(files: Iterable[Path], refused: Callable[[InputError], None] | None = None) -> Iterator[Entry]:
    """Yield the entry of each record file; invalid ones are passed to `refused`, or raise InputError without it."""
    for path in files:
        if not path.exists():
            raise InputError(str(path), "", problem="no such file", valid="a record file or an archive's folder")
        yield from map(of_record, archive.iterate([path], refused))


def head(read: Record) -> dict[str, Json]:
    """Return the fields of a record's entry, without its values."""
    return {**_own(read), **_setting(read)}


def _own(read: Record) -> dict[str, Json]:
    return {
        "id": read.id,
        "sha256": read.sha256,
        "created": read.created,
        "allocation": allocation(read.case.allocation["nodes"]),
        "status": str(read.status),
        "reason": read.reason,
        "level": int(levels.of(read.document)[0]),
        "noise_percent": noise.floor_percent(read),
        "marked": [_marked(one) for one in slow.marked(read)],
        **counts(read.launches),
    }


def _marked(one: SlowLaunch) -> dict[str, Json]:
    """Return a launch that an event explains: its place among the results of its combination, and the sentence."""
    own = one.launch.combination
    alike = [launch.index for launch in one.record.launches if launch.is_result and launch.combination == own]
    return {"combination": list(own), "place": alike.index(one.launch.index), "results": len(alike), "text": one.text()}


def without_marked(entry: Entry) -> Entry:
    """Return an entry without the values of launches that an event explains; a series that a launch lacks keeps all."""
    values = []
    for key, of_launches in entry.values:
        places = {
            one["place"]
            for one in entry.own["marked"]
            if tuple(one["combination"]) == key[:3] and one["results"] == len(of_launches)
        }
        values.append((key, [value for number, value in enumerate(of_launches) if number not in places]))
    return dataclasses.replace(entry, values=[(key, rest) for key, rest in values if rest])


def allocation(nodes: Sequence[Mapping[str, Json]]) -> str:
    """Return 16 hex digits that are equal for records of the same set of nodes; empty for a record without nodes."""
    names = sorted(str(node["name"]) for node in nodes)
    return hashlib.sha256(canonical(names).encode("ascii")).hexdigest()[:16] if names else ""


def _setting(read: Record) -> dict[str, Json]:
    case, torus = read.case, read.provenance["torus"]
    code, mpi, job = read.provenance["railyard"], read.provenance["mpi"], read.provenance.get("job")
    machine, image = read.provenance["machine"], read.provenance.get("image")
    processors = f"{machine['cpu']}, {machine['cpus']} CPUs"  # hosted runners of one label differ in it
    return {
        "origin": str(read.origin),
        "system": read.system.name,
        "partition": read.system.partition,
        "environment": read.system.environment,
        "check": case.check,
        "benchmark": case.benchmark,
        "parameters": {name: part for name, part in case.parameters.items() if name not in BUILD},
        "program": {name: part for name, part in case.parameters.items() if name in BUILD},
        "subject": subject(job),
        "studies": list(case.studies),
        "topology": case.topology.name if case.topology else "",
        "topology_sha256": case.topology.sha256 if case.topology else "",
        "nodes": len(case.allocation["nodes"]),
        "ranks": max((len(launch.ranks) for launch in read.launches), default=0),
        "placements": list(case.placements),
        "nic_policies": list(case.nic_policies),
        "git_commit": code["git_commit"],
        "git_dirty": code["git_dirty"],
        "mpi": mpi["library"] if mpi else "",
        "machine": f"{machine['hostname']}: {processors}, {machine['kernel']}",
        "processors": processors,
        "software": list(map(str, case.software)),
        "image": f"{image['sha256']} {image['mpi_model']}" if image else "",
        "job_environment": _job(job),
        "torus": {} if torus is None else unnamed(torus),
    }


def _job(job: Mapping[str, Json] | None) -> str:
    """Return the variables, modules and libraries of a job as one text; empty if the record has none of them."""
    if not job:
        return ""
    variables = {name: value for name, value in job["variables"].items() if name not in SUBJECT}
    if not (variables or job["modules"] or job["libraries"]):
        return ""
    return canonical({**job, "variables": variables})


def subject(job: Mapping[str, Json] | None) -> str:
    """Return the commit of the user's own repository that a CI service tested; empty if the record has none."""
    variables = job["variables"] if job else {}
    return next((str(variables[name]) for name in SUBJECT if name in variables), "")


def counts(launches: Sequence[Launch]) -> dict[str, int]:
    """Return the number of launches that are ok, void, failed and not measured; `ok` does not include void ones."""
    return {
        "ok": sum(launch.is_result for launch in launches),
        "void": sum(launch.is_void for launch in launches),
        "failed": sum(launch.status is record.Status.FAILED for launch in launches),
        "not_measured": sum(launch.status is record.Status.NOT_MEASURED for launch in launches),
    }


def series_values(read: Record) -> list[tuple[SeriesKey, list[float]]]:
    """Return each series with one value per launch that is a result, in the order of the launches."""
    samples: dict[SeriesKey, list[float]] = {}
    for launch in read.launches:
        if launch.is_result:
            for (fom, labels), value in values_of(launch.series).items():
                samples.setdefault(SeriesKey(*launch.combination, fom, labels), []).append(value)
    return list(samples.items())


def values_of(series: Iterable[Series]) -> dict[tuple[Fom, Labels], float]:
    """Return (FOM, labels) -> value of the series of a launch or of a program in it, as `value_of` computes it."""
    return {key: value_of(taken) for key, taken in samples_of(series).items()}


def value_of(taken: Sequence[Sequence[float]]) -> float:
    """Return the median of a series' samples; of several pairs of hosts or ranks, the median of the pairs' medians."""
    first, *others = taken
    return statistics.median(map(statistics.median, taken)) if others else statistics.median(first)


def samples_of(series: Iterable[Series]) -> dict[tuple[Fom, Labels], list[tuple[float, ...]]]:
    """Return (FOM, labels without hosts and ranks) -> a list with the samples of each pair of hosts or ranks."""
    taken: dict[tuple[Fom, Labels], list[tuple[float, ...]]] = {}
    for item in series:
        taken.setdefault((item.fom, benchmark.point(item.labels)), []).append(item.samples)
    return taken
