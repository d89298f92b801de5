"""Cache the judgements of records without a fault, so that an evaluation judges each of them once.

Models: a file in the user's cache folder: the sha256 of the rest, then a pickled `Judged` per record. A record's key is
a digest of its file's sha256, of its position in the bid, and of the checker: sources, schemas, topologies, studies,
checks, Python. A change of a byte in any of them makes the record be judged again. Records with a fault are not cached.
The record's file is read every time. A cache that other users may write is ignored. Deleting it costs only time. Leaves
out: an attacker with this user's rights, who can change the checker, too.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import os
import pickle
import stat
import sys
from collections.abc import Mapping
from pathlib import Path

from railyard.base import checkout
from railyard.records.store import archive

#: Files that a judgement depends on in addition to the record.
_CHECKER = ("railyard", "placements", "checks", "results/schema", "results/studies")
_SUFFIXES = frozenset({".py", ".yml", ".json"})
#: The sha256 that the file begins with.
DIGEST_BYTES = 32
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
    return checkout.cache() / "railyard" / "judged.pickle"


def load() -> dict[bytes, bytes]:
    """Return the pickled judgements by key; none from a file that is not as it was written, or that others may write.

    A key is that of this checker, so that no judgement of other classes is read.
    """
    try:
        with file().open("rb") as opened:
            status = os.fstat(opened.fileno())
            if status.st_uid != os.geteuid() or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
                return {}
            digest, content = opened.read(DIGEST_BYTES), opened.read()
    except OSError:
        return {}
    return dict(pickle.loads(content)) if hashlib.sha256(content).digest() == digest else {}


def save(judgements: Mapping[bytes, bytes]) -> None:
    """Write the newest judgements to the cache; a cache that cannot be written is left alone."""
    newest = dict(itertools.islice(judgements.items(), max(0, len(judgements) - MOST), None))
    try:
        file().parent.mkdir(parents=True, exist_ok=True)
        content = pickle.dumps(newest)
        archive.write_bytes(file(), [hashlib.sha256(content).digest(), content], replace=True)
        file().chmod(stat.S_IRUSR | stat.S_IWUSR)
    except OSError:
        return
