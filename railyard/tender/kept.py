"""Judgements of an earlier evaluation: a checker judges a record that has no fault once, and reads its file every time.

Models: a file in the user's cache folder, with a line for each record. Its key is a digest of the record file's sha256,
of its place in the bid, and of the checker: sources, schemas, topologies, studies, checks, Python. So a record, a rule
or a topology that changed by a byte is judged again. Records with a fault are never kept. A file that others may write
is not read, and a bid cannot bring its own. Losing it costs time, nothing else. Leaves out: a cache folder that someone
else can write with this user's rights; who can do that can change the checker, too.
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
from railyard.records.json_io import Json
from railyard.records.record import Origin
from railyard.records.store import archive
from railyard.tender.judged import Judged, Ran

VERSION = b"railyard-judged/1\n"
#: What a judgement depends on besides the record.
_CHECKER = ("railyard", "placements", "checks", "results/schema", "results/studies")
_SUFFIXES = frozenset({".py", ".yml", ".json"})
_END = b"=="
#: More records are not kept; the oldest are forgotten.
MOST = 100_000


def key_of(sha256: str, place: str) -> bytes:
    """Return the key of a record file's judgement: by its content, its place in the bid, and this checker."""
    return hashlib.sha256(f"{checker()} {sha256} {place}".encode()).hexdigest().encode()


@functools.cache
def checker() -> str:
    """Return a digest of everything that a judgement depends on besides the record."""
    found = hashlib.sha256(sys.version.encode())
    for folder in _CHECKER:
        for path in sorted((checkout.CHECKOUT / folder).rglob("*")):
            if path.suffix in _SUFFIXES and path.is_file():
                content = path.read_bytes()
                found.update(f"{path.relative_to(checkout.CHECKOUT)} {len(content)}\n".encode())
                found.update(content)
    return found.hexdigest()


def file() -> Path:
    """Return where judgements are kept."""
    return checkout.cache() / "railyard" / "judged.txt"


def load() -> dict[bytes, bytes]:
    """Return the judgements by key, as they were written; none where the file is cut, or others may write it."""
    try:
        with file().open("rb") as opened:
            status = os.fstat(opened.fileno())
            if status.st_uid != os.geteuid() or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
                return {}
            if opened.readline() != VERSION:
                return {}
            found = {line[:64]: line[65:-1] for line in opened}
    except OSError:
        return {}
    return {} if found.pop(_END, None) is None else found


def save(made: Mapping[bytes, bytes]) -> None:
    """Keep judgements, or leave the file where the cache cannot be written."""
    lines = (b"%s %s\n" % each for each in itertools.islice(made.items(), max(0, len(made) - MOST), None))
    try:
        file().parent.mkdir(parents=True, exist_ok=True)
        archive.write_bytes(file(), itertools.chain([VERSION], lines, [_END]), replace=True)
        file().chmod(stat.S_IRUSR | stat.S_IWUSR)
    except OSError:
        return


def written(judged: Judged) -> bytes:
    """Return a judgement as one line of JSON."""
    own = {each.name: getattr(judged, each.name) for each in dataclasses.fields(judged)}
    own["launches"] = [
        [*each[:6], [[fom, labels, value] for (fom, labels), value in each.values.items()], each.samples]
        for each in judged.launches
    ]
    return orjson.dumps(own)


def parsed(line: bytes) -> Judged | None:
    """Return the judgement in a line; None for one that holds none."""
    try:
        own: dict[str, Json] = orjson.loads(line)
        launches = tuple(_ran(each) for each in own.pop("launches"))
        return Judged(**{**own, "origin": Origin(own["origin"]), "launches": launches})
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def _ran(row: list[Json]) -> Ran:
    place, placement, nic_policy, is_result, ranks, command, values, samples = row
    by_point = {(fom, tuple((name, label) for name, label in labels)): value for fom, labels, value in values}
    return Ran(place, placement, nic_policy, is_result, ranks, command, by_point, samples)
