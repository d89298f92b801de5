"""`railyard torus fault` and `railyard torus counters`: what happens on the links of a torus."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import click

from placements.topology import fault_words
from placements.topology.faults import Faults
from railyard.base.errors import InputError
from railyard.torus.virtual import counters, lifecycle, live_faults, locks
from railyard.torus.virtual.counters import CounterReading, LinkCounter
from railyard.torus.virtual.lifecycle import VirtualTorus

HEADING = "#  DE  REMOTE END           MBIT/S          BYTES    PACKETS      DROPS  THROTTLED    BACKLOG"
STALL_HEADING = "  IN STALL MS OUT STALL MS"
CLASS_HEADING = "#  CLASS          LINKS          BYTES    PACKETS      DROPS  THROTTLED    BACKLOG"

#: The dimension of the links between nodes and their router.
HOST = "H"

#: Faults for every torus of a ReFrame job (reframe.yml).
FAULTS = "RAILYARD_FAULTS"
PERCENT = click.FloatRange(0, 100, min_open=True)


@click.command()
@click.argument("name")
@click.argument("link", required=False)
@click.option("--lanes-lost", type=int, metavar="N", help="Lanes lost in each tile that has the fault.")
@click.option(
    "--lanemask",
    type=int,
    metavar="MASK",
    help="Instead: a bit for each lane that works, as netwatch prints.",
)
@click.option("--of-tiles", metavar="K/N", help="K of the link's N tiles have it.  [default: all]")
@click.option("--down", is_flag=True, help="The whole cable, both directions; routes go round it.")
@click.option("--injection", type=PERCENT, metavar="PERCENT", help="NICs send at this share of their rate.")
@click.option(
    "--restore", is_flag=True, help="Undo the fault of LINK; without LINK every fault of the torus."
)
@click.option(
    "--from-env",
    is_flag=True,
    help=f"Add the faults in the variable {FAULTS}: arguments of this command, separated by semicolons.",
)
def fault(
    *,
    name: str,
    link: str | None,
    lanes_lost: int | None,
    lanemask: int | None,
    of_tiles: str | None,
    down: bool,
    injection: float | None,
    restore: bool,
    from_env: bool,
) -> None:
    """Put a fault on a LINK of the torus NAME, or undo it, while traffic flows.

    LINK is a directed link's name ('X+ 0,0,0>1,0,0', 'up leaf0>spine1', with @1 on rail 1) or its two coordinates
    ('0,0,0>1,0,0'). With --injection it is a node, by default all of them.
    """
    words = fault_words.Words(
        link=link,
        lanes_lost=lanes_lost,
        lanemask=lanemask,
        of_tiles=of_tiles,
        down=down,
        injection=injection,
        restore=restore,
    )
    if from_env and words != fault_words.Words():
        raise InputError(
            "--from-env", "", problem="given with a fault on the command line", valid="one or the other"
        )
    torus = lifecycle.get(name)
    live_faults.check(torus, _wanted(torus, words, from_env))  # what is wrong need not wait for a launch
    launching = torus.folder / lifecycle.LAUNCHING
    with locks.turn_unless_held(launching), lifecycle.lock():
        torus = lifecycle.get(name)
        torus = live_faults.apply(torus, _wanted(torus, words, from_env))
    click.echo(f"{name}: {_said(torus.faults)}")


def _wanted(torus: VirtualTorus, words: fault_words.Words, from_env: bool) -> Faults:
    """Return a torus's faults with what the words, or the variable, change; no shell reads the variable's text."""
    if not from_env:
        return fault_words.changed(torus.topology, torus.faults, words)
    text = os.environ.get(FAULTS, "")
    return fault_words.parse(torus.topology, text, source=FAULTS, before=torus.faults)


def _said(faults: Faults) -> str:
    lines = list(faults.summary)
    some = "; ".join(lines[:4]) + (f"; and {len(lines) - 4} more" if len(lines) > 4 else "")
    return some or "no faults"


@click.command("counters")
@click.argument("name")
@click.option(
    "--since", type=click.Path(path_type=Path), help="Subtract the counters saved in this --json file."
)
@click.option("--active", is_flag=True, help="Only links that sent something.")
@click.option("--json", "as_json", is_flag=True, help="As JSON (docs/formats.md).")
def show_counters(name: str, since: Path | None, active: bool, as_json: bool) -> None:
    """Print what each link of the torus NAME has sent: bytes with Ethernet headers, packets, drops, stalls, backlog.

    One block for each router, one line for each link that leaves it and for each of its nodes, as Pedretti et al. print
    Gemini's counters, then one line for each class of links. Throttled counts the packets that waited for the link's
    rate. On the network `router` the time of two stalls is printed: input, for which packets that came by the link
    waited for their next one; output, for which the link was idle because the next buffer was full. Exits with 1 when
    the two ends of a link do not agree on the bytes.
    """
    torus = lifecycle.get(name)
    found = counters.read(torus.name, torus.topology)
    if since is not None:
        found = counters.difference(found, _load(since))
    if as_json:
        click.echo(json.dumps(found.to_dict(), indent=1))
    else:
        shown = [link for link in found.links if link.packets or not active]
        order = [torus.topology.router_name(router) for router in torus.topology.routers]
        click.echo("\n".join(lines(shown, order)) if shown else "nothing was sent")
    for line in found.lost:
        click.echo(f"bytes are not conserved: {line}", err=True)
    sys.exit(0 if found.conserved else 1)


def _load(path: Path) -> CounterReading:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError("--since", "", str(path), f"a readable JSON file ({error})") from error
    return counters.from_dict(document, str(path))


def lines(links: Sequence[LinkCounter], routers: Sequence[str]) -> list[str]:
    """Return what `torus counters` prints: a block for each router, in the order of `routers`, then the classes."""
    return [*_blocks(links, routers), *_classes(links)]


def _blocks(links: Sequence[LinkCounter], routers: Sequence[str]) -> Iterator[str]:
    """Yield the lines of Pedretti et al., CUG'13, Figure 4, with our counters: a block for each router in order.

    What the nodes of a router send comes after the router's own links.
    """
    yield HEADING + (STALL_HEADING if _has_stalls(links) else "")
    order = {name: place for place, name in enumerate(routers)}
    before = None
    for link in sorted(links, key=lambda link: (order[_router(link)], link.dimension == HOST)):
        if _router(link) != before:
            before = _router(link)
            yield f"({','.join(map(str, link.coordinate))})" + (f" rail {link.rail}" if link.rail else "")
        yield (
            f"   {link.dimension}{link.direction}  {_remote(link):<20} {link.rate_mbit_s:6.2f} {_counts([link])}"
        )


def _classes(links: Sequence[LinkCounter]) -> Iterator[str]:
    """Yield a line for each dimension and direction: X+, X-, and so on; H+ is out of the nodes, H- into them."""
    yield CLASS_HEADING + (STALL_HEADING if _has_stalls(links) else "")
    for name in sorted({_class(link) for link in links}, key=lambda name: (name[0] == HOST, name)):
        of_class = [link for link in links if _class(link) == name]
        yield f"   {name:<12} {len(of_class):7d} {_counts(of_class)}"


def _class(link: LinkCounter) -> str:
    return f"{link.dimension}{link.direction}"


def _counts(links: Sequence[LinkCounter]) -> str:
    """Return what links counted together, as columns."""
    sums = {name: sum(getattr(link, name) for link in links) for name in (*counters.COUNTED, "backlog_bytes")}
    columns = f"{sums.pop('bytes'):14d}" + "".join(f" {count:10d}" for count in sums.values())
    stalls = [sum(getattr(link, name) or 0 for link in links) / 1e6 for name in counters.STALLS]
    return columns + ("".join(f" {stall_ms:12.3f}" for stall_ms in stalls) if _has_stalls(links) else "")


def _has_stalls(links: Iterable[LinkCounter]) -> bool:
    return any(link.input_stall_ns is not None for link in links)


def _router(link: LinkCounter) -> str:
    """Return the name of the router in whose block a link is shown."""
    return link.target if _from_node(link) else link.source


def _from_node(link: LinkCounter) -> bool:
    return (link.dimension, link.direction) == (HOST, "+")


def _remote(link: LinkCounter) -> str:
    return f"{link.source} sends" if _from_node(link) else link.target
