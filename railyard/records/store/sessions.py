"""Chain the records of a ReFrame session: each names the sha256 of the previous one, so that a missing one shows.

Models: `<archive>/.sessions/<session>`, one line `JOB SHA256` per record in the order in which they were made; several
jobs of a session may end at once. A job whose record is made again keeps its number. Leaves out: the last records of a
chain, whose absence does not show (docs/tender.md describes what a buyer can do).
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
from railyard.records.store import archive, exclusive

FOLDER = ".sessions"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The position of a record in its session: its number, from 0, and the sha256 of the previous record."""

    number: int
    previous: str | None


class Chain:
    """The records of one session, read from a file that this process has locked."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file
        file.seek(0)
        lines = [line.split() for line in file.read().splitlines() if line.endswith(tuple("0123456789abcdef"))]
        self._made = [(line[0], line[1]) for line in lines if len(line) == 2]

    def place(self, job: str) -> Place:
        """Return the position of a job's record: the existing one, or the next free one."""
        jobs = [job for job, _ in self._made]
        number = jobs.index(job) if job in jobs else len(jobs)
        return Place(number=number, previous=self._made[number - 1][1] if number else None)

    def add(self, job: str, record: Record) -> None:
        """Append a job's record to the chain, unless the chain already contains it."""
        if (job, record.sha256) not in self._made:
            self._file.seek(0, os.SEEK_END)
            self._file.write(f"{job} {record.sha256}\n")
            self._file.flush()


@contextmanager
def opened(root: Path, session: str) -> Iterator[Chain]:
    """Lock the chain of a session and yield it.

    Raises RunError if the archive at `root` cannot be written, or another process does not release the lock.
    """
    name = hashlib.sha256(session.encode()).hexdigest()[:32]
    try:
        path = archive.make_folder(root, FOLDER) / name
        file = path.open("a+", encoding="ascii")
    except OSError as error:
        raise RunError(f"the record could not be written to {root}: {error.strerror}") from error
    with file, exclusive.held(file, path):
        yield Chain(file)
