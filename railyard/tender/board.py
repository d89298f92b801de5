"""Render an evaluation as a page for a board: answers in plain words on the first screen, and the evidence below them.

Models: one file without scripts, fonts or pictures from elsewhere; it prints on A4 and reads on a phone. Leaves out:
curves and placements, which `railyard report` draws of the same records.
"""

from __future__ import annotations

import base64
import hashlib
import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from railyard.analysis.text.numbers import counted
from railyard.records import trust
from railyard.records.record import Origin
from railyard.tender import completeness
from railyard.tender.evaluation import NOISE, SCENARIOS, Evaluation, Interval, Line
from railyard.tender.metrics import FORMULAS

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
        bids=counted(len(result.lines), "bid"),
        complete=len(scored),
        scored=scored,
        scenarios=SCENARIOS,
        by_hand=list(completeness.by_hand(result.tender)),
        answers=list(_answers(result, scored)),
        level=_level,
        trusted=_trusted,
        scale=_Scale(scored, is_ratio=FORMULAS[result.tender.metric].is_ratio),
        first_fault=_first_fault,
        changes=trust.changes()[0],
        worse=list(_worse(scored)),
        bounds=bounds,
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
    parts += [] if line.signer else ["who handed it in"]
    parts += [f"{counted(len(line.pledges), 'promise')}"] if line.pledges else []
    return "; ".join(parts)


def _answers(result: Evaluation, scored: Sequence[Line]) -> Iterator[tuple[str, list[str]]]:
    """Yield the questions of a board with their answers, each a list of sentences."""
    out = [line for line in result.lines if not line.score]
    lead = result.leads[0] if result.leads else None
    yield "Who leads, and by how much?", [_leader(scored, lead)]
    yield "How certain is that?", list(_certainty(result, scored, lead))
    yield "What does the score mean?", [FORMULAS[result.tender.metric].meaning, "A higher score is better."]
    yield (
        "Which bids are not ranked, and why?",
        [f"{line.bidder}: {_first_fault(line)[1]}." for line in out]
        + ["A bid is ranked only if it follows every rule that is listed below."],
    )
    yield "What was taken on trust?", list(_on_trust(result))
    yield (
        "Who signed, and when?",
        [f"{line.bidder}: {line.signer or line.signed}; measured {line.days}." for line in result.lines]
        + ["A signature has no date of its own."],
    )
    yield "What would change the result?", list(_changes(result, scored))
    yield "What comes next?", list(_next(result, scored, out))


def _percent(ratio: float) -> str:
    return f"{100 * (ratio - 1):.1f} %"


def _leader(scored: Sequence[Line], lead: Interval | None) -> str:
    if not scored or scored[0].score is None:
        return "Nobody, because no bid is complete."
    first, score = scored[0].bidder, scored[0].score.value
    if note := scored[0].open_note:
        return f"Nobody, until it is decided who copied. {first} has the highest score, {score:.4g}; {note}."
    if len(scored) == 1 or scored[1].score is None:
        return f"{first}, with a score of {score:.4g}. It is the only complete bid."
    more = lead.value if lead else score / scored[1].score.value
    return (
        f"{first}. Its score of {score:.4g} is {_percent(more)} higher than that of {scored[1].bidder}, "
        f"which is second with {scored[1].score.value:.4g}."
    )


def _certainty(result: Evaluation, scored: Sequence[Line], lead: Interval | None) -> Iterator[str]:
    if len(scored) < 2:
        yield "There is no other complete bid to compare it with."
    elif None in result.leads or lead is None or lead.low is None or lead.high is None:
        yield "Nobody can tell, because a bid has fewer than 4 jobs of a case."
    else:
        yield f"With a certainty of 95 %, the lead is between {_percent(lead.low)} and {_percent(lead.high)}."
        if not result.is_decided:
            yield "At least one other bid may be as good, because its difference may be chance."
        if scored[0].wins is not None:
            share = f"about {100 * scored[0].wins:.0f} of 100 repetitions"
            yield f"If each bidder measured again, {scored[0].bidder} would lead in {share}."


def _on_trust(result: Evaluation) -> Iterator[str]:
    origins = {origin for line in result.lines for origin in line.origins}
    yield "The buyer did not watch the measurements. A signature shows who answers for the numbers."
    if Origin.MEASURED not in origins:
        yield "No bid was measured on a real machine, so nothing here shows how fast a real network is."
    yield from (sentence for subject, sentence in result.trust if subject == "luck")


def _changes(result: Evaluation, scored: Sequence[Line]) -> Iterator[str]:
    if len(scored) < 2:
        return
    yield from (f"{flip[0].upper()}{flip[1:]}." for flip in result.flips)
    if not result.flips:
        yield "No weight of a single case, halved, doubled or left out, puts another bid first."
    if (share := scored[0].wins_by.get(SCENARIOS[-1])) is not None:
        yield (
            f"With random errors of {100 * NOISE[-1]:g} % in every result, {scored[0].bidder} would lead in "
            f"{100 * share:.0f} of 100 repetitions."
        )


def _next(result: Evaluation, scored: Sequence[Line], out: Sequence[Line]) -> Iterator[str]:
    if out:
        names = ", ".join(line.bidder for line in out)
        yield f"Ask {names} to mend what is listed above, or exclude the bid."
    if len(scored) > 1 and not result.is_decided:
        yield "Ask the leading bidders for more jobs, because what they handed in does not tell them apart."
    rules = len(list(completeness.by_hand(result.tender)))
    if rules:
        yield f"Judge the {counted(rules, 'rule')} at the end of this page that no program can judge."
    if scored:
        yield (
            f"Compare prices, which the score leaves out. At acceptance, measure {scored[0].bidder} again "
            "and compare by railyard tender retain."
        )


def _worse(lines: Sequence[Line]) -> Iterator[tuple[str, str, Interval]]:
    """Yield bidder, case and speedup of each case whose interval, or else value, is below that of the reference."""
    for line in lines:
        yield from ((line.bidder, name, it) for name, it in line.cases.items() if (it.high or it.value) < 1)


def _first_fault(line: Line) -> tuple[str, str]:
    """Return the first rule with a fault, and the beginning of the fault's text."""
    rule = next(rule for rule in line.rules if rule.faults)
    return rule.name, textwrap.shorten(rule.faults[0].text, MOST_OF_A_FAULT, placeholder=" ...")
