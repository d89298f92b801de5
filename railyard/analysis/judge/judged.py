"""Judge records once: cases, sides and series over dates are one value, which page, screen, tables and exports print.

Models: which records form a case, what each case shows, which sides are compared unasked, and the scores. What a
judgement is, `railyard.analysis.cases.judgement` decides. Leaves out: drawings, whose library is slow to load, and
formats.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from railyard.analysis.cases import cases, comparison, curves, scoreboard
from railyard.analysis.cases.cases import Case
from railyard.analysis.cases.curves import Panel
from railyard.analysis.cases.judgement import Comparison
from railyard.analysis.cases.scoreboard import Standing
from railyard.analysis.judge import over, text, versus
from railyard.analysis.judge.over import Dated, Scaled, Spread
from railyard.analysis.judge.versus import Versus
from railyard.analysis.stats import contrast
from railyard.analysis.stats.verdicts import Outcome
from railyard.analysis.text import DataTable
from railyard.base.errors import InputError
from railyard.records import json_io
from railyard.records.record import Record
from railyard.records.store import entries
from railyard.records.store.entries import Entry


@dataclass(frozen=True, slots=True, kw_only=True)
class Over:
    """Series over dates with their changes, families over sizes, spreads over allocations."""

    dated: Sequence[Dated]
    scaled: Sequence[Scaled]
    spreads: Sequence[Spread]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedCase:
    """A case, the comparisons of its combinations, and its curves."""

    case: Case
    comparisons: tuple[Comparison, ...]
    panels: tuple[Panel, ...]


@dataclass(frozen=True, kw_only=True)
class Judged:
    """All that records show: cases in the order of the page, and the sides if any are compared.

    Scores and series over dates are computed when a format first prints them.
    """

    cases: tuple[JudgedCase, ...]
    sides: Versus | None = None

    @property
    def grouped(self) -> list[Case]:
        """Return the cases alone."""
        return [judged.case for judged in self.cases]

    @functools.cached_property
    def standings(self) -> list[Standing]:
        """Return the score of each combination against its baseline."""
        return scoreboard.standings([(judged.case, judged.comparisons) for judged in self.cases])

    @property
    def by_chance(self) -> str:
        """Return how many combinations are named best, and how many chance alone could name; empty without tests.

        Every figure of merit of a case is one family of tests, which names a false winner with `ALPHA` at most.
        """
        tested = [
            ((judged.case.key, member.fom), member.verdict.outcome)
            for judged in self.cases
            for member in judged.comparisons
            if member.verdict.outcome in (Outcome.BEST, Outcome.NO_DIFFERENCE)
            and not (member.follows or member.is_exact)
        ]
        if not tested:
            return ""
        families, named = {family for family, _ in tested}, sum(outcome is Outcome.BEST for _, outcome in tested)
        tests = f"{len(families)} famil{'y' if len(families) == 1 else 'ies'} of tests"
        expected = f"{contrast.ALPHA * len(families):.2g}"
        return f"Chance alone would name a winner in at most {expected} of {tests}; winners named: {named}."

    @functools.cached_property
    def indexed(self) -> list[Entry]:
        """Return the entries of all records."""
        return [entries.of_record(record) for case in self.grouped for record in case.records]

    @functools.cached_property
    def over(self) -> Over:
        """Return what the records show over dates, sizes and allocations."""
        of = self.indexed
        return Over(dated=over.dated(of), scaled=over.scaled(of), spreads=over.spreads(of))


def judge(records: Sequence[Record], texts: Sequence[str] = (), baseline: str | None = None) -> Judged:
    """Return what records show; `texts` are the sides to compare, by default the systems that ran the same.

    Raises InputError for a side that chooses nothing, and for a baseline that is not a side.
    """
    indexed = [entries.of_record(record) for record in records]
    names = list(texts) or _systems(indexed)
    if len(names) < 2 and (texts or baseline):
        raise InputError("--compare", "", ", ".join(names) or "none", "at least two sides")
    compared = versus.of_texts(names, lambda **_: indexed, baseline) if names else None
    return Judged(cases=tuple(map(judge_case, cases.group(records))), sides=compared)


def judge_case(case: Case) -> JudgedCase:
    """Return a case with its comparisons and curves."""
    return JudgedCase(case=case, comparisons=tuple(comparison.comparisons(case)), panels=tuple(curves.panels(case)))


def _systems(records: Iterable[Entry]) -> list[str]:
    """Return `system=NAME` of the systems that ran the same check and parameters, of the first such origin."""
    ran: dict[str, dict[tuple[str, str], set[str]]] = {}
    for setting in (entry.setting for entry in records):
        key = setting["check"], json_io.canonical(setting["parameters"])
        ran.setdefault(setting["origin"], {}).setdefault(key, set()).add(setting["system"])
    names = [
        {name for systems in of_origin.values() if len(systems) > 1 for name in systems} for of_origin in ran.values()
    ]
    return [f"system={name}" for name in sorted(next(filter(None, names), ()))]


def sections(judged: Over) -> list[tuple[str, str, DataTable]]:
    """Return the tables that have rows, with title and sentence: changes of level, scaling, spread over allocations."""
    steady = text.allocations_sentence(judged.spreads, over.LIMIT_PERCENT)
    parts = (
        ("Changes of level over dates", text.changes_sentence(judged.dated), text.changes_table(judged.dated)),
        ("Weak and strong scaling", "", text.sizes_table(judged.scaled)),
        ("Spread over allocations", steady, text.allocations_table(judged.spreads)),
    )
    return [part for part in parts if part[2].rows]
