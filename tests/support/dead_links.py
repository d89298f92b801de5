"""A cable of a virtual torus that loses every packet, in both directions, while routes still lead over it."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

NOBODY = "02:00:00:00:00:99"
OPPOSITE = {"+": "-", "-": "+"}


@contextmanager
def dead_cable(torus: str, direction: str, one: str, other: str) -> Iterator[None]:
    """Send packets for the next router to a hardware address that nobody has; `X+`, `1,0,0`, `2,0,0`."""
    back = direction[0] + OPPOSITE[direction[1]]
    ports = [(f"railyard.{torus}.r{one.replace(',', '-')}", direction.lower())]
    ports += [(f"railyard.{torus}.r{other.replace(',', '-')}", back.lower())]
    known = {port: _neighbour(*port) for port in ports}
    for port, (address, _) in known.items():
        _send_to(*port, address, NOBODY)
    try:
        yield
    finally:
        for port, (address, hardware) in known.items():
            _send_to(*port, address, hardware)


def _neighbour(namespace: str, port: str) -> tuple[str, str]:
    """The address of the router at the port's other end, and its hardware address."""
    words = _ip(namespace, "neigh", "show", "dev", port).split()
    return words[0], words[2]


def _send_to(namespace: str, port: str, address: str, hardware: str) -> None:
    _ip(namespace, "neigh", "replace", address, "lladdr", hardware, "nud", "permanent", "dev", port)


def _ip(namespace: str, *words: str) -> str:
    command = ["ip", "-netns", namespace, *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
