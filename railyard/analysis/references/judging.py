"""Compare a run with the limits of its check and case, in lines for people, and as Markdown for a comment on GitHub.

Models: limits from the history, or, in a file without one, the references alone. If all variables are worse alike, that
is one line, because the machine may be another. The Markdown has a row for each variable that is worse than allowed, or
better by as much, then the warnings, then the history. It never exceeds what a comment may have; rows that do not fit
are counted. Leaves out: what the limits are (`railyard.analysis.references.limits`), and figures that did not change,
which the report has.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from railyard.analysis.references import limits, update
from railyard.analysis.text import counted, plain
from railyard.records.references import Entry, Reference, References, kind_of
from railyard.records.units import Better, Fom


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The comparison of a run with its references: one line per variable in `worse` and in `missing`.

    `missing` are those that could not be compared. `judged` is the number of variables that were compared. `is_new` if
    the case has references on other kinds of machine alone. `names` are those of the worse variables.
    """

    worse: tuple[str, ...]
    missing: tuple[str, ...]
    judged: int
    is_new: bool = False
    names: tuple[str, ...] = ()


def judged(check: str, case: str, variables: Mapping[Fom, float], references: References) -> Judgement:
    """Compare the variables of a run, variable -> value, with the references of its check and case."""
    cases = references.get(check, {})
    entry, values = cases.get(case), {str(name): value for name, value in variables.items()}
    if entry is None:
        there = f"{check} has references of {len(cases)} other case(s), such as {next(iter(cases), '')!r}"
        line = f"{check}: no reference for this case: {case!r}; {there}"
        is_new = any(kind_of(case)[0] == kind_of(other)[0] for other in cases)
        return Judgement(worse=(), missing=(line,) if cases else (), judged=0, is_new=is_new)
    compared = {name: value for name, value in values.items() if name in entry.references}
    limits_now = update.limits_of(entry, max(1, update.variables_of(references)))
    now = {str(name): limit for name, limit in limits_now.of.items()}
    worse, shift = limits_now.worse({name: compared[name] for name in limits_now.of if name in compared})
    others = [name for name in compared if name not in now and not entry.references[name].is_met(compared[name])]
    names = sorted([*worse, *others])
    together = _together(names, shift, compared, entry)
    missing = sorted(entry.references.keys() - values.keys())
    return Judgement(
        worse=(together,) if together else tuple(_regression(name, compared[name], entry, now) for name in names),
        missing=tuple(f"{check}: no value of {name}, which has a reference" for name in missing),
        judged=len(compared),
        names=tuple(names),
    )


def _together(names: Sequence[str], shift: float, values: Mapping[str, float], entry: Entry) -> str:
    """Return a line if all variables are worse by about the same share, as on a slower machine; otherwise nothing.

    `shift` is by which logarithm all are worse, if that is too much, else 0.
    """
    ratios = [values[name] / entry.references[name].median for name in names]
    logarithms = [abs(math.log(ratio)) for ratio in ratios]
    if not shift or len(names) < len(values) or not max(logarithms) < 2 * shift < 4 * min(logarithms):
        return ""
    changes = [100 * abs(ratio - 1) for ratio in ratios]
    return (
        f"{len(names)} of {len(values)} variables are {min(changes):.1f} to {max(changes):.1f} % worse, all by about "
        f"{100 * math.expm1(shift):.1f} %: another machine, or a change that slows everything; {_passed(entry)}"
    )


def _regression(name: str, value: float, entry: Entry, now: Mapping[str, limits.Limit]) -> str:
    reference, limit = entry.references[name], now.get(name)
    allowed = f"{100 * reference.tolerance:.1f} % allowed in any run"
    if limit and reference.is_met(value):
        allowed = f"{100 * math.expm1(limit.most - limit.own):.1f} % allowed beside the run's other variables"
    side = "above" if reference.better is Better.LOWER else "below"
    change = 100 * abs(value / reference.median - 1)
    return (
        f"{name}: {value:.6g} {reference.unit} is {change:.1f} % {side} the reference {reference.median:.6g} "
        f"{reference.unit} ({allowed}); {_passed(entry)}"
    )


def _passed(entry: Entry) -> str:
    """Return which commit passed last."""
    about = entry.about
    return f"last passed at commit {about.commit[:12]} of {about.date} (n = {about.launches})"


# ---- Markdown ----

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
    def is_better(self) -> bool:
        """Return whether it is better by more than its reference allows it to be worse."""
        gain = -self.percent if self.reference.better is Better.LOWER else self.percent
        return gain > 100 * self.reference.tolerance

    @property
    def cells(self) -> tuple[str, ...]:
        """Return the row's cells, as in HEAD."""
        unit, sign = self.reference.unit, "+" if self.reference.better is Better.LOWER else "-"
        values = (f"{value:.4g} {unit}" for value in (self.reference.median, self.value))
        allowed = f"{sign}{100 * self.reference.tolerance:.1f} %"
        verdict = "worse" if self.is_worse else "better"
        return (self.check, self.name, *values, f"{self.percent:+.1f} %", allowed, verdict)


def changes(check: str, values: Mapping[Fom, float], entry: Entry, worse: Collection[str]) -> list[Change]:
    """Return the changes of a case's variables, name -> value, first those in `worse`, which are worse than allowed."""
    compared = [
        Change(check=check, name=name, value=value, reference=entry.references[name], is_worse=name in worse)
        for name, value in sorted((str(name), value) for name, value in values.items())
        if name in entry.references and entry.references[name].median
    ]
    return sorted((one for one in compared if one.is_worse or one.is_better), key=lambda change: not change.is_worse)


def markdown(judged: int, changed: Sequence[Change], warnings: Iterable[str], entries: Iterable[Entry]) -> str:
    """Return the summary of a run of which `judged` variables have a reference, in `entries`."""
    worse = sum(change.is_worse for change in changed)
    verdict = f"{worse or 'none'} of {judged} variables worse" if judged else "no variable has a reference"
    lines = [f"## railyard: {verdict}", ""]
    if changed:
        ordered = sorted(changed, key=lambda change: not change.is_worse)
        rows = [HEAD, *(change.cells for change in ordered)]
        head, *body = (f"| {' | '.join(map(plain, row))} |" for row in rows)
        lines += [*_fitting([head, f"|{' --- |' * len(HEAD)}", *body]), ""]
    lines += _fitting([f"- warning: {plain(warning)}" for warning in warnings], MOST_CHARACTERS // 4)
    pasts = [past for entry in entries for past in entry.history]
    if pasts:
        newest = max(pasts, key=lambda past: past.created)
        records = counted(len({past.record for past in pasts}), "record")
        about = f"{records}, newest of {newest.created[:10]}"
        lines += ["", f"History: {about} at commit {plain(newest.commit[:12])}. The report has every figure."]
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
