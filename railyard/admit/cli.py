"""`railyard admit`: name the slow nodes and cables of a machine, and print the nodes to use."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path

import click

from placements import launchers
from railyard.base import host_names
from railyard.base.checkout import BUILD
from railyard.base.commands import example
from railyard.base.errors import InputError

#: Fewer nodes have no peers.
FEWEST_NODES = 4


@click.command(
    epilog=example(
        "railyard admit --launcher slurm",
        "railyard admit --topology gemini-2x2x2 --command 'railyard torus mpirun lab'",
    )
)
@click.option(
    "--nodes",
    "node_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Host file of the nodes.  [default: those of the job, or of --topology]",
)
@click.option("--topology", help="Torus whose cables are tested, too: a name or a .yml file.")
@click.option(
    "--coordinates",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Coordinates of the nodes on the torus.  [default: its own names of nodes]",
)
@click.option(
    "--launcher",
    type=click.Choice(list(launchers.LAUNCHERS)),
    default="openmpi4",
    metavar="LAUNCHER",
    show_default=True,
    help=f"Launcher of the pairs: {', '.join(launchers.LAUNCHERS)}.",
)
@click.option("--command", default="", help="Command in place of the launcher's own, such as mpirun's path.")
@click.option(
    "--program",
    default=str(BUILD / "benchmarks-openmpi/bin/pt2pt"),
    help="Program pt2pt, built with the launcher's MPI.  [default: build/benchmarks-openmpi/bin/pt2pt]",
)
@click.option("--size", default="1MiB", show_default=True, help="Size of a message.")
@click.option(
    "--repeats",
    type=click.IntRange(1),
    default=5,
    show_default=True,
    help="Samples of a pair in a launch; their median counts.",
)
@click.option(
    "--slow",
    type=click.FloatRange(1, 99),
    default=80.0,
    show_default=True,
    help="A pair below this percentage of its peers' median is slow.",
)
@click.option(
    "--launches", type=click.IntRange(1), default=40, show_default=True, help="Most launches before the end."
)
@click.option(
    "--timeout", type=click.FloatRange(1), default=600.0, show_default=True, help="Seconds of a launch."
)
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("admission"),
    show_default=True,
    help="Folder of admission.json, good-nodes and the launches.",
)
def admit(
    *,
    node_file: Path | None,
    topology: str | None,
    coordinates: Path | None,
    launcher: str,
    command: str,
    program: str,
    size: str,
    repeats: int,
    slow: float,
    launches: int,
    timeout: float,
    output: Path,
) -> None:
    """Name the slow nodes of a job in few launches, and print the largest list of nodes to use.

    In every launch disjoint pairs of nodes transfer at once. The search ends as soon as the rates decide. The exit
    status is 0 if every node is good, 3 if some are not, 4 if the search ended undecided.
    """
    from placements.hosts import hostfile, naming, sources
    from placements.topology import catalog
    from placements.topology.torus import Torus
    from railyard.admit import group_tests, launching
    from railyard.jobs.nodes import allocated_nodes
    from railyard.records.store import archive

    if not Path(program).is_file():
        raise InputError("--program", "", program, "a file on this machine; make setup builds pt2pt")
    network = catalog.load(topology) if topology else None
    if network is not None and not isinstance(network, Torus):
        raise InputError("--topology", "", topology, "a torus; without --topology nodes alone are tested")
    if network is not None and coordinates is not None:
        located = sources.read(coordinates)
        network = naming.named(network, naming.fitted(network, located, str(coordinates)), str(coordinates))
    if node_file is not None:
        nodes = hostfile.names(node_file)
    elif network is not None and coordinates is None:
        nodes = [node.name for node in network.nodes]
    else:
        nodes = allocated_nodes.names(os.environ)
    if len(nodes) < FEWEST_NODES:
        raise InputError("--nodes", "", len(nodes), f"at least {FEWEST_NODES} nodes")
    if network is not None and (strange := set(nodes) - {node.name for node in network.nodes}):
        raise InputError("--nodes", "", min(strange), f"a node of {network.name}; or --coordinates")
    if isinstance(network, Torus):
        pairs = group_tests.pairs_of_torus(network, nodes)
    else:
        pairs = group_tests.pairs_of_list(nodes)
    output.mkdir(parents=True, exist_ok=True)
    launch = launching.Launcher(
        launcher=launcher,
        command=shlex.split(command),
        program=program,
        nodes=nodes,
        size=size,
        repeats=repeats,
        timeout_s=timeout,
        folder=output.absolute(),
        most=launches,
    )
    rule = group_tests.Rule(slow=slow / 100, launches=launches)
    result = group_tests.admit(nodes, pairs, launch, rule, every_path=network is not None)
    document = {
        "bad": result.bad,
        "slow_paths": [[pair.path, pair.one, pair.other] for pair in result.slow_paths],
        "undecided": result.undecided,
        "good": result.good,
        "launches": launch.launches,
        "readings": result.readings,
        "disturbed": result.disturbed,
        "is_sure": result.is_sure,
        "rule": {"slow": rule.slow, "disturbed": rule.disturbed, "false_alarm": rule.false_alarm}
        | {"overlooked": rule.overlooked, "missed": rule.missed},
    }
    archive.write_whole(output / "admission.json", json.dumps(document, indent=1) + "\n", replace=True)
    archive.write_whole(output / "good-nodes", "".join(f"{node}\n" for node in result.good), replace=True)
    for node in result.bad:
        click.echo(f"slow node: {node}")
    for pair in result.slow_paths:
        click.echo(f"slow path: {pair.path}, between {pair.one} and {pair.other}")
    if result.undecided:
        click.echo(f"undecided: {', '.join(result.undecided)}")
    doubt = (
        "" if result.is_sure or result.undecided else ", which is more than the rule assumes: launch again"
    )
    click.echo(
        f"{len(result.good)} of {len(nodes)} nodes are good after {launch.launches} launches; "
        f"{result.disturbed:.1%} of sound readings were slow{doubt}"
    )
    click.echo(
        f"Any sound part is named in at most {rule.false_alarm:.0%} of admissions, "
        f"if at most {rule.disturbed:.0%} of its readings are disturbed."
    )
    if excluded := [node for node in nodes if node not in set(result.good)]:
        click.echo(f"--exclude={','.join(host_names.folded(excluded))}")
    click.get_current_context().exit(4 if not result.is_sure else 3 if excluded else 0)
