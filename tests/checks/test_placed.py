"""`railyard.Placed` on tests as sites write them, and ReFrame's own variables in checks of railyard."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from support.commands import CHECKOUT, environment
from support.reframe import QUICK, assert_passed, into, records, reframe_of

from railyard.records.record import Verdict

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="makes network namespaces as root; run as root")

DATA = CHECKOUT / "tests/data/placed"
#: A site of its own: two partitions, and an environment that only one of them has.
SITE = """\
systems:
  - name: site
    hostnames: ['nowhere']
    partitions:
      - {name: cpu, scheduler: local, launcher: mpirun, environs: [first, second], features: [torus]}
      - {name: gpu, scheduler: local, launcher: mpirun, environs: [first], features: [torus]}
environments:
  - {name: first, features: [mpi, openmpi, openmpi-tcp]}
  - {name: second, features: [mpi, openmpi, openmpi-tcp]}
"""


def reframe(tmp_path: Path, checks: Path, *arguments: str, **changes: str) -> subprocess.CompletedProcess[str]:
    chosen = [] if "-C" in arguments else ["-C", str(CHECKOUT / "reframe.yml"), "--system", "vtorus:netns"]
    return reframe_of("--prefix", tmp_path, "-c", checks, *chosen, *arguments, **{**QUICK, **changes})


def test_tests_of_a_site_have_placements_policies_proof_and_a_record(tmp_path: Path) -> None:
    """One builds and names its tasks, one has the older form, with patterns that hooks set."""
    programs = tmp_path / "bin"
    programs.mkdir()
    source = DATA / "src/ring.c"
    subprocess.run(["mpicc.openmpi", "-o", programs / "ring-of-a-site", source], check=True)
    done = reframe(tmp_path, DATA / "site.py", "-r", *into(tmp_path), PATH=f"{programs}:{environment()['PATH']}")
    assert_passed(done)
    made = {record.case.check: record for record in records(tmp_path)}
    ring, patterns = made["placed_ring"], made["placed_patterns"]
    assert {(one.placement, one.nic_policy) for one in ring.launches} == {
        (order, policy) for order in ("plain", "cart-create") for policy in ("library-default", "nic-0")
    }
    assert all(one.placement_verdict is Verdict.OBEYED and len(one.ranks) == 4 for one in ring.launches)
    assert all('--mca mpi_show_mca_params_file "$PWD/shown"' in one.command for one in ring.launches)
    turns = [series.samples[0] for one in ring.launches for series in one.series if series.fom == "turn_us"]
    assert len(set(turns)) == len(ring.launches), "each launch's own file was read"
    assert {series.fom for series in patterns.launches[0].series} == {"rate_count"}
    assert ring.case.parameters["options"] == "3" and patterns.case.benchmark == "ring-of-a-site"
    if done.returncode == 0:  # ReFrame prints no figures of a test with a launch that load made void
        assert re.search(r"P: rate: \S+ MB/s \(r:1e-06, l:-0.5", done.stdout), "the test's own reference holds"
        assert re.search(r"P: cart-create/nic-0/turn: \S+ us", done.stdout)


def test_a_launch_that_fails_its_own_sanity_function_fails_the_test_and_is_in_the_record(tmp_path: Path) -> None:
    few = ["-S", "placements=plain", "-S", "nics=library-default", "-n", "placed_ring"]
    done = reframe(tmp_path, DATA / "site.py", "-r", *few, *into(tmp_path), BROKEN="1")
    assert done.returncode != 0 and "sanity: pattern" in done.stdout, done.stdout
    (record,) = records(tmp_path)
    assert [one.status for one in record.launches] == ["failed"] and "Pass" in str(record.launches[0].reason)


def test_the_users_limit_of_a_launch_is_before_the_tests_own_time_limit(tmp_path: Path) -> None:
    few = ["--dry-run", "-n", "placed_ring", "-S", "time_limit=20m"]
    for set_by_user, limit_s in ([], 1200), (["-S", "launch_limit_s=600"], 600):
        done = reframe(tmp_path, DATA / "site.py", *few, *set_by_user, *into(tmp_path))
        assert done.returncode == 0, done.stdout
        (job,) = tmp_path.rglob("placed_ring*/rfm_job.sh")
        assert f"\nRAILYARD_LIMIT_S={limit_s} mpirun " in job.read_text()


def test_a_test_without_a_performance_variable_has_the_time_of_its_launch(tmp_path: Path) -> None:
    """Its file inserts a folder into sys.path, after which ReFrame removes the one of numpy."""
    done = reframe(tmp_path, DATA / "functional.py", "-r", *into(tmp_path))
    assert_passed(done)
    (record,) = records(tmp_path)
    (launch,) = record.launches
    (series,) = launch.series
    assert str(series.fom) == "elapsed_s" and series.samples == (launch.elapsed_s,)


def test_a_build_of_somebody_elses_starts_no_torus(tmp_path: Path) -> None:
    done = reframe(tmp_path, DATA / "builds.py", "-r", RAILYARD_TOPOLOGY="there-is-no-such-topology")
    assert done.returncode == 0, done.stdout


def test_variables_of_reframe_are_obeyed_or_refused_with_railyards_word(tmp_path: Path) -> None:
    done = reframe(tmp_path, DATA / "own_variables.py", "--dry-run", *into(tmp_path))
    reasons = re.findall(r"Reason: (.*)", done.stdout)
    assert len(reasons) == 3, done.stdout
    assert any("num_tasks" in reason and "-S nodes=N or -S grid" in reason for reason in reasons)
    assert any("container_platform" in reason and "-S image=FILE" in reason for reason in reasons)
    assert any("SiteMixin.check_binding runs after it" in reason for reason in reasons)
    (job,) = tmp_path.rglob("obeyed*/rfm_job.sh")
    launches = [line for line in job.read_text().splitlines() if " -np " in line]
    assert launches and all("perf stat -o counted.txt mpirun -np 16 " in line for line in launches)
    assert all(" --mca mpi_yield_when_idle 1 halo " in line for line in launches)


@pytest.mark.parametrize(
    ("option", "reason", "valid"),
    [
        (["-J", "array=0-3"], "share one stage directory", "--repeat"),
        (["--distribute=all"], "--distribute: it pins the job to", "-S nodes=N"),
    ],
)
def test_an_array_of_jobs_and_a_pinned_job_are_refused(
    option: list[str], reason: str, valid: str, tmp_path: Path
) -> None:
    """Slurm obeyed the second of two node lists, and the test named a node that was only one of its nodes."""
    done = reframe(tmp_path, DATA / "own_variables.py", "--dry-run", "-n", "obeyed", *option)
    assert reason in done.stdout and valid in done.stdout, done.stdout


def test_an_environment_that_one_of_two_partitions_has_can_be_chosen(tmp_path: Path) -> None:
    (tmp_path / "site.yml").write_text(SITE)
    site = ["-C", str(tmp_path / "site.yml"), "--system", "site"]
    checks = CHECKOUT / "checks/applications/amg.py"
    done = reframe(tmp_path, checks, *site, "-l", "-p", "second", "-n", "^amg_weak$")
    assert "could not resolve" not in done.stdout and "Found 1 check" in done.stdout, done.stdout
    assert done.stdout.count("applications_build ~site:cpu+second") == 1
