"""Answer first: what the records compare, which is better, by how much, how sure, and on what.

Models: the head of the page. Its sentences and its figure are the scores, of sides and of combinations; its conditions
and its glossary name only what these records have. Leaves out: single figures of merit (the cases below), markup.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from railyard.analysis.cases.cases import Case
from railyard.analysis.cases.scoreboard import Score, Standing, faster
from railyard.analysis.cases.titles import ORIGIN_NOTES, in_words
from railyard.analysis.figures import painting, svg
from railyard.analysis.figures.drawing import DataTable, Drawing
from railyard.analysis.judge import text as words
from railyard.analysis.judge.judged import Judged
from railyard.analysis.report.effects import short_name
from railyard.analysis.stats.verdicts import Finding
from railyard.analysis.text import capital, counted
from railyard.placements.hosts.node import BINDINGS, Binding
from railyard.placements.nics.policies import NicPolicy, policies
from railyard.placements.orders.choices import choices
from railyard.placements.orders.rank_orders import orders
from railyard.placements.orders.word import Word
from railyard.records.record import Origin
from railyard.records.store import levels
from railyard.records.store.levels import Level

TITLE = "How many times as fast as the baseline"
BY_LIBRARY = next(name for name, policy in policies().items() if policy.by_library)
_CONTROL = " (A/A control)"
_ROW_IN = 0.24
_NAME_CHARACTERS = 32
#: Axes from end to end by more than this factor have few numbers.
_WIDE = 4
#: Marker and series colour of what a row shows; all others are open circles.
_MARKS = {Finding.BETTER: ("^", 2), Finding.WORSE: ("v", 1)}
_OPEN = ("o", 5)


def sentences(judged: Judged) -> list[str]:
    """Return the answer, a sentence per side and per system; empty if nothing is compared."""
    sides = words.answers(judged.sides) if judged.sides else []
    compared = (one.case for one in judged.cases if one.comparisons and len(one.case.combinations) > 1)
    mixed = levels.sentence(level for case in compared for level in _levels(case))
    by_baseline: dict[tuple[str, str, str], list[Standing]] = {}
    for row in judged.standings:
        by_baseline.setdefault((row.system, row.origin, row.baseline), []).append(row)
    return [*filter(None, [mixed]), *sides, *map(_best, by_baseline.values())]


def _levels(case: Case) -> Iterator[Level]:
    return (levels.of(record.document)[0] for record in case.records)


def drawing(judged: Judged) -> Drawing | None:
    """Return the figure of all ratios with their intervals; None if nothing is compared."""
    rows = _rows(judged)
    if not any(row.score for row in rows):
        return None
    return Drawing(
        name="answer",
        title=TITLE,
        description=f"{TITLE}, above 1 is better. {' '.join(sentences(judged))}",
        paint=lambda figure: _paint(figure.subplots(), rows),
        data=_data(rows),
        height_in=0.9 + _ROW_IN * (len(rows) + len(set(map(_heading, rows)))),
    )


def conditions(grouped: Sequence[Case]) -> dict[str, str]:
    """Return on what the records were made, when, by which code, and what identifies them; empty for none."""
    records = [record for case in grouped for record in case.records]
    if not records:
        return {}
    code = (one.provenance["railyard"] for one in records)
    days = sorted(one.created[:10] for one in records)
    digest = hashlib.sha256("".join(sorted(one.sha256 for one in records)).encode()).hexdigest()
    libraries = (str((one.provenance["mpi"] or {}).get("library") or "") for one in records)
    origins = {case.origin for case in grouped}
    listed = {
        "systems": (f"{one.system.name} ({one.system.partition}, {one.system.environment})" for one in records),
        "topologies": (one.case.topology.name for one in records if one.case.topology),
        "MPI": (re.split(r",|\. ", library)[0] for library in libraries),
        **{f"{origin} numbers": [ORIGIN_NOTES[origin]] for origin in Origin if origin in origins},
        "dates": [" to ".join(sorted({days[0], days[-1]}))],
        "level of evidence": (level.text for case in grouped for level in _levels(case)),
        "evidence": [f"{counted(len(records), 'record')} of {counted(len({one.job for one in records}), 'job')}"],
        "written by railyard": (
            f"{one['version']} ({str(one['git_commit'] or 'commit not known')[:12]}"
            f"{', with changes' if one['git_dirty'] else ''})"
            for one in code
        ),
        "digest (sha256)": [digest],
    }
    return {name: "; ".join(dict.fromkeys(filter(None, texts))) for name, texts in listed.items()}


def glossary(grouped: Sequence[Case]) -> list[tuple[str, str]]:
    """Return the placements, node choices, bindings and NIC policies of these records, and what each does."""
    rows: dict[str, str] = {}
    unbound: dict[str, None] = {}
    for case in grouped:
        stated = case.first.case
        nics = max(len(stated.devices or ()), stated.topology.rails if stated.topology else 1)
        for placement in stated.placements:
            name, _, binding = placement.partition("/")
            order, _, choice = name.partition("@")
            rows |= _does(order.partition(":")[0], orders())
            rows |= _does(choice.partition(":")[0], choices())
            rows |= {f"/{binding}": _sentence(BINDINGS[Binding(binding)])} if binding in set(Binding) else {}
            if nics > 1 and BY_LIBRARY in stated.nic_policies and binding in {"", Binding.NONE}:
                unbound[placement] = None
        for policy in stated.nic_policies:
            rows |= _does(policy, policies())
    if unbound:
        names = ", ".join(unbound)
        rows[BY_LIBRARY] += f" It may choose by processor, and nothing bound the ranks under {names}."
    return list(rows.items())


def _does(name: str, members: Mapping[str, Word | NicPolicy]) -> dict[str, str]:
    """Return a name with what it does; `nic-1` is described as its form `nic-K` is."""
    member = members.get(name) or members.get(re.sub(r"-\d+$", "-K", name))
    if not member:
        return {}
    does = re.sub(r"\bK\b", name.rpartition("-")[2], member.does)
    is_chosen = isinstance(member, NicPolicy) and name != BY_LIBRARY
    return {name: _sentence(f"local rank k sends through {does}" if is_chosen else does)}


def _sentence(text: str) -> str:
    return f"{capital(text)}."


def _best(members: Sequence[Standing]) -> str:
    """Return what the ratios of the combinations of one system show, the best first; names of the code come last."""
    baseline = in_words(members[0].baseline)
    (only, *others) = {row.only for row in members if row.score} or {""}
    where = ", ".join([members[0].system, members[0].origin, *([only] if only and not others else [])])
    scored = sorted(((row.score, row) for row in members if row.score), key=lambda pair: -pair[0].value)
    worse = [pair for pair in scored if pair[0].finding is Finding.WORSE]
    better = [pair for pair in scored if pair[0].finding is Finding.BETTER]
    if better or worse:
        score, row = better[0] if better else worse[-1]
        name = in_words(row.combination) + (_CONTROL if _name(row).endswith(_CONTROL) else "")
        ratio = capital(faster(name, score, baseline, row.what))
        if not better:
            slower = _slower(len(worse), len(members))
            return f"Nothing is shown to be faster than {baseline}. {slower}. {ratio}. ({where})"
        slower = f" {_slower(len(worse), len(members) - 1)} than the baseline." if worse else ""
        return f"{ratio}.{slower} ({where})"
    if scored and all(score.finding is Finding.NO_DIFFERENCE for score, _ in scored):
        return f"No difference from {baseline} is shown, in {counted(len(members), 'combination')}. ({where})"
    return f"No winner among {len(members) + 1} combinations can be named. ({where})"


def _slower(count: int, others: int) -> str:
    """Return how many of the other combinations are slower than the baseline."""
    if count == others:
        return {1: "The other is slower", 2: "Both others are slower"}.get(others, f"All {others} others are slower")
    return f"{count} of the {others} others {'is' if count == 1 else 'are'} slower"


def _name(row: Standing) -> str:
    """Return a combination's name, and whether it is the baseline's own placement once more."""
    name = short_name(row.combination)
    same = name.replace("/none", "") == short_name(row.baseline).replace("/none", "")
    return f"{name}{_CONTROL}" if same else name


def _rows(judged: Judged) -> list[Standing]:
    """Return the rows of the figure: sides against their baseline, then combinations against theirs."""
    if judged.sides is None:
        return judged.standings
    baseline = words.shown(judged.sides.baseline)
    of_sides = [
        Standing(system="sides", origin=origin, combination=words.shown(name), baseline=baseline, score=score)
        for (origin, name), score in judged.sides.scores.items()
    ]
    return [*of_sides, *judged.standings]


def _heading(row: Standing) -> tuple[str, str]:
    return f"{row.system} ({row.origin})", short_name(row.baseline)


def _data(rows: Sequence[Standing]) -> DataTable:
    columns = ("of", "combination or side", "baseline", "ratio", "95 % interval", "cases", "verdict")
    cells = []
    for row in rows:
        group, baseline = _heading(row)
        interval = row.interval if row.score and row.score.low is not None else "none"
        cells.append((group, _name(row), baseline, row.value, interval, row.cases, str(row.verdict)))
    return DataTable(columns=columns, rows=cells, numbers=frozenset({"ratio", "95 % interval"}))


def _paint(axes: Axes, rows: Sequence[Standing]) -> None:
    """Draw each group under its heading, the baseline as a line at 1, a marker and a bar per row."""
    names: list[str] = []
    for heading in dict.fromkeys(map(_heading, rows)):
        painting.head_row(axes, len(names), f"{heading[0]}: {heading[1]} = 1")
        names.append("")
        for row in rows:
            if _heading(row) == heading:
                _draw(axes, len(names), row.score)
                name = svg.clean(_name(row))
                is_short = len(name) <= _NAME_CHARACTERS
                names.append(name if is_short else f"{name[: _NAME_CHARACTERS - 1]}\N{HORIZONTAL ELLIPSIS}")
    axes.axvline(1.0, color=svg.INK, linewidth=1.0, zorder=1)
    painting.name_rows(axes, names)
    axes.set_xscale("log")
    low, high = axes.get_xlim()
    low, high = min(low, 0.8), max(high, 1.25)
    axes.set_xlim(low, high)
    subs = (1.0, 2.0, 5.0) if high / low > _WIDE else (1.0, 1.2, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 9.0)
    axes.xaxis.set_major_locator(LogLocator(subs=subs, numticks=12))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.tick_params(axis="x", top=True, labeltop=True)
    axes.set_xlabel("times as fast (right is better)")


def _draw(axes: Axes, at: int, score: Score | None) -> None:
    if score is None:
        axes.text(1.0, at, " no value", va="center", style="italic")
        return
    marker, series = _MARKS.get(score.finding, _OPEN)
    colour = svg.sentinel(series)
    if score.low is not None and score.high is not None:
        axes.plot([score.low, score.high], [at, at], "-", color=colour, linewidth=2.2, zorder=3)
    axes.plot([score.value], [at], marker, color=colour, markersize=7, zorder=4)
