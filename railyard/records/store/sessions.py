"""The records of a session as a chain: each names the digest of the one before, so that one left out shows.

Models: `<archive>/.sessions/<session>`, a line `JOB SHA256` for each record in the order they were made; several jobs
of a session may end at once. A job whose record is made again keeps its place. Leaves out: the last records of a chain,
which can be left out unseen (docs/tender.md says what a buyer does about it).
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from railyard.base.errors import RunError
from railyard.records.record import Record
from railyard.records.store import exclusive, folders

FOLDER = ".sessions"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a record is in its session: its number from 0, and the digest of the record before."""

    number: int
    previous: str | None


class Chain:
    """The records of one session, while no other process adds one."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file
        file.seek(0)
        lines = [
            line.split() for line in file.read().splitlines() if line.endswith(tuple("0123456789abcdef"))
        ]
        self._made = [(line[0], line[1]) for line in lines if len(line) == 2]

    def place(self, job: str) -> Place:
        """Return the place of a job's record: that which it has, or the next."""
        jobs = [job for job, _ in self._made]
        number = jobs.index(job) if job in jobs else len(jobs)
        return Place(number=number, previous=self._made[number - 1][1] if number else None)

    def add(self, job: str, record: Record) -> None:
        """Note that a job has this record; nothing changes where that is known."""
        if (job, record.sha256) not in self._made:
            self._file.seek(0, os.SEEK_END)
            self._file.write(f"{job} {record.sha256}\n")
            self._file.flush()


@contextmanager
def opened(root: Path, session: str) -> Iterator[Chain]:
    """Hold a session's chain; raises RunError where the archive at `root` cannot be written, or another holds it."""
    name = hashlib.sha256(session.encode()).hexdigest()[:32]
    try:
        path = folders.make(root, FOLDER) / name
        file = path.open("a+", encoding="ascii")
    except OSError as error:
        raise RunError(f"the record could not be written to {root}: {error.strerror}") from error
    with file, exclusive.held(file, path):
        yield Chain(file)
