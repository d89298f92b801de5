"""Read a bid, which is a bag of records, and apply the strict check to each record.

Models: every record is read and judged once. Many are judged by one process per processor, in batches, which return
what the tender needs of them. Judgements of earlier runs without a fault are in `railyard.tender.kept`. Records of one
case share what follows from the case alone. Leaves out: the rules (`railyard.records.rules`), the tender
(`railyard.tender.completeness`).
"""

from __future__ import annotations

import collections
import dataclasses
import gc
import itertools
import os
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from railyard.base.errors import InputError
from railyard.base.parent import workers
from railyard.records import rules
from railyard.records.rules.registry import Fault
from railyard.records.store import bag
from railyard.records.store.bag import Bid, Signed
from railyard.tender import judged, kept
from railyard.tender.judged import Judged, Ran

#: Number of records below which no other processes are started.
_FEW = 200
_BATCH = 25
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


class _Task(NamedTuple):
    """A record to judge: the bag, the path in it, and the expected digest."""

    path: Path
    name: str
    digest: str


class _Verdict(NamedTuple):
    """The judgement of one record; `is_whole` is False if its file differs from the bag's manifest."""

    name: str
    record: Judged | None
    faults: Sequence[Fault]
    is_whole: bool = True


def read(path: Path, allowed: Path | None = None, *, again: bool = False) -> Read:
    """Read a bid and apply the strict check to each of its records; faults inside are returned and not raised.

    Of a bid with many records, those that passed an earlier run are not judged again, unless `again` is True. `allowed`
    is a file of accepted signers.
    """
    return read_all([path], allowed, again=again)[0]


def read_all(paths: Sequence[Path], allowed: Path | None = None, *, again: bool = False) -> list[Read]:
    """Read several bids as `read` does, with one set of processes."""
    for path in paths:
        if not path.exists():
            raise InputError(str(path), "", problem="not there", valid="a bag's folder")
    opened = [_opened(path, allowed) for path in paths]
    with ExitStack() as stack:
        stack.callback(gc.set_threshold, *gc.get_threshold())
        gc.set_threshold(_BEFORE_RUBBISH)
        many: _Many | None = None
        bids = []
        for bid, tasks in opened:
            first = list(itertools.islice(tasks, _FEW))
            if len(first) == _FEW and many is None:
                pool = stack.enter_context(workers(os.cpu_count() or 1))
                many = _Many(pool, {} if again else kept.load())
            bids.append(_gathered(bid, _verdicts(itertools.chain(first, tasks), many)))
        if many is not None and many.made:
            kept.save({**many.known, **many.made})
        return bids


class _Many:
    """Judges the records of large bids: `known` and `made` map keys to pickled judgements, earlier and new ones."""

    def __init__(self, pool: ProcessPoolExecutor, earlier: Mapping[bytes, bytes]) -> None:
        """Judge records without an earlier judgement by the processes of `pool`."""
        self.known = earlier
        self.made: dict[bytes, bytes] = {}
        self._pool = pool

    def begin(self, batch: Sequence[_Task]) -> Callable[[], Sequence[_Verdict]]:
        """Begin to judge a batch, and return the function that waits for its verdicts."""
        keys = [_key(task) for task in batch]
        pickled = [self.known[key] for key in keys if key in self.known]
        if len(pickled) == len(keys):
            return lambda: [
                _again(task, pickle.loads(record)) for task, record in zip(batch, pickled, strict=True)
            ]
        future = self._pool.submit(_judge_all, batch)
        return lambda: self._judged(keys, future.result())

    def _judged(self, keys: Sequence[bytes], verdicts: Sequence[_Verdict]) -> Sequence[_Verdict]:
        for key, verdict in zip(keys, verdicts, strict=True):
            if verdict.record is not None and not verdict.faults:
                self.made[key] = pickle.dumps(verdict.record)
        return verdicts


def _key(task: _Task) -> bytes:
    return kept.key_of(task.digest, f"bag {task.name}")


def _again(task: _Task, record: Judged) -> _Verdict:
    """Return the verdict of an earlier run on a record, after comparing the file's digest."""
    try:
        bag.content(task.path, task.name, task.digest)
    except InputError as error:
        return _Verdict(task.name, None, [Fault(field="", text=str(error))], is_whole=False)
    return _Verdict(task.name, record, [])


def _verdicts(tasks: Iterator[_Task], many: _Many | None) -> Iterator[_Verdict]:
    """Yield the verdict on each record, in order; records are handed out a few batches ahead."""
    if many is None:
        yield from map(_judge, tasks)
        return
    ahead, waiting = 8 * (os.cpu_count() or 1), collections.deque[Callable[[], Sequence[_Verdict]]]()
    while batch := list(itertools.islice(tasks, _BATCH)):
        waiting.append(many.begin(batch))
        if len(waiting) > ahead:
            yield from waiting.popleft()()
    while waiting:
        yield from waiting.popleft()()


def _judge_all(batch: Sequence[_Task]) -> list[_Verdict]:
    return [_judge(task) for task in batch]


def _judge(task: _Task) -> _Verdict:
    try:
        content = bag.content(task.path, task.name, task.digest)
    except InputError as error:
        return _Verdict(task.name, None, [Fault(field="", text=str(error))], is_whole=False)
    try:
        record = bag.parse(task.path, task.name, content)
    except InputError as error:
        text = str(error).removeprefix(f"{error.source}: ")
        return _Verdict(task.name, None, [Fault(field=task.name, text=text)])
    strict = rules.faults(record, content)
    named = [dataclasses.replace(fault, field=f"record {record.id}: {fault.field}") for fault in strict]
    return _Verdict(task.name, judged.of_record(record, content), named)


def _gathered(bid: Read, verdicts: Iterator[_Verdict]) -> Read:
    """Return the bid with its records; a bag that is not whole has none."""
    records: list[Judged] = []
    faults: list[Fault] = []
    broken = list(bid.broken)
    for verdict in verdicts:
        if not verdict.is_whole:
            return dataclasses.replace(bid, broken=verdict.faults, digest="")
        if verdict.record is None:
            broken += verdict.faults
        else:
            records.append(verdict.record)
            faults += verdict.faults
    return dataclasses.replace(bid, records=records, faults=faults, broken=broken)


def _opened(path: Path, allowed: Path | None) -> tuple[Read, Iterator[_Task]]:
    """Return a bid without its records, and the records to judge."""
    try:
        if not bag.is_bag(path):
            raise InputError(
                str(path), "", problem="no bag", valid="a folder that `railyard tender pack` wrote"
            )
        bid, sums = bag.opened(path)
        signed, digest = bag.signed(path, allowed), bag.digest(path)
        tasks = (_Task(path, name, of_file) for name, of_file in sums)
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
