"""The registry of rules: `@rule` adds a function to it, and its docstring's first line is its line of docs."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

import orjson

from railyard.records import versions
from railyard.records.folded.ranks import Ranks
from railyard.records.record import Launch, Record, Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One thing missing or wrong: the field and one line that describes it."""

    field: str
    text: str


Check = Callable[[Record], Iterator[Fault]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule: `name` for tests and docs, `text` what it demands, `check` what finds faults.

    `since` is the oldest version of the format that has what the rule needs; empty for a rule that applies to all.
    """

    name: str
    text: str
    check: Check
    since: str = ""


RULES: list[Rule] = []


def rule(name: str, since: str = "") -> Callable[[Check], Check]:
    """Register a function from a record to faults under a name; `since` is the first version it applies to in full."""

    def register(check: Check) -> Check:
        text = (check.__doc__ or "").strip().splitlines()[0]
        RULES.append(Rule(name=name, text=text, check=check, since=since))
        return check

    return register


def faults(read: Record) -> Iterator[Fault]:
    """Yield what every rule finds; a rule that cannot be applied is a fault of the record, and the others go on."""
    for rule in RULES:
        yield from guarded(rule.name, rule.check, read)


def not_applied(read: Record) -> list[str]:
    """Return the names of the rules that a record's version lacks the fields for."""
    younger = versions.younger_than(str(read.document["schema"]))
    return [rule.name for rule in RULES if rule.since in younger]


def guarded(name: str, check: Check, read: Record) -> list[Fault]:
    """Return the faults of one rule; an error of the rule itself becomes a fault."""
    faults: list[Fault] = []
    try:
        for fault in check(read):
            faults.append(fault)  # what was found before an error stays
    except Exception as error:  # a hostile record must not end the check of the others
        text = " ".join(repr(str(error))[:200].split())
        faults.append(
            Fault(field="", text=f"the rule {name} cannot be applied: {type(error).__name__}: {text}")
        )
    return faults


def table() -> str:
    """Return the rules as a Markdown table."""
    rows = "".join(f"| `{rule.name}` | {rule.text} |\n" for rule in RULES)
    return f"| rule | what it demands |\n|---|---|\n{rows}"


_T = TypeVar("_T")
#: Cases whose answers are kept: the records of a bid have few, and each answer may be long.
_MOST_CASES = 32


def of_case(answer: Callable[[Record], _T]) -> Callable[[Record], _T]:
    """Keep what a function works out from a record's case alone; records of one case are answered once.

    The case is known by its digest, so that records which differ in anything there never share an answer.
    """
    cached: dict[bytes, _T] = {}

    @functools.wraps(answer)
    def known(read: Record) -> _T:
        key = hashlib.sha256(orjson.dumps(read.document["case"])).digest()
        if key not in cached:
            value = answer(read)
            if len(cached) >= _MOST_CASES:
                cached.clear()
            cached[key] = value
        return cached[key]

    return known


def once_a_case(check: Check) -> Check:
    """Apply a rule that looks at a record's case alone once to all records of that case."""

    @of_case
    @functools.wraps(check)
    def found(read: Record) -> tuple[Fault, ...]:
        return tuple(check(read))

    @functools.wraps(check)
    def known(read: Record) -> Iterator[Fault]:
        yield from found(read)

    return known


def ended_well(read: Record) -> Iterator[tuple[str, Launch]]:
    """Yield the launches that are ok, void ones among them, with their fields."""
    for field, launch in zip(fields(len(read.launches)), read.launches, strict=True):
        if launch.status is Status.OK:
            yield field, launch


@functools.lru_cache(maxsize=64)
def fields(launches: int) -> tuple[str, ...]:
    """Return the names of a record's launches as fields."""
    return tuple(f"launches[{index}]" for index in range(launches))


def of_ranks(answer: Callable[[Ranks], _T]) -> Callable[[Launch], _T]:
    """Ask a function about the ranks of each launch of one record, once where launches share them."""
    return _once(answer, lambda ranks: ranks)


def of_hosts(answer: Callable[[Ranks], _T]) -> Callable[[Launch], _T]:
    """Ask a function about the hosts of the ranks of each launch of one record, once where launches share them."""
    return _once(answer, lambda ranks: ranks.host_of)


def _once(answer: Callable[[Ranks], _T], part: Callable[[Ranks], object]) -> Callable[[Launch], _T]:
    cached: dict[int, _T] = {}

    def known(launch: Launch) -> _T:
        key = id(part(launch.ranks))
        if key not in cached:
            cached[key] = answer(launch.ranks)
        return cached[key]

    return known
