"""Check what the case and the other figures of a launch determine of each figure: what all programs share.

A function yields a line for each contradiction. It never judges whether the numbers are good.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from railyard.records.benchmark import Label, Series, Unmeasured
from railyard.records.folded.ranks import Ranks
from railyard.records.json_io import Json

Point = frozenset[tuple[str, Label]]
#: Relative room for figures that a program writes with 12 digits.
DIGITS = 1e-6
#: Relative room for times of two ranks, each by its own clock.
CLOCKS = 0.01


@dataclass(frozen=True, kw_only=True)
class Run:
    """One launch, as these functions read it."""

    parameters: Mapping[str, Json]
    ranks: Ranks
    series: Sequence[Series]
    not_measured: Sequence[Unmeasured] = ()
    reported: Mapping[str, Json] = field(default_factory=dict)
    grid: Sequence[int] = ()

    @functools.cached_property
    def figures(self) -> Mapping[str, Mapping[Point, Sequence[float]]]:
        """Return figure of merit -> point -> samples."""
        figures: dict[str, dict[Point, Sequence[float]]] = defaultdict(dict)
        for series in self.series:
            figures[str(series.fom)][frozenset(series.labels.items())] = series.samples
        return figures

    def points(self, *foms: str) -> Iterator[tuple[Mapping[str, Label], tuple[Sequence[float], ...]]]:
        """Yield the labels of each point of the first figure, and the samples of all; none where a figure lacks it."""
        for point, samples in self.figures.get(foms[0], {}).items():
            others = (self.figures.get(fom, {}).get(point, ()) for fom in foms[1:])
            yield dict(point), (samples, *others)

    def lacks(self, foms: Iterable[str], **labels: Label) -> Iterator[str]:
        """Yield a line for each figure without a series at some labels, unless that point is not measured."""
        wanted = labels.items()
        for fom in foms:
            points = self.figures.get(fom, ())
            if any(wanted <= point for point in points) if labels else points:
                continue
            if not any(
                all(one.labels.get(name, value) == value for name, value in wanted)
                for one in self.not_measured
                if one.labels
            ):
                at = ", ".join(f"{name} {value}" for name, value in wanted)
                yield f"no {fom}{' at ' if at else ''}{at}, which the program always writes"

    def counts(self, wanted: Json, foms: Iterable[str] = ()) -> Iterator[str]:
        """Yield a line for each figure, of all or of some, that has not the wanted number of samples."""
        for fom in foms or self.figures:
            for samples in self.figures.get(fom, {}).values():
                if type(wanted) is int and len(samples) != wanted:
                    yield f"{fom}: {len(samples)} samples; repeats is {wanted}"


def unlike(fom: str, samples: Sequence[float], determined: Sequence[float], *, room: float = DIGITS) -> Iterator[str]:
    """Yield a line for the first sample that is not what the rest determines."""
    yield from outside(fom, samples, determined, determined, room=room)


def outside(
    fom: str, samples: Sequence[float], least: Sequence[float], most: Sequence[float], *, room: float = DIGITS
) -> Iterator[str]:
    """Yield a line for the first sample below or above what the rest determines."""
    if not len(samples) == len(least) == len(most):
        yield f"{fom}: {len(samples)} samples; the figures that determine it have {len(least)}"
        return
    for sample, low, high in zip(samples, least, most, strict=True):
        if sample < low - room * abs(low) - 1e-12 or sample > high + room * abs(high) + 1e-12:
            bounds = f"{low:.6g}" if low == high else f"{low:.6g} to {high:.6g}"
            yield f"{fom} is {sample:.6g}; the rest of the launch gives {bounds}"
            return


def numbers(value: Json) -> list[int]:
    """Return the whole numbers of a parameter that is a list; none for another value."""
    return [number for number in value if type(number) is int] if isinstance(value, list) else []


def words(value: Json) -> list[str]:
    """Return the words of a parameter that is a list; none for another value."""
    return [word for word in value if isinstance(word, str)] if isinstance(value, list) else []


#: Function from a launch to its contradictions.
Contradictions = Callable[[Run], Iterator[str]]
#: Function from a launch to (host, bytes that left it at least); the host is empty for all hosts together.
Sent = Callable[[Run], Iterator[tuple[str, float]]]


def nothing(run: Run) -> Iterator[str]:
    """Yield nothing, for a program whose figures determine nothing of each other."""
    yield from ()


def no_bytes(run: Run) -> Iterator[tuple[str, float]]:
    """Yield nothing, for a program whose bytes are not known."""
    yield from ()
