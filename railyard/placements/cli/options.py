"""Provide what the commands `place` and `links` share: options for topology, allocation, grid and placement."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from railyard.base.commands import COUNT, FILE, option
from railyard.base.errors import InputError
from railyard.placements import launchers
from railyard.placements.hosts import hostfile, naming, sources
from railyard.placements.linkload import background
from railyard.placements.linkload.background import Background
from railyard.placements.linkload.matrix import read_traffic
from railyard.placements.linkload.rails import RankNics
from railyard.placements.linkload.traffic import Traffic
from railyard.placements.nics import policies
from railyard.placements.orders import spec
from railyard.placements.orders.allocation import Allocation, AllocationOrder, allocate, occupied, scheduled
from railyard.placements.orders.placement import Placement, place
from railyard.placements.orders.rank_orders import Effort
from railyard.placements.topology import catalog
from railyard.placements.topology.base import Topology

#: The most dimensions that a box of routers may have; the coordinates file has as many (docs/formats.md).
MOST_DIMENSIONS = 8
#: The word in place of a topology for a machine of which only the names of the nodes are known.
UNKNOWN = "unknown"
#: The NIC policy where rails are joined and none is named.
DEFAULT_NICS = "one-per-rank"
MADE_ORDERS = [str(order) for order in AllocationOrder if order != AllocationOrder.SCHEDULER]
Command = Callable[..., Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedOptions:
    """The values of the options that several commands share."""

    topology: str
    grid: tuple[int, ...]
    matrix: Path | None
    traffic: Traffic | None
    allocation: str
    block: str | None
    nodes: Path | None
    coordinates: Path | None
    occupied_percent: float | None
    ranks_per_node: int
    seed: int | None
    time_limit_s: float
    background: Path | None
    nics: str | None

    def granted(self) -> Allocation:
        """Return the allocation; InputError for options without one."""
        topology = self._machine()
        if self.nodes is not None:
            return scheduled(topology, hostfile.granted(self.nodes, topology))
        box = parse_extents(self.block, "--block", most=MOST_DIMENSIONS) if self.block else None
        granted = allocate(topology, self.allocation, block=box, seed=self.seed)
        if self.occupied_percent is None:
            return granted
        if self.seed is None:
            raise InputError("--occupied", "", problem="the part has no seed", valid="--seed SEED, such as --seed 1")
        return occupied(granted, self.occupied_percent, self.seed)

    def _machine(self) -> Topology:
        """Return the topology, with a machine's own names on its nodes if there is a file of coordinates."""
        if self.topology == UNKNOWN:
            if self.nodes is None or self.coordinates is not None:
                raise InputError("topology", "", UNKNOWN, "with --nodes FILE and without --coordinates")
            return naming.flat(hostfile.names(self.nodes))
        topology = catalog.load(self.topology)
        if self.coordinates is None:
            return topology
        located = sources.read(self.coordinates)
        if note := located.note(str(self.coordinates)):
            click.echo(f"railyard: {note}", err=True)
        coordinates = naming.fitted(topology, located, str(self.coordinates))
        hosts = hostfile.names(self.nodes) if self.nodes is not None else list(coordinates)
        return naming.named(topology, naming.by_host(hosts, coordinates), str(self.coordinates))

    def placed(self, name: str, granted: Allocation, traffic: Traffic | None) -> Placement:
        """Return the placement of that name; `optimised` shows its progress on a terminal."""
        parts = spec.parse(name)
        if self.topology == UNKNOWN and parts.needs_coordinates:
            raise InputError("placement", "", name, f"one without coordinates on the topology {UNKNOWN}, as plain")
        with _progress(shown=parts.order.searches) as heard:
            return place(
                name,
                granted,
                self.grid,
                ranks_per_node=self.ranks_per_node,
                seed=self.seed,
                traffic=traffic,
                effort=Effort(
                    time_limit_s=self.time_limit_s,
                    progress=heard,
                    background=self.left(granted.topology),
                    nics=self.rank_nics(granted.topology),
                ),
            )

    def rank_nics(self, topology: Topology) -> RankNics | None:
        """Return the NICs of the ranks by the policy; None for the first rail, the default without a fabric."""
        if self.nics is None and not topology.is_fabric:
            return None
        on = policies.host(topology, self.ranks_per_node)
        chosen = policies.parse(self.nics or DEFAULT_NICS, topology.rails)
        if chosen.kind.by_library:
            raise InputError("--nics", "", self.nics or "", "a policy that assigns NICs")
        return policies.rank_nics(chosen, on)

    def left(self, topology: Topology) -> Background | None:
        """Return what others leave of the links, where a file of counters is given."""
        return None if self.background is None else background.read(self.background, topology)


def shared(command: Command) -> Command:
    """Add the shared options to a command, which gets them as `options`."""

    def wrapped(**values: Any) -> Any:
        grid, matrix = values.pop("grid"), values["matrix"]
        extents = parse_extents(grid, "--grid") if grid else ()
        if not extents and matrix is None:
            raise InputError("--grid", "", problem="missing", valid="AxB or AxBxC, or --matrix FILE")
        traffic = None
        if matrix is not None:
            traffic = read_traffic(matrix, math.prod(extents) if extents else None)
            extents = extents or (traffic.ranks,)
        names = [name for name in SharedOptions.__dataclass_fields__ if name not in ("grid", "traffic")]
        options = SharedOptions(grid=extents, traffic=traffic, **{name: values.pop(name) for name in names})
        return command(options=options, **values)

    wrapped.__doc__, wrapped.__name__ = command.__doc__, command.__name__
    wrapped.__click_params__ = getattr(command, "__click_params__", [])  # type: ignore[attr-defined]  # click's own hook
    for decorate in reversed(_OPTIONS):
        wrapped = decorate(wrapped)
    return wrapped


_OPTIONS = (
    click.argument("topology"),
    option(
        "--grid",
        "Process grid in ranks, AxB or AxBxC.  [default with --matrix: all its ranks in a line]",
        metavar="AxBxC",
    ),
    option(
        "--matrix",
        "Measured traffic in a file of any form that `railyard matrix show` reads; `optimised` is fitted to it.",
        FILE,
    ),
    option(
        "--allocation", "Order in which the nodes are granted.", click.Choice(MADE_ORDERS), str(AllocationOrder.SNAKE)
    ),
    option(
        "--block", "Routers of the allocation, from 0,0,0: a number per dimension.  [default: all]", metavar="AxBxC"
    ),
    option(
        "--nodes",
        "Host file of the nodes granted, one per line in the scheduler's order; instead of --allocation.",
        FILE,
    ),
    option(
        "--coordinates",
        "File that places a real machine's nodes on TOPOLOGY, of any form that `railyard coordinates` reads.",
        FILE,
    ),
    option("--occupied occupied_percent", "Grant a random part of the nodes, in percent (needs --seed).", float),
    option("--ranks-per-node", "Slots (ranks) per node.", COUNT, 1),
    option("--seed", "Seed for random allocations and for placements without `:SEED`.", click.IntRange(0)),
    option(
        "--time-limit time_limit_s",
        "Seconds after which `optimised` returns the best so far.",
        click.FloatRange(min=0),
        60.0,
    ),
    option(
        "--background",
        "Counters of the links while other jobs run, which `optimised` avoids: JSON of `railyard torus counters "
        "NAME --since FILE --json`, or of the counters library.",
        FILE,
    ),
    option(
        "--nics",
        "NIC policy of the ranks (docs/rails.md).  [default: all by the first rail; "
        f"{DEFAULT_NICS} where rails are joined]",
        metavar="POLICY",
    ),
)


def launcher_option(text: str, default: str | None = None) -> Callable[[Command], Command]:
    """Return the option --launcher, with the launchers that there are."""
    return option(
        "--launcher",
        f"{text}: {', '.join(launchers.LAUNCHERS)}.",
        click.Choice(list(launchers.LAUNCHERS)),
        default,
        metavar="LAUNCHER",
    )


def parse_extents(text: str, option: str, *, most: int = 3) -> tuple[int, ...]:
    """Return `4x4x2` as (4, 4, 2), of at most `most` numbers; InputError names the option."""
    if not re.fullmatch(rf"[1-9]\d{{0,8}}(x[1-9]\d{{0,8}}){{0,{most - 1}}}", text):
        more = f", at most {most} numbers" if most > 3 else ""
        raise InputError(option, "", text, f"AxB or AxBxC, each at least 1{more}")
    return tuple(int(word) for word in text.split("x"))


@contextmanager
def _progress(*, shown: bool) -> Iterator[Callable[[float, float], None] | None]:
    """Show a bar on standard error, if that is a terminal."""
    if not (shown and sys.stderr.isatty()):
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("optimised"), BarColumn(), TextColumn("{task.fields[slowest]}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=1.0, slowest="")
        yield lambda done, slowest: bar.update(task, completed=done, slowest=f"slowest link {slowest:.3g} s")
