"""Make, change and remove this machine's part of a torus on several, for the machine where `torus up` runs.

    python -m railyard.torus.virtual.part make | down NAME | faults NAME | budget

`make` and `faults` read their request from standard input (`machines`). `budget` prints how many packets per second
this machine forwards.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence

from railyard.base.errors import InputError, RunError
from railyard.placements.topology import faults
from railyard.torus.engines import router
from railyard.torus.virtual import lifecycle, live_faults, machines, packet_budget


def make() -> None:
    """Make a part: read the request, print a port, read those of all machines, connect the routers."""
    request = json.loads(sys.stdin.readline())
    torus, key = lifecycle.from_document(request["name"], request["torus"]), bytes.fromhex(request["key"])
    assert torus.parts is not None
    down(torus.name)
    with machines.listening(torus.parts, key) as listener:
        print(json.dumps({"port": listener.address[1]}), flush=True)
        ports = {int(number): port for number, port in json.loads(sys.stdin.readline())["ports"].items()}
        with machines.connected(torus.parts, listener, key, ports) as sockets:
            lifecycle.up(torus.topology, name=torus.name, shape=torus.shape, divided=torus.parts, sockets=sockets)
    print(json.dumps({"up": True}), flush=True)
    if "SLURM_STEP_ID" in os.environ:
        router.wait(torus.name, torus.folder)  # Slurm ends what a step has started when the step ends


def down(name: str) -> None:
    """Remove a part, if there is any."""
    if name in lifecycle.names():
        lifecycle.down_part(name)


def main(words: Sequence[str]) -> None:
    """Do what the words name; end with one line if that fails."""
    try:
        match words:
            case ["make"]:
                make()
            case ["down", name]:
                down(name)
            case ["faults", name]:
                live_faults.apply(lifecycle.get(name), faults.parse(json.load(sys.stdin)))
            case ["budget"]:
                print(packet_budget.cached_packets_s())
            case _:
                raise InputError("part", "", " ".join(words), "make, down NAME, faults NAME or budget")
    except (InputError, RunError) as error:
        sys.exit(f"railyard: {error}")


if __name__ == "__main__":
    main(sys.argv[1:])
