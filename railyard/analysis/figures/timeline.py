"""Draw the iterations of slow launches over time, with the faults and the events that fell into them.

Models: one panel for each launch that was slow or had a scheduled fault, as far as its program records when iterations
began. A dot is an iteration, a filled one was slow; the line is the median of the iterations of like launches. A shaded
span is a fault that the virtual torus was scheduled to have. An event of a counter has no time, because counters are
read before and after a launch, so it is in the panel's heading. Leaves out: launches that were as fast as others.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure

from railyard.analysis.cases.cases import Case
from railyard.analysis.figures import painting, svg
from railyard.analysis.figures.drawing import DataTable, Drawing
from railyard.records.folded import slow
from railyard.records.folded.health import Spell
from railyard.records.folded.slow import Iterations, SlowLaunch

#: These figures are no benchmark's own (`railyard.analysis.figures.registry`).
OF_ANY_CASE = True
TITLE = "Iterations of slow launches over time"
_MOST_PANELS = 4
_PANEL_IN = 1.9


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """A launch with its iterations, the median iteration of its likes in the unit of the samples, and its faults."""

    one: SlowLaunch
    iterations: Iterations
    begun_s: Sequence[float]
    usual: float
    spells: Sequence[Spell]

    @property
    def heading(self) -> str:
        """Return the launch and what was counted in it."""
        events = "; ".join(event.text() for event in self.one.causes[:2])
        name = f"launch {self.one.launch.repeat + 1} of {self.one.of}, {self.one.launch.placement}"
        return f"{name}: {events}" if events else name


def drawings(case: Case) -> list[Drawing]:
    """Return one figure if the program of a slow launch records when its iterations began."""
    panels = [panel for record in case.records for panel in _panels(slow.launches(record, every=True))][:_MOST_PANELS]
    if not panels:
        return []
    words = "; ".join(f"{panel.heading}: {panel.iterations.text()}" for panel in panels)
    columns = ("launch", "iteration", "began after (s)", f"took ({panels[0].iterations.series.fom.unit.text})", "slow")
    rows = [
        (
            str(panel.one.launch.index + 1),
            str(number + 1),
            f"{begun_s - panel.begun_s[0]:.3f}",
            f"{sample:.1f}",
            "slow" if number in panel.iterations.slow else "",
        )
        for panel in panels
        for number, (begun_s, sample) in enumerate(zip(panel.begun_s, panel.iterations.series.samples, strict=True))
    ]
    return [
        Drawing(
            name="timeline",
            title=TITLE,
            description=f"{TITLE}. {words}.",
            paint=lambda figure: _paint(figure, panels),
            data=DataTable(columns=columns, rows=rows, numbers=frozenset(columns[:4])),
            height_in=0.5 + _PANEL_IN * len(panels),
            width_in=7.6,
            statement=f"{words}.",
        )
    ]


def _panels(launches: Sequence[SlowLaunch]) -> list[Panel]:
    panels = []
    for one in launches:
        measured, health = slow.iterations(one.launch), one.launch.health
        spells = health.spells if health else ()
        if measured is None or measured.begun_s is None or not (one.is_slow or spells):
            continue
        likes = [
            sample
            for other in launches
            if other is not one and other.launch.combination == one.launch.combination
            for series in other.launch.series
            if (series.fom, series.labels) == (measured.series.fom, measured.series.labels)
            for sample in series.samples
        ]
        usual = statistics.median(likes or measured.series.samples)
        panels.append(Panel(one=one, iterations=measured, begun_s=measured.begun_s, usual=usual, spells=spells))
    return panels


def _paint(figure: Figure, panels: Sequence[Panel]) -> None:
    figure.suptitle(TITLE, x=0.01, ha="left", fontsize=10.5)
    for axes, panel in zip(figure.subplots(len(panels), squeeze=False)[:, 0], panels, strict=True):
        first_s, samples = panel.begun_s[0], panel.iterations.series.samples
        at_s = [begun_s - first_s for begun_s in panel.begun_s]
        end_s = at_s[-1] + (at_s[-1] - at_s[0]) / max(1, len(at_s) - 1)
        for number, spell in enumerate(panel.spells):
            begin_s, until_s = max(spell.begin_s - first_s, 0.0), min(spell.end_s - first_s, end_s)
            if begin_s < until_s:
                label = f"{spell.link}: {spell.what}" if number == 0 else None
                axes.axvspan(begin_s, until_s, color=svg.sentinel(1), alpha=0.25, label=label, linewidth=0)
        axes.axhline(panel.usual, color=svg.INK, linewidth=0.9, label="median of like launches")
        rest = [number for number in range(len(samples)) if number not in panel.iterations.slow]
        colour = svg.sentinel(0)
        axes.plot([at_s[k] for k in rest], [samples[k] for k in rest], "o", color=colour, markerfacecolor="none")
        chosen = panel.iterations.slow
        axes.plot([at_s[k] for k in chosen], [samples[k] for k in chosen], "o", color=colour, label="slow")
        axes.set_xlim(-0.02 * end_s, 1.02 * end_s)
        axes.set_ylim(bottom=0)
        axes.set_title(svg.clean(panel.heading), fontsize=9)
        painting.name_axis(axes.yaxis, panel.iterations.series.fom)
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=8)
    axes.set_xlabel("time since the first iteration (s)")
