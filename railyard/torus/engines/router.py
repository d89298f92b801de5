"""Start, change and inspect the user-space router, one process that forwards all packets of a torus.

    /run/railyard/NAME/router             the description that railyard-router reads (native/router/description.h)
    /run/railyard/NAME/router.counters    its counters (native/router/counters.h)
    /run/railyard/NAME/router.log         its error if it ends early

The process runs in the torus's namespace `head`, so `railyard torus down` ends it with everything else there. Its NICs
vanish with it.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import struct
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from railyard.base import sysfs
from railyard.base.errors import RunError
from railyard.torus.engines import netns
from railyard.torus.engines.base import replace_file
from railyard.torus.native.programs import ROUTER
from railyard.torus.plan import router_description
from railyard.torus.plan.parts import Parts, divide
from railyard.torus.plan.plan import HEAD, TorusPlan

TUN = Path("/dev/net/tun")
CHANGE_S = 5.0  # seconds in which a router must work by a new description
#: The first fields of native/router/counters.h: magic, links, process, generation, sequence, priority.
HEADER = struct.Struct("=QQQQQQ")
MAGIC = 0x31524F5955524C52


@dataclass(frozen=True, slots=True, kw_only=True)
class RouterState:
    """A running router: its process, the generation of its description, and whether its priority is real-time."""

    process: int
    generation: int
    realtime: bool


def missing() -> str:
    """Return in one line why no router can run on this machine; an empty text if one can."""
    if not ROUTER.is_file():
        return f"{ROUTER} is not built; run `make setup`"
    try:
        os.close(os.open(TUN, os.O_RDWR | os.O_CLOEXEC))
    except OSError as error:
        return f"{TUN} cannot be opened ({error.strerror}), which the network `router` needs"
    return ""


def start(name: str, plan: TorusPlan, folder: Path, *, parts: Parts | None, sockets: Mapping[int, int]) -> None:
    """Start the router of a torus whose namespaces exist, and wait until all NICs exist.

    `folder` is that of the torus. `sockets` are descriptors of connections to the routers of other machines, by the
    machines' numbers. Raises RunError with the router's own message if it ends before.
    """
    description = folder / "router"
    replace_file(description, _description(name, plan, generation=1, parts=parts))
    peers = [f"{machine.name}={sockets.get(n, '')}" for n, machine in enumerate(parts.machines if parts else ())]
    with (folder / "router.log").open("w", encoding="utf-8") as log:
        process = subprocess.Popen(
            [ROUTER, description, folder / "router.counters", netns.NETNS / netns.full_name(name, HEAD), *peers],
            pass_fds=list(sockets.values()),
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
            raise RunError(reason(folder) or "railyard-router ended before its NICs existed")


def change(name: str, plan: TorusPlan, folder: Path, *, parts: Parts | None) -> None:
    """Make a running router apply the faults of another plan, and wait until it does.

    Raises RunError if the router does not run, ends, or has not applied the faults after `CHANGE_S`.
    """
    running = state(name, folder)
    if running is None:
        raise RunError(f"the router of torus {name} does not run; run: railyard torus down {name}")
    generation = running.generation + 1
    replace_file(folder / "router", _description(name, plan, generation=generation, parts=parts))
    os.kill(running.process, signal.SIGHUP)
    deadline = time.monotonic() + CHANGE_S
    while (running := state(name, folder)) is not None and running.generation != generation:
        if time.monotonic() > deadline:
            raise RunError(
                f"the router of torus {name} has not applied its faults after {CHANGE_S:g} s; "
                f"run: railyard torus down {name}"
            )
        time.sleep(0.002)
    if running is None:
        raise RunError(reason(folder) or f"the router of torus {name} ended when its faults changed")


def state(name: str, folder: Path) -> RouterState | None:
    """Return the state of a torus's router, or None if none runs.

    A process counts only if it is in the torus's namespace `head`, because its number can be used again.
    """
    try:
        with (folder / "router.counters").open("rb") as file:
            magic, _, process, generation, _, realtime = HEADER.unpack(file.read(HEADER.size))
    except (OSError, struct.error):
        return None
    if magic != MAGIC or not netns.is_in(process, netns.identities([netns.full_name(name, HEAD)])):
        return None
    return RouterState(process=process, generation=generation, realtime=bool(realtime))


def wait(name: str, folder: Path) -> None:
    """Wait for the end of a torus's router, if it runs."""
    with contextlib.suppress(ProcessLookupError):
        if running := state(name, folder):
            descriptor = os.pidfd_open(running.process)
            select.select([descriptor], [], [])
            os.close(descriptor)


def _description(name: str, plan: TorusPlan, *, generation: int, parts: Parts | None) -> str:
    """Return the text of a torus's description for the router."""
    lines = router_description.lines(
        plan.topology,
        plan.shape,
        plan.faults,
        path=f"{netns.NETNS}/{netns.full_name(name, '')}",
        generation=generation,
        machine_of=divide(plan.topology, len(parts.machines)) if parts else {},
    )
    return "\n".join([*lines, ""])


def reason(folder: Path) -> str:
    """Return the message with which the router ended; an empty text if there is none."""
    return sysfs.text(folder / "router.log").removeprefix("railyard-router: ")
