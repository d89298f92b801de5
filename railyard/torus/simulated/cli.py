"""`railyard sim`: an MPI program on a simulated network."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from placements.hosts.hostfile import Nic, read_nics
from placements.topology import catalog, fault_words
from placements.topology.base import Topology
from railyard.base.errors import InputError
from railyard.torus.simulated import calibration, network, smpi
from railyard.torus.simulated.smpi import SimulatedLaunch, SimulationLimits

RAW = {"ignore_unknown_options": True, "allow_interspersed_args": False}
DEFAULT = SimulationLimits()


@click.command(context_settings=RAW)
@click.argument("topology")
@click.argument("program", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option(
    "--hostfile",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Line k is the node of rank k, or NODE.nicK for its NIC on rail K.  [default: a rank on every node]",
)
@click.option("--ranks", type=click.IntRange(1), help="Without --hostfile: ranks on the first nodes alone.")
@click.option(
    "--faults",
    envvar="RAILYARD_FAULTS",
    default="",
    help="What is wrong: arguments of `railyard torus fault`, one set a semicolon.  [env: RAILYARD_FAULTS]",
)
@click.option(
    "--calibration",
    "calibrated",
    envvar="RAILYARD_CALIBRATION",
    help="What the network costs beyond its rates: gemini, plain, virtual-torus or a .yml file.  "
    "[env: RAILYARD_CALIBRATION; default: gemini for a torus, plain for a fat tree]",
)
@click.option(
    "--algorithms",
    envvar="RAILYARD_ALGORITHMS",
    default="",
    help="SMPI's algorithm for a collective in place of the calibration's choice, as alltoall:ring; commas between.  "
    "[env: RAILYARD_ALGORITHMS]",
)
@click.option(
    "--time-limit",
    "time_s",
    type=click.FloatRange(min=0, min_open=True),
    default=DEFAULT.time_s,
    show_default=True,
    help="Seconds of this machine's time.",
)
@click.option(
    "--memory-limit",
    "memory_gib",
    type=click.FloatRange(min=0, min_open=True),
    default=DEFAULT.memory_gib,
    show_default=True,
    help="GiB of address space.",
)
@click.option(
    "--link-bytes",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File that gets every link's payload bytes, as JSON (docs/formats.md).",
)
@click.option(
    "--keep", type=click.Path(path_type=Path), help="Only write the network and the smpirun line here."
)
def sim(
    *,
    topology: str,
    program: Sequence[str],
    hostfile: Path | None,
    ranks: int | None,
    faults: str,
    calibrated: str | None,
    algorithms: str,
    time_s: float,
    memory_gib: float,
    link_bytes: Path | None,
    keep: Path | None,
) -> None:
    """Run PROGRAM, built by smpicc, on a simulated TOPOLOGY; times that it reports are simulated.

    Options come before TOPOLOGY. The same program with the same placement gives the same numbers, bit for bit.
    """
    network = catalog.load(topology)
    launch = SimulatedLaunch(
        topology=network,
        ranks=_ranks(network, hostfile, ranks),
        program=program,
        calibration=calibration.load(calibrated or calibration.usual(network)),
        algorithms=smpi.read_algorithms(algorithms),
        faults=fault_words.parse(network, faults),
        limits=SimulationLimits(time_s=time_s, memory_gib=memory_gib),
    )
    if keep is not None:
        _write(launch, keep)
        return
    from rich.console import Console

    with Console(stderr=True).status(f"simulating {len(launch.ranks)} ranks on {network.name}"):
        ended = smpi.run(launch)
    if link_bytes is not None:
        link_bytes.write_text(json.dumps(_links(network, ended.link_bytes), indent=1) + "\n")
    if path := os.environ.get("RAILYARD_EVIDENCE"):
        Path(path).write_text(json.dumps(evidence(launch, ended)) + "\n")
    sys.exit(ended.status)


def evidence(launch: SimulatedLaunch, ended: smpi.SimulationResult) -> Mapping[str, Any]:
    """Return what a check keeps of a launch: the bytes of every NIC that had any, and what the simulation took."""
    sent = ended.link_bytes
    nodes = dict.fromkeys(nic.node for nic in launch.ranks)
    return {
        "nics": [
            {
                "node": node.name,
                "nic": f"nic{rail}",
                "tx_bytes": sent.get(f"out {network.nic_name(node, rail)}", 0),
                "rx_bytes": sent.get(f"in {network.nic_name(node, rail)}", 0),
            }
            for node in nodes
            for rail in range(launch.topology.rails)
        ],
        "simulation": {
            "simgrid": smpi.version(),
            "calibration": launch.calibration.name,
            "calibration_sha256": launch.calibration.sha256,
            "algorithms": [":".join(pair) for pair in launch.algorithms.items()],
            "faults": list(launch.faults.summary),
            "memory_mib": round(ended.memory_mib, 1),
        },
    }


def _ranks(topology: Topology, hostfile: Path | None, ranks: int | None) -> list[Nic]:
    if hostfile is not None:
        return read_nics(hostfile, topology)
    nodes = topology.nodes
    if ranks is not None and ranks > len(nodes):
        raise InputError("--ranks", "", ranks, f"at most {len(nodes)}, the nodes of {topology.name}")
    return [Nic(node=node) for node in nodes[:ranks]]


def _write(launch: SimulatedLaunch, folder: Path) -> None:
    """What `smpirun` reads, and the line itself."""
    folder.mkdir(parents=True, exist_ok=True)
    smpi.write(launch, folder)
    click.echo(
        f"RAILYARD_NETWORK={shlex.quote(str(folder / 'network'))} "
        + shlex.join(smpi.command(launch, str(folder / "hosts")))
    )


def _links(topology: Topology, counted: Mapping[str, int]) -> Mapping[str, Any]:
    return {
        "format": "railyard-link-bytes/1",
        "topology": topology.name,
        "links": [{"link": name, "bytes": size} for name, size in counted.items()],
    }
