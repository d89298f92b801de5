"""The nodes that a scheduler granted: their names and order as real machines give them, and their places."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from railyard.jobs import placing
from railyard.jobs.job.spec import JobSpec
from railyard.jobs.job.submitted import Site, Submitted
from railyard.jobs.nodes import allocated_nodes

WHERE = "node,x,y,z\nnid001,0,0,0\nnid002,0,0,1\nnid003,0,1,0\nnid004,0,1,1\n"
GRANTED = ["nid001", "nid002", "nid003", "nid004"]


def job(folder: Path, **changes: Any) -> Submitted:
    """What `allocation` and `place_what_can` read of a job."""
    (folder / "where.csv").write_text(WHERE)
    fields: dict[str, Any] = {
        "topology": "gemini-2x2x2",
        "coordinates": str(folder / "where.csv"),
        "devices": None,
        "launcher": "openmpi4",
    }
    spec = JobSpec(name="halo", benchmark="halo", placements=("plain", "scheduler"), grid=(4,), allocation="contiguous")
    site = Site(fullname="site:cpu", scheduler="slurm", origin="measured", **{**fields, **changes})
    return Submitted(spec=spec, site=site, reframe={}, stderr="")


@pytest.mark.parametrize("domain", ["", ".hsn.site.org"])
def test_coordinates_are_found_with_and_without_a_domain(tmp_path: Path, domain: str) -> None:
    """PBS_NODEFILE and many hosts have full names, a site's table short ones."""
    granted = [f"{name}{domain}" for name in GRANTED]
    found = allocated_nodes.allocation(job(tmp_path), granted)
    assert found.without == ""
    assert {node.name: node.coordinate for node in found.allocation.nodes} == dict(
        zip(granted, [(0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 1, 1)], strict=True)
    )


def test_a_source_that_does_not_fit_ends_no_job(tmp_path: Path) -> None:
    read = job(tmp_path)
    (tmp_path / "where.csv").write_text(WHERE.replace("nid004,0,1,1", "nid004,7,7,7"))
    found = allocated_nodes.allocation(read, GRANTED)
    assert "no coordinates" in found.without and "7,7,7" in found.without
    placed = placing.plan(read, found).placed
    assert set(placed.hosts) == {"plain", "scheduler"} and not placed.cannot


def test_nodes_are_in_the_order_in_which_a_step_numbers_them() -> None:
    """Slurm's list of a job's nodes is sorted by name; its steps follow the order of slurm.conf."""
    described = {name: {"node_id": str(3 - k)} for k, name in enumerate(GRANTED)}
    assert allocated_nodes.as_numbered(GRANTED, described) == GRANTED[::-1]
    del described["nid002"]
    assert allocated_nodes.as_numbered(GRANTED, described) == GRANTED, "not every node has a number"
    assert allocated_nodes.as_numbered(GRANTED, {}) == GRANTED
