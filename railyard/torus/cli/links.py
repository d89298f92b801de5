"""`railyard torus fault` and `railyard torus counters`: change and observe the links of a torus."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from railyard.base.commands import PATH, example, json_option, option, print_json
from railyard.base.errors import InputError
from railyard.placements.cli.links import MESSAGES, modelled
from railyard.placements.cli.options import SharedOptions, shared
from railyard.placements.linkload import model
from railyard.placements.linkload.patterns import patterns
from railyard.placements.orders import spec
from railyard.placements.topology import fault_words
from railyard.placements.topology.faults import Faults, find_link
from railyard.placements.topology.troubles import MOST_ERRORS_PERCENT, Trouble, microseconds
from railyard.torus.native import messages
from railyard.torus.virtual import counters, lifecycle, live_faults, locks
from railyard.torus.virtual.counters import LinkCounter
from railyard.torus.virtual.lifecycle import VirtualTorus

HEADING = "#  DE  REMOTE END           MBIT/S          BYTES    PACKETS      DROPS  THROTTLED    BACKLOG"
STALL_HEADING = "  IN STALL MS OUT STALL MS    REPLAYS"
CLASS_HEADING = "#  CLASS          LINKS          BYTES    PACKETS      DROPS  THROTTLED    BACKLOG"

#: The name of the dimension of links between nodes and routers.
HOST = "H"
#: Dimension and direction of links from a node to its router.
FROM_NODE = "H+"

#: The variable with faults for every torus of a ReFrame job (reframe.yml).
FAULTS = "RAILYARD_FAULTS"
PERCENT = click.FloatRange(0, 100, min_open=True)
ERRORS = click.FloatRange(0, MOST_ERRORS_PERCENT, min_open=True)


@click.command(
    epilog=example("railyard torus fault lab 'X+ 0,1,0>1,1,0' --lanes-lost 1", "railyard torus fault lab --restore")
)
@click.argument("name")
@click.argument("link", required=False)
@option("--lanes-lost", "Number of lanes lost in each tile that has the fault.", int, metavar="N")
@option(
    "--lanemask",
    "In place of --lanes-lost: a bit for each lane of a tile that works, as netwatch prints it.",
    int,
    metavar="MASK",
)
@option("--of-tiles", "Faulty tiles of all.  [default: all; of --lanemask: 1]", metavar="K/N")
@option("--down", "Take the whole cable down, both directions; routes avoid it.", is_flag=True)
@option("--injection", "Limit NICs to this percentage of their rate.", PERCENT, metavar="PERCENT")
@option("--flap", "The cable sends nothing, both ways, for the time --for; nothing is lost.", is_flag=True)
@option("--errors", "Share of packets that are damaged and sent again.", ERRORS, metavar="PERCENT")
@option("--jitter", "Latency of packets grows by up to TIME of the real machine, such as 5us.", metavar="TIME")
@option("--at", "When --flap, --errors or --jitter begin.  [default: now]", metavar="TIME")
@option("--for lasting", "How long they last.  [default: until --restore]", metavar="TIME")
@option("--every", "When they begin again.  [default: never]", metavar="TIME")
@option("--reroute-after", "With --down: the cable sends nothing for TIME, and then routes avoid it.", metavar="TIME")
@option("--restore", "Undo the fault of LINK; without LINK every fault of the torus.", is_flag=True)
@option(
    "--from-env",
    f"Add the faults in the variable {FAULTS}: arguments of this command, separated by semicolons.",
    is_flag=True,
)
def fault(*, name: str, from_env: bool, reroute_after: str | None, **options: Any) -> None:
    """Put a fault on a LINK of the torus NAME, or undo it, while traffic flows.

    LINK is a directed link's name ('X+ 0,0,0>1,0,0', 'up leaf0>spine1', with @1 on rail 1) or its two coordinates
    ('0,0,0>1,0,0'). With --injection LINK is a node, and by default all nodes. Times are those of this machine's clock.
    """
    words = fault_words.Words(**options)
    if from_env and words != fault_words.Words():
        raise InputError("--from-env", "", problem="given with a fault on the command line", valid="one or the other")
    if reroute_after is not None:
        _fall_silent(name, words, reroute_after)
    torus = _put(name, lambda torus: _wanted(torus, words, from_env))
    lines = list(torus.faults.summary)
    more = f"; and {len(lines) - 4} more" if len(lines) > 4 else ""
    click.echo(f"{name}: {'; '.join(lines[:4]) or 'no faults'}{more}")


def _put(name: str, wanted: Callable[[VirtualTorus], Faults]) -> VirtualTorus:
    """Give a torus the faults that `wanted` returns for it; return the torus with them."""
    torus = lifecycle.get(name)
    live_faults.check(torus, wanted(torus))  # before a wait for a launch to end
    # The faults of a launch on this torus may come while it runs. It has the machine's lock then.
    is_launching = locks.is_held(torus.folder / lifecycle.LAUNCHING)
    with contextlib.nullcontext() if is_launching else locks.turn(), lifecycle.lock():
        torus = lifecycle.get(name)
        return live_faults.apply(torus, wanted(torus))


def _fall_silent(name: str, words: fault_words.Words, reroute_after: str) -> None:
    """Make the cable that goes down silent until its network notices, then restore it."""
    wait_s = microseconds(reroute_after)
    if wait_s is None or not words.down or words.link is None:
        raise InputError("--reroute-after", "", reroute_after, "a time, such as 2s, with LINK and --down")
    torus = lifecycle.get(name)
    live_faults.check(torus, _wanted(torus, words, from_env=False))  # before anything changes
    topology = torus.topology
    link = find_link(topology, words.link)
    _put(name, lambda torus: torus.faults.trouble(topology, link, Trouble(silent=True)))
    time.sleep(wait_s / 1e6)
    _put(name, lambda torus: torus.faults.restore(topology, link))


def _wanted(torus: VirtualTorus, words: fault_words.Words, from_env: bool) -> Faults:
    """Return the faults of a torus after the change in the options, or with --from-env in the variable FAULTS.

    No shell reads the text of the variable.
    """
    if not from_env:
        return fault_words.changed(torus.topology, torus.faults, words)
    text = os.environ.get(FAULTS, "")
    return fault_words.parse(torus.topology, text, source=FAULTS, before=torus.faults)


@click.command("counters", epilog=example("railyard torus counters lab --active"))
@click.argument("name")
@option("--since", "Subtract the counters in this file, which --json has written.", PATH)
@option("--active", "Print only links that have sent packets.", is_flag=True)
@json_option("Print JSON (docs/formats.md).")
def show_counters(name: str, since: Path | None, active: bool, as_json: bool) -> None:
    """Print what each link of the torus NAME has sent: bytes with Ethernet headers, packets, drops, stalls, backlog.

    There is one block per router, with one line per link that leaves it and per node, as Pedretti et al. print Gemini's
    counters. One line per class of links follows. THROTTLED is the number of packets that waited for the link's rate.
    On the network `router` three counts follow. IN STALL: packets that arrived by the link waited for their next link.
    OUT STALL: the link was idle because the next buffer was full. REPLAYS: damaged packets were sent again. Exits with
    1 if the two ends of a link do not agree on the bytes.
    """
    torus = lifecycle.get(name)
    reading = counters.read(torus.name, torus.topology, torus.parts)
    if since is not None:
        try:
            document = json.loads(since.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise InputError("--since", "", str(since), f"a readable JSON file ({error})") from error
        reading = counters.difference(reading, counters.from_dict(document, str(since)))
    if as_json:
        print_json(reading.to_dict())
    else:
        shown = [link for link in reading.links if link.packets or not active]
        order = [torus.topology.router_name(router) for router in torus.topology.routers]
        click.echo("\n".join(lines(shown, order)) if shown else "nothing was sent")
    for line in reading.lost:
        click.echo(f"bytes are not conserved: {line}", err=True)
    sys.exit(0 if reading.conserved else 1)


def lines(links: Sequence[LinkCounter], routers: Sequence[str]) -> Iterator[str]:
    """Yield the lines of `torus counters`: a block per router, in the order of `routers`, then the classes of links.

    The blocks have the form of Pedretti et al., CUG'13, Figure 4; links from the nodes of a router follow its own. A
    class is a dimension and direction: X+, X-, and so on; H+ from nodes to routers, H- to nodes.
    """
    routed = any(link.input_stall_ns is not None for link in links)
    stalls = STALL_HEADING if routed else ""
    yield HEADING + stalls
    order = {name: index for index, name in enumerate(routers)}
    before = None
    classes: dict[str, list[LinkCounter]] = {}
    for link in sorted(links, key=lambda link: (order[_router(link)], link.dimension == HOST)):
        if _router(link) != before:
            before = _router(link)
            yield f"({','.join(map(str, link.coordinate))})" + (f" rail {link.rail}" if link.rail else "")
        name, remote = f"{link.dimension}{link.direction}", f"{link.source} sends"
        classes.setdefault(name, []).append(link)
        yield f"   {name}  {remote if name == FROM_NODE else link.target:<20} {link.rate_mbit_s:6.2f} {_counts([link])}"
    yield CLASS_HEADING + stalls
    for name in sorted(classes, key=lambda name: (name[0] == HOST, name)):
        yield f"   {name:<12} {len(classes[name]):7d} {_counts(classes[name])}"


def _counts(links: Sequence[LinkCounter]) -> str:
    """Return the sums of the counters of links, as columns of text."""
    sums = {name: sum(getattr(link, name) for link in links) for name in (*counters.COUNTED, "backlog_bytes")}
    columns = f"{sums.pop('bytes'):14d}" + "".join(f" {count:10d}" for count in sums.values())
    if all(link.input_stall_ns is None for link in links):
        return columns
    *stalls, replays = (sum(getattr(link, name) or 0 for link in links) for name in counters.ROUTED[:3])
    return columns + "".join(f" {stall_ns / 1e6:12.3f}" for stall_ns in stalls) + f" {replays:10d}"


def _router(link: LinkCounter) -> str:
    """Return the name of the router in whose block a link is printed."""
    return link.target if f"{link.dimension}{link.direction}" == FROM_NODE else link.source


#: Seconds above which a simulation needs `--patient`.
LONG_S = 60.0


@click.command(epilog=example("railyard torus simulate gemini-4x4x4 --grid 4x4x4 --placements custom"))
@shared
@option("--placements", f"Placements, with commas between: {spec.words()}.", default="scheduler,random:1")
@option("--pattern", f"Traffic of the ranks: {MESSAGES}.", click.Choice(list(patterns())), "stencil6")
@option("--patient", "Do not ask before a simulation that takes minutes.", is_flag=True)
@json_option()
def simulate(*, options: SharedOptions, placements: str, pattern: str, patient: bool, as_json: bool) -> None:
    """Simulate that all ranks send everything at once in the network of TOPOLOGY, cell by cell.

    SIMULATED is when the last message arrives. LINKS is the time of the slowest link or node in the link-load model,
    which no network with these routes is below. Times (ms) are of the real machine. Placements run side by side.
    """
    granted = options.granted()
    sent = options.traffic or modelled(options, pattern, within="", sizes=None, cells=64)
    names, topology = placements.split(","), granted.topology
    seconds = messages.estimated_s(topology, len(names), sent)
    if seconds > LONG_S and not patient:
        text = f"about {seconds / 60:.0f} minutes or more for {len(names)} placements"
        if not sys.stdin.isatty():
            raise InputError("torus simulate", "", problem=text, valid="--patient")
        click.confirm(f"{text}; go on?", abort=True, err=True)
    nodes = [options.placed(name, granted, sent).indices for name in names]
    nics = options.rank_nics(topology)
    loads = [model.load(topology, at, sent, model.PROTOCOLS["payload"], nics=nics) for at in nodes]
    links_s = [max(load.slowest_s, load.slowest_host_s) for load in loads]
    times = list(zip(names, links_s, messages.exchanges_s(topology, nodes, sent, nics), strict=True))
    if as_json:
        print_json({name: {"links_s": links, "simulated_s": simulated} for name, links, simulated in times})
        return
    width = max(map(len, names))
    click.echo(f"{'':{width}}  SIMULATED      LINKS  RATIO")
    for name, links, simulated in times:
        ratio = f"{simulated / links:6.2f}" if links else "     -"
        click.echo(f"{name:{width}} {simulated * 1e3:10.4g} {links * 1e3:10.4g} {ratio}")
