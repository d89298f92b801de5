"""NIC policies live, on the dual-rail virtual cluster: obeyed to 99 % of the bytes, and broken on purpose."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from support.commands import executable
from support.reframe import into, records, reframe_in, settings

from railyard.base.checkout import TORUS_BIN
from railyard.records.record import Launch, Record

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="makes network namespaces as root; run as root")

SMALL = settings(grid="4,4", cells=4096, repeats=2, launches=1)


def run(tmp_path: Path, *options: str) -> tuple[subprocess.CompletedProcess[str], Record]:
    chosen = ["-r", "-n", "multirail_halo", *SMALL, *into(tmp_path), *options]
    done = reframe_in(tmp_path)(*chosen, RAILYARD_RATE_SCALE="0.00025")
    (record,) = records(tmp_path)
    return done, record


def shares(launch: Launch) -> dict[str, float]:
    """Of all bytes sent, by NIC."""
    assert launch.nics is not None
    sent = {nic: sum(n.tx_bytes for n in launch.nics if n.nic == nic) for nic in ("nic0", "nic1")}
    return {nic: size / sum(sent.values()) for nic, size in sent.items()}


def test_every_policy_of_the_poster_is_obeyed_and_proven(tmp_path: Path) -> None:
    done, record = run(tmp_path, "-S", "nics=round-robin,nic-0,nic-1,local-nic")
    assert record.status == "ok", done.stdout
    found = {launch.nic_policy: launch for launch in record.launches}
    assert all(launch.nic_verdict == "obeyed" for launch in found.values())
    assert shares(found["nic-0"])["nic0"] >= 0.99 and shares(found["nic-1"])["nic1"] >= 0.99
    for policy in ("round-robin", "local-nic"):
        assert 0.45 < shares(found[policy])["nic0"] < 0.55
    assert record.case.nic_policies == ("round-robin", "nic-0", "nic-1", "local-nic")


def test_a_policy_that_was_not_obeyed_fails_and_names_the_first_rank(tmp_path: Path) -> None:
    """A launcher that drops the parameter: first on the job's PATH, before the torus's own mpirun."""
    dropped = """exec "{}" $(echo "$@" | sed 's/--mca btl_tcp_if_include nic1/--mca btl_tcp_if_include nic0/')\n"""
    executable(tmp_path / "bin/mpirun", "#!/bin/bash\n" + dropped.format(TORUS_BIN / "mpirun"))
    done, record = run(tmp_path, *settings(nics="nic-1", preparations=f"export PATH={tmp_path}/bin:$PATH"))
    assert done.returncode != 0
    assert record.status == "failed" and record.launches[0].nic_verdict == "not-obeyed"
    assert re.search(r"rank 0 on n0-0: 100\.0 % of the node's bytes left by nic0, asked nic1", done.stdout), done.stdout


def test_a_nic_that_does_not_exist_is_one_line(tmp_path: Path) -> None:
    """A dry run shows it, before anything is brought up."""
    done = reframe_in(tmp_path)("-n", "multirail_halo", "-S", "nics=nic-2", "--dry-run")
    (reason,) = set(re.findall(r"\* Reason: (.*)", done.stdout))
    assert done.returncode != 0 and "nic-2" in reason and "Traceback" not in done.stdout, done.stdout


@pytest.mark.skipif(shutil.which("mpiexec.mpich") is None, reason="MPICH is not installed")
def test_mpich_obeys_placements_and_nic_policies(tmp_path: Path) -> None:
    options = settings(valid_prog_environs="+mpich", ranks_per_node=1, grid="2,1", time_limit="3m")
    options += ["-p", "mpich", *settings(placements="random:1,snake", nics="nic-0,nic-1")]
    done, record = run(tmp_path, *options)
    assert record.status == "ok", done.stdout
    assert len(record.launches) == 4
    for launch in record.launches:
        assert launch.command.startswith("UCX_NET_DEVICES=nic") and " mpiexec -f " in launch.command
        assert (launch.placement_verdict, launch.nic_verdict) == ("obeyed", "obeyed")
        assert shares(launch)[launch.nic_policy.replace("-", "")] >= 0.99
    assert "MPICH" in record.provenance["mpi"]["library"]
