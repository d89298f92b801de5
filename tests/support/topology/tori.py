"""What tests ask of a torus that is up: its status and counters, its hosts, and what runs on the machine."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from railyard.placements.launchers import files
from railyard.placements.topology import catalog
from railyard.placements.topology.base import Topology
from railyard.torus.virtual import lifecycle
from support.commands import BIN, CHECKOUT, Run, command_lines


def up(railyard: Run, name: str, *options: str, topology: str = "gemini-2x2x2") -> str:
    """Bring a torus up; return what `torus up` prints."""
    done = railyard("torus", "up", topology, "--name", name, *options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def up_described(railyard: Run, name: str, folder: Path, document: Mapping[str, Any], *options: str) -> Topology:
    """Bring a torus of a document up; write it, its coordinates and its links to files in a folder."""
    topology = catalog.parse(document, source="here")
    (folder / "topology.yml").write_text(json.dumps(document))  # JSON is YAML
    (folder / "coordinates").write_text(files.coordinates(topology))
    (folder / "links").write_text(files.links(topology))
    up(railyard, name, *options, topology=str(folder / "topology.yml"))
    return topology


def status(railyard: Run, name: str) -> dict[str, Any]:
    """Return the document of `torus status`, whether it is sound or not."""
    report: dict[str, Any] = json.loads(railyard("torus", "status", name, "--json").stdout)
    return report


def links(railyard: Run, name: str) -> dict[str, dict[str, Any]]:
    """Return link name -> its counters."""
    document = json.loads(railyard("torus", "counters", name, "--json").stdout)
    return {link["name"]: link for link in document["links"]}


def inside(name: str, host: str, *command: str) -> str:
    """Return what a command prints in the network of a host."""
    where = ["ip", "netns", "exec", f"railyard.{name}.{host}"]
    return subprocess.run([*where, *command], capture_output=True, text=True, check=True).stdout


def address(name: str, host: str) -> str:
    """Return the address that a torus's hosts know a name by."""
    lines = Path("/run/railyard", name, "hosts").read_text().splitlines()
    return next(line.split()[0] for line in lines if line.split()[1] == host)


def entering(name: str, *command: str | Path, host: str = "head") -> list[str | Path]:
    """Return the words that run a command on a host of a torus."""
    return [BIN / "railyard", "torus", "exec", name, host, "--", *command]


def on_head(railyard: Run, name: str, *command: str) -> str:
    """Return what a command prints on the head, where a user of the torus's Slurm works."""
    done = railyard("torus", "exec", name, "head", "--", *command)
    assert done.returncode == 0, done.stderr
    return done.stdout


def folder_kib(railyard: Run, name: str, *launcher: str) -> int:
    """Return the largest size of the torus's folder, in KiB, that ranks see after their MPI program has run."""
    noise = CHECKOUT / "build/benchmarks-openmpi/bin/noise"
    script = f"{noise} --repeats 3 --count 10 >/dev/null && du -sk {lifecycle.RUN / name}"
    done = railyard("torus", launcher[0], name, *launcher[1:], "sh", "-c", script)
    assert done.returncode == 0, done.stderr
    return max(int(line.split()[0]) for line in done.stdout.splitlines())


def running_count(command: str) -> int:
    """Return how many living processes have this command line."""
    return command_lines().count(f"{command} ")


def host_network() -> str:
    """Return the machine's own interfaces, routes, rules, forwarding and firewall."""
    commands = ["ip -o link", "ip -4 route show table all", "ip rule", "sysctl net.ipv4.ip_forward"]
    commands += ["iptables-save"] if shutil.which("iptables-save") else []
    texts = [subprocess.run(c.split(), capture_output=True, text=True, check=True).stdout for c in commands]
    lines = "".join(texts).splitlines()
    return "\n".join(line.partition("[")[0] for line in lines if not line.startswith("#"))
