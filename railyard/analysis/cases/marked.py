"""State which launches of a case an event explains, and whether what the case shows holds without them.

Leaves out: the rule by which an event explains a launch (`railyard.records.folded.slow`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TypeVar

from railyard.analysis.cases import cases, comparison
from railyard.analysis.cases.cases import Case
from railyard.analysis.cases.comparison import Statement
from railyard.analysis.cases.judgement import Comparison
from railyard.analysis.text import counted
from railyard.records.folded import slow

#: What identifies a comparison.
Key = TypeVar("Key")
#: The most changed verdicts that are named.
_NAMED = 3


def statements(case: Case, judged: Sequence[Comparison]) -> list[Statement]:
    """Return a sentence for each launch that an event explains, and one on the comparisons without these launches."""
    marked = [one for record in case.records for one in slow.marked(record)]
    named = [
        Statement(case.name(cases.combination_of(one.launch)) or one.record.id, one.text(), "slow") for one in marked
    ]
    if not marked or not judged:
        return named
    rest = dataclasses.replace(case, records=tuple(map(slow.without_marked, case.records)))
    before = {(member.fom, member.labels): member for member in judged}
    after = {(member.fom, member.labels): member for member in comparison.comparisons(rest)}
    return [*named, Statement("without them", remaining(len(marked), before, after), "slow")]


def _verdict(member: Comparison | None) -> str:
    """Return a comparison's outcome in a word or two."""
    if member is None:
        return "not measured"
    return f"{member.verdict.best} best" if member.verdict.best else str(member.verdict.outcome)


def remaining(marked: int, before: Mapping[Key, Comparison], after: Mapping[Key, Comparison]) -> str:
    """Return whether verdicts hold without so many marked launches; `before` has them with, `after` without."""
    changes = [
        f"{comparison.title(member)} from {_verdict(member)} to {_verdict(after.get(key))}"
        for key, member in before.items()
        if _verdict(member) != _verdict(after.get(key))
    ]
    head = f"Without the {counted(marked, 'launch')} that an event explains"
    if not changes:
        return f"{head} all {counted(len(before), 'verdict')} stay the same."
    named = "; ".join(changes[:_NAMED])
    more = f"; and {len(changes) - _NAMED} more" if len(changes) > _NAMED else ""
    return f"{head} {len(changes)} of {counted(len(before), 'verdict')} change: {named}{more}."
