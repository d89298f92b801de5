"""Decide from what the nodes report of themselves whether a job runs on a machine or on an emulation of one.

Models: a node of a virtual torus has the torus's variable. Nodes that share one boot share one kernel, so they are
containers or namespaces of one computer. Nodes without a NIC that has hardware send through software. What
configuration declares can only be weaker than this. Leaves out: virtual machines, each of which has a kernel of its own
(docs/tender.md), and how a node describes itself (`railyard.jobs.nodes.node`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from railyard.torus.virtual import lifecycle, status

Described = Mapping[str, Mapping[str, Any]]


def emulated(described: Described) -> str:
    """Return the evidence that nodes are emulated, in one line; empty if there is none.

    `described` maps a node to its description. One node alone shares neither a kernel nor a network.
    """
    first: dict[str, str] = {}
    for name, node in described.items():
        if node.get("torus"):
            return f"{name} is on the virtual torus {node['torus']}"
        if node.get("boot") and (other := first.setdefault(str(node["boot"]), name)) != name:
            return f"{other} and {name} share one boot of one kernel"
    if len(described) > 1 and all(node.get("virtual") and not node["nics"] for node in described.values()):
        name, node = next(iter(described.items()))
        return f"no node has a NIC with hardware: {name} has {', '.join(node['virtual'])}"
    return ""


def boots(described: Described) -> int:
    """Return how many boots of kernels the nodes report; a node that cannot read its own is left out."""
    return len({node["boot"] for node in described.values() if node.get("boot")})


def torus_named(described: Described) -> str:
    """Return the name of the virtual torus that one of the nodes belongs to; empty if none does."""
    return next((str(node["torus"]) for node in described.values() if node.get("torus")), "")


def torus(described: Described) -> dict[str, Any]:
    """Return what emulates the nodes, as `railyard torus status --json` does; `shared-kernel` if it is not a torus."""
    name = torus_named(described)
    if virtual := lifecycle.read(name) if name else None:
        return status.inspect(virtual).to_dict()
    rates = {"rate_scale": 1.0, "mtu_bytes": 0, "burst_bytes": 0, "latency_scaled": False}
    return {"name": name or "none", "engine": "shared-kernel", **rates, "faults": []}
