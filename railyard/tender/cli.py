"""Define the command `railyard tender`: pack a bid, check it against a tender file, evaluate several, print them."""

from __future__ import annotations

import csv
import dataclasses
import hashlib
import io
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

import click

from railyard.analysis.text import cell, counted, plain
from railyard.base.commands import COUNT, PATH, Commands, example, format_option, option, output_option
from railyard.base.errors import InputError
from railyard.records import provenance, record
from railyard.records.cli import files_of, write
from railyard.records.json_io import Json
from railyard.records.rules.registry import Fault
from railyard.records.store import bag
from railyard.records.store.bag import Bid
from railyard.tender import bids, board, completeness, evaluation, judged, measured, presets, request
from railyard.tender.evaluation import SCENARIOS, Evaluation, Line
from railyard.tender.metrics import FORMULAS


def markdown(result: Evaluation) -> str:
    """Return the verdict first, then scores, cases, sensitivity and the faults of incomplete bids."""
    return "\n".join(_markdown(result)) + "\n"


def _markdown(result: Evaluation) -> Iterator[str]:
    metric = FORMULAS[result.tender.metric]
    yield f"# {plain(result.tender.title)}\n\n{plain(result.sentence)}\n"
    yield f"Score: {plain(metric.name)}. {plain(metric.formula)}.\n"
    yield "| bid | score | 95 % | wins when drawn again | tier | signature |\n|---|---|---|---|---|---|"
    for line in result.lines:
        score = f"{line.score.value:.4g}" if line.score else f"not complete, {line.faults} faults"
        interval = board.bounds(line.score, "{:.4g} to {:.4g}") if line.score else ""
        wins = "" if line.wins is None else f"{100 * line.wins:.0f} %"
        yield _row([line.bidder, score, interval, wins, line.read.bid.tier, line.read.signed.text])
    scored = [line for line in result.lines if line.score]
    if scored:
        yield "\n## Cases\n\nThe speedup over the reference, above 1 is better, with its 95 % interval.\n"
        yield _row(["case", "weight", *(line.bidder for line in scored)])
        yield "|" + "---|" * (2 + len(scored))
        for case in result.tender.cases:
            speedups = (line.cases[case.name] for line in scored)
            texts = (f"{one.value:.3f}{board.bounds(one, ' ({:.3f} to {:.3f})')}" for one in speedups)
            yield _row([case.name, f"{case.weight:g}", *texts])
    yield "\n## Sensitivity\n"
    if len(scored) > 1 and scored[0].wins_by:
        yield _row(["share of draws with the best score", *(line.bidder for line in scored)])
        yield "|" + "---|" * (1 + len(scored))
        for name in SCENARIOS:
            yield _row([name, *(f"{100 * line.wins_by[name]:.0f} %" for line in scored)])
        yield ""
    yield (
        "\n".join(f"- {plain(flip)}" for flip in result.flips)
        or "No single weight, halved, doubled or left out, changes the best bid."
    )
    for line in result.lines:
        yield from _faults(line)
    yield "\n## What was measured\n"
    for line in result.lines:
        yield from (f"- {plain(line.bidder)}: {plain(note)}" for note in line.notes)
        if digest := line.read.digest:
            yield f"- {plain(line.bidder)}: sha256 of the bid {digest}"
    if result.trust:
        yield "\n## What is taken on trust\n"
        yield from (f"- {plain(subject)}: {plain(sentence)}" for subject, sentence in result.trust)
    yield f"\n{plain(result.made)}"


def _faults(line: Line) -> Iterator[str]:
    if line.faults:
        yield f"\n## Why {plain(line.bidder)} is not complete\n"
    for rule in line.rules:
        for fault in rule.faults[:5]:
            yield f"- {rule.name}: {plain(_line(fault))}"
        if len(rule.faults) > 5:
            yield f"- {rule.name}: {len(rule.faults) - 5} more"


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(map(plain, cells)) + " |"


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
            table.writerow([cell(line.bidder), cell(name), weight, *numbers, is_complete, line.faults])
    return out.getvalue()


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
                "signed": line.read.signed.text,
                "tier": line.read.bid.tier,
                "complete": line.score is not None,
                "score": line.score and asdict(line.score),
                "wins": line.wins,
                "wins_by": dict(line.wins_by),
                "pledges": dict(line.read.bid.pledges),
                "notes": line.notes,
                "sha256": line.read.digest,
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


request_option = option("--request request_file", "The tender file (docs/tender.md).", PATH, required=True)
signers_option = option(
    "--allowed-signers", "Whose keys are known, as ssh-keygen reads them: NAME KEYTYPE KEY a line.", PATH
)


@click.group(cls=Commands)
def tender() -> None:
    """Write, check and evaluate the bids of a tender."""


@tender.command("preset", epilog=example("railyard tender preset"))
@click.argument("name", required=False, default="")
@option("--nodes", "Nodes of the machine.  [default: not known]", COUNT)
def show_preset(name: str, nodes: int | None) -> None:
    """List the rules of the preset NAME: those that records answer here, and the others with the reason.

    Without NAME it lists the presets.
    """
    if not name:
        click.echo("\n".join(f"{name:<8} {presets.load(name).title}" for name in presets.names()))
        return
    for rule in presets.load(name).rules:
        reason = presets.why_not(rule, nodes)
        words = "by hand" if rule.by_hand else "not here" if reason else "applies"
        click.echo(f"{words:<9} {rule.name}: {rule.text}{f'; {reason}' if reason else ''}")


@tender.command(epilog=example("railyard tender pack results/mine -o bag --bidder 'Swift Ltd' --sign key"))
@click.argument("records", nargs=-1, required=True, type=PATH)
@output_option("The new folder of the bag.", PATH, required=True)
@option("--bidder", "Name of the bidder, in one line.", required=True)
@option("--tier", "Tier of the bid: baseline, ported or optimised.", default="baseline")
@option("--attach", "A file for the reader, such as a diff; may be repeated.", PATH, multiple=True)
@option("--sign key", "The ssh key to sign with.", PATH)
@option("--nodes", "Nodes of the offered system.", COUNT)
@option("--pledge", "Pledge CASE=VALUE, in the unit of the case's figure of merit; may be repeated.", multiple=True)
@option(
    "--request request_file",
    "The tender file; records that do not answer it are left out.  [default: pack all records]",
    PATH,
)
def pack(
    *,
    records: tuple[Path, ...],
    output: Path,
    bidder: str,
    tier: str,
    attach: tuple[Path, ...],
    key: Path | None,
    nodes: int | None,
    pledge: tuple[str, ...],
    request_file: Path | None,
) -> None:
    """Pack RECORDS (files or archives) into a bag: a folder in the layout of BagIt, signed if a key is given."""
    files = [path for given in records for path in files_of(given)]
    reasons = {} if request_file is None else _left_out(files, request_file)
    files = [path for path in files if path not in reasons]
    bid = Bid(bidder=bidder, tier=tier, nodes=nodes, pledges=dict(map(_pledge, pledge)))
    bag.write(output, files, bid, attached=attach, key=key and key.absolute())
    click.echo(f"wrote {output}: {counted(len(files), 'record')}, {bag.signed(output).text}")
    click.echo(f"sha256 {bag.digest(output)}: send it to the buyer before the bag, so that no copy can be earlier")
    for path, why in reasons.items():
        click.echo(f"left out {path}: {why}")


def _left_out(files: Sequence[Path], request_file: Path) -> dict[Path, str]:
    """Return the files whose records do not answer a tender -> why; raises InputError if no record answers it."""
    wanted = request.load(request_file)
    judgements = {path: judged.of_record(record.parse(path.read_bytes(), str(path))) for path in files}
    by_id = measured.left_out(wanted, list(judgements.values()))
    reasons = {path: by_id[read.id] for path, read in judgements.items() if read.id in by_id}
    if len(reasons) == len(files):
        path, why = next(iter(reasons.items()))
        raise InputError(str(path), "", problem=why, valid=f"a record that answers {request_file}")
    return reasons


def _pledge(text: str) -> tuple[str, float]:
    name, _, value = text.rpartition("=")
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not name or not 1 / bag.MOST_PLEDGED <= number <= bag.MOST_PLEDGED:
        raise InputError("--pledge", "", text, "CASE=VALUE with a number above 0, at most 1e18")
    return name, number


@tender.command(epilog=example("railyard tender check bag --request tender.yml"))
@click.argument("bid", type=PATH)
@request_option
@signers_option
@click.pass_context
def check(ctx: click.Context, *, bid: Path, request_file: Path, allowed_signers: Path | None) -> None:
    """Check whether BID (a bag) is complete, rule by rule. Ends with 0 or 1."""
    wanted = request.load(request_file)
    read = bids.read(bid, allowed_signers)
    rules = completeness.check(wanted, read)
    digest = f", sha256 {read.digest}" if read.digest else ""
    click.echo(f"{read.bid.bidder}: {len(read.records)} records, {read.signed.text}{digest}")
    for rule in rules:
        click.echo(f"{'missing' if rule.faults else 'ok':<8} {rule.name}: {rule.text}")
        for line in (*map(_line, rule.faults), *map(_line, rule.notes)):
            click.echo(f"         {line}")
    for preset, rule_by_hand in completeness.by_hand(wanted):
        click.echo(f"by hand  {preset}, {rule_by_hand.name}: {rule_by_hand.text}; {rule_by_hand.by_hand}")
    is_complete = not any(rule.faults for rule in rules)
    click.echo("complete" if is_complete else "not complete")
    ctx.exit(0 if is_complete else 1)


@tender.command(epilog=example("railyard tender evaluate swift brook --request tender.yml"))
@click.argument("given", nargs=-1, required=True, type=PATH, metavar="BIDS...")
@request_option
@signers_option
@format_option(list(FORMATS))
@output_option()
@click.pass_context
def evaluate(
    ctx: click.Context,
    *,
    given: tuple[Path, ...],
    request_file: Path,
    allowed_signers: Path | None,
    form: str,
    output: Path | None,
) -> None:
    """Rank BIDS (bags) by the tender's metric with intervals; incomplete bids have no score.

    Ends with 1 if no bid is complete.
    """
    wanted = request.load(request_file)
    result = evaluation.evaluate(wanted, bids.read_all(given, allowed_signers))
    code, digest = provenance.code(), hashlib.sha256(request_file.read_bytes()).hexdigest()
    commit = str(code["git_commit"])[:12] + (" with changes" if code["git_dirty"] else "")
    written = f"Written {datetime.now(UTC):%Y-%m-%d %H:%M} UTC by railyard {code['version']} ({commit})"
    result = dataclasses.replace(result, made=f"{written} from {request_file.name}, sha256 {digest}")
    content = FORMATS[form](result)
    if output is None:
        click.echo(content, nl=False)
    else:
        write(output, content)
    ctx.exit(0 if any(line.score for line in result.lines) else 1)


def _line(item: Fault | completeness.Note) -> str:
    return ": ".join(filter(None, [item.field, item.text]))
