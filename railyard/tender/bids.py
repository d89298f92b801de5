"""Read a bid, which is a bag of records, and apply the strict check to each record.

Models: every record is read and judged once. Many are judged by one process per processor, in batches, which return
what the tender needs of them. Records of one case share what follows from the case alone. Leaves out: the rules
(`railyard.records.rules`), the tender (`railyard.tender.completeness`).
"""

from __future__ import annotations

import gc
import itertools
import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from railyard.base.errors import InputError
from railyard.base.parent import workers
from railyard.base.progress import track
from railyard.records import json_io, rules
from railyard.records.record import Record
from railyard.records.rules.registry import Fault
from railyard.records.store import bag
from railyard.records.store.bag import Bid, Signed
from railyard.tender import copies, judged
from railyard.tender.judged import Judged

#: Number of records below which no other processes are started.
_FEW = 200
_BATCH = 25
#: Size of a record with which a batch ends, so that few large records are in memory.
_LARGE_BYTES = 1 << 18
#: Objects between two garbage collections, which find nothing because records have no reference cycles.
_BEFORE_RUBBISH = 200_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """A bid as it was read. `broken` lists faults of the file itself, and of records that cannot be read.

    `digest` is the sha256 of the file that has the sums of all others.
    """

    path: Path
    bid: Bid
    signed: Signed
    records: Sequence[Judged] = ()
    faults: Sequence[Fault] = ()
    broken: Sequence[Fault] = ()
    digest: str = ""


#: A record to judge: the bag, the path in it, and the expected digest.
_Task = tuple[Path, str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Verdict:
    """The judgement of one record; `is_whole` is False if its file differs from the bag's manifest."""

    record: Judged | None = None
    faults: Sequence[Fault]
    is_whole: bool = True


def read(path: Path, allowed: Path | None = None) -> Read:
    """Read a bid and apply the strict check to each of its records; faults inside are returned and not raised.

    `allowed` is a file of accepted signers.
    """
    return read_all([path], allowed)[0]


def read_all(paths: Sequence[Path], allowed: Path | None = None) -> list[Read]:
    """Read several bids as `read` does, with one set of processes.

    Raises InputError for a bid that is not there, and for a list of signers with a line that has no key.
    """
    if allowed is not None:
        bag.signers(allowed)  # a mistake in the buyer's own file is no bidder's fault
    for path in paths:
        if not path.exists():
            raise InputError(str(path), "", problem="not there", valid="a bag's folder")
    opened = [_opened(path, allowed) for path in paths]
    with ExitStack() as stack:
        stack.callback(gc.set_threshold, *gc.get_threshold())
        gc.set_threshold(_BEFORE_RUBBISH)
        pool: ProcessPoolExecutor | None = None
        bids = []
        for bid, tasks in opened:
            if len(tasks) >= _FEW and pool is None:
                pool = stack.enter_context(workers(os.cpu_count() or 1))
            batches = [tasks[first : first + _BATCH] for first in range(0, len(tasks), _BATCH)]
            verdicts = itertools.chain.from_iterable(pool.map(_judge, batches) if pool else map(_judge, batches))
            what = f"checking the records of {bid.bid.bidder}"
            bids.append(_gathered(bid, track(verdicts, len(tasks), what) if pool else verdicts))
        return bids


def _judge(tasks: Sequence[_Task]) -> list[_Verdict]:
    """Return the judgement of each record; the marks of several records are made together, which is faster."""
    verdicts, parsed = list[_Verdict](), list[tuple[Record, str, bytes] | _Verdict]()
    for task in tasks:
        parsed.append(one := _parsed(task))
        is_large = isinstance(one, tuple) and (json_io.is_packed(one[2]) or len(one[2]) > _LARGE_BYTES)
        if is_large or task is tasks[-1]:
            marks = iter(copies.marks_of([one[0] for one in parsed if isinstance(one, tuple)]))
            verdicts += [_judged(*one, next(marks)) if isinstance(one, tuple) else one for one in parsed]
            parsed.clear()
    return verdicts


def _parsed(task: _Task) -> tuple[Record, str, bytes] | _Verdict:
    """Return the record of a task with its path in the bag and its bytes, or the verdict if it has none."""
    path, name, digest = task
    try:
        content = bag.content(path, name, digest)
    except InputError as error:
        return _Verdict(faults=[Fault("", str(error))], is_whole=False)
    try:
        return bag.parse(path, name, content), name, content
    except InputError as error:
        return _refused(name, error)


def _judged(record: Record, name: str, content: bytes, marks: bytes) -> _Verdict:
    try:
        reduced = judged.of_record(record, marks)
    except InputError as error:
        return _refused(name, error)
    strict = rules.faults(record, content)
    return _Verdict(record=reduced, faults=[replace(one, field=f"record {record.id}: {one.field}") for one in strict])


def _refused(name: str, error: InputError) -> _Verdict:
    return _Verdict(faults=[Fault(name, str(error).removeprefix(f"{error.source}: "))])


def _gathered(bid: Read, verdicts: Iterable[_Verdict]) -> Read:
    """Return the bid with its records; a bag that is not whole has none."""
    records: list[Judged] = []
    faults: list[Fault] = []
    broken = list(bid.broken)
    for verdict in verdicts:
        if not verdict.is_whole:
            return replace(bid, broken=verdict.faults, digest="")
        if verdict.record is None:
            broken += verdict.faults
        else:
            records.append(verdict.record)
            faults += verdict.faults
    return replace(bid, records=records, faults=faults, broken=broken)


def _opened(path: Path, allowed: Path | None) -> tuple[Read, list[_Task]]:
    """Return a bid without its records, and the records to judge."""
    try:
        if not bag.is_bag(path):
            raise InputError(str(path), "", problem="no bag", valid="a folder that `railyard tender pack` wrote")
        bid, sums = bag.opened(path)
        signed, digest = bag.signed(path, allowed), bag.digest(path)
        tasks = [(path, name, of_file) for name, of_file in sums]
    except InputError as error:
        bid = Bid(bidder=path.name, tier="baseline")
        return Read(path=path, bid=bid, signed=Signed(), broken=[Fault("", str(error))]), []
    return Read(path=path, bid=bid, signed=signed, digest=digest), tasks
