"""All profiled applications side by side: share of time in MPI by class of call, and mean sizes of messages.

Models: the two bar charts of LLNL's poster on multirail InfiniBand, one bar an application, of every case whose
launches left a profile. Medians over launches and combinations. Leaves out: comparisons of origins, which have charts
of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from railyard.analysis.cases import cases
from railyard.analysis.cases.cases import Case
from railyard.analysis.figures import svg
from railyard.analysis.figures.applications import SHARE, SIZE, PersistentSends, persistent_sends
from railyard.analysis.figures.drawing import DataTable, Drawing
from railyard.analysis.text.numbers import size_text

#: Classes of calls in the order of the bars.
CLASSES = ("point-to-point", "collective", "other")
#: Beside the colour, for those who see none.
_ALPHAS = (1.0, 0.6, 0.3)
_BAR_IN = 0.55

ByClass = Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Profiled:
    """One application of one case: percent of its time and mean size in bytes, by class of call.

    `sends` is None if persistent sends were not counted; the mean size then does not include them.
    """

    name: str
    origin: str
    shares: ByClass
    sizes: ByClass
    sends: PersistentSends | None


def profiled(grouped: Sequence[Case]) -> list[Profiled]:
    """Return the cases that have a profile, in their order; to a name that occurs twice the case's number is added."""
    numbered = [(number, case) for number, case in enumerate(grouped, 1) if by_class(case, SHARE)]
    names = _names(numbered)
    return [
        Profiled(
            name=names[number],
            origin=str(case.origin),
            shares=by_class(case, SHARE),
            sizes=by_class(case, SIZE),
            sends=persistent_sends(case),
        )
        for number, case in numbered
    ]


def by_class(case: Case, fom: str) -> ByClass:
    """Class of call -> median of a figure of merit, without the total of all classes."""
    values: dict[str, list[float]] = {}
    for (name, labels), by_arm in cases.observations(case).items():
        kind = dict(labels).get("class")
        if name == fom and isinstance(kind, str):
            values.setdefault(kind, []).extend(launch.value for seen in by_arm.values() for launch in seen)
    return {kind: median(values[kind]) for kind in CLASSES if kind in values}


def drawings_of_cases(grouped: Sequence[Case]) -> list[Drawing]:
    """Return the two charts of each origin that has profiled applications."""
    profiles = profiled(grouped)
    drawings = []
    for origin in dict.fromkeys(profile.origin for profile in profiles):
        members = [profile for profile in profiles if profile.origin == origin]
        drawings += [_shares(members, origin), _sizes(members, origin)]
    return drawings


def persistent_note(profiles: Sequence[Profiled]) -> str:
    """Return sentences on persistent sends: which applications have them, and where they were not counted."""
    counted = [
        f"{profile.name} has {profile.sends.messages:,.0f} of {profile.sends.size_bytes:,.0f} bytes on average"
        for profile in profiles
        if profile.sends and profile.sends.messages
    ]
    without = [profile.name for profile in profiles if profile.sends and not profile.sends.messages]
    unknown = [profile.name for profile in profiles if profile.sends is None]
    parts = [*counted, *([f"there are none in {', '.join(without)}"] if without else [])]
    sentences = (
        [f"Messages from point to point include persistent sends: {'; '.join(parts)}."] if parts else []
    )
    if unknown:
        sentences.append(f"Persistent sends were not counted, and are missing here: {', '.join(unknown)}.")
    return " ".join(sentences)


def _names(numbered: Sequence[tuple[int, Case]]) -> dict[int, str]:
    plain = {number: case.first.case.benchmark for number, case in numbered}
    return {
        number: f"{name} (case {number})" if list(plain.values()).count(name) > 1 else name
        for number, name in plain.items()
    }


def _shares(members: Sequence[Profiled], origin: str) -> Drawing:
    title = "Share of the time spent in MPI"
    return _chart(
        "shares",
        title,
        "%",
        origin=origin,
        members=members,
        values={member.name: member.shares for member in members},
        stacked=True,
    )


def _sizes(members: Sequence[Profiled], origin: str) -> Drawing:
    title = "Mean size of a message"
    return _chart(
        "sizes",
        title,
        "bytes",
        origin=origin,
        members=members,
        values={member.name: member.sizes for member in members},
        stacked=False,
        note=persistent_note(members),
    )


def _chart(
    name: str,
    title: str,
    unit: str,
    *,
    origin: str,
    members: Sequence[Profiled],
    values: Mapping[str, ByClass],
    stacked: bool,
    note: str = "",
) -> Drawing:
    return Drawing(
        name=f"{name}-{origin}",
        title=f"{title} ({origin})",
        description=f"{title} of each application, by class of call: {_in_words(values, unit)}.{note and ' '}{note}",
        paint=lambda figure: _paint(figure, values, title, unit, stacked=stacked),
        data=_data(values, unit),
        height_in=1.5 + _BAR_IN * len(members),
    )


def _in_words(values: Mapping[str, ByClass], unit: str) -> str:
    return "; ".join(
        f"{name} " + ", ".join(f"{kind} {_number(value, unit)} {unit}" for kind, value in of_name.items())
        for name, of_name in values.items()
    )


def _number(value: float, unit: str) -> str:
    return f"{value:,.0f}" if unit == "bytes" else f"{value:.3g}"


def _paint(figure: Figure, values: Mapping[str, ByClass], title: str, unit: str, *, stacked: bool) -> None:
    names, shown = (
        list(values),
        [kind for kind in CLASSES if any(kind in by_kind for by_kind in values.values())],
    )
    axes = figure.subplots()
    height = 0.7 if stacked else 0.7 / len(shown)
    starts = [0.0] * len(names)
    for series, kind in enumerate(shown):
        widths = [values[name].get(kind, 0.0) for name in names]
        shift = 0.0 if stacked else (series - (len(shown) - 1) / 2) * height
        places = [index + shift for index in range(len(names))]
        axes.barh(
            places,
            widths,
            left=starts if stacked else None,
            height=height,
            color=svg.sentinel(series),
            edgecolor=svg.INK,
            linewidth=0.5,
            alpha=_ALPHAS[series],
            label=kind,
        )
        starts = [start + width for start, width in zip(starts, widths, strict=True)]
        if not stacked or series == len(shown) - 1:
            _label_ends(axes, places, starts if stacked else widths, unit)
    axes.yaxis.set_major_locator(FixedLocator(list(range(len(names)))))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.set_yticklabels([svg.clean(name) for name in names])
    axes.invert_yaxis()
    if not stacked:
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: size_text(round(value))))
        axes.xaxis.set_minor_locator(NullLocator())
    axes.margins(x=0.16)  # room for the values
    axes.set_xlabel("" if unit == "bytes" else unit)
    axes.set_title(title)
    figure.legend(loc="outside lower center", ncols=len(shown))


def _label_ends(axes: Axes, places: Sequence[float], ends: Sequence[float], unit: str) -> None:
    """Each bar's value, or a stack's sum, behind its end."""
    for position, end in zip(places, ends, strict=True):
        if end:
            text = f"{_number(end, unit)} {'B' if unit == 'bytes' else unit}"
            axes.annotate(
                text, (end, position), xytext=(4, 0), textcoords="offset points", va="center", fontsize=9
            )


def _data(values: Mapping[str, ByClass], unit: str) -> DataTable:
    columns = ("application", "class of call", unit)
    rows = [
        (name, kind, f"{value:.6g}") for name, of_name in values.items() for kind, value in of_name.items()
    ]
    return DataTable(columns=columns, rows=rows, numbers=frozenset(columns[2:]))
