"""Network `router`: one user-space process per torus carries all packets. Starts it, changes it, and reports its state.

    /run/railyard/NAME/router             what railyard-router reads (native/router/description.h)
    /run/railyard/NAME/router.counters    what it counts (native/router/counters.h)
    /run/railyard/NAME/router.log         what it prints when it ends early

The process lives in the torus's namespace `head`, so `down` ends it like everything else there. Its NICs vanish
with it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import struct
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from placements.topology.base import Topology
from placements.topology.faults import Faults
from railyard.base.errors import RunError
from railyard.torus.engines import netns
from railyard.torus.native.programs import ROUTER
from railyard.torus.plan import router_description
from railyard.torus.plan.plan import HEAD, Shape

TUN = Path("/dev/net/tun")
CHANGE_S = 5.0
#: The first words of native/router/counters.h: magic, links, process, generation, sequence, priority.
HEADER = struct.Struct("=QQQQQQ")
MAGIC = 0x31524F5955524C52


@dataclass(frozen=True, slots=True, kw_only=True)
class RouterState:
    """A router that runs: its process, the description that it works by, and whether it has real-time priority."""

    process: int
    generation: int
    realtime: bool


def missing() -> str:
    """Return why no router can run on this machine, in one line; empty where one can."""
    if not ROUTER.is_file():
        return f"{ROUTER} is not built; run `make setup`"
    try:
        os.close(os.open(TUN, os.O_RDWR | os.O_CLOEXEC))
    except OSError as error:
        return f"{TUN} cannot be opened ({error.strerror}), which the network `router` needs"
    return ""


def start(name: str, topology: Topology, shape: Shape, *, faults: Faults, folder: Path) -> None:
    """Start the router of a torus whose namespaces exist, and wait until all NICs do. RunError with its own reason."""
    description = folder / "router"
    _write(description, _description(name, topology, shape, faults=faults, generation=1))
    with (folder / "router.log").open("w", encoding="utf-8") as log:
        process = subprocess.Popen(
            [ROUTER, description, folder / "router.counters", netns.NETNS / netns.full_name(name, HEAD)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,
            text=True,
        )
    assert process.stdout is not None
    with process.stdout as answer:
        if answer.readline() != "ready\n":
            process.wait()
            raise RunError(_reason(folder) or "railyard-router ended before its NICs existed")


def change(name: str, topology: Topology, shape: Shape, *, faults: Faults, folder: Path) -> None:
    """Make a running router work by other faults. RunError where it does not run or does not follow."""
    running = state(name, folder)
    if running is None:
        raise RunError(f"the router of torus {name} does not run; run: railyard torus down {name}")
    wanted = running.generation + 1
    _write(folder / "router", _description(name, topology, shape, faults=faults, generation=wanted))
    os.kill(running.process, signal.SIGHUP)
    deadline = time.monotonic() + CHANGE_S
    while (running := state(name, folder)) is not None and running.generation != wanted:
        if time.monotonic() > deadline:
            raise RunError(f"the router of torus {name} does not take its faults over")
        time.sleep(0.002)
    if running is None:
        raise RunError(_reason(folder) or f"the router of torus {name} ended when its faults changed")


def state(name: str, folder: Path) -> RouterState | None:
    """Return the state of a torus's router, or None where none runs: its process must be in the torus's head."""
    try:
        with (folder / "router.counters").open("rb") as file:
            magic, _, process, generation, _, realtime = HEADER.unpack(file.read(HEADER.size))
        home = (netns.NETNS / netns.full_name(name, HEAD)).stat().st_ino
        alive = Path(f"/proc/{process}/ns/net").stat().st_ino == home
    except (OSError, struct.error):
        return None
    if magic != MAGIC or not alive:
        return None
    return RouterState(process=process, generation=generation, realtime=bool(realtime))


def _description(name: str, topology: Topology, shape: Shape, *, faults: Faults, generation: int) -> str:
    prefix = f"{netns.NETNS}/{netns.full_name(name, '')}"
    return router_description.description(
        topology, shape, faults, namespace_prefix=prefix, generation=generation
    )


def _write(path: Path, text: str) -> None:
    temporary = path.with_name(f".{path.name}")
    temporary.write_text(text, encoding="utf-8")
    temporary.rename(path)


def _reason(folder: Path) -> str:
    with contextlib.suppress(OSError):
        return (folder / "router.log").read_text(encoding="utf-8").strip().removeprefix("railyard-router: ")
    return ""
