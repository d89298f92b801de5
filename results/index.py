"""An index of an archive: what lists and comparisons need of each record, kept so that a record is parsed once.

Models: one line of JSON for each record file, keyed by its path, size and time of change; a file that is new or
changed is read and validated again, as by `results.record.load`. The index is a cache in the user's cache folder,
never in the archive: an archive from a stranger cannot bring its own. Losing it costs time, nothing else. Leaves out:
raw samples, ranks, evidence (the records have them).
"""

from __future__ import annotations

import hashlib
import itertools
import os
import re
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import orjson

import railyard
from railyard.errors import InputError
from results import archive, record
from results.record import Launch, Record
from results.strictjson import Json

#: Changes whenever a line's meaning does; an index of another version is made anew.
VERSION = f"railyard-index/2 {railyard.__version__}"
#: Labels that say between which hosts a series was taken.
HOST_LABELS = frozenset({"from", "to"})
_SYSTEM = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_BATCH = 64
_FEW = 200

Labels = tuple[tuple[str, str | int], ...]


@dataclass(frozen=True, slots=True)
class Values:
    """The launches' values (medians of their repeats) of one series under one placement, NIC policy and software."""

    placement: str
    nic_policy: str
    software: str
    fom: str
    labels: Labels
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """One record: `head` holds its scalar fields (docs/formats.md, "Index"), `values` its results."""

    path: str
    head: Mapping[str, Json]
    values: Sequence[Values]


@dataclass(frozen=True, slots=True)
class _Stamp:
    size: int
    time_ns: int


Progress = Callable[[Iterable[Path], int], Iterable[Path]]


def entries(root: Path, *, values: bool = True, progress: Progress | None = None) -> Iterator[Entry]:
    """The entries of an archive by path, the index brought up to date first.

    `values` False leaves the series out. `progress` wraps the files that must be read anew. Raises InputError at the
    first file that is no valid record.
    """
    stamps = dict(_stamps(root))
    known = dict(_lines(root))
    kept = {path: line for path, line in known.items() if path in stamps and _stamp_of(line) == stamps[path]}
    missing = [path for path in stamps if path not in kept]
    if missing:
        files = [root / path for path in missing]
        shown = progress(files, len(files)) if progress else files
        kept |= {path: _line(path, stamps[path], made) for path, made in _read(shown, root, len(files))}
    if missing or len(kept) != len(known):
        _write(root, kept)
    for path in sorted(kept):
        yield _entry(kept[path], values)


def _stamps(root: Path) -> Iterator[tuple[str, _Stamp]]:
    """Path below the root -> size and time of every record file."""
    with os.scandir(root) as folders:
        names = sorted(each.name for each in folders if each.is_dir() and _SYSTEM.fullmatch(each.name))
    for name in names:
        with os.scandir(root / name) as files:
            for file in files:
                if archive.is_record_name(file.name) and file.is_file():
                    status = file.stat()
                    yield f"{name}/{file.name}", _Stamp(status.st_size, status.st_mtime_ns)


def file_of(root: Path) -> Path:
    """Where the index of an archive is kept."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    key = hashlib.sha256(os.fsencode(root.resolve())).hexdigest()[:16]
    return cache / "railyard" / f"index-{key}.jsonl"


def _lines(root: Path) -> Iterator[tuple[str, bytes]]:
    """The index's lines by path; none when there is no index, or one of another version."""
    try:
        with file_of(root).open("rb") as file:
            if file.readline().strip() != VERSION.encode():
                return
            for line in file:
                if line.endswith(b"]\n"):
                    yield line[2 : line.index(b'"', 2)].decode(), line
    except OSError:
        return


def _stamp_of(line: bytes) -> _Stamp:
    """A line starts with `["path",size,time,`: paths of records need no escapes."""
    _, size, time_ns, _ = line.split(b",", 3)
    return _Stamp(int(size), int(time_ns))


def _line(path: str, stamp: _Stamp, made: bytes) -> bytes:
    return b"".join((b'["', path.encode(), b'",%d,%d,' % (stamp.size, stamp.time_ns), made, b"]\n"))


def _write(root: Path, lines: Mapping[str, bytes]) -> None:
    """Replaces the index, or leaves it where the cache cannot be written."""
    path = file_of(root)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        archive.write_bytes(path, itertools.chain([f"{VERSION}\n".encode()], lines.values()), replace=True)
    except OSError:
        return


def _read(files: Iterable[Path], root: Path, count: int) -> Iterator[tuple[str, bytes]]:
    """Reads records, on every processor when there are many."""
    named = ((path.relative_to(root).as_posix(), path) for path in files)
    if count < _FEW:
        yield from ((name, summary(path)) for name, path in named)
        return
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for batch in iter(lambda: list(itertools.islice(named, _BATCH * (os.cpu_count() or 1) * 4)), []):
            names, paths = zip(*batch, strict=True)
            yield from zip(names, pool.map(summary, paths, chunksize=_BATCH), strict=True)


def summary(path: Path) -> bytes:
    """A record file as the rest of an index line: head and values. Raises InputError."""
    (read,) = archive.iterate([path])
    return orjson.dumps(head(read))[:-1] + b',"values":' + orjson.dumps(list(_values(read))) + b"}"


def head(read: Record) -> dict[str, Json]:
    """The scalar fields of a record that lists and comparisons need."""
    case, torus = read.case, read.provenance["torus"]
    code, mpi = read.provenance["railyard"], read.provenance["mpi"]
    ranks = max((len(each.ranks) for each in read.launches), default=0)
    return {
        "id": read.id,
        "created": read.created,
        "origin": str(read.origin),
        "system": read.system.name,
        "partition": read.system.partition,
        "environment": read.system.environment,
        "check": case.check,
        "benchmark": case.benchmark,
        "parameters": record_parameters(read),
        "studies": list(case.studies),
        "topology": case.topology.name if case.topology else "",
        "topology_sha256": case.topology.sha256 if case.topology else "",
        "nodes": len(case.allocation["nodes"]),
        "ranks": ranks,
        "placements": list(case.placements),
        "nic_policies": list(case.nic_policies),
        "status": str(read.status),
        "reason": read.reason,
        **counts(read.launches),
        "git_commit": code["git_commit"],
        "git_dirty": code["git_dirty"],
        "mpi": mpi["library"] if mpi else "",
        "machine": _machine(read.provenance["machine"]),
        "software": list(map(str, case.software)),
        "image": _image(read.provenance.get("image")),
        "torus": {} if torus is None else {k: v for k, v in torus.items() if k != "name"},
    }


def record_parameters(read: Record) -> dict[str, Json]:
    """The parameters of a record's case."""
    return dict(read.case.parameters)


def _machine(machine: Mapping[str, Json]) -> str:
    return f"{machine['hostname']}: {machine['cpu']}, {machine['cpus']} CPUs, {machine['kernel']}"


def _image(image: Mapping[str, Json] | None) -> str:
    """An image by its content and by whose MPI is in it; empty for none."""
    return f"{image['sha256']} {image['mpi_model']}" if image else ""


def counts(launches: Sequence[Launch]) -> dict[str, int]:
    """How launches ended; void ones are no results and counted apart."""
    return {
        "ok": sum(each.is_result for each in launches),
        "void": sum(each.is_void for each in launches),
        "failed": sum(each.status is record.Status.FAILED for each in launches),
        "not_measured": sum(each.status is record.Status.NOT_MEASURED for each in launches),
    }


def _values(read: Record) -> Iterator[list[Json]]:
    """[placement, NIC policy, software, FOM, labels, values]: each launch's value is the median of its repeats."""
    found: dict[tuple[str, str, str, str, Labels], list[float]] = {}
    for launch in read.launches:
        if launch.is_result:
            for (fom, labels), value in launch_values(launch).items():
                key = (launch.placement, launch.nic_policy, str(launch.software), fom, labels)
                found.setdefault(key, []).append(value)
    for (placement, nic_policy, software, fom, labels), values in found.items():
        yield [placement, nic_policy, software, fom, [list(each) for each in labels], values]


def launch_values(launch: Launch) -> dict[tuple[str, Labels], float]:
    """A launch's value of each series; several pairs of hosts give one value, the median over the pairs."""
    medians: dict[tuple[str, Labels], list[float]] = {}
    for series in launch.series:
        labels = tuple(sorted((k, v) for k, v in series.labels.items() if k not in HOST_LABELS))
        medians.setdefault((series.fom, labels), []).append(statistics.median(series.samples))
    return {key: statistics.median(values) for key, values in medians.items()}


def _entry(line: bytes, values: bool) -> Entry:
    path, _, _, found = orjson.loads(line)
    series = found.pop("values")
    return Entry(path, found, [_series(*each) for each in series] if values else ())


def _series(
    placement: str, nic_policy: str, software: str, fom: str, labels: Sequence[Json], values: Sequence[float]
) -> Values:
    named = tuple((name, value) for name, value in labels)
    return Values(placement, nic_policy, software, fom, named, tuple(values))


def of_record(read: Record) -> Entry:
    """The entry of a record that is in no archive."""
    series = [_series(*each) for each in _values(read)]
    return Entry(read.source, head(read), series)


def of_files(files: Iterable[Path]) -> Iterator[Entry]:
    """Entries of single record files; raises InputError."""
    for path in files:
        if not path.exists():
            raise InputError(str(path), "", "no such file", "a record file or an archive's folder")
        yield from map(of_record, archive.iterate([path]))
