"""`railyard torus ...`: the virtual torus on the command line."""

from __future__ import annotations

import dataclasses
import json
import os
import shlex
import sys
from pathlib import Path
from typing import Literal

import click

from railyard.base import sysfs
from railyard.base.commands import COUNT, RAW, Commands, example, json_option, option, print_json
from railyard.base.errors import InputError, RunError
from railyard.placements.topology import catalog
from railyard.placements.topology.base import Topology
from railyard.torus.cli import links
from railyard.torus.engines import DEFAULT as DEFAULT_ENGINE
from railyard.torus.engines import docker_engine, engines, router
from railyard.torus.native import programs
from railyard.torus.plan import pace, parts, plan
from railyard.torus.plan.parts import Parts
from railyard.torus.plan.plan import Shape
from railyard.torus.slurm import cluster
from railyard.torus.virtual import (
    kernel_limits,
    launch,
    lifecycle,
    live_faults,
    machines,
    packet_budget,
    rootless,
    status,
)
from railyard.torus.virtual.lifecycle import VirtualTorus

DEFAULT = Shape()
NETWORKS = ("auto", "router", "kernel")
RATE_SCALE = "RAILYARD_RATE_SCALE"


@click.group(cls=Commands)
def torus() -> None:
    """Make and use a virtual torus on this machine: network namespaces as nodes, links with scaled-down rates.

    Root can use it, and an ordinary user if user namespaces are allowed. As root, nodes can also be containers
    (`up --engine docker`).
    """
    rootless.reenter()
    rootless.adopt(lambda: bool(lifecycle.names()))


@torus.command(epilog=example("railyard torus up gemini-4x4x4 --name lab"))
@click.argument("topology", required=False, envvar="RAILYARD_TOPOLOGY")
@option("--name", "Name of the torus.  [default: the topology's name]")
@option(
    "--rate-scale",
    "Virtual over real link rate. At 0.000125 a link of 1 GB/s becomes 1 Mbit/s. BYTES/TIME: the scale at which "
    f"a NIC sends these bytes in this time, such as {pace.EXAMPLE}. auto: the largest scale at which all links "
    "together need a fifteenth of the packets that this machine can forward (measured once), and a hop takes at "
    "least 1 ms. auto*N: N fifteenths, for a program that loads few links at once.",
    default="auto",
    metavar="NUMBER|BYTES/TIME|auto[*N]",
    envvar=RATE_SCALE,
)
@option(
    "--ranks-per-node",
    "Ranks per node of future launches. --rate-scale auto is divided by it, because ranks share this machine.",
    COUNT,
    1,
)
@option("--mtu", "Largest packet, in bytes.", click.IntRange(576, 65000), DEFAULT.mtu_bytes)
@option(
    "--burst",
    "Packets of full size that an idle link sends at once. Above 1, small messages exceed the link's rate.",
    click.FloatRange(1, 1000),
    DEFAULT.burst_packets,
)
@option(
    "--engine",
    "Make nodes as network namespaces (netns) or as containers (docker).",
    click.Choice(list(engines())),
    "netns",
)
@option(
    "--network",
    "Forward packets by one user-space router, or by the kernel's own routing and shaping. auto: the router if "
    "this machine has TUN devices.",
    click.Choice(NETWORKS),
    "auto",
    envvar="RAILYARD_NETWORK",
)
@option(
    "--image",
    f"Image of nodes that are containers.  [env: {docker_engine.IMAGE}; default: {docker_engine.DEFAULT_IMAGE}]",
)
@option(
    "--volume volumes",
    "Folder of this machine to mount under the same path in nodes that are containers; may be repeated.  "
    "[default: the current folder]",
    multiple=True,
    metavar="FOLDER",
)
@option(
    "--slurm with_slurm",
    "Run Slurm on the torus: slurmctld on the head, slurmd on every node. For root only.",
    is_flag=True,
)
@option(
    "--of-job",
    "For job scripts of checks: read the files topology, network and ranks-per-node of the current folder, and "
    "rate-scale unless its variable is set. A file overrides its option.",
    is_flag=True,
)
@option(
    "--slower",
    "For job scripts of checks: if launches on the torus NAME were void because of load, make it again at the next "
    "smaller rate scale, down to a quarter of the first one. Exit status 1, and no change, below that, where the "
    f"torus is no job's own, and where {RATE_SCALE} or the check names the scale.",
    is_flag=True,
)
@option(
    "--hosts",
    "File with a line NAME [ADDRESS] for each machine that takes a part of the torus, this one among them; `slurm` for "
    "those of the allocation. All have this checkout under its path. Network router, nodes of namespaces, root.",
    metavar="FILE|slurm",
    envvar="RAILYARD_HOSTS",
)
@option(
    "--reach",
    "Command that runs a program on another machine, with {host} or {address} in it.  "
    f"[default: {' '.join(machines.SSH)}; with slurm: srun]",
    envvar="RAILYARD_REACH",
)
@option(
    "--status status_file",
    "Write the status of the torus to this file, as `railyard torus status --json` prints it.",
    click.Path(path_type=Path, dir_okay=False, writable=True),
)
def up(
    *,
    topology: str | None,
    name: str | None,
    rate_scale: str,
    ranks_per_node: int,
    mtu: int,
    burst: float,
    engine: str,
    network: str,
    image: str | None,
    volumes: tuple[str, ...],
    with_slurm: bool,
    of_job: bool,
    slower: bool,
    hosts: str | None,
    reach: str | None,
    status_file: Path | None,
) -> None:
    """Bring up the torus of TOPOLOGY (a name or a .yml file). Do nothing if the same torus is up."""
    if slower:
        _slow_down(lifecycle.get(name or ""), status_file)
        return
    if of_job:
        topology, network = sysfs.text(Path("topology")) or topology, sysfs.text(Path("network")) or network
        ranks_per_node = int(sysfs.text(Path("ranks-per-node")) or ranks_per_node)
        rate_scale = os.environ.get(RATE_SCALE) or sysfs.text(Path("rate-scale")) or rate_scale
    if not topology:
        raise InputError("torus up", "TOPOLOGY", None, "a name or a .yml file; run: railyard topology --help")
    topo = catalog.load(topology)
    name = name or topo.name.replace("+", "-")
    plan.check_size(topo)
    carrier = _network(network)
    can_divide = (
        carrier == "router" and engine == DEFAULT_ENGINE and not with_slurm and rootless.INSIDE not in os.environ
    )
    divided = _parts(topo, hosts, reach, possible=can_divide) if hosts else None
    standing = lifecycle.read(name)
    times = pace.times_auto(rate_scale)
    if times and standing and standing.complete:
        scale = standing.shape.rate_scale  # this machine's budget may have been measured again since
    elif times:
        at_mtu = Shape(mtu_bytes=mtu)
        scale = packet_budget.auto_scale(topo, at_mtu, ranks_per_node=ranks_per_node, times=times, parts=divided)
    else:
        scale = pace.scale(topo, rate_scale)
    shape = Shape(
        rate_scale=scale,
        mtu_bytes=mtu,
        burst_packets=burst,
        latency_scaled=bool(topo.hop_latency_us) if carrier == "router" else kernel_limits.can_scale(topo),
        network=carrier,
    )
    if with_slurm:
        programs.need()
        if reason := cluster.missing():
            raise RunError(reason)
    if engine != DEFAULT_ENGINE and rootless.INSIDE in os.environ:
        valid = f"{DEFAULT_ENGINE} for an ordinary user; the {engine} engine is for root"
        raise InputError("--engine", "", engine, valid)
    containers = engines()[engine].made_of(image, volumes)
    if overflow := kernel_limits.neighbour_advice(plan.make(topo, shape), with_slurm=with_slurm):
        click.echo(f"railyard: {overflow}", err=True)
    routers = 0 if carrier == "router" else len(topo.routers)
    # Imported here and in the commands below, because `mpirun` and `down` need no table and should start quickly.
    from rich.console import Console
    from rich.progress import Progress

    steps = routers + len(topo.nodes) * (1 + bool(containers) + with_slurm) + 1
    with Progress(console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task("making hosts", total=steps)
        virtual_torus, new = lifecycle.up(
            topo,
            name=name,
            shape=shape,
            engine=engine,
            containers=containers,
            with_slurm=with_slurm,
            progress=lambda done: bar.update(task, completed=done),
            divided=divided,
        )
    report = status.inspect(virtual_torus) if status_file or not new else None
    if report and status_file:
        status_file.write_text(_as_json(report))
    if report and not report.sound:
        raise RunError(
            f"torus {virtual_torus.name} is up, but {report.differences[0]}; "
            f"run: railyard torus down {virtual_torus.name}"
        )
    click.echo(
        f"{virtual_torus.name}: {'up' if new else 'already up'}: {topo.layout}, {len(topo.nodes)} nodes, "
        f"1 GB/s is {scale * 8e3:g} Mbit/s, network {virtual_torus.shape.network}{topo.routes_text}"
    )
    if divided:
        cables = len(parts.cut(topo, parts.divide(topo, len(divided.machines)))) // 2
        click.echo(f"on {len(divided.machines)} machines: {cables} cables between them")
    click.echo(pace.line(topo, virtual_torus.shape))
    if with_slurm:
        click.echo(f"Slurm: {len(topo.nodes)} nodes; railyard torus exec {virtual_torus.name} head -- sinfo")
    if carrier == "kernel" and (too_much := packet_budget.advice(topo, shape)):
        click.echo(f"railyard: {too_much}", err=True)


@torus.command("list", epilog=example("railyard torus list"))
@json_option("Print JSON.")
def list_tori(as_json: bool) -> None:
    """List the tori on this machine, also incomplete ones."""
    rows = [
        {
            "name": name,
            "topology": torus.topology.name if torus else "",
            "state": "up" if torus and torus.complete else "incomplete",
            "nodes": len(torus.topology.nodes) if torus else "",
            "rate_scale": torus.shape.rate_scale if torus else "",
        }
        for name, torus in ((name, lifecycle.read(name)) for name in sorted(lifecycle.names()))
    ]
    if as_json:
        print_json(rows)
        return
    from rich.console import Console
    from rich.table import Table

    table = Table("torus", "topology", "state", "nodes", "rate scale")
    for row in rows:
        table.add_row(*map(str, row.values()))
    Console().print(table if rows else "no torus is up")


@torus.command("status", epilog=example("railyard torus status lab"))
@click.argument("name")
@json_option("Print JSON.")
def show(name: str, as_json: bool) -> None:
    """Compare the torus NAME, as the kernel reports it, with its plan. Exit with 1 if they differ."""
    report = status.inspect(lifecycle.get(name))
    if as_json:
        click.echo(_as_json(report), nl=False)
    else:
        from rich.console import Console
        from rich.table import Table

        table = Table(title=f"torus {name}", show_header=False)
        for key, value in report.rows():
            table.add_row(key, value)
        Console().print(table)
    if not report.sound:
        click.echo(f"railyard: torus {name}: {report.differences[0]}", err=True)
    sys.exit(0 if report.sound else 1)


def _as_json(report: status.Report) -> str:
    """Return the text of a report for --json and --status."""
    return json.dumps(report.to_dict(), indent=1) + "\n"


@torus.command("exec", context_settings=RAW, epilog=example("railyard torus exec lab r0-0-0 ip -brief address"))
@click.argument("name")
@click.argument("host")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def execute(name: str, host: str, command: tuple[str, ...]) -> None:
    """Run COMMAND on HOST (a node, a router such as r0-0-0, or `head`) of the torus NAME."""
    words = _after_dashes(command)
    if not words:
        raise InputError("torus exec", "", problem="no command", valid="railyard torus exec NAME HOST -- COMMAND ...")
    launch.on_host(lifecycle.get(name), host, words)


@torus.command(
    context_settings=RAW, epilog=example("railyard torus mpirun lab -np 64 build/benchmarks-openmpi/bin/noise")
)
@click.argument("name")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def mpirun(name: str, arguments: tuple[str, ...]) -> None:
    """Run the system's mpirun (Open MPI) across the torus NAME; all arguments are mpirun's.

    Only one launch runs at a time on a machine. A second one waits, because it would disturb the first.
    """
    sys.exit(launch.mpirun(lifecycle.get(name), _after_dashes(arguments)))


@torus.command(
    context_settings=RAW, epilog=example("railyard torus srun lab --ntasks=64 build/benchmarks-mpich/bin/noise")
)
@click.argument("name")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def srun(name: str, arguments: tuple[str, ...]) -> None:
    """Run Slurm's srun on the torus NAME (up --slurm); all arguments are srun's.

    In a job of that Slurm it starts a step of the job, elsewhere a new job.
    """
    sys.exit(launch.srun(lifecycle.get(name), _after_dashes(arguments)))


@torus.command(
    context_settings=RAW, epilog=example("railyard torus mpiexec lab -n 64 build/benchmarks-mpich/bin/noise")
)
@click.argument("name")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def mpiexec(name: str, arguments: tuple[str, ...]) -> None:
    """Run the system's mpiexec (MPICH, Hydra) across the torus NAME; all arguments are mpiexec's."""
    sys.exit(launch.mpiexec(lifecycle.get(name), _after_dashes(arguments)))


@torus.command(
    "launch", context_settings=RAW, epilog=example("railyard torus launch lab /opt/openmpi/bin/mpirun -np 64 ./program")
)
@click.argument("name")
@click.argument("launcher")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@option(
    "--script", "Shell script to run on the head in place of LAUNCHER, which it may call several times.", default=""
)
def launch_any(name: str, launcher: str, arguments: tuple[str, ...], script: str) -> None:
    """Run LAUNCHER, an mpirun or mpiexec by its path, across the torus NAME; all further arguments are its own.

    LAUNCHER may be that of Open MPI 4 or 5, MPICH, Intel MPI, or another one that `railyard/placements/launchers`
    prepares for a torus, installed anywhere. The program must be built with the same MPI.
    """
    sys.exit(launch.any_mpi(lifecycle.get(name), launcher, _after_dashes(arguments), script))


@torus.command(epilog=example("railyard torus down lab"))
@click.argument("name", required=False)
@option("--all everything", "Remove every torus, and what killed commands have left.", is_flag=True)
def down(name: str | None, everything: bool) -> None:
    """Remove the torus NAME: kill what runs in it, delete its namespaces and files."""
    if (name is None) == (not everything):
        raise InputError("torus down", "", name, "either a torus's name or --all")
    if name is None:
        removed = lifecycle.down_all()
    else:
        lifecycle.down(name)
        removed = [name]
    click.echo(f"down: {', '.join(removed) or 'nothing was up'}")


def _network(wanted: str) -> Literal["kernel", "router"]:
    """Return the network for an option --network. RunError if the router is requested and cannot run here."""
    if wanted not in NETWORKS:
        raise InputError("--network", "", wanted, f"one of {', '.join(NETWORKS)}")
    if wanted == "kernel":
        return "kernel"
    if reason := router.missing():
        if wanted == "router":
            raise RunError(reason)
        click.echo(f"railyard: network kernel, because {reason}", err=True)
        return "kernel"
    return "router"


def _slow_down(torus: VirtualTorus, status_file: Path | None) -> None:
    """Make a torus again at the next smaller rate scale, with its faults; exit with status 1 where it stays."""
    written = os.environ.get(RATE_SCALE) or sysfs.text(Path("rate-scale")) or "auto"
    is_fixed = torus.owner is None or not pace.times_auto(written)
    scale = 0.0 if is_fixed else packet_budget.slower_scale(torus.topology, torus.shape)
    if not scale:
        click.echo(f"{torus.name}: stays at rate scale {torus.shape.rate_scale:g}")
        sys.exit(1)
    first = torus.shape.slowed_from or torus.shape.rate_scale
    shape = dataclasses.replace(torus.shape, rate_scale=scale, slowed_from=first)
    lifecycle.down(torus.name)
    again, _ = lifecycle.up(
        torus.topology,
        name=torus.name,
        shape=shape,
        engine=torus.engine,
        containers=torus.containers,
        divided=torus.parts,
    )
    again = live_faults.apply(again, torus.faults)
    if status_file:
        status_file.write_text(_as_json(status.inspect(again)))
    changed = f"rate scale {scale:g} instead of {torus.shape.rate_scale:g}"
    click.echo(f"{torus.name}: load made a launch void; {changed}: all launches begin again")


def _parts(topology: Topology, hosts: str, reach: str | None, *, possible: bool) -> Parts:
    """Return the machines of a torus on several; InputError for what such a torus cannot have."""
    if not possible:
        valid = "network router, nodes of namespaces, no Slurm of its own, and root"
        raise InputError("--hosts", "", hosts, valid)
    there = machines.of_slurm() if hosts == "slurm" else machines.read(Path(hosts))
    usual = machines.SRUN if hosts == "slurm" else machines.SSH
    parts.check(topology, len(there))
    return machines.parts_here(there, shlex.split(reach) if reach else usual)


def _after_dashes(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words without the first if it is `--`, which separates options of railyard from a command."""
    return words[1:] if words[:1] == ("--",) else words


torus.add_command(links.fault)
torus.add_command(links.show_counters)
torus.add_command(links.simulate)
