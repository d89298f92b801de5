"""Draw how a profiled application's bytes and its time in collectives spread over sizes of messages.

Models: the histograms that a profiler left, medians over launches and combinations, one bar per power of two. Takes
over the profile's other figures of merit, which are in the charts of all applications
(`railyard.analysis.figures.mpi_profile`). Bytes from point to point include those of persistent sends where these were
counted. Leaves out: the application's own figure of merit, which has the general figures.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median

from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from railyard.analysis.cases import cases
from railyard.analysis.cases.cases import Case
from railyard.analysis.figures import svg
from railyard.analysis.figures.drawing import DataTable, Drawing
from railyard.analysis.text.numbers import percent, size_text

#: These figures are no benchmark's own (`railyard.analysis.figures.registry`).
OF_ANY_CASE = True
SHARE, SIZE, MESSAGES = "mpi_time_percent", "message_bytes", "messages_count"
SENT, COLLECTIVE_TIME = "sent_percent", "collective_time_percent"
#: Of persistent sends alone: their number, which is there only where they were counted, mean size, and sizes.
PERSISTENT, PERSISTENT_SIZE = "persistent_messages_count", "persistent_message_bytes"
PERSISTENT_SIZES = "persistent_messages_percent"
CLAIMED = frozenset(
    {SHARE, SIZE, MESSAGES, SENT, COLLECTIVE_TIME, PERSISTENT, PERSISTENT_SIZE, PERSISTENT_SIZES}
)
NAMES = {
    SENT: "of the bytes sent from point to point",
    COLLECTIVE_TIME: "of the time in MPI, in collectives",
    PERSISTENT_SIZES: "of the persistent sends, by number",
}
_ALPHAS = (1.0, 0.6, 0.3)
_MOST_TICKS = 8

#: Largest size of a bin in bytes -> percent.
Bins = dict[int, float]


def drawings(case: Case) -> list[Drawing]:
    """Return the histograms of a profiled case; nothing for any other."""
    bins_of = {fom: bins for fom in NAMES if (bins := histogram(case, fom))}
    return [_drawing(bins_of, persistent_sends(case))] if bins_of else []


@dataclass(frozen=True, slots=True, kw_only=True)
class PersistentSends:
    """The persistent sends of one launch: their number, and mean size in bytes, 0 where there is none."""

    messages: float
    size_bytes: float

    def in_words(self) -> str:
        """Return a phrase such as `1,200 persistent sends of 8,192 bytes on average`."""
        if not self.messages:
            return "no persistent sends"
        return f"{self.messages:,.0f} persistent sends of {self.size_bytes:,.0f} bytes on average"


def persistent_sends(case: Case) -> PersistentSends | None:
    """Return the persistent sends of a case, medians over its launches; None where they were not counted."""
    messages, size_bytes = _median(case, PERSISTENT), _median(case, PERSISTENT_SIZE)
    return None if messages is None else PersistentSends(messages=messages, size_bytes=size_bytes or 0.0)


def _median(case: Case, fom: str) -> float | None:
    """Return the median of a figure of merit without labels over all launches; None for one that is not there."""
    values = [
        launch.value
        for (name, labels), by_arm in cases.observations(case).items()
        if name == fom and not labels
        for observed in by_arm.values()
        for launch in observed
    ]
    return median(values) if values else None


def histogram(case: Case, fom: str) -> Bins:
    """Return the bins of a histogram in the order of sizes."""
    by_size: Bins = {}
    for (name, labels), by_arm in cases.observations(case).items():
        size = dict(labels).get("size_bytes")
        if name == fom and isinstance(size, int):
            by_size[size] = median(launch.value for observed in by_arm.values() for launch in observed)
    return dict(sorted(by_size.items()))


def _drawing(bins_of: Mapping[str, Bins], sends: PersistentSends | None) -> Drawing:
    title = "Sizes of messages"
    counted = f"included: {sends.in_words()}" if sends else "persistent sends were not counted"
    return Drawing(
        name="sizes",
        title=title,
        description=f"{title}, each bar up to the size below it: {_in_words(bins_of)}.",
        paint=lambda figure: _paint(figure.subplots(), bins_of, title),
        data=_data(bins_of),
        statement=f"{_in_words(bins_of)} ({counted}).",
        foms=CLAIMED,
    )


def _in_words(bins_of: Mapping[str, Bins]) -> str:
    """Return the largest bin of each histogram in words, and of none that has less than 1 % anywhere."""
    parts: list[str] = []
    for fom, bins in bins_of.items():
        largest = max(bins, key=lambda size: bins[size])
        if bins[largest] >= 1 or not parts:
            share = percent(bins[largest], signed=False)
            parts.append(f"messages of at most {size_text(largest + 1)} have {share} {NAMES[fom]}")
    text = "; ".join(parts)
    return f"{text[:1].upper()}{text[1:]}"


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


def _data(bins_of: Mapping[str, Bins]) -> DataTable:
    columns = ("histogram", "up to (bytes)", "%")
    rows = [
        (NAMES[fom], str(size), f"{value:.6g}")
        for fom, bins in bins_of.items()
        for size, value in bins.items()
    ]
    return DataTable(columns=columns, rows=rows, numbers=frozenset(columns[1:]))
