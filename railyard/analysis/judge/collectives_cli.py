"""Define `railyard collectives`: algorithms of the libraries, and the traffic between groups that Bine trees save."""

from __future__ import annotations

import statistics

import click

from railyard.base.commands import COUNT, Commands, example, option
from railyard.base.errors import InputError
from railyard.placements.arrays import Ints, np
from railyard.placements.collectives import algorithms, libraries
from railyard.placements.collectives import schedule as schedules
from railyard.placements.collectives.algorithms import ALGORITHMS, Shape
from railyard.placements.orders.allocation import allocate, occupied
from railyard.placements.topology import catalog

#: Collective -> the algorithm of the same family that a Bine algorithm replaces, and that one: De Sensi et al., SC'25.
PAIRS = {
    "allreduce": ("rabenseifner", "bine"),
    "reduce-scatter": ("recursive-halving", "bine"),
    "allgather": ("recursive-doubling", "bine"),
    "bcast": ("binomial", "bine-tree"),
}
#: The paper's abstract: "cutting global-link traffic by up to 33%", on dragonfly, dragonfly+ and tapered fat tree.
MOST_PERCENT = 33


@click.group(cls=Commands)
def collectives() -> None:
    """List the algorithms of collectives, and repeat a published comparison of them. Nothing is run."""


@collectives.command(name="list", epilog=example("railyard collectives list mpich"))
@click.argument("library", type=click.Choice(list(libraries.libraries())))
def list_all(library: str) -> None:
    """List the algorithms of LIBRARY, with their settings and the algorithm whose bytes prove each."""
    one = libraries.libraries()[library]
    for collective in ALGORITHMS:
        for name in one.names(collective):
            settings = " ".join(f"{key}={value}" for key, value in one.environment(collective, name).items())
            click.echo(f"{collective}:{name}  {settings}  {one.matrix(collective, name) or 'no proof'}")
    click.echo(f"from: {'; '.join(one.sources)}")


@collectives.command(
    epilog=example("railyard collectives bine dragonfly-72 leonardo-like fat-tree-54 --ranks 32")
)
@click.argument("topologies", nargs=-1, required=True)
@option("--ranks", "Ranks, one on each node.", click.IntRange(2, algorithms.MOST_RANKS), 32)
@option("--seeds", "Random allocations on each topology.", COUNT, 20)
def bine(topologies: tuple[str, ...], ranks: int, seeds: int) -> None:
    """Print how much less traffic Bine algorithms send between groups (De Sensi et al., SC'25), in percent.

    `block` are the first nodes, `random` the median and the range over allocations of random nodes in the machine's
    order. A group is what shares the first coordinate. Each algorithm is compared with the libraries' usual one: that
    for reduce-scatter and allgather begins or ends with the farthest ranks.
    """
    click.echo(
        f"{'topology':16} {'collective':15} {'block':>6} {'random':>6} {'range':>12}  up to {MOST_PERCENT} %"
    )
    for name in topologies:
        machine = catalog.load(name)
        whole = allocate(machine, "contiguous")
        if len(whole.indices) < ranks:
            raise InputError("--ranks", "", ranks, f"at most {len(whole.indices)}, the nodes of {name}")
        group = np.array([node.coordinate[0] for node in machine.nodes])
        share = 100 * ranks / len(whole.indices)
        chosen = [occupied(whole, share, seed).indices[:ranks] for seed in range(1, seeds + 1)]
        for collective, pair in PAIRS.items():
            first = _saved(collective, pair, group[whole.indices[:ranks]])
            others = [_saved(collective, pair, group[indices]) for indices in chosen]
            middle, low, high = statistics.median(others), min(others), max(others)
            agrees = "no reduction" if middle <= 0 else "agrees" if high <= MOST_PERCENT else "above"
            spread = f"{low:.0f} to {high:.0f}"
            click.echo(f"{name:16} {collective:15} {first:6.0f} {middle:6.0f} {spread:>12}  {agrees}")


def _saved(collective: str, pair: tuple[str, str], group: Ints) -> float:
    """Return the percentage of bytes between groups that the second algorithm saves; 0 where there are none."""
    size = 8 * len(group) * 64
    crossing = []
    for name in pair:
        plan = algorithms.schedule(collective, name, Shape(ranks=len(group)))
        sent = schedules.matrix_of(plan, size).traffic()
        crossing.append(float(sent.size_bytes[group[sent.source] != group[sent.target]].sum()))
    return 100 * (1 - crossing[1] / crossing[0]) if crossing[0] else 0.0
