"""Render an evaluation as a page for a board: answers in plain words on the first screen, and the evidence below them.

Models: one file without scripts, fonts or pictures from elsewhere; it prints on A4 and reads on a phone. Leaves out:
curves and placements, which `railyard report` draws of the same records.
"""

from __future__ import annotations

import base64
import hashlib
import math
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from railyard.analysis.text import counted
from railyard.records import trust
from railyard.records.record import Origin
from railyard.tender import completeness
from railyard.tender.evaluation import NOISE, SCENARIOS, Evaluation, Interval, Line
from railyard.tender.metrics import FORMULAS

if TYPE_CHECKING:
    from jinja2 import Environment

#: Most characters of a fault on the first screen.
MOST_OF_A_FAULT = 140
TEMPLATES = Path(__file__).parent / "templates"
#: Level of evidence in words, and what a reader takes on trust at that level.
LEVELS: Mapping[Origin, tuple[str, str]] = {
    Origin.MEASURED: ("measured on a machine", "that the numbers are true, and which machine gave them"),
    Origin.EMULATED: ("emulated (a network made by software)", "that the numbers are true"),
    Origin.SIMULATED: ("simulated (no machine)", "that the simulator is like the machine"),
    Origin.MODELLED: ("computed by a model (no machine)", "that the model is like the machine"),
}
#: About how many marks the axis of the figure has.
_MARKS = 4


def page(result: Evaluation) -> str:
    """Return the page as HTML."""
    from markupsafe import Markup  # here, because no other command of `railyard tender` needs it

    style = file("board.css")
    scored = [line for line in result.lines if line.score]
    cases = zip(scored[0].cases.values(), scored[1].cases.values(), strict=True) if scored[1:] else ()
    ahead = sum(one.value > other.value for one, other in cases)
    return (
        environment()
        .get_template("board.html.j2")
        .render(
            result=result,
            style=Markup(style),
            style_hash=hash_of(style),
            metric=FORMULAS[result.tender.metric],
            bids=counted(len(result.lines), "bid"),
            complete=len(scored),
            scored=scored,
            scenarios=SCENARIOS,
            by_hand=list(completeness.by_hand(result.tender)),
            percent=lambda ratio: f"{100 * (ratio - 1):.1f}\N{NO-BREAK SPACE}%",
            lead=result.leads[0] if result.leads else None,
            noise=f"{100 * NOISE[-1]:g}\N{NO-BREAK SPACE}%",
            measured=any(Origin.MEASURED in line.origins for line in result.lines),
            level=_level,
            trusted=_trusted,
            scale=_Scale(scored, is_ratio=FORMULAS[result.tender.metric].is_ratio),
            first_fault=_first_fault,
            changes=trust.changes()[0],
            worse=[
                (line.bidder, name, it)
                for line in scored
                for name, it in line.cases.items()
                if (it.high or it.value) < 1
            ],
            ahead=ahead,
            bounds=bounds,
        )
    )


def file(name: str) -> str:
    """Return the text of a style or a script of the pages."""
    return (TEMPLATES / name).read_text(encoding="utf-8")


def hash_of(text: str) -> str:
    """Return the hash by which a page's policy of contents allows a style or a script."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def environment() -> Environment:
    """Return the environment of the templates, which escape what records contain."""
    import jinja2

    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def bounds(interval: Interval, form: str) -> str:
    """Return the bounds of an interval in a format of two numbers; empty without bounds."""
    return "" if interval.low is None or interval.high is None else form.format(interval.low, interval.high)


class _Scale:
    """The axis of the figure: positions in percent of its width, and the values of its marks."""

    def __init__(self, scored: Sequence[Line], *, is_ratio: bool) -> None:
        """Fit the axis to the scores and their bounds, and to the reference, which scores 1, if there is one."""
        scores = [line.score for line in scored if line.score]
        ends = [end for score in scores for end in (score.value, score.low, score.high) if end is not None]
        self.reference = 1.0 if is_ratio else None
        ends += [1.0] if is_ratio or not ends else []
        low, high = min(ends), max(ends)
        room = 0.05 * (high - low) or 0.05 * high
        self._low, self._high = low - room, high + room
        rough = (self._high - self._low) / _MARKS
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough)
        first, last = math.ceil(self._low / step), math.floor(self._high / step)
        self.marks = [step * number for number in range(first, last + 1)]

    def at(self, value: float) -> str:
        """Return the position of a value, with a margin for the numbers at both ends."""
        return f"{4 + 92 * (value - self._low) / (self._high - self._low):.2f}%"


def _level(line: Line) -> str:
    return "; ".join(LEVELS[origin][0] for origin in line.origins) or "nothing that can be read"


def _trusted(line: Line) -> str:
    """Return what of a bid nothing but the bidder's word shows."""
    parts = [LEVELS[origin][1] for origin in line.origins]
    parts += [] if line.read.signed.by else ["who handed it in"]
    pledges = line.read.bid.pledges
    parts += [counted(len(pledges), "promise")] if pledges else []
    return "; ".join(parts)


def _first_fault(line: Line) -> tuple[str, str, str]:
    """Return the first rule with a fault, the beginning of the fault's text, and what the rule demands."""
    rule = next(rule for rule in line.rules if rule.faults)
    return rule.name, textwrap.shorten(rule.faults[0].text, MOST_OF_A_FAULT, placeholder=" ..."), rule.text
