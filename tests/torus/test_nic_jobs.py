"""A wrong NIC policy in a job of ReFrame on a cluster that counts nothing itself (`python -m perf.nic_jobs`)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from perf import nic_jobs
from railyard.torus.slurm import cluster as slurm
from railyard.torus.virtual import lifecycle

REASON = slurm.missing()
pytestmark = [pytest.mark.slurm, pytest.mark.skipif(bool(REASON), reason=REASON)]


@pytest.fixture(scope="module")
def dual_rail(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Slurm cluster of four nodes with two NICs each."""
    name = f"t{os.getpid()}-nics"
    nic_jobs.up(tmp_path_factory.mktemp("nics"), name)
    yield name
    lifecycle.down(name)


def test_a_variable_unset_behind_the_jobs_back_fails_it_and_the_policy_as_asked_passes(
    dual_rail: str, tmp_path: Path
) -> None:
    wrong = nic_jobs.launch(nic_jobs.HALO, tmp_path, runs=1, obey=False, torus=dual_rail)
    assert (wrong.origin, wrong.status) == ("measured", "failed")
    assert "left by nic1, asked nic0" in wrong.reason and nic_jobs.verdicts(wrong) == {"not-obeyed": 1}
    right = nic_jobs.launch(nic_jobs.HALO, tmp_path, runs=1, obey=True, torus=dual_rail)
    assert right.status == "ok" and nic_jobs.verdicts(right) == {"obeyed": 1}, right.reason
