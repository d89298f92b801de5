"""Draw what a profiler left of applications: sizes of messages of each, and charts of all of them side by side.

Models: medians over launches and combinations. The histograms of one application have one bar per power of two and take
over the profile's other figures of merit, which are in the charts: the two of LLNL's poster on multirail InfiniBand,
share of time in MPI by class of call and mean sizes of messages, one bar per application of every case. Bytes from
point to point include those of persistent sends where these were counted. Leaves out: the application's own figure of
merit, which has the general figures, and comparisons of origins, which have charts of their own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from railyard.analysis.cases import cases
from railyard.analysis.cases.cases import Case
from railyard.analysis.figures import svg
from railyard.analysis.figures.drawing import DataTable, Drawing
from railyard.analysis.text import capital, percent, size_text
from railyard.records.benchmark import Label

#: These figures are no benchmark's own (`railyard.analysis.figures.registry`).
OF_ANY_CASE = True
SHARE, SIZE, MESSAGES = "mpi_time_percent", "message_bytes", "messages_count"
SENT, COLLECTIVE_TIME = "sent_percent", "collective_time_percent"
#: Figures of persistent sends alone, if they were counted: their number, mean size, and sizes.
PERSISTENT, PERSISTENT_SIZE = "persistent_messages_count", "persistent_message_bytes"
PERSISTENT_SIZES = "persistent_messages_percent"
CLAIMED = frozenset({SHARE, SIZE, MESSAGES, SENT, COLLECTIVE_TIME, PERSISTENT, PERSISTENT_SIZE, PERSISTENT_SIZES})
NAMES = {
    SENT: "of the bytes sent from point to point",
    COLLECTIVE_TIME: "of the time in MPI, in collectives",
    PERSISTENT_SIZES: "of the persistent sends, by number",
}
#: Beside the colour, for those who see none.
_ALPHAS = (1.0, 0.6, 0.3)
_MOST_TICKS = 8

#: Classes of calls in the order of the bars.
CLASSES = ("point-to-point", "collective", "other")
#: The charts of all applications: name, figure of merit, title and unit. Shares are stacked, sizes side by side.
CHARTS = (("shares", SHARE, "Share of the time spent in MPI", "%"), ("sizes", SIZE, "Mean size of a message", "bytes"))
_BAR_IN = 0.55

ByClass = Mapping[str, float]

#: Largest size of a bin in bytes -> percent.
Bins = dict[int, float]


def drawings(case: Case) -> list[Drawing]:
    """Return the histograms of a profiled case; nothing for any other."""
    bins_of = {fom: bins for fom in NAMES if (bins := dict(sorted(cases.medians(case, fom, _size).items())))}
    if not bins_of:
        return []
    title, words, counted = "Sizes of messages", _in_words(bins_of), "persistent sends were not counted"
    if sends := persistent_sends(case):
        messages, size_bytes = sends
        sizes = f"{messages:,.0f} persistent sends of {size_bytes:,.0f} bytes on average"
        counted = f"included: {sizes if messages else 'no persistent sends'}"
    columns = ("histogram", "up to (bytes)", "%")
    rows = [(NAMES[fom], str(size), f"{value:.6g}") for fom, bins in bins_of.items() for size, value in bins.items()]
    return [
        Drawing(
            name="sizes",
            title=title,
            description=f"{title}, each bar up to the size below it: {words}.",
            paint=lambda figure: _paint(figure.subplots(), bins_of, title),
            data=DataTable(columns=columns, rows=rows, numbers=frozenset(columns[1:])),
            statement=f"{words} ({counted}).",
            foms=CLAIMED,
        )
    ]


def persistent_sends(case: Case) -> tuple[float, float] | None:
    """Return the number of persistent sends in a launch and their mean size in bytes, 0 where there is none.

    Both are medians over the launches of a case; None where they were not counted.
    """
    messages, size_bytes = (
        cases.medians(case, fom, lambda labels: None if labels else "all").get("all")
        for fom in (PERSISTENT, PERSISTENT_SIZE)
    )
    return None if messages is None else (messages, size_bytes or 0.0)


def _size(labels: Mapping[str, Label]) -> int | None:
    size = labels.get("size_bytes")
    return size if isinstance(size, int) else None


def _in_words(bins_of: Mapping[str, Bins]) -> str:
    """Return the largest bin of each histogram in words, and of none that has less than 1 % anywhere."""
    parts: list[str] = []
    for fom, bins in bins_of.items():
        largest = max(bins, key=lambda size: bins[size])
        if bins[largest] >= 1 or not parts:
            share = percent(bins[largest], signed=False)
            parts.append(f"messages of at most {size_text(largest + 1)} have {share} {NAMES[fom]}")
    return capital("; ".join(parts))


def _paint(axes: Axes, bins_of: Mapping[str, Bins], title: str) -> None:
    sizes = sorted({size for bins in bins_of.values() for size in bins})
    places = {size: index for index, size in enumerate(sizes)}
    width = 0.8 / len(bins_of)
    for series, (fom, bins) in enumerate(bins_of.items()):
        axes.bar(
            [places[size] + (series - (len(bins_of) - 1) / 2) * width for size in bins],
            list(bins.values()),
            width=width,
            color=svg.sentinel(series),
            edgecolor=svg.INK,
            linewidth=0.5,
            alpha=_ALPHAS[series],
            label=NAMES[fom],
        )
    axes.xaxis.set_major_locator(FixedLocator(list(range(0, len(sizes), -(-len(sizes) // _MOST_TICKS)))))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: size_text(sizes[round(value)] + 1)))
    axes.set_xlabel("message size, below")
    axes.set_ylabel("%")
    axes.set_title(title)
    axes.legend(loc="best")


# ---- all applications side by side ----


def profiled(grouped: Sequence[Case]) -> dict[str, Case]:
    """Return the cases that have a profile, by name; to a name that occurs twice the case's number is added."""
    numbered = [
        (number, case.first.case.benchmark, case) for number, case in enumerate(grouped, 1) if by_class(case, SHARE)
    ]
    times = Counter(name for _, name, _ in numbered)
    return {f"{name} (case {number})" if times[name] > 1 else name: case for number, name, case in numbered}


def by_class(case: Case, fom: str) -> ByClass:
    """Return class of call -> median of a figure of merit (percent, bytes), without the total of all classes."""
    medians = cases.medians(case, fom, lambda labels: labels.get("class"))
    return {kind: medians[kind] for kind in CLASSES if kind in medians}


def drawings_of_cases(grouped: Sequence[Case]) -> list[Drawing]:
    """Return the two charts of each origin that has profiled applications."""
    by_origin: dict[str, dict[str, Case]] = {}
    for name, case in profiled(grouped).items():
        by_origin.setdefault(str(case.origin), {})[name] = case
    return [_chart(members, origin, chart) for origin, members in by_origin.items() for chart in CHARTS]


def persistent_note(profiles: Mapping[str, Case]) -> str:
    """Return sentences on persistent sends: which applications have them, and where they were not counted."""
    sends = {name: persistent_sends(case) for name, case in profiles.items()}
    counted = {name: one for name, one in sends.items() if one}
    parts = [f"{name} has {n:,.0f} of {size:,.0f} bytes on average" for name, (n, size) in counted.items() if n]
    if without := [name for name, (messages, _) in counted.items() if not messages]:
        parts.append(f"there are none in {', '.join(without)}")
    sentences = [f"Messages from point to point include persistent sends: {'; '.join(parts)}."] if parts else []
    if unknown := [name for name in sends if name not in counted]:
        sentences.append(f"Persistent sends were not counted, and are missing here: {', '.join(unknown)}.")
    return " ".join(sentences)


def _chart(members: Mapping[str, Case], origin: str, chart: tuple[str, str, str, str]) -> Drawing:
    part, fom, title, unit = chart
    values = {name: by_class(case, fom) for name, case in members.items()}
    note = persistent_note(members) if part == "sizes" else ""
    words = "; ".join(
        f"{application} " + ", ".join(f"{kind} {_number(value, unit)} {unit}" for kind, value in by_kind.items())
        for application, by_kind in values.items()
    )
    columns = ("application", "class of call", unit)
    rows = [(name, kind, f"{value:.6g}") for name, of_name in values.items() for kind, value in of_name.items()]
    return Drawing(
        name=f"{part}-{origin}",
        title=f"{title} ({origin})",
        description=f"{title} of each application, by class of call: {words}.{note and ' '}{note}",
        paint=lambda figure: _paint_chart(figure, values, title, unit),
        data=DataTable(columns=columns, rows=rows, numbers=frozenset(columns[2:])),
        height_in=1.5 + _BAR_IN * len(members),
    )


def _number(value: float, unit: str) -> str:
    return f"{value:,.0f}" if unit == "bytes" else f"{value:.3g}"


def _paint_chart(figure: Figure, values: Mapping[str, ByClass], title: str, unit: str) -> None:
    """Draw a bar for each application and class, each with its value behind its end; shares are stacked on others."""
    names, shown = list(values), [kind for kind in CLASSES if any(kind in by_kind for by_kind in values.values())]
    axes, is_stacked = figure.subplots(), unit == "%"
    height = 0.7 if is_stacked else 0.7 / len(shown)
    starts, ends = [0.0] * len(names), list[tuple[float, float]]()
    for series, kind in enumerate(shown):
        widths = [values[name].get(kind, 0.0) for name in names]
        shift = 0.0 if is_stacked else (series - (len(shown) - 1) / 2) * height
        places = [index + shift for index in range(len(names))]
        axes.barh(
            places,
            widths,
            left=starts if is_stacked else None,
            height=height,
            color=svg.sentinel(series),
            edgecolor=svg.INK,
            linewidth=0.5,
            alpha=_ALPHAS[series],
            label=kind,
        )
        starts = [start + width for start, width in zip(starts, widths, strict=True)]
        if not is_stacked or kind == shown[-1]:
            ends += zip(places, starts if is_stacked else widths, strict=True)
    for position, end in ends:
        if end:
            text = f"{_number(end, unit)} {'B' if unit == 'bytes' else unit}"
            axes.annotate(text, (end, position), xytext=(4, 0), textcoords="offset points", va="center")
    axes.yaxis.set_major_locator(FixedLocator(list(range(len(names)))))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.set_yticklabels([svg.clean(name) for name in names])
    axes.invert_yaxis()
    if not is_stacked:
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: size_text(round(value))))
        axes.xaxis.set_minor_locator(NullLocator())
    axes.margins(x=0.16)  # room for the values
    axes.set_xlabel("" if unit == "bytes" else unit)
    axes.set_title(title)
    figure.legend(loc="outside lower center", ncols=len(shown))
