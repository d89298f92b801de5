"""Draw which algorithm of a collective is faster than the library's default: by placement and size, as a heat map.

Models: a figure for each collective, NIC policy and number of ranks; a row for each placement and algorithm, a column
for each size. A cell has the change of the time in percent, in full colour where a difference was found and pale
elsewhere. Leaves out times and intervals, which `railyard collectives answer` prints.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from railyard.analysis.cases.cases import Case
from railyard.analysis.cases.judgement import Group
from railyard.analysis.figures import svg
from railyard.analysis.figures.drawing import DataTable, Drawing
from railyard.analysis.judge import collectives
from railyard.analysis.judge.collectives import Answer
from railyard.analysis.stats.verdicts import Finding
from railyard.analysis.text import size_text
from railyard.base.errors import InputError
from railyard.placements.collectives import libraries

OF_ANY_CASE = True
_FULL_PERCENT = 50.0
#: A row: placement, algorithm, and its comparison with the default at each size.
Row = tuple[str, str, dict[int, Group]]


def drawings(case: Case) -> list[Drawing]:
    """Return a heat map for each collective that ran with several algorithms."""
    try:
        answered = collectives.answers(case.records)
    except InputError:  # no collective was timed
        return []
    alike: dict[object, list[Answer]] = {}
    for one in answered:
        alike.setdefault((one.collective, one.where._replace(placement="")), []).append(one)
    return [_drawing(number, answers) for number, answers in enumerate(alike.values())]


def _drawing(number: int, of_collective: Sequence[Answer]) -> Drawing:
    answers = sorted(of_collective, key=lambda one: one.where.placement)
    rows: list[Row] = [
        (one.where.placement, name, {size: comparison.group(name) for size, comparison in one.sizes.items()})
        for one in answers
        for name in sorted(one.slowest)
        if name != libraries.DEFAULT
    ]
    sizes, first = sorted({size for _, _, groups in rows for size in groups}), answers[0]
    title = f"{first.collective.capitalize()}: time against the library's default, {first.where.ranks} ranks"
    uses = "; ".join(
        f"{one.where.placement}: "
        + " and ".join(f"{name} from {size_text(least)} on" for name, least in one.use.items())
        for one in answers
        if one.use
    )
    statement = f"Use with {uses}." if uses else "No algorithm is better than the library's default."
    columns = ("placement", "algorithm", "size (bytes)", "change (%)", "finding")
    cells = [
        (placement, name, str(size), f"{group.change_percent:+.1f}", str(group.finding))
        for placement, name, groups in rows
        for size, group in groups.items()
        if group.change_percent is not None
    ]
    return Drawing(
        name=f"algorithms-{number}",
        title=title,
        description=f"{title}, in percent. {statement}",
        paint=lambda figure: _paint(figure, title, rows, sizes),
        data=DataTable(columns=columns, rows=cells, numbers=frozenset(columns[2:4])),
        width_in=2.6 + 0.75 * len(sizes),
        height_in=1.1 + 0.3 * len(rows),
        statement=statement,
    )


def _paint(figure: Figure, title: str, rows: Sequence[Row], sizes: Sequence[int]) -> None:
    axes = figure.subplots()
    for (y, (_, _, groups)), (x, size) in itertools.product(enumerate(rows), enumerate(sizes)):
        group = groups.get(size)
        if group is None or group.change_percent is None:
            continue
        is_certain = group.finding in (Finding.BETTER, Finding.WORSE)
        colour = svg.sentinel(1 if group.change_percent > 0 else 0)
        alpha = 0.25 + 0.6 * min(1.0, abs(group.change_percent) / _FULL_PERCENT) if is_certain else 0.1
        axes.add_patch(Rectangle((x + 0.02, y + 0.04), 0.96, 0.92, facecolor=colour, alpha=alpha, linewidth=0))
        text = f"{round(group.change_percent):+d}{'*' if is_certain else ''}"
        axes.text(x + 0.5, y + 0.5, text, ha="center", va="center", fontsize=9, color=svg.INK)
    axes.set_xlim(0, len(sizes))
    axes.set_ylim(len(rows), 0)
    axes.set_xticks([x + 0.5 for x in range(len(sizes))], [size_text(size) for size in sizes])
    names = [svg.clean(f"{placement}, {algorithm}") for placement, algorithm, _ in rows]
    axes.set_yticks([y + 0.5 for y in range(len(rows))], names)
    axes.set_title(title, fontsize=9, loc="right")
    axes.set_xlabel("change of the time in percent; * a difference was found")
    axes.grid(visible=False)
    axes.tick_params(length=0)
