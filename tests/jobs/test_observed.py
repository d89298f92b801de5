"""The origin of a job is what its nodes report of themselves; what configuration declares is at most weaker."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support import evidence

from railyard.jobs.nodes import node, observed
from railyard.records import record, rules

NIC = [{"name": "mlx5_0"}]
HIDDEN: dict[str, Any] = {"boot": "", "nics": [], "virtual": []}
CONTAINER: dict[str, Any] = {"nics": [], "virtual": ["eth0"]}


def report(name: str, **changes: Any) -> dict[str, dict[str, Any]]:
    """Return the report of one node by its name; it has a boot of its own unless `changes` name another."""
    return {name: {"boot": name, "nics": NIC, "virtual": [], "torus": "", **changes}}


@pytest.mark.parametrize(
    ("described", "evidence"),
    [
        ({}, ""),
        (report("a") | report("b"), ""),
        (report("a", **CONTAINER), ""),
        (report("a", **HIDDEN) | report("b", **HIDDEN), ""),
        (report("a", boot="c") | report("d") | report("b", boot="c"), "a and b share one boot of one kernel"),
        (report("a", torus="t"), "a is on the virtual torus t"),
        (report("a", **CONTAINER) | report("b", **CONTAINER), "no node has a NIC with hardware: a has eth0"),
        (report("a", **CONTAINER) | report("b", virtual=["docker0"]), ""),
    ],
)
def test_what_nodes_report_decides_the_origin(described: dict[str, dict[str, Any]], evidence: str) -> None:
    assert observed.emulated(described) == evidence


def test_nodes_of_one_kernel_that_are_no_torus_are_described_as_such() -> None:
    shared = report("a", boot="c") | report("b", boot="c")
    assert (observed.boots(shared), observed.torus(shared)["engine"]) == (1, "shared-kernel")


def test_a_node_reports_its_boot_without_the_kernels_own_id() -> None:
    described = node.describe(environment={"RAILYARD_TORUS": "t"})
    assert len(described["boot"]) == 32 and described["torus"] == "t"


def strict(nodes: dict[str, int] | None) -> list[str]:
    """Return the faults of a measured record of many nodes that reported this."""
    good = evidence.good(origin="measured", nic_policies=evidence.POLICIES)
    document = json.loads(record.text(good))
    document["provenance"] = {**document["provenance"], "nodes": nodes}
    if nodes is None:
        del document["provenance"]["nodes"]
    read = record.from_content(document, "bid")
    return [f"{fault.field}: {fault.text}" for fault in rules.faults(read)]


def test_the_strict_check_refuses_measured_where_nodes_share_a_kernel_whoever_wrote_the_file() -> None:
    count = len(evidence.good(origin="measured").case.allocation["nodes"])
    own = {"described": count, "kinds": 1, "boots": count}
    assert strict(own) == []
    (shared,) = strict(own | {"boots": 1})
    assert shared.endswith(f"{count} nodes have 1 boots of kernels: emulated, not measured")
    (few,) = strict(own | {"described": 1, "boots": 1})
    assert few.endswith(f"1 of {count} nodes described themselves")
    assert len(strict(None)) == 1
