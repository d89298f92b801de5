"""`railyard sim`: run an MPI program on a simulated network."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from railyard.base.commands import COUNT, FILE, PATH, RAW, example, option
from railyard.base.errors import InputError
from railyard.placements.hosts.hostfile import Nic, read_nics
from railyard.placements.topology import catalog, fault_words
from railyard.placements.topology.base import Topology
from railyard.torus.simulated import calibration, network, smpi
from railyard.torus.simulated.smpi import SimulatedLaunch


@click.command(context_settings=RAW, epilog=example("railyard sim gemini-4x4x4 build/benchmarks-simgrid/bin/halo"))
@click.argument("topology")
@click.argument("program", nargs=-1, required=True, type=click.UNPROCESSED)
@option(
    "--hostfile",
    "File whose line k names the node of rank k, or NODE.nicK for its NIC on rail K.  [default: a rank per node]",
    FILE,
)
@option("--ranks", "Without --hostfile: number of ranks, on the first nodes.  [default: all nodes]", COUNT)
@option(
    "--faults",
    "Faults of the network: arguments of `railyard torus fault`, separated by semicolons.  [env: RAILYARD_FAULTS]",
    default="",
    envvar="RAILYARD_FAULTS",
)
@option(
    "--calibration calibrated",
    "Latencies and limits beyond the topology's rates: gemini, plain, virtual-torus or a .yml file.  "
    "[env: RAILYARD_CALIBRATION; default: gemini for a torus, plain for a fat tree]",
    envvar="RAILYARD_CALIBRATION",
)
@option(
    "--algorithms",
    "SMPI's algorithms in place of the calibration's choice, such as alltoall:ring,bcast:mpich.  "
    "[env: RAILYARD_ALGORITHMS]",
    default="",
    envvar="RAILYARD_ALGORITHMS",
)
@option(
    "--time-limit time_s",
    "Seconds on this machine after which the simulation is ended.",
    click.FloatRange(min=0, min_open=True),
    smpi.TIME_S,
)
@option(
    "--memory-limit memory_gib",
    "GiB of address space that the simulation may use.",
    click.FloatRange(min=0, min_open=True),
    smpi.MEMORY_GIB,
)
@option("--link-bytes", "Write every link's payload bytes to this file, as JSON (docs/formats.md).", FILE)
@option("--keep", "Simulate nothing: write the network to this folder and print the smpirun command.", PATH)
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
    """Run PROGRAM, built by smpicc, on a simulated TOPOLOGY. The times that it reports are simulated.

    Options come before TOPOLOGY. The same program with the same placement gives the same numbers, bit for bit.
    """
    network = catalog.load(topology)
    faulty = fault_words.parse(network, faults)
    faulty.check_steady()
    launch = SimulatedLaunch(
        topology=network,
        ranks=_ranks(network, hostfile, ranks),
        program=program,
        calibration=calibration.load(calibrated or network.calibration),
        algorithms=smpi.read_algorithms(algorithms),
        faults=faulty,
        time_s=time_s,
        memory_gib=memory_gib,
    )
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        smpi.write(launch, keep)
        words = shlex.join(smpi.command(launch, str(keep / "hosts")))
        click.echo(f"RAILYARD_NETWORK={shlex.quote(str(keep / 'network'))} {words}")
        return
    from rich.console import Console

    with Console(stderr=True).status(f"simulating {len(launch.ranks)} ranks on {network.name}"):
        result = smpi.run(launch)
    if link_bytes is not None:
        counted = [{"link": name, "bytes": size} for name, size in result.link_bytes.items()]
        document = {"format": "railyard-link-bytes/1", "topology": network.name, "links": counted}
        link_bytes.write_text(json.dumps(document, indent=1) + "\n")
    if path := os.environ.get("RAILYARD_EVIDENCE"):
        Path(path).write_text(json.dumps(evidence(launch, result)) + "\n")
    sys.exit(result.status)


def evidence(launch: SimulatedLaunch, result: smpi.SimulationResult) -> Mapping[str, Any]:
    """Return what a check stores of a launch: the bytes of the NICs of its nodes, and how it was simulated."""
    sent = result.link_bytes
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
            "memory_mib": round(result.memory_mib, 1),
        },
    }


def _ranks(topology: Topology, hostfile: Path | None, ranks: int | None) -> list[Nic]:
    """Return the NIC of each rank, from a host file or on the first nodes. InputError for more ranks than nodes."""
    if hostfile is not None:
        return read_nics(hostfile, topology)
    nodes = topology.nodes
    if ranks is not None and ranks > len(nodes):
        raise InputError("--ranks", "", ranks, f"at most {len(nodes)}, the nodes of {topology.name}")
    return [Nic(node=node) for node in nodes[:ranks]]
