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
from railyard.records.json_io import Json
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

#: The most parts whose results are cached: the records of a bid have few, and a result may be large.
_MOST_PARTS = 32


class Shared:
    """What rules worked out for records that share a part of their documents.

    It is found by a digest of the part, so that records which differ in any field of it never share a result.
    """

    def __init__(self, part: Callable[[Json], Json]) -> None:
        self._part, self._known = part, dict[bytes, dict[Hashable, Any]]()
        self._last: tuple[Record | None, dict[Hashable, Any]] = None, {}

    def answers(self, read: Record) -> dict[Hashable, Any]:
        """Return key -> value, empty at first, for the part of a record; a key begins with the name of its rule."""
        if self._last[0] is not read:
            key = hashlib.sha256(orjson.dumps(self._part(read.document))).digest()
            if key not in self._known and len(self._known) >= _MOST_PARTS:
                self._known.clear()
            self._last = read, self._known.setdefault(key, {})
        return self._last[1]


#: What differs from job to job: in a record, and in each of its launches, whose samples and reports differ, too.
OF_A_JOB = frozenset({"id", "sha256", "created", "run", "launches"})
OF_A_LAUNCH = frozenset({"started", "elapsed_s", "begun_monotonic_s", "ended_monotonic_s", "reported", "series"})


def _alike(document: Json) -> Json:
    """Return what jobs of one case on the same nodes have in common: all but times, samples, and the job itself."""
    launches = [
        [
            {name: value for name, value in launch.items() if name not in OF_A_LAUNCH},
            list(launch.get("reported", ())),
            [(series["fom"], series["labels"], len(series["samples"])) for series in launch["series"]],
        ]
        for launch in document["launches"]
    ]
    return [{name: value for name, value in document.items() if name not in OF_A_JOB}, launches]


#: For rules that depend on the case alone, and for those that depend on no time, and of samples on their number alone.
CASE, ALIKE_JOBS = Shared(operator.itemgetter("case")), Shared(_alike)
answers = CASE.answers


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule: `name` identifies it, `text` is its requirement in a sentence, `check` yields a record's faults.

    A record passes it if another one did that shares the part `once_for`.
    """

    name: str
    text: str
    check: Check
    once_for: Shared | None = None


RULES: list[Rule] = []


def rule(name: str, once_for: Shared | None = None) -> Callable[[Check], Check]:
    """Return a decorator that registers a function as the rule `name`, passed once for records that share a part."""

    def register(check: Check) -> Check:
        text = (check.__doc__ or "").strip().splitlines()[0]
        RULES.append(Rule(name=name, text=text, check=check, once_for=once_for))
        return check

    return register


def faults(read: Record, content: bytes | None = None) -> list[Fault]:
    """Return all faults that the strict check finds in a record; `content` are the bytes of its file, if it has one.

    A rule that raises an exception has a fault, too (see `guarded`).
    """
    faults: list[Fault] = []
    for rule in RULES:
        passed = rule.once_for.answers(read) if rule.once_for else {}
        if rule.name not in passed:
            problems = guarded(rule.name, rule.check, read)
            passed |= {} if problems else {rule.name: True}
            faults += problems
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
