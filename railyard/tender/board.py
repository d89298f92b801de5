"""Render an evaluation as a page for a board: the verdict on one screen, and the evidence below it.

Models: one file without scripts, fonts or pictures from elsewhere; it prints on A4 and reads on a phone. Leaves out:
curves and placements, which `railyard report` draws of the same records.
"""

from __future__ import annotations

import base64
import hashlib
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

from railyard.records import trust
from railyard.tender import completeness
from railyard.tender.evaluation import SCENARIOS, Evaluation, Interval, Line
from railyard.tender.metrics import FORMULAS

#: Most characters of a fault on the first screen.
MOST_OF_A_FAULT = 90
TEMPLATES = Path(__file__).parent / "templates"


def page(result: Evaluation) -> str:
    """Return the page as HTML."""
    import jinja2  # here, because no other command of `railyard tender` needs it
    from markupsafe import Markup

    style = (TEMPLATES / "board.css").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    scored = [line for line in result.lines if line.score]
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("board.html.j2").render(
        result=result,
        style=Markup(style),
        style_hash=f"sha256-{digest}",
        metric=FORMULAS[result.tender.metric],
        bids=len(result.lines),
        complete=len(scored),
        scored=scored,
        scenarios=SCENARIOS,
        by_hand=list(completeness.by_hand(result.tender)),
        first_fault=_first_fault,
        changes=trust.changes()[0],
        worse=list(_worse(scored)),
        bounds=bounds,
        top=max((line.score.high or line.score.value for line in scored if line.score), default=1.0),
    )


def bounds(interval: Interval, form: str) -> str:
    """Return the bounds of an interval in a format of two numbers; empty without bounds."""
    return "" if interval.low is None or interval.high is None else form.format(interval.low, interval.high)


def _worse(lines: Sequence[Line]) -> Iterator[tuple[str, str, Interval]]:
    """Yield bidder, case and speedup of each case whose interval, or else value, is below that of the reference."""
    for line in lines:
        yield from ((line.bidder, name, it) for name, it in line.cases.items() if (it.high or it.value) < 1)


def _first_fault(line: Line) -> tuple[str, str]:
    """Return the first rule with a fault, and the beginning of the fault's text."""
    rule = next(rule for rule in line.rules if rule.faults)
    return rule.name, textwrap.shorten(rule.faults[0].text, MOST_OF_A_FAULT, placeholder=" ...")
