"""Define `railyard collectives`: algorithms of libraries, which one to use, guidelines, and what Bine trees save."""

from __future__ import annotations

import itertools
import statistics
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from railyard.analysis.text import size_text
from railyard.base.commands import COUNT, FILE, PATH, Commands, example, option
from railyard.base.errors import InputError
from railyard.placements.arrays import Ints, np
from railyard.placements.collectives import algorithms, libraries, mpich_json
from railyard.placements.collectives import schedule as schedules
from railyard.placements.collectives.algorithms import ALGORITHMS, Shape
from railyard.placements.orders.allocation import allocate, occupied
from railyard.placements.topology import catalog
from railyard.records.cli import files_of, pass_over, write
from railyard.records.store import archive as archives

if TYPE_CHECKING:
    from railyard.analysis.cases.judgement import Comparison

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
    """List and compare the algorithms of collectives. Nothing is run."""


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


@collectives.command(epilog=example("railyard collectives bine dragonfly-72 leonardo-like fat-tree-54 --ranks 32"))
@click.argument("topologies", nargs=-1, required=True)
@option("--ranks", "Ranks, one on each node.", click.IntRange(2, algorithms.MOST_RANKS), 32)
@option("--seeds", "Random allocations on each topology.", COUNT, 20)
def bine(topologies: tuple[str, ...], ranks: int, seeds: int) -> None:
    """Print how much less traffic Bine algorithms send between groups (De Sensi et al., SC'25), in percent.

    `block` are the first nodes, `random` the median and the range over allocations of random nodes in the machine's
    order. A group is what shares the first coordinate. Each algorithm is compared with the libraries' usual one: that
    for reduce-scatter and allgather begins or ends with the farthest ranks.
    """
    click.echo(f"{'topology':16} {'collective':15} {'block':>6} {'random':>6} {'range':>12}  up to {MOST_PERCENT} %")
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


@collectives.command(epilog=example("railyard collectives answer results/archive --library openmpi"))
@click.argument("archive", type=PATH)
@click.option("--library", type=click.Choice(list(libraries.libraries())), help="Library whose tuning file to write.")
@option("--output", "The library's own tuning file to write.", FILE)
@option("--base", "With mpich: the library (libmpi.so.12) whose decisions the file changes, or its generic.json.", FILE)
def answer(archive: Path, library: str | None, output: Path | None, base: Path | None) -> None:
    """Print times of algorithms by placement and size in ARCHIVE, and which one to use from which size on.

    A cell is the change of the time against the library's default, in percent with its interval; * is a difference.
    """
    from railyard.analysis.judge import collectives as judged

    answered = judged.answers(archives.iterate(files_of(archive), pass_over))
    if not answered:
        raise InputError(
            "ARCHIVE", "", str(archive), "jobs of several -S algorithms=..., the library's default among them"
        )
    for one in answered:
        click.echo(f"{one.collective} on {one.where.text}")
        heads = [size_text(size) for size in one.sizes]
        click.echo(f"  {'algorithm':24}{''.join(f'{head:>26}' for head in heads)}  busiest link")
        for name in one.slowest:
            cells = [_cell(comparison, name) for comparison in one.sizes.values()]
            click.echo(f"  {name:24}{''.join(f'{cell:>26}' for cell in cells)}  {one.slowest[name]}".rstrip())
        for name, (low, high) in one.crossings.items():
            click.echo(f"  {name} passes the default between {size_text(low)} and {size_text(high)}")
        uses = [f"{name} from {size_text(least)} on" for name, least in one.use.items()]
        click.echo(f"  use {' and '.join(uses)}: -S algorithms=default,{one.choice}" if uses else "  use the default")
    if library and output:
        choice = "+".join(one.choice for one in answered if one.use)
        of, ranks = libraries.libraries()[library], answered[0].where.ranks
        if not of.rules_variable and base is None:
            raise InputError("--base", "", "", f"the library whose decisions the tuning file of {library} changes")
        write(output, mpich_json.text(of, choice, ranks, base) if base else of.rules(choice, ranks))


def _cell(comparison: Comparison, name: str) -> str:
    """Return the median of the default in us, or an algorithm's change with its interval."""
    group = comparison.group(name)
    if name == comparison.baseline or group.change_percent is None:
        return f"{group.summary.median:.0f} us" if group.summary else "-"
    if group.change_interval is None:
        return f"{group.change_percent:+.0f} ({group.finding})"
    low, high = group.change_interval
    mark = "*" if group.finding in ("better", "worse") else ""
    return f"{group.change_percent:+.0f} ({low:+.0f} to {high:+.0f}){mark}"


@collectives.command(epilog=example("railyard collectives guidelines results/archive"))
@click.argument("archive", type=PATH)
def guidelines(archive: Path) -> None:
    """Check that no collective in ARCHIVE is slower than others that do the same (Hunold and Traeff).

    Exits with 1 if a guideline is violated.
    """
    from railyard.analysis.judge import collectives as judged

    checked = judged.guidelines(archives.iterate(files_of(archive), pass_over))
    for where, rows in itertools.groupby(checked, key=lambda row: row.where):
        click.echo(where.text)
        for row in rows:
            left = f"{row.left}, {size_text(row.size_bytes)}"
            click.echo(f"  {left:24} <= {row.right:30} {_cell(row.comparison, 'left'):>26} %  {row.verdict}")
    sys.exit(1 if any(row.verdict == "violated" for row in checked) else 0)
