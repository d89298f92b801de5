"""Write what a run changed against the history as Markdown, for the summary of a job or a comment on a pull request.

Models: a row for each variable that is worse than allowed, or better by as much, then the warnings, then the history.
The text never exceeds what a comment on GitHub may have; rows that do not fit are counted. Leaves out the figures that
did not change, which the report has.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from railyard.records.references import Entry, Reference
from railyard.records.units import Better, Fom

#: A comment on GitHub has at most 65,536 characters.
MOST_CHARACTERS = 60_000
HEAD = ("check", "variable", "reference", "now", "change", "allowed", "verdict")


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A variable that is worse than its reference allows, or better by more than that."""

    check: str
    name: str
    value: float
    reference: Reference
    is_worse: bool

    @property
    def percent(self) -> float:
        """Return the change against the reference."""
        return 100 * (self.value / self.reference.median - 1)

    @property
    def verdict(self) -> str:
        """Return `worse` or `better`."""
        return "worse" if self.is_worse else "better"

    @property
    def cells(self) -> tuple[str, ...]:
        """Return the row's cells, as in HEAD."""
        unit, sign = self.reference.unit, "+" if self.reference.better is Better.LOWER else "-"
        values = (f"{value:.4g} {unit}" for value in (self.reference.median, self.value))
        allowed = f"{sign}{100 * self.reference.tolerance:.1f} %"
        return (self.check, self.name, *values, f"{self.percent:+.1f} %", allowed, self.verdict)


def changes(check: str, values: Mapping[Fom, float], entry: Entry, worse: Collection[str]) -> list[Change]:
    """Return the changes of a case's variables, name -> value, first those in `worse`, which are worse than allowed."""
    compared = [
        Change(check=check, name=name, value=value, reference=entry.references[name], is_worse=name in worse)
        for name, value in sorted((str(name), value) for name, value in values.items())
        if name in entry.references and entry.references[name].median
    ]
    changed = [one for one in compared if one.is_worse or _is_better(one)]
    return sorted(changed, key=lambda change: change.verdict == "better")


def _is_better(change: Change) -> bool:
    gain = -change.percent if change.reference.better is Better.LOWER else change.percent
    return gain > 100 * change.reference.tolerance


def markdown(judged: int, changed: Sequence[Change], warnings: Iterable[str], entries: Iterable[Entry]) -> str:
    """Return the summary of a run of which `judged` variables have a reference, in `entries`."""
    worse = sum(change.verdict == "worse" for change in changed)
    verdict = f"{worse or 'none'} of {judged} variables worse" if judged else "no variable has a reference"
    lines = [f"## railyard: {verdict}", ""]
    if changed:
        ordered = sorted(changed, key=lambda change: change.verdict == "better")
        rows = [HEAD, ("---",) * len(HEAD), *(change.cells for change in ordered)]
        lines += [*_fitting([f"| {' | '.join(map(_plain, row))} |" for row in rows]), ""]
    lines += _fitting([f"- warning: {_plain(warning)}" for warning in warnings], MOST_CHARACTERS // 4)
    pasts = [past for entry in entries for past in entry.history]
    if pasts:
        newest = max(pasts, key=lambda past: past.created)
        records = len({past.record for past in pasts})
        about = f"{records} record{'' if records == 1 else 's'}, newest of {newest.created[:10]}"
        lines += ["", f"History: {about} at commit {_plain(newest.commit[:12])}. The report has every figure."]
    return "\n".join(lines) + "\n"


def _fitting(lines: Sequence[str], most: int = MOST_CHARACTERS // 2) -> list[str]:
    """Return the first lines that have at most so many characters together, and how many there are in addition."""
    size, fitting = 0, list[str]()
    for line in lines:
        size += len(line) + 1
        if size > most:
            return [*fitting, "", f"{len(lines) - len(fitting)} more in the report."]
        fitting.append(line)
    return fitting


def _plain(text: str) -> str:
    """Return text that Markdown shows on one line, as text."""
    return re.sub(r"([\\`*_\[\]|<>#~@])", r"\\\1", " ".join(text.split())) if text != "---" else text
