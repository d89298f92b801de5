"""Render an evaluation as Markdown, CSV or JSON."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict

from railyard.records.json_io import Json
from railyard.tender import board
from railyard.tender.evaluation import SCENARIOS, Evaluation, Interval, Line
from railyard.tender.metrics import FORMULAS


def markdown(result: Evaluation) -> str:
    """Return the verdict first, then scores, cases, sensitivity and the faults of incomplete bids."""
    return "\n".join(_markdown(result)) + "\n"


def _markdown(result: Evaluation) -> Iterator[str]:
    metric = FORMULAS[result.tender.metric]
    yield f"# {_plain(result.tender.title)}\n\n{_plain(result.sentence)}\n"
    yield f"Score: {_plain(metric.name)}. {_plain(metric.formula)}.\n"
    yield "| bid | score | 95 % | wins when drawn again | tier | signature |\n|---|---|---|---|---|---|"
    for line in result.lines:
        score = f"{line.score.value:.4g}" if line.score else f"not complete, {line.faults} faults"
        interval = board.bounds(line.score, "{:.4g} to {:.4g}") if line.score else ""
        wins = "" if line.wins is None else f"{100 * line.wins:.0f} %"
        yield _row([line.bidder, score, interval, wins, line.tier, line.signed])
    scored = [line for line in result.lines if line.score]
    if scored:
        yield "\n## Cases\n\nThe speedup over the reference, above 1 is better, with its 95 % interval.\n"
        yield _row(["case", "weight", *(line.bidder for line in scored)])
        yield "|" + "---|" * (2 + len(scored))
        for case in result.tender.cases:
            yield _row([case.name, f"{case.weight:g}", *(_text(line.cases[case.name]) for line in scored)])
    yield "\n## Sensitivity\n"
    if len(scored) > 1 and scored[0].wins_by:
        yield _row(["share of draws with the best score", *(line.bidder for line in scored)])
        yield "|" + "---|" * (1 + len(scored))
        for name in SCENARIOS:
            yield _row([name, *(f"{100 * line.wins_by[name]:.0f} %" for line in scored)])
        yield ""
    yield (
        "\n".join(f"- {_plain(flip)}" for flip in result.flips)
        or "No single weight, halved, doubled or left out, changes the best bid."
    )
    for line in result.lines:
        yield from _faults(line)
    yield "\n## What was measured\n"
    for line in result.lines:
        yield from (f"- {_plain(line.bidder)}: {_plain(note)}" for note in line.notes)
        if line.digest:
            yield f"- {_plain(line.bidder)}: sha256 of the bid {line.digest}"
    if result.trust:
        yield "\n## What is taken on trust\n"
        yield from (f"- {_plain(subject)}: {_plain(sentence)}" for subject, sentence in result.trust)
    yield f"\n{_plain(result.made)}"


def _faults(line: Line) -> Iterator[str]:
    if line.faults:
        yield f"\n## Why {_plain(line.bidder)} is not complete\n"
    for rule in line.rules:
        for fault in rule.faults[:5]:
            yield f"- {rule.name}: {_plain(': '.join(filter(None, [fault.field, fault.text])))}"
        if len(rule.faults) > 5:
            yield f"- {rule.name}: {len(rule.faults) - 5} more"


def _text(interval: Interval) -> str:
    return f"{interval.value:.3f}{board.bounds(interval, ' ({:.3f} to {:.3f})')}"


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(map(_plain, cells)) + " |"


def _plain(text: str) -> str:
    """Return plain text with Markdown's marks escaped."""
    escaped = re.sub(r"([\\`*_\[\]|~#!$])", r"\\\1", " ".join(text.split()))
    return escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def comma_separated(result: Evaluation) -> str:
    """Return a line for each bid and case, and one for each bid's score; cells that begin a formula are quoted."""
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(["bid", "case", "weight", "ratio", "low", "high", "complete", "faults"])
    for line in result.lines:
        rows = {"score": (line.score, ""), **{c.name: (line.cases.get(c.name), c.weight) for c in result.tender.cases}}
        for name, (interval, weight) in rows.items():
            bounds = [interval.value, interval.low, interval.high] if interval else [None, None, None]
            numbers = ["" if number is None else number for number in bounds]
            is_complete = "yes" if line.score else "no"
            table.writerow([_cell(line.bidder), _cell(name), weight, *numbers, is_complete, line.faults])
    return out.getvalue()


def _cell(text: str) -> str:
    return f"'{text}" if text[:1] in {"=", "+", "-", "@"} else text


def as_json(result: Evaluation) -> str:
    """Return the whole evaluation as a JSON document."""
    document: dict[str, Json] = {
        "format": "railyard-evaluation/1",
        "title": result.tender.title,
        "sentence": result.sentence,
        "metric": str(result.tender.metric),
        "flips": list(result.flips),
        "made": result.made,
        "trust": [list(row) for row in result.trust],
        "bids": [
            {
                "bidder": line.bidder,
                "signed": line.signed,
                "tier": line.tier,
                "complete": line.score is not None,
                "score": line.score and asdict(line.score),
                "wins": line.wins,
                "wins_by": dict(line.wins_by),
                "pledges": dict(line.pledges),
                "notes": line.notes,
                "sha256": line.digest,
                "cases": {name: asdict(interval) for name, interval in line.cases.items()},
                "faults": [
                    {"rule": rule.name, "field": fault.field, "text": fault.text}
                    for rule in line.rules
                    for fault in rule.faults
                ],
            }
            for line in result.lines
        ],
    }
    return json.dumps(document, indent=1) + "\n"


FORMATS: Mapping[str, Callable[[Evaluation], str]] = {
    "markdown": markdown,
    "csv": comma_separated,
    "json": as_json,
    "html": board.page,
}
