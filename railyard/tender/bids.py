"""A bid: the records of a bag or a bundle, with everything that the checker found wrong in each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from railyard.errors import InputError
from railyard.records import strict_rules
from railyard.records.record import Record
from railyard.records.rules.registry import Fault
from railyard.records.store import bag, bundle
from railyard.records.store.bag import Bid, Signed


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """A bid as it was read. `broken` is what is wrong with the file itself or with records that cannot be read."""

    path: Path
    bid: Bid
    signed: Signed
    records: Sequence[Record]
    faults: Sequence[Fault]
    broken: Sequence[Fault]


def read(path: Path, allowed: Path | None = None) -> Read:
    """Read a bid and apply the strict check to each of its records; never raises for what is wrong inside."""
    if not path.exists():
        raise InputError(str(path), "", problem="not there", valid="a bag's folder or a bundle")
    is_bag = bag.is_bag(path)
    bid, signed, found, broken = (_of_bag if is_bag else _of_bundle)(path, allowed)
    records: list[Record] = []
    faults: list[Fault] = []
    for name, content in found:
        try:
            made = bag.parse(path, name, content) if is_bag else bundle.parse(path, _member(name, content))
        except InputError as error:
            broken.append(Fault(field=name, text=str(error).removeprefix(f"{error.source}: ")))
            continue
        records.append(made)
        strict = strict_rules.faults(made, content)
        faults += [Fault(field=f"record {made.id}: {each.field}", text=each.text) for each in strict]
    return Read(path=path, bid=bid, signed=signed, records=records, faults=faults, broken=broken)


_Parts = tuple[Bid, Signed, list[tuple[str, bytes]], list[Fault]]


def _of_bag(path: Path, allowed: Path | None) -> _Parts:
    try:
        bid, found = bag.read(path)
        return bid, bag.signed(path, allowed), found, []
    except InputError as error:
        return Bid(bidder=path.name, tier="baseline"), Signed(), [], [Fault(field="", text=str(error))]


def _of_bundle(path: Path, allowed: Path | None) -> _Parts:
    """A bundle has a sign-off and no signature."""
    try:
        found = [(each.path, each.content) for each in bundle.members(path)]
        bid = Bid(bidder=bundle.manifest_of(path).signed_off_by, tier="baseline")
        return bid, Signed(), found, []
    except InputError as error:
        return Bid(bidder=path.name, tier="baseline"), Signed(), [], [Fault(field="", text=str(error))]


def _member(name: str, content: bytes) -> bundle.Member:
    return bundle.Member(path=name, content=content)


def values(records: Sequence[Record], placement: str, nic_policy: str) -> Iterator[tuple[Record, int]]:
    """Yield each launch that is a result of a combination: its record and its position there."""
    for each in records:
        for place, launch in enumerate(each.launches):
            if launch.is_result and (launch.placement, launch.nic_policy) == (placement, nic_policy):
                yield each, place
