"""Define the command `railyard links`, which prints the link loads of placements without running a program."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from railyard.base.commands import COUNT, FILE, example, json_option, option
from railyard.base.errors import InputError
from railyard.placements.cli.options import UNKNOWN, SharedOptions, shared
from railyard.placements.linkload import counted as counted_bytes
from railyard.placements.linkload import model, traffic
from railyard.placements.linkload.model import PROTOCOLS, LinkLoads
from railyard.placements.linkload.patterns import make, patterns
from railyard.placements.linkload.traffic import Traffic
from railyard.placements.orders import spec
from railyard.placements.topology import fault_words

if TYPE_CHECKING:
    from rich.table import Table

HEADINGS = (
    "slowest\nlink\nms",
    "mean\nlink\nms",
    "slowest\nhost\nms",
    "hop-\nbytes\nGB",
    "links\na byte\nmean",
    "\n\nmax",
    "sent a\nrouter\nMB",
    "\n\nmax",
)
MESSAGES = "; ".join(f"{name}, {pattern.does}" for name, pattern in patterns().items())


@click.command(epilog=example("railyard links gemini-4x4x4 --grid 4x4x4 --placements plain,custom"))
@shared
@option("--placements", f"Placements to compare, with commas between: {spec.words()}.", default="cart-create,custom")
@option("--pattern", f"Traffic of the ranks: {MESSAGES}.", click.Choice(list(patterns())), "stencil6")
@option("--within", "Dimensions of a collective's groups: X for rows, XZ for planes.  [default: all]", default="")
@option("--sizes", "Bytes to a face, edge, corner neighbour (stencils), or of a block.  [default: those of --cells]")
@option("--cells", "Local cells (8 bytes each) per dimension.", COUNT, 64)
@option(
    "--protocol",
    "Bytes on the wire: the payload alone, or Gemini's 96 + 9 (put) or 24 + 81 (get) per 64.",
    click.Choice(sorted(PROTOCOLS)),
    "payload",
)
@option("--slowest", "Number of slowest links to name.", click.IntRange(0), 3)
@option(
    "--faults",
    "Faults of the network (lost lanes, cables down): arguments of `railyard torus fault`, separated by semicolons.",
    default="",
)
@option(
    "--counted",
    "Compare the first placement's bytes per NIC and leaf with the counters of a launch: JSON of `railyard torus "
    "counters NAME --since FILE --json`.",
    FILE,
)
@json_option("Print JSON, with every link of every placement.")
@option("--plot", "File (.svg, .png) for a heat map of the last placement.", FILE)
def links(
    *,
    options: SharedOptions,
    placements: str,
    pattern: str,
    within: str,
    sizes: str | None,
    cells: int,
    protocol: str,
    slowest: int,
    faults: str,
    counted: Path | None,
    as_json: bool,
    plot: Path | None,
) -> None:
    """Predict bytes and seconds on every link of TOPOLOGY under some placements. Nothing is run.

    With --counted, end with status 1 if a NIC or leaf counted other bytes than predicted.
    """
    if plot is not None:
        from railyard.placements.linkload import (
            heatmap,  # the plotting library takes longer to load than the model to run
        )

        heatmap.check_path(plot)
    if options.topology == UNKNOWN:
        raise InputError("topology", "", UNKNOWN, "a topology whose links are known")
    granted = options.granted()
    wrong = fault_words.parse(granted.topology, faults)
    model.check_faults(wrong)
    sent = options.traffic or modelled(options, pattern, within=within, sizes=sizes, cells=cells)
    left, nics = options.left(granted.topology), options.rank_nics(granted.topology)
    loads_by_name = {}
    every = {name: options.placed(name, granted, sent).indices for name in placements.split(",")}
    for name, placed in every.items():
        loads = model.load(granted.topology, placed, sent, PROTOCOLS[protocol], faults=wrong, nics=nics)
        loads_by_name[name] = loads if left is None else left.added_to(loads)
    if counted is not None:
        _compare(next(iter(loads_by_name.values())), sent, counted, as_json=as_json)
    elif as_json:
        click.echo(json.dumps({name: _document(loads) for name, loads in loads_by_name.items()}))
    else:
        _print(granted.topology.name, loads_by_name, slowest)
    if plot is not None:
        name, loads = list(loads_by_name.items())[-1]
        what = options.matrix.name if options.matrix else pattern
        heatmap.draw(loads, f"{what} on {granted.topology.name}, placement {name}", plot)


def _compare(loads: LinkLoads, sent: Traffic, path: Path, *, as_json: bool) -> None:
    """Print what differs from the counters, and end with status 1 if anything does."""
    if loads.nics is None:
        raise InputError("--counted", "", problem="the ranks' NICs are not known", valid="with --nics POLICY")
    smallest = float(sent.size_bytes.min() if len(sent.size_bytes) else 1)
    result = counted_bytes.compared(loads, counted_bytes.read(path), smallest)
    if as_json:
        click.echo(json.dumps(asdict(result)))
    else:
        nics = loads.host_out_bytes.size
        leaves = (len(result.parts) - nics) // 2
        verdict = "differ" if result.findings else "equal the model's to the message"
        click.echo(f"bytes of {nics} NICs and {leaves} leaves, {result.rounds} rounds: {verdict}")
        for finding in result.findings:
            click.echo(f"  {finding}")
    if result.findings:
        raise SystemExit(1)


def modelled(options: SharedOptions, pattern: str, *, within: str, sizes: str | None, cells: int) -> Traffic:
    """Return the traffic of a pattern; `sizes` is the text of --sizes."""
    given = _sizes(sizes) if sizes else traffic.face_bytes(cells, len(options.grid))
    return make(pattern, options.grid, size_bytes=given, within=within)


def _sizes(text: str) -> tuple[float, ...]:
    try:
        sizes = tuple(float(word) for word in text.split(","))
    except ValueError as error:
        raise InputError("--sizes", "", text, "one to three numbers of bytes, as 32768,512,8") from error
    if not 1 <= len(sizes) <= 3 or not all(0 <= size < float("inf") for size in sizes):
        raise InputError("--sizes", "", text, "one to three numbers of bytes, 0 or more")
    return sizes


def _print(topology: str, loads_by_name: dict[str, LinkLoads], slowest: int) -> None:
    """Print a row for each placement, then its slowest links by name."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table("", *HEADINGS, title=f"predicted on {topology}", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for name, loads in loads_by_name.items():
        injected = loads.injected_bytes / 1e6
        numbers = (
            *(loads.slowest_s * 1e3, loads.mean_s * 1e3, loads.slowest_host_s * 1e3),
            *(loads.hop_bytes / 1e9, loads.mean_dilation, loads.max_dilation),
            *(injected.mean(), injected.max()),
        )
        table.add_row(name, *(f"{number:.3g}" for number in numbers))
    console = Console()
    console.print(table)
    for name, loads in loads_by_name.items():
        for link, size, seconds in loads.slowest(slowest):
            left = size / seconds / 1e9 if seconds else link.rate_gbyte_s
            rate = f"{link.link_class}, {left:.2f} GB/s"
            text = f"{name}: {link.name} ({rate}): {size / 1e6:.4g} MB, {seconds * 1e3:.4g} ms"
            console.print(text, highlight=False)
    if any(loads.nics for loads in loads_by_name.values()):
        console.print(_rails_table(loads_by_name))


def _rails_table(loads_by_name: dict[str, LinkLoads]) -> Table:
    """Return what each rail's NICs send, and its leaf with most bytes over spines."""
    from rich import box
    from rich.table import Table

    headings = ("rail", "sent by\nNICs\nMB", "busiest\nNIC\nMB", "to other\nrouters\nMB", "busiest\nleaf", "\n\nMB")
    table = Table("", *headings, title="by rail", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for name, loads in loads_by_name.items():
        leaves = loads.leaves()
        for rail, sent in enumerate(loads.host_out_bytes):
            own = [leaf for leaf in leaves if leaf.rail == rail]
            busiest = max(own, key=lambda leaf: leaf.up_bytes)
            sizes = (sent.sum(), sent.max(), sum(leaf.up_bytes for leaf in own), busiest.up_bytes)
            *numbers, last = (f"{size / 1e6:.4g}" for size in sizes)
            table.add_row("" if rail else name, str(rail), *numbers, busiest.name, last)
    return table


def _document(loads: LinkLoads) -> dict[str, Any]:
    by_rail: dict[str, Any] = {}
    if loads.nics is not None:
        nics = [
            {"node": node.name, "nic": f"nic{rail}", "tx_bytes": sent, "rx_bytes": received}
            for rail, out in enumerate(loads.host_out_bytes.tolist())
            for node, sent, received in zip(loads.topology.nodes, out, loads.host_in_bytes[rail].tolist(), strict=True)
        ]
        leaves = [asdict(leaf) for leaf in loads.leaves()]
        by_rail = {"nics_policy": loads.nics.policy, "nics": nics, "leaves": leaves}
    return {
        "protocol": loads.protocol.name,
        "slowest_s": loads.slowest_s,
        "mean_s": loads.mean_s,
        "slowest_host_s": loads.slowest_host_s,
        "hop_bytes": loads.hop_bytes,
        "mean_dilation_hops": loads.mean_dilation,
        "max_dilation_hops": loads.max_dilation,
        "injected_bytes": {"mean": float(loads.injected_bytes.mean()), "max": float(loads.injected_bytes.max())},
        **by_rail,
        "links": [
            {"link": link.name, "class": str(link.link_class), "bytes": size, "seconds": seconds}
            for link, size, seconds in loads.slowest(loads.link_s.size)
        ],
    }
