"""Register rules: `@rule` adds a function, and the first line of its docstring is its text in the documentation."""

from __future__ import annotations

import functools
import hashlib
import operator
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import orjson

from railyard.records import json_io, record
from railyard.records.folded.ranks import Ranks
from railyard.records.record import Launch, Record, Status


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault of a record: the path of the field that is wrong, such as `launches[3].nics`, and one line of text.

    `options` are words of a site's own launcher, if these alone are the fault. A tender may allow them in its field
    `named_in`.
    """

    field: str
    text: str
    options: str = ""
    named_in: str = "launcher_options"


Check = Callable[[Record], Iterator[Fault]]
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule: `name` identifies it, `text` is its requirement in a sentence, `check` yields a record's faults."""

    name: str
    text: str
    check: Check


RULES: list[Rule] = []


def rule(name: str) -> Callable[[Check], Check]:
    """Return a decorator that registers a function as the rule `name`."""

    def register(check: Check) -> Check:
        text = (check.__doc__ or "").strip().splitlines()[0]
        RULES.append(Rule(name=name, text=text, check=check))
        return check

    return register


def faults(read: Record, content: bytes | None = None) -> list[Fault]:
    """Return all faults that the strict check finds in a record; `content` are the bytes of its file, if it has one.

    A rule that raises an exception has a fault, too (see `guarded`).
    """
    faults = [fault for rule in RULES for fault in guarded(rule.name, rule.check, read)]
    if content is not None and json_io.unpacked(content, read.source) != record.text(read).encode():
        faults.insert(0, Fault("", "the file is not written as railyard writes it"))
    return faults


def guarded(name: str, check: Check, read: Record) -> list[Fault]:
    """Return the faults that one rule finds; an exception in the rule becomes a fault after those."""
    faults: list[Fault] = []
    try:
        for fault in check(read):
            faults.append(fault)  # one by one, so that faults before an exception are not lost
    except Exception as error:  # a malicious record must not end the check of the other records
        text = " ".join(repr(str(error))[:200].split())
        faults.append(Fault("", f"the rule {name} cannot be applied: {type(error).__name__}: {text}"))
    return faults


#: The most cases whose results are cached: a bid has few cases, and a result may be large.
_MOST_CASES = 32
#: Digest of a case -> what rules worked out for it; and the record that rules check now, with the answers of its case.
_ANSWERS: dict[bytes, dict[Hashable, Any]] = {}
_LAST: list[Any] = [None, None]


def answers(read: Record) -> dict[Hashable, Any]:
    """Return what rules worked out for a case: key -> value, empty at first; a key begins with the name of its rule.

    It is found by a digest of the whole case: records whose cases differ in any field never share a result.
    """
    if _LAST[0] is not read:
        key = hashlib.sha256(orjson.dumps(read.document["case"])).digest()
        if key not in _ANSWERS and len(_ANSWERS) >= _MOST_CASES:
            _ANSWERS.clear()
        _LAST[:] = [read, _ANSWERS.setdefault(key, {})]
    of_case: dict[Hashable, Any] = _LAST[1]
    return of_case


def once_a_case(check: Check) -> Check:
    """Cache the faults of a rule that depends only on a record's case, so that it runs once per case."""

    @functools.wraps(check)
    def known(read: Record) -> Iterator[Fault]:
        cached = answers(read)
        if check not in cached:
            cached[check] = tuple(check(read))
        yield from cached[check]

    return known


def ended_well(read: Record) -> Iterator[tuple[str, Launch]]:
    """Yield (path of the field, launch) for each launch that is ok, including void ones."""
    for field, launch in zip(fields(len(read.launches)), read.launches, strict=True):
        if launch.status is Status.OK:
            yield field, launch


@functools.lru_cache(maxsize=64)
def fields(launches: int) -> tuple[str, ...]:
    """Return the paths of this many launches: `launches[0]`, `launches[1]`, ..."""
    return tuple(f"launches[{index}]" for index in range(launches))


def of_ranks(
    answer: Callable[[Ranks], _T], part: Callable[[Ranks], object] = lambda ranks: ranks
) -> Callable[[Launch], _T]:
    """Turn a function of `Ranks` into one of a launch that computes once for launches which share a part of them.

    To be used for the launches of one record only, because the cache is by identity.
    """
    cached: dict[int, _T] = {}

    def known(launch: Launch) -> _T:
        key = id(part(launch.ranks))
        if key not in cached:
            cached[key] = answer(launch.ranks)
        return cached[key]

    return known


#: The part of `Ranks` that has the host of each.
HOSTS = operator.attrgetter("host_of")
