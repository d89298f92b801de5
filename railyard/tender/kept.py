"""Cache the judgements of records without a fault, so that an evaluation judges each of them once.

Models: a file in the user's cache folder, with a line per record. Its key is a digest of the record file's sha256, of
its position in the bid, and of the checker: sources, schemas, topologies, studies, checks, Python. A change of a byte
in any of them makes the record be judged again. Records with a fault are not cached. The record's file is read every
time. A cache that other users may write is ignored. Deleting it costs only time. Leaves out: an attacker with this
user's rights, who can change the checker, too.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import itertools
import os
import stat
import sys
from collections.abc import Mapping
from pathlib import Path

import orjson

from railyard.base import checkout
from railyard.records import units
from railyard.records.json_io import Json
from railyard.records.record import Origin
from railyard.records.store import archive
from railyard.records.units import Fom
from railyard.tender.judged import Judged, Ran

VERSION = b"railyard-judged/3\n"
#: Files that a judgement depends on in addition to the record.
_CHECKER = ("railyard", "placements", "checks", "results/schema", "results/studies")
_SUFFIXES = frozenset({".py", ".yml", ".json"})
_END = b"=="
#: Most records in the cache; the oldest are dropped.
MOST = 100_000


def key_of(sha256: str, place: str) -> bytes:
    """Return the key of a record file's judgement: by its content, its position in the bid, and this checker."""
    return hashlib.sha256(f"{checker()} {sha256} {place}".encode()).hexdigest().encode()


@functools.cache
def checker() -> str:
    """Return a digest of everything that a judgement depends on besides the record."""
    digest = hashlib.sha256(sys.version.encode())
    for folder in _CHECKER:
        for path in sorted((checkout.CHECKOUT / folder).rglob("*")):
            if path.suffix in _SUFFIXES and path.is_file():
                content = path.read_bytes()
                digest.update(f"{path.relative_to(checkout.CHECKOUT)} {len(content)}\n".encode())
                digest.update(content)
    return digest.hexdigest()


def file() -> Path:
    """Return the path of the cache."""
    return checkout.cache() / "railyard" / "judged.txt"


def load() -> dict[bytes, bytes]:
    """Return the judgements by key, as they were written; empty if the file is cut off, or if others may write it."""
    try:
        with file().open("rb") as opened:
            status = os.fstat(opened.fileno())
            if status.st_uid != os.geteuid() or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
                return {}
            if opened.readline() != VERSION:
                return {}
            lines = {line[:64]: line[65:-1] for line in opened}
    except OSError:
        return {}
    return {} if lines.pop(_END, None) is None else lines


def save(lines_by_key: Mapping[bytes, bytes]) -> None:
    """Write judgements to the cache; a cache that cannot be written is left alone."""
    lines = (
        b"%s %s\n" % item
        for item in itertools.islice(lines_by_key.items(), max(0, len(lines_by_key) - MOST), None)
    )
    try:
        file().parent.mkdir(parents=True, exist_ok=True)
        archive.write_bytes(file(), itertools.chain([VERSION], lines, [_END]), replace=True)
        file().chmod(stat.S_IRUSR | stat.S_IWUSR)
    except OSError:
        return


def written(judged: Judged) -> bytes:
    """Return a judgement as one line of JSON."""
    own = {item.name: getattr(judged, item.name) for item in dataclasses.fields(judged)}
    own["launches"] = [
        [
            *launch[:6],
            [[fom, fom.document(), labels, value] for (fom, labels), value in launch.values.items()],
            launch.samples,
        ]
        for launch in judged.launches
    ]
    return orjson.dumps(own)


def parsed(line: bytes) -> Judged | None:
    """Return the judgement in a line; None for a line without one."""
    try:
        own: dict[str, Json] = orjson.loads(line)
        launches = tuple(_ran(launch) for launch in own.pop("launches"))
        return Judged(**{**own, "origin": Origin(own["origin"]), "launches": launches})
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


@functools.lru_cache(maxsize=1024)
def _fom(name: str, unit: str, better: str) -> Fom:
    return units.fom(name, unit, better)


def _ran(row: list[Json]) -> Ran:
    place, placement, nic_policy, is_result, ranks, command, values, samples = row
    by_point = {
        (_fom(fom, **declared), tuple((name, label) for name, label in labels)): value
        for fom, declared, labels, value in values
    }
    return Ran(place, placement, nic_policy, is_result, ranks, command, by_point, samples)
