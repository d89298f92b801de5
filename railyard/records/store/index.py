"""Cache the entries of an archive (`railyard.records.store.entries`) in an index, so that each record is parsed once.

Models: a file with one line per record file, which is identified by path, size and modification time. A record file
that is new or changed is read and validated again, as by `railyard.records.record.load`. Settings and keys of series,
of which an archive has few, are stored once and referred to by number. The index is in the user's cache folder and not
in the archive, so that an archive from someone else cannot contain a forged one. It can be deleted at any time. Leaves
out: removing the settings of records that no longer exist.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson

import railyard
from railyard.base import checkout
from railyard.base.errors import InputError
from railyard.base.parent import workers
from railyard.records import units
from railyard.records.json_io import Json
from railyard.records.store import archive, entries
from railyard.records.store.entries import Entry, SeriesKey

#: To be changed whenever the format of a line changes; an index of another version is discarded and rebuilt.
VERSION = f"railyard-index/12 {railyard.__version__}".encode()
_SYSTEM = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_END = b"\n==\n"
_BATCH = 64
_FEW = 200

Progress = Callable[[Iterable[Path], int], Iterable[Path]]
#: An entry as JSON: setting, own fields, and (key, values) of each series.
_Summary = tuple[bytes, bytes, Sequence[tuple[bytes, bytes]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Index:
    """The index in memory: distinct settings and keys as JSON, and one line per record, sorted by path."""

    settings: Sequence[bytes] = ()
    keys: Sequence[bytes] = ()
    lines: Sequence[bytes] = ()

    def entries(self, *, values: bool = True) -> Iterator[Entry]:
        """Yield the entries, sorted by path; with `values` False they have no series, which is faster."""
        settings: list[Mapping[str, Json]] = [orjson.loads(setting) for setting in self.settings]
        keys = [_key(orjson.loads(key)) for key in self.keys]
        for line in self.lines:
            stamp, setting, own, series = line.split(b"\t")
            taken = [(keys[number], values_of_key) for number, values_of_key in orjson.loads(series)] if values else ()
            yield Entry(_path(stamp), settings[int(setting)], orjson.loads(own), taken)


def _key(row: Sequence[Json]) -> SeriesKey:
    placement, nic_policy, software, (name, unit, better), labels = row
    fom = units.restored(name, unit, better)
    return SeriesKey(placement, nic_policy, software, fom, tuple((label, value) for label, value in labels))


def _row(key: SeriesKey) -> tuple[Json, ...]:
    declared = (str(key.fom), key.fom.unit.name, key.fom.better)
    return key.placement, key.nic_policy, key.software, declared, key.labels


def _path(stamp: bytes) -> str:
    return stamp[: stamp.index(b" ")].decode()


def read(root: Path, *, progress: Progress | None = None, refused: Callable[[InputError], None] | None = None) -> Index:
    """Return the up-to-date index of the archive at `root`, and store it in the cache folder if it changed.

    `progress` wraps the files that must be read. A file that is not a valid record is passed to `refused` and skipped;
    without `refused`, InputError is raised.
    """
    stamps, old = set(_stamps(root)), _load(root)
    unchanged = [line for line in old.lines if line[: line.index(b"\t")] in stamps]
    missing = sorted(stamps.difference(line[: line.index(b"\t")] for line in unchanged))
    if not missing and len(unchanged) == len(old.lines):
        return old
    settings, keys = ({text: number for number, text in enumerate(part)} for part in (old.settings, old.keys))
    files = [root / _path(stamp) for stamp in missing]
    shown = progress(files, len(files)) if progress and files else files
    lines = []
    for stamp, summary in zip(missing, _summaries(shown, len(files)), strict=True):
        if isinstance(summary, InputError):
            if refused is None:
                raise summary
            refused(summary)
        else:
            lines.append(_line(stamp, summary, settings, keys))
    new = Index(settings=list(settings), keys=list(keys), lines=sorted(unchanged + lines))
    stored = (VERSION, *(b"\n".join(part) for part in (new.settings, new.keys, new.lines)), b"")
    with contextlib.suppress(OSError):  # the cache folder cannot be written
        file_of(root).parent.mkdir(parents=True, exist_ok=True)
        archive.write_bytes(file_of(root), [_END.join(stored)])
    return new


def _stamps(root: Path) -> Iterator[bytes]:
    """Yield `PATH SIZE MTIME_NS` for every record file; a path has no blanks."""
    with os.scandir(root) as folders:
        names = [folder.name for folder in folders if _SYSTEM.fullmatch(folder.name) and folder.is_dir()]
    for name in names:
        with os.scandir(root / name) as files:
            for file in files:
                if archive.is_record_name(file.name) and file.is_file():
                    status = file.stat()
                    yield f"{name}/{file.name} {status.st_size} {status.st_mtime_ns}".encode()


def _line(stamp: bytes, summary: _Summary, settings: dict[bytes, int], keys: dict[bytes, int]) -> bytes:
    """Return the line of a record; a setting or key that is not yet numbered gets the next number."""
    setting, own, series = summary
    number = settings.setdefault(setting, len(settings))
    values = b",".join(b"[%d,%s]" % (keys.setdefault(key, len(keys)), value) for key, value in series)
    return b"%s\t%d\t%s\t[%s]" % (stamp, number, own, values)


def _summaries(files: Iterable[Path], count: int) -> Iterator[_Summary | InputError]:
    """Yield the summary or the error of each file in order; 200 files or more are read on all processors."""
    if count < _FEW:
        yield from map(_summary, files)
        return
    rest = iter(files)
    with workers(os.cpu_count() or 1) as pool:
        while batch := list(itertools.islice(rest, _BATCH * (os.cpu_count() or 1) * 4)):
            yield from pool.map(_summary, batch, chunksize=_BATCH)


def _summary(path: Path) -> _Summary | InputError:
    try:
        (read,) = archive.iterate([path])
    except InputError as error:
        return error
    entry = entries.of_record(read)
    series = [(orjson.dumps(_row(key)), orjson.dumps(values)) for key, values in entry.values]
    return orjson.dumps(entry.setting, option=orjson.OPT_SORT_KEYS), orjson.dumps(entry.own), series


def file_of(root: Path) -> Path:
    """Return the file of an archive's index in the user's cache folder."""
    key = hashlib.sha256(os.fsencode(root.resolve())).hexdigest()[:16]
    return checkout.cache() / "railyard" / f"index-{key}.txt"


def _load(root: Path) -> Index:
    """Return the stored index; an empty one if there is none, or if it is truncated or of another version."""
    try:
        version, *parts = file_of(root).read_bytes().split(_END)
    except OSError:
        return Index()
    if version != VERSION or len(parts) != 4 or parts[-1]:
        return Index()
    settings, keys, lines = (part.split(b"\n") if part else [] for part in parts[:3])
    return Index(settings=settings, keys=keys, lines=lines)
