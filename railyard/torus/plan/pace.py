"""Compute how long a message takes on a virtual torus, and the rate scale at which it takes a given time. Pure.

A transfer takes its time on the real machine divided by the rate scale: at 0.000125, 8000 times as long.
"""

from __future__ import annotations

import re

from railyard.base.errors import InputError
from railyard.placements.topology.base import Topology
from railyard.torus.plan.plan import Shape

BYTES = {"B": 1.0, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30}
SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0}
EXAMPLE = "8MB/100ms"
#: The message size and the time in the line that `railyard torus up` prints.
MESSAGE_BYTES = 8e6
MESSAGE_S = 0.1
#: Seconds after which a launch gets an estimate.
ESTIMATE_S = 8.0
_AMOUNT = r"(\d+(?:\.\d+)?) *"
_AUTO = re.compile(r"auto(?:\*(\d+(?:\.\d+)?))?")
_PACE = re.compile(f"{_AMOUNT}({'|'.join(BYTES)}) */ *{_AMOUNT}({'|'.join(SECONDS)})")


def scale(topology: Topology, text: str) -> float:
    """Return the rate scale of a text: a number, or BYTES/TIME, such as `8MB/100ms`, which a NIC sends in that time.

    Raises InputError for text of another form, and for an amount or a time of 0.
    """
    match = _PACE.fullmatch(text)
    if match is None:
        try:
            return float(text)
        except ValueError:
            valid = f"a number, such as 0.000125, BYTES/TIME, such as {EXAMPLE}, auto or auto*N"
            raise InputError("--rate-scale", "", text, valid) from None
    size, time_s = float(match[1]) * BYTES[match[2]], float(match[3]) * SECONDS[match[4]]
    if not size or not time_s:
        raise InputError("--rate-scale", "", text, f"an amount and a time above 0, such as {EXAMPLE}")
    return _scale(topology, size, time_s)


def times_auto(text: str) -> float:
    """Return 1 for the text `auto`, N for `auto*N`, and 0 for any other text, which names a scale."""
    match = _AUTO.fullmatch(text)
    return float(match[1] or 1) if match else 0


def line(topology: Topology, shape: Shape) -> str:
    """Return one line for the user: a NIC's rate, how long 8 MB take, and the scale at which they take 0.1 s.

    Rate and time are given for the real machine and for the torus.
    """
    real_s = MESSAGE_BYTES / (topology.host_rate_gbyte_s * 1e9)
    here_mbit_s = float(f"{shape.rate_bit_s(topology.host_rate_gbyte_s) / 1e6:.3g}")
    rate_text = f"{topology.host_rate_gbyte_s:g} GB/s of a NIC are {here_mbit_s:g}"
    return (
        f"{rate_text} Mbit/s: 8 MB take {real_s / shape.rate_scale:.3g} s, on the real machine {real_s * 1e3:.3g} ms; "
        f"--rate-scale {EXAMPLE} makes it {MESSAGE_S:g} s ({_scale(topology, MESSAGE_BYTES, MESSAGE_S):.2g})"
    )


def estimate(rate_scale: float, most: float) -> str:
    """Return one line for a launch that still runs after ESTIMATE_S: how slow the network is, and what to type.

    `most` is the largest scale at which this machine carries the torus, 0 if that is not known.
    """
    slow = f"1 s of the real network takes {1 / rate_scale:,.0f} s here"
    if 0 < most <= rate_scale:
        return f"{slow}; this machine carries no faster network (docs/torus.md#rate-scale)"
    choice = f"{most:.2g}" if most else EXAMPLE
    return f"{slow}; faster: RAILYARD_RATE_SCALE={choice} (docs/torus.md#rate-scale)"


def _scale(topology: Topology, size_bytes: float, time_s: float) -> float:
    """Return the rate scale at which a NIC of the topology sends `size_bytes` in `time_s`."""
    return size_bytes / time_s / (topology.host_rate_gbyte_s * 1e9)
