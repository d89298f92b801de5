"""`railyard admit`: name the slow nodes and cables of a machine, and print the nodes to use."""

from __future__ import annotations

import dataclasses
import json
import os
import shlex
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from railyard.base import host_names
from railyard.base.checkout import BUILD
from railyard.base.commands import COUNT, FILE, FOLDER, example, option
from railyard.base.errors import InputError
from railyard.base.json_files import json_object
from railyard.placements.cli.options import launcher_option

if TYPE_CHECKING:
    from railyard.admit.group_tests import Admission, Pair, Rates

#: Fewer nodes have no peers.
FEWEST_NODES = 4
DOCUMENT = "admission.json"
#: Path, its two nodes, and the rate in GB/s.
Reading = tuple[str, str, str, float | None]


@click.command(
    epilog=example(
        "railyard admit --launcher slurm",
        "railyard admit --topology gemini-2x2x2 --command 'railyard torus mpirun lab'",
    )
)
@option("--nodes node_file", "Host file of the nodes.  [default: those of the job, or of --topology]", FILE)
@option("--topology", "Torus whose cables are tested, too: a name or a .yml file.")
@option("--coordinates", "Coordinates of the nodes on the torus.  [default: its own names of nodes]", FILE)
@launcher_option("Launcher of the pairs", default="openmpi4")
@option("--command", "Command in place of the launcher's own, such as mpirun's path.", default="")
@option(
    "--program",
    "Program pt2pt, built with the launcher's MPI.  [default: build/benchmarks-openmpi/bin/pt2pt]",
    default=str(BUILD / "benchmarks-openmpi/bin/pt2pt"),
    show_default=False,
)
@option(
    "--size", "Size of a message, or auto: up to 1MiB, less where 64 of them take longer than 0.1 s.", default="auto"
)
@option("--repeats", "Samples of a pair in a launch; their median counts.", COUNT, 5)
@option("--slow", "A pair below this percentage of its peers' median is slow.", click.FloatRange(1, 99), 80.0)
@option("--launches", "Most launches before the end.", COUNT, 40)
@option("--timeout", "Seconds of a launch.", click.FloatRange(1), 600.0)
@option("--output", "Folder of admission.json, good-nodes and the launches.", FOLDER, Path("admission"))
@option("--resume", "Go on after the last launch of the search in --output.", is_flag=True)
@option("--per-switch", "Print a job of Slurm's for the idle nodes of each leaf, and start nothing.", is_flag=True)
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
    resume: bool,
    per_switch: bool,
) -> None:
    """Name the slow nodes of a job in few launches, and print the largest list of nodes to use.

    In every launch disjoint pairs of nodes transfer at once. The search ends as soon as the rates decide. A search that
    was stopped goes on with --resume. The exit status is 0 if every node is good, 3 if some are not, 4 if the search
    ended undecided.
    """
    from railyard.admit import group_tests, launching
    from railyard.jobs.nodes import allocated_nodes
    from railyard.placements.hosts import hostfile, naming, sources
    from railyard.placements.topology import catalog
    from railyard.placements.topology.torus import Torus
    from railyard.records.store import archive

    if per_switch:
        from railyard.admit import per_switch as jobs

        click.echo("\n".join(jobs.of_slurm(["railyard", "admit", *_given()], FEWEST_NODES)))
        return
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
    request = {"nodes": nodes, "topology": topology, "slow": rule.slow}
    readings = list[list[Reading]]()
    if resume:
        readings, launch.launches, launch.size, launch.counted = _read(output / DOCUMENT, request)
    else:
        (output / DOCUMENT).unlink(missing_ok=True)
    cables = pairs if network is not None else []
    by_name = {(pair.path, pair.one, pair.other): pair for pair in pairs}

    def save(admission: Admission) -> None:
        document = {
            **dataclasses.asdict(admission),
            "slow_paths": [[pair.path, pair.one, pair.other] for pair in admission.slow_paths],
            "is_sure_of": _sure_of(admission, nodes, cables),
            "launches": launch.launches,
            "rule": dataclasses.asdict(rule),
            "size": launch.size,
            "request": request,
            "rates_gbyte_s": readings,
            "counted": launch.counted,
        }
        text = json.dumps(document, indent=1) + "\n"
        archive.write_whole(output / DOCUMENT, text)

    def after(rates: Rates, slow_pairs: Sequence[Pair], admission: Admission) -> None:
        readings.append([(pair.path, pair.one, pair.other, rate) for pair, rate in rates.items()])
        save(admission)
        middle = statistics.median(rate or 0.0 for rate in rates.values())
        names = "; ".join(f"{pair.one} and {pair.other}" for pair in slow_pairs) or "none"
        click.echo(
            f"launch {launch.launches}: {len(rates)} pairs, messages of {launch.size} bytes, median "
            f"{middle:.4g} GB/s, slow: {names}; {len(admission.undecided)} parts undecided, at most "
            f"{launches - len(readings)} launches follow"
        )

    earlier = [{by_name[path, one, other]: rate for path, one, other, rate in rows} for rows in readings]
    result = group_tests.admit(nodes, pairs, launch, rule, every_path=network is not None, earlier=earlier, after=after)
    save(result)
    archive.write_whole(output / "good-nodes", "".join(f"{node}\n" for node in result.good))
    for node in result.bad:
        click.echo(f"slow node: {node}: {launch.evidence(node)}")
    for pair in result.slow_paths:
        click.echo(f"slow path: {pair.path}, between {pair.one} and {pair.other}: {launch.evidence(pair.path)}")
    if result.not_judged:
        click.echo(f"not judged, because an end is no good node: {'; '.join(result.not_judged)}")
    if result.undecided:
        click.echo(f"undecided: {', '.join(result.undecided)}")
    doubt = "" if result.is_sure or result.undecided else ", which is more than the rule assumes: launch again"
    click.echo(
        f"decided: {_sure_of(result, nodes, cables)}; {len(result.good)} are good after {launch.launches} launches; "
        f"{result.disturbed:.1%} of sound readings were slow{doubt}"
    )
    click.echo(
        f"Any sound part is named in at most {rule.false_alarm:.0%} of admissions, "
        f"if at most {rule.disturbed:.0%} of its readings are disturbed."
    )
    if excluded := [node for node in nodes if node not in set(result.good)]:
        click.echo(f"--exclude={','.join(host_names.folded(excluded))}")
        for node in result.bad:
            reason = f"railyard admit: slow; {launch.evidence(node)}"
            click.echo(f'for Slurm: scontrol update NodeName={node} State=DRAIN Reason="{reason}"')
    click.get_current_context().exit(4 if not result.is_sure else 3 if excluded else 0)


def _given() -> list[str]:
    """Return the options of a search that the user gave with --per-switch, as words of a command line."""
    context, words = click.get_current_context(), list[str]()
    for one in context.command.params:
        name = one.name or ""
        is_given = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if is_given and name not in ("per_switch", "output"):
            value = context.params[name]
            words += [one.opts[0]] if value is True else [one.opts[0], str(value)]
    return words


def _sure_of(admission: Admission, nodes: Sequence[str], cables: Sequence[Pair]) -> str:
    """Return how many of the nodes and cables are decided."""
    undecided = set(admission.undecided)
    paths = {pair.path for pair in cables}
    judged = paths - undecided - set(admission.not_judged)
    text = f"{len(set(nodes) - undecided)} of {len(nodes)} nodes"
    return f"{text}, {len(judged)} of {len(paths)} cables" if paths else text


def _read(path: Path, request: Mapping[str, Any]) -> tuple[list[list[Reading]], int, str, dict[str, dict[str, int]]]:
    """Return rates, launches, size and counters of an earlier search; InputError for one of another request."""
    document = json_object(path)
    if document.get("request") != request:
        valid = "admission.json of a search of the same nodes, with the same --topology and --slow"
        raise InputError("--resume", "", path, valid)
    return document["rates_gbyte_s"], document["launches"], document["size"], document.get("counted", {})
