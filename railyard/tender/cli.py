"""`railyard tender`: write a bid's bag, check it against a request, evaluate several."""

from __future__ import annotations

from pathlib import Path

import click

from railyard.errors import RunError
from railyard.records.cli import files_of
from railyard.records.store import archive, bag
from railyard.records.store.bag import Bid
from railyard.tender import bids, completeness, evaluation, request, text

PATH = click.Path(path_type=Path)
request_option = click.option(
    "--request", "request_file", type=PATH, required=True, help="The tender file (docs/tender.md)."
)
signers_option = click.option(
    "--allowed-signers",
    type=PATH,
    help="Whose keys are known, as ssh-keygen reads them: NAME KEYTYPE KEY a line.",
)


@click.group()
def tender() -> None:
    """Write, check and evaluate the bids of a tender."""


@tender.command()
@click.argument("records", nargs=-1, required=True, type=PATH)
@click.option("-o", "--output", type=PATH, required=True, help="The new folder of the bag.")
@click.option("--bidder", required=True, help="Who bids: one line.")
@click.option("--tier", default="baseline", show_default=True, help="baseline, ported or optimised.")
@click.option(
    "--attach", multiple=True, type=PATH, help="A file for the reader, such as a diff; may be repeated."
)
@click.option("--sign", "key", type=PATH, help="The ssh key to sign with.")
def pack(
    records: tuple[Path, ...],
    output: Path,
    bidder: str,
    tier: str,
    attach: tuple[Path, ...],
    key: Path | None,
) -> None:
    """Pack RECORDS (files or archives) into a bag: a folder in the layout of BagIt, signed if a key is given."""
    files = [path for given in records for path in files_of(given)]
    where = None if key is None else key.absolute()
    bag.write(output, files, Bid(bidder=bidder, tier=tier), attached=attach, key=where)
    click.echo(
        f"wrote {output}: {len(files)} record{'' if len(files) == 1 else 's'}, {bag.signed(output).text}"
    )


@tender.command()
@click.argument("bid", type=PATH)
@request_option
@signers_option
@click.pass_context
def check(ctx: click.Context, bid: Path, request_file: Path, allowed_signers: Path | None) -> None:
    """Check whether BID (a bag or a bundle) is complete, rule by rule. Ends with 0 or 1."""
    wanted = request.load(request_file)
    read = bids.read(bid, allowed_signers)
    rules = completeness.check(wanted, read)
    click.echo(f"{read.bid.bidder}: {len(read.records)} records, {read.signed.text}")
    for rule in rules:
        click.echo(f"{'missing' if rule.faults else 'ok':<8} {rule.name}: {rule.text}")
        for fault in rule.faults:
            click.echo(f"         {': '.join(filter(None, [fault.field, fault.text]))}")
    is_complete = not any(rule.faults for rule in rules)
    click.echo("complete" if is_complete else "not complete")
    ctx.exit(0 if is_complete else 1)


@tender.command()
@click.argument("given", nargs=-1, required=True, type=PATH, metavar="BIDS...")
@request_option
@signers_option
@click.option(
    "--format",
    "form",
    type=click.Choice(list(text.FORMATS)),
    default="markdown",
    show_default=True,
    help="What to write.",
)
@click.option("-o", "--output", type=PATH, help="The file to write; otherwise the standard output.")
def evaluate(
    given: tuple[Path, ...], request_file: Path, allowed_signers: Path | None, form: str, output: Path | None
) -> None:
    """Rank BIDS (bags or bundles) by a weighted geometric mean with intervals; incomplete bids have no score."""
    wanted = request.load(request_file)
    found = evaluation.evaluate(wanted, [bids.read(each, allowed_signers) for each in given])
    shown = text.FORMATS[form](found)
    if output is None:
        click.echo(shown, nl=False)
        return
    try:
        archive.write_whole(output, shown, replace=True)
    except OSError as error:
        raise RunError(f"{output} could not be written: {error.strerror}") from error
