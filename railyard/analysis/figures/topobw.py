"""Draw the links of a torus: what is missing where, and the rates by dimension and class (Ezell, CUG'13).

Models: every link of every launch that left series, failed launches too, since a launch fails because a link is
bad. A link with several launches shows its worst one. Leaves out: the verdict's words; the launch's reason has them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator

from railyard.analysis.cases import cases
from railyard.analysis.cases.cases import Case
from railyard.analysis.figures import painting, svg
from railyard.analysis.figures.drawing import DataTable, Drawing
from railyard.analysis.text import percent

RATE, MISSING = "bandwidth_gbyte_s", "missing_percent"
#: Six digits at most: no machine has a longer coordinate, and matplotlib cannot draw numbers of any length.
LINK = re.compile(r"([XYZ])([+-]) (\d{1,6}),(\d{1,6}),(\d{1,6})>\d{1,6},\d{1,6},\d{1,6}")
#: A link that lacks this share of its rate or more is marked with the number.
MARKED_PERCENT = 2.0
#: A dimension with more rings than this shows the worst link of all rings at each place.
RINGS_MAX = 64
_FULL_PERCENT = 40.0

#: No axis has more ticks, whatever coordinates a record names.
TICKS_MAX = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkView:
    """One directed link: its best rate over all rounds and launches, and the most that was missing.

    `position` is where it starts along its dimension, and `ring` are the coordinates that its ring shares. `counters`
    is what the error counters of the link show, in words.
    """

    name: str
    dimension: str
    direction: str
    position: int
    ring: tuple[int, ...]
    link_class: str
    best_gbyte_s: float
    missing_percent: float
    counters: str = ""


def drawings(case: Case) -> list[Drawing]:
    """Return the heat map and the spread; nothing if no launch has series of links."""
    links = _links(case)
    return [_map(links), _spread(links)] if links else []


def _links(case: Case) -> list[LinkView]:
    """Return the links of all launches, in the order of dimension and place."""
    by_link: dict[str, dict[str, list[float]]] = {}
    classes: dict[str, str] = {}
    for _, launch in cases.launches(case):
        for series in launch.series:
            name = str(series.labels.get("link", ""))
            if LINK.fullmatch(name):
                by_link.setdefault(name, {}).setdefault(series.fom, []).extend(series.samples)
                classes[name] = str(series.labels.get("class", "unknown"))
    links = []
    for name, foms in by_link.items():
        if (match := LINK.fullmatch(name)) and foms.get(RATE):
            source, along = [int(match[group]) for group in (3, 4, 5)], "XYZ".index(match[1])
            links.append(
                LinkView(
                    name=name,
                    dimension=match[1],
                    direction=match[2],
                    position=source[along],
                    ring=(*source[:along], *source[along + 1 :]),
                    link_class=classes[name],
                    best_gbyte_s=max(foms[RATE]),
                    missing_percent=max(foms.get(MISSING, [0.0])),
                    counters=_counters(case, name),
                )
            )
    return sorted(links, key=lambda link: (link.dimension, link.ring, link.position, link.direction))


def _counters(case: Case, link: str) -> str:
    read = [launch.health for _, launch in cases.launches(case) if launch.health]
    texts = {f"{event.event} {event.count} {event.unit}" for one in read for event in one.faults if event.nic == link}
    return ", ".join(sorted(texts)[:3]) or ("no error counter grew" if read else "error counters not read")


# ---- heat map ----


def _map(links: Sequence[LinkView]) -> Drawing:
    by_dimension = {
        dimension: [link for link in links if link.dimension == dimension]
        for dimension in sorted({link.dimension for link in links})
    }
    heights = [len(_rows(of_dimension)) for of_dimension in by_dimension.values()]
    columns = ("link", "class", "best rate (GB/s)", "missing (%)")
    rows = [(link.name, link.link_class, f"{link.best_gbyte_s:.6f}", f"{link.missing_percent:.1f}") for link in links]

    def paint(figure: Figure) -> None:
        ratios = [1 + height for height in heights]
        grid = figure.subplots(len(ratios), 1, squeeze=False, height_ratios=ratios)
        for axes, (dimension, of_dimension) in zip(grid[:, 0], by_dimension.items(), strict=True):
            _paint_dimension(axes, dimension, of_dimension)

    return Drawing(
        name="links",
        title="What is missing on each link",
        description="A cell for each directed link, by dimension and ring, darker where more is missing. "
        f"{_statement(links)}",
        paint=paint,
        data=DataTable(columns=columns, rows=rows, numbers=frozenset(columns[2:])),
        height_in=1.2 + 0.9 * len(by_dimension) + 0.09 * sum(heights),
        statement=_statement(links),
        foms=frozenset({RATE, MISSING}),
    )


def _rows(links: Sequence[LinkView]) -> list[tuple[int, ...]]:
    """Return the rings of a dimension from the top, or one row for all."""
    rings = sorted({link.ring for link in links})
    return rings if len(rings) <= RINGS_MAX else [()]


def _paint_dimension(axes: Axes, dimension: str, links: Sequence[LinkView]) -> None:
    """Paint a cell for each link: pale if it is sound, else the second colour, fuller where more is missing."""
    rows = _rows(links)
    worst: dict[tuple[int, float], float] = {}
    for link in links:
        row = rows.index(link.ring) if len(rows) > 1 or rows[0] else 0
        position = row, link.position + (0.0 if link.direction == "+" else 0.5)
        worst[position] = max(worst.get(position, 0.0), link.missing_percent)
    for (row, left), missing in worst.items():
        is_bad = missing >= MARKED_PERCENT
        alpha = 0.35 + 0.65 * min(1.0, missing / _FULL_PERCENT) if is_bad else 0.18
        colour = svg.sentinel(1 if is_bad else 0)
        axes.add_patch(Rectangle((left + 0.02, row + 0.06), 0.46, 0.88, facecolor=colour, alpha=alpha, linewidth=0))
        if is_bad:
            axes.text(left + 0.25, row + 0.5, f"{missing:.0f}", ha="center", va="center", fontsize=10, color=svg.INK)
    extent = max(link.position for link in links) + 1
    axes.set_xlim(0, extent)
    axes.set_ylim(len(rows), 0)
    places = range(0, extent, 1 + extent // TICKS_MAX)
    axes.set_xticks([position + 0.5 for position in places], [str(position) for position in places])
    others = "".join(name for name in "XYZ" if name != dimension)
    ends = {0.5: rows[0], len(rows) - 0.5: rows[-1]}
    axes.set_yticks(list(ends), [",".join(map(str, ring)) or "all" for ring in ends.values()])
    axes.set_ylabel(f"ring at {','.join(others)}")
    axes.set_xlabel(f"{dimension} of the sender; left half {dimension}+, right half {dimension}-")
    axes.grid(visible=False)
    axes.tick_params(length=0)


def _statement(links: Sequence[LinkView]) -> str:
    bad = [link for link in links if link.missing_percent >= MARKED_PERCENT]
    if not bad:
        return f"All {len(links)} links carry what their peers carry."
    named = ", ".join(
        f"{link.name} ({percent(link.missing_percent, signed=False)} missing; {link.counters})"
        for link in sorted(bad, key=lambda link: -link.missing_percent)[:3]
    )
    more = f", and {len(bad) - 3} more" if len(bad) > 3 else ""
    return f"{len(bad)} of {len(links)} links carry less than they should: {named}{more}."


# ---- lowest, mean, highest ----


def _spread(links: Sequence[LinkView]) -> Drawing:
    groups: dict[str, list[float]] = {}
    for link in links:
        groups.setdefault(f"{link.dimension} {link.link_class}", []).append(link.best_gbyte_s)
    groups = dict(sorted(groups.items()))
    title, columns = "Rates by dimension and link class", ("links", "count", "min (GB/s)", "avg (GB/s)", "max (GB/s)")
    numbers = {name: (min(rates), fmean(rates), max(rates)) for name, rates in groups.items()}
    words = "; ".join(
        f"{name}: {low:.4g} to {high:.4g} GB/s, mean {mean:.4g}" for name, (low, mean, high) in numbers.items()
    )
    rows = [(name, str(len(groups[name])), *(f"{value:.6f}" for value in of_name)) for name, of_name in numbers.items()]

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        for row, (name, (low, mean, high)) in enumerate(numbers.items()):
            axes.plot([low, high], [row, row], "-", color=svg.sentinel(0), linewidth=1.6)
            rates = groups[name]
            axes.plot(rates, [row] * len(rates), "|", color=svg.sentinel(0), markersize=9, alpha=0.5)
            axes.plot([mean], [row], "o", color=svg.sentinel(0), markersize=6)
        painting.name_rows(axes, list(groups))
        axes.set_xlim(left=0)
        axes.set_xlabel("GB/s (1e9 bytes/s); a mark a link, their mean a dot")
        axes.xaxis.set_major_locator(MaxNLocator(5))
        axes.set_title(title)

    return Drawing(
        name="rates",
        title=title,
        description=f"Lowest, mean and highest rate of the links of each dimension and class. {words}",
        paint=paint,
        data=DataTable(columns=columns, rows=rows, numbers=frozenset(columns[1:])),
        height_in=1.1 + 0.42 * len(groups),
        foms=frozenset({RATE, MISSING}),
    )
