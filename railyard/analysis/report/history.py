"""Draw the history of each check with the gate's band: what each record may be, by the records before it.

Models: the records that `railyard references update` takes, of one check and case, as they pass the gate one after
another (`railyard.analysis.references.update`). Of a case's variables the one is drawn that comes nearest to its limit,
or exceeds it by most. Values are divided by the first, because a page may show times of the modelled machine.
Leaves out: accepted regressions, changes of level (`railyard series dates`).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from matplotlib.figure import Figure

from railyard.analysis.figures import painting, svg
from railyard.analysis.figures.drawing import DataTable, Drawing
from railyard.analysis.references import update
from railyard.analysis.references.limits import Limit
from railyard.records.store.entries import Entry
from railyard.records.units import Better, Fom

#: The fewest records of a history, and the most figures of a page; those nearest to their limits come first.
FEWEST, MOST = 3, 8


class Step(NamedTuple):
    """A record's value, the limit by the records before it (None for the first), and whether the gate refuses it."""

    created: str
    value: float
    limit: Limit | None
    is_refused: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """The steps of one variable of a check, oldest first."""

    title: str
    fom: Fom
    steps: Sequence[Step]

    @property
    def statement(self) -> str:
        """Return how far the newest record is from its level, what is allowed, and how many were refused."""
        newest = self.steps[-1]
        assert newest.limit is not None, self.title
        change, allowed = (100 * (value / newest.limit.level - 1) for value in (newest.value, newest.limit.worst))
        word = "worse" if change * newest.limit.sign > 0 else "better"
        refused = sum(step.is_refused for step in self.steps)
        return (
            f"the newest of {len(self.steps)} records is {abs(change):.1f} % {word} than the level before it; up to "
            f"{abs(allowed):.1f} % worse is allowed. The gate refuses {refused or 'none'} of them."
        )


def drawings(entries: Iterable[Entry]) -> list[Drawing]:
    """Return a figure for each check and case with enough good records of clean commits."""
    by_case, _ = update.good_by_case(entries)
    family = update.family_of({}, by_case)
    histories = [_history(of_case, family) for of_case in by_case.values() if len(of_case) >= FEWEST]
    shown = sorted(filter(None, histories), key=_excess, reverse=True)[:MOST]
    return [_drawing(history, number) for number, history in enumerate(shown, 1)]


def _history(of_case: Sequence[Entry], family: int) -> History | None:
    """Return the history of the variable that comes nearest to its limit; None if no variable is in enough records."""
    by_fom: dict[Fom, list[Step]] = {}
    entry = update.NOTHING
    for indexed in of_case:
        values = {fom: statistics.median(launches) for fom, launches in update.launches_of(indexed).items()}
        now = update.limits_of(entry, family)
        refused, _ = now.worse(values) if entry.references else ((), 0.0)
        for fom, value in values.items():
            step = Step(str(indexed.own["created"]), value, now.of.get(fom), fom in refused)
            by_fom.setdefault(fom, []).append(step)
        entry, _ = update.after_record(entry, indexed, family, accept=False)
    setting = of_case[-1].setting
    title = f"{setting['check']} on {setting['system']}, {setting['ranks']} ranks"
    histories = [
        History(title=f"{title}, {fom.stem}", fom=fom, steps=steps)
        for fom, steps in by_fom.items()
        if len(steps) >= FEWEST and steps[-1].limit
    ]
    return max(histories, key=_excess, default=None)


def _excess(history: History) -> float:
    """Return the largest logarithm of how many times worse than its limit a step is."""
    limited = [(step.value / step.limit.worst, step.limit.sign) for step in history.steps if step.limit]
    return max(sign * math.log(ratio) for ratio, sign in limited)


def _drawing(history: History, number: int) -> Drawing:
    columns = ("created (UTC)", f"{history.fom.stem} ({history.fom.unit.text})", "worst allowed", "gate")
    rows = []
    for step in history.steps:
        worst = f"{step.limit.worst:.6g}" if step.limit else "none yet"
        rows.append((step.created[:16], f"{step.value:.6g}", worst, "refused" if step.is_refused else "passed"))
    return Drawing(
        name=f"history-{number}",
        title=history.title,
        description=f"Records over time, with what the gate allows. {history.title}: {history.statement}",
        paint=lambda figure: _paint(figure, history),
        data=DataTable(columns=columns, rows=rows, numbers=frozenset(columns[1:3])),
        statement=history.statement,
    )


def _paint(figure: Figure, history: History) -> None:
    axes, first = figure.subplots(), history.steps[0].value
    banded = [(at, step.limit) for at, step in enumerate(history.steps) if step.limit]
    places, levels, worst = zip(*((at, one.level / first, one.worst / first) for at, one in banded), strict=True)
    axes.fill_between(
        places, levels, worst, step="mid", color=svg.sentinel(2), alpha=0.25, label="allowed", linewidth=0
    )
    values = [step.value / first for step in history.steps]
    axes.plot(range(len(values)), values, "o-", color=svg.INK, markersize=4, linewidth=0.9)
    refused = [at for at, step in enumerate(history.steps) if step.is_refused]
    axes.plot(refused, [values[at] for at in refused], "v", color=svg.sentinel(1), markersize=8, label="refused")
    ends = (0, len(values) - 1)
    axes.set_xticks(ends, [history.steps[at].created[:10] for at in ends])
    axes.set_title(svg.clean(history.title))
    direction = "lower" if history.fom.better is Better.LOWER else "higher"
    axes.set_ylabel(svg.clean(f"first record = 1 ({direction} is better)"))
    painting.some_room(axes)
    axes.legend(loc="best")
