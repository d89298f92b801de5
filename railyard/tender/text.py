"""An evaluation as text: Markdown for people, CSV for spreadsheets, JSON for programs."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping

from railyard.records.json_io import Json
from railyard.tender.evaluation import Evaluation, Interval, Line


def markdown(found: Evaluation) -> str:
    """Return the verdict first, then scores, cases, sensitivity and the faults of incomplete bids."""
    return "\n".join(_markdown(found)) + "\n"


def _markdown(found: Evaluation) -> Iterator[str]:
    yield f"# {_plain(found.tender.title)}\n\n{_plain(found.sentence)}\n"
    yield "| bid | score | 95 % | wins when drawn again | tier | signature |\n|---|---|---|---|---|---|"
    for line in found.lines:
        score = f"{line.score.value:.3f}" if line.score else f"not complete, {line.faults} faults"
        interval = f"{line.score.low:.3f} to {line.score.high:.3f}" if line.score else ""
        wins = f"{100 * line.wins:.0f} %" if line.score else ""
        yield _row([line.bidder, score, interval, wins, line.tier, line.signed])
    scored = [line for line in found.lines if line.score]
    if scored:
        yield "\n## Cases\n\nThe ratio to the reference, above 1 is better, with its 95 % interval.\n"
        yield _row(["case", "weight", *(line.bidder for line in scored)])
        yield "|" + "---|" * (2 + len(scored))
        for case in found.tender.cases:
            yield _row([case.name, f"{case.weight:g}", *(_text(line.cases[case.name]) for line in scored)])
    yield "\n## Sensitivity\n"
    yield (
        "\n".join(f"- {_plain(each)}" for each in found.flips)
        or "No single weight, halved, doubled or 0, changes the best bid."
    )
    for line in found.lines:
        yield from _faults(line)


def _faults(line: Line) -> Iterator[str]:
    if line.faults:
        yield f"\n## Why {_plain(line.bidder)} is not complete\n"
    for rule in line.rules:
        for fault in rule.faults[:5]:
            yield f"- {rule.name}: {_plain(': '.join(filter(None, [fault.field, fault.text])))}"
        if len(rule.faults) > 5:
            yield f"- {rule.name}: {len(rule.faults) - 5} more"


def _text(interval: Interval) -> str:
    return f"{interval.value:.3f} ({interval.low:.3f} to {interval.high:.3f})"


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(map(_plain, cells)) + " |"


def _plain(text: str) -> str:
    """Return a text that Markdown shows as it is."""
    escaped = re.sub(r"([\\`*_\[\]|~#!$])", r"\\\1", " ".join(text.split()))
    return escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def comma_separated(found: Evaluation) -> str:
    """Return a line for each bid and case, and one for each bid's score; cells that begin a formula are quoted."""
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(["bid", "case", "weight", "ratio", "low", "high", "complete", "faults"])
    for line in found.lines:
        rows = {
            "score": (line.score, ""),
            **{c.name: (line.cases.get(c.name), c.weight) for c in found.tender.cases},
        }
        for name, (interval, weight) in rows.items():
            numbers = [interval.value, interval.low, interval.high] if interval else ["", "", ""]
            is_complete = "yes" if line.score else "no"
            table.writerow([_cell(line.bidder), _cell(name), weight, *numbers, is_complete, line.faults])
    return out.getvalue()


def _cell(text: str) -> str:
    return f"'{text}" if text[:1] in {"=", "+", "-", "@"} else text


def as_json(found: Evaluation) -> str:
    """Return the whole evaluation as a JSON document."""
    document: dict[str, Json] = {
        "format": "railyard-evaluation/1",
        "title": found.tender.title,
        "sentence": found.sentence,
        "flips": list(found.flips),
        "bids": [
            {
                "bidder": line.bidder,
                "signed": line.signed,
                "tier": line.tier,
                "complete": line.score is not None,
                "score": _numbers(line.score),
                "wins": line.wins,
                "cases": {name: _numbers(interval) for name, interval in line.cases.items()},
                "faults": [
                    {"rule": rule.name, "field": fault.field, "text": fault.text}
                    for rule in line.rules
                    for fault in rule.faults
                ],
            }
            for line in found.lines
        ],
    }
    return json.dumps(document, indent=1) + "\n"


def _numbers(interval: Interval | None) -> Json:
    return None if interval is None else {"value": interval.value, "low": interval.low, "high": interval.high}


FORMATS: Mapping[str, Callable[[Evaluation], str]] = {
    "markdown": markdown,
    "csv": comma_separated,
    "json": as_json,
}
