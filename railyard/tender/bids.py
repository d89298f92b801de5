"""Read a bid, a bag or a bundle of records, and apply the strict check to each record.

Models: every record is read and judged once. Many are judged by one process per processor, in batches, which return
what the tender needs of them. Records of one case share what follows from the case alone. Leaves out: the rules
(`railyard.records.rules`), the tender (`railyard.tender.completeness`).
"""

from __future__ import annotations

import dataclasses
import gc
import hashlib
import itertools
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from railyard.base.errors import InputError
from railyard.base.parent import workers
from railyard.records import rules
from railyard.records.rules.registry import Fault
from railyard.records.store import bag, bundle
from railyard.records.store.bag import Bid, Signed
from railyard.tender import judged
from railyard.tender.judged import Judged, Ran

#: Number of records below which no other processes are started.
_FEW = 200
#: Number of records that a process judges at a time, and of those that are read from a bundle ahead.
_BATCH, _PART = 25, 2000
#: Objects between two garbage collections, which find nothing because records have no reference cycles.
_BEFORE_RUBBISH = 200_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """A bid as it was read. `broken` lists faults of the file itself, and of records that cannot be read.

    `digest` is the sha256 of the file that has the sums of all others of a bag, or of the bundle.
    """

    path: Path
    bid: Bid
    signed: Signed
    records: Sequence[Judged] = ()
    faults: Sequence[Fault] = ()
    broken: Sequence[Fault] = ()
    digest: str = ""


class _Task(NamedTuple):
    """A record to judge: its path, and in a bag its expected digest, in a bundle its bytes."""

    path: Path
    name: str
    digest: str = ""
    content: bytes = b""


class _Verdict(NamedTuple):
    """The judgement of one record; `is_whole` is False if its file differs from the bag's manifest."""

    name: str
    record: Judged | None
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
            raise InputError(str(path), "", problem="not there", valid="a bag's folder or a bundle")
    opened = [_opened(path, allowed) for path in paths]
    with ExitStack() as stack:
        stack.callback(gc.set_threshold, *gc.get_threshold())
        gc.set_threshold(_BEFORE_RUBBISH)
        pool: ProcessPoolExecutor | None = None
        bids = []
        for bid, tasks in opened:
            first = list(itertools.islice(tasks, _FEW))
            if len(first) == _FEW and pool is None:
                pool = stack.enter_context(workers(os.cpu_count() or 1))
            bids.append(_gathered(bid, _verdicts(itertools.chain(first, tasks), pool)))
        return bids


def _verdicts(tasks: Iterator[_Task], pool: ProcessPoolExecutor | None) -> Iterator[_Verdict]:
    """Yield the verdict on each record, in order; with a pool records are handed out in parts."""
    if pool is None:
        yield from map(_judge, tasks)
        return
    while part := list(itertools.islice(tasks, _PART)):
        yield from pool.map(_judge, part, chunksize=_BATCH)


def _judge(task: _Task) -> _Verdict:
    try:
        content = bag.content(task.path, task.name, task.digest) if task.digest else task.content
    except InputError as error:
        return _Verdict(task.name, None, [Fault(field="", text=str(error))], is_whole=False)
    try:
        if task.digest:
            record = bag.parse(task.path, task.name, content)
        else:
            record = bundle.parse(task.path, bundle.Member(path=task.name, content=content))
        reduced = judged.of_record(record)
    except InputError as error:
        text = str(error).removeprefix(f"{error.source}: ")
        return _Verdict(task.name, None, [Fault(field=task.name, text=text)])
    strict = rules.faults(record, content)
    named = [dataclasses.replace(fault, field=f"record {record.id}: {fault.field}") for fault in strict]
    return _Verdict(task.name, reduced, named)


def _gathered(bid: Read, verdicts: Iterator[_Verdict]) -> Read:
    """Return the bid with its records; a bag or a bundle that is not whole has none."""
    records: list[Judged] = []
    faults: list[Fault] = []
    broken = list(bid.broken)
    try:
        for verdict in verdicts:
            if not verdict.is_whole:
                return dataclasses.replace(bid, broken=verdict.faults, digest="")
            if verdict.record is None:
                broken += verdict.faults
            else:
                records.append(verdict.record)
                faults += verdict.faults
    except InputError as error:  # the bundle ends badly
        return dataclasses.replace(bid, broken=[Fault(field="", text=str(error))], digest="")
    return dataclasses.replace(bid, records=records, faults=faults, broken=broken)


def _opened(path: Path, allowed: Path | None) -> tuple[Read, Iterator[_Task]]:
    """Return a bid without its records, and the records to judge. A bundle has a sign-off and no signature."""
    try:
        if bag.is_bag(path):
            bid, sums = bag.opened(path)
            signed, digest = bag.signed(path, allowed), bag.digest(path)
            tasks = (_Task(path, name, digest=of_file) for name, of_file in sums)
        else:
            bid, signed = Bid(bidder=bundle.manifest_of(path).signed_off_by, tier="baseline"), Signed()
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            tasks = (_Task(path, member.path, content=member.content) for member in bundle.members(path))
    except InputError as error:
        bid = Bid(bidder=path.name, tier="baseline")
        return Read(path=path, bid=bid, signed=Signed(), broken=[Fault(field="", text=str(error))]), iter(())
    return Read(path=path, bid=bid, signed=signed, digest=digest), tasks


def values(records: Sequence[Judged], placement: str, nic_policy: str) -> Iterator[Ran]:
    """Yield each launch that is a result of a combination."""
    for record in records:
        for launch in record.launches:
            if launch.is_result and launch.placement == placement and launch.nic_policy == nic_policy:
                yield launch
