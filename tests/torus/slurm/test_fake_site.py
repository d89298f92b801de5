"""A made-up site as a whole: list, dry run, and a run on a real Slurm, from its own configuration alone."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from support.commands import BIN, CHECKOUT, Run, environment, in_checkout
from support.reframe import assert_passed, records, settings
from support.topology.tori import entering, on_head, up

from railyard.records import rules
from railyard.torus.slurm import cluster as slurm

REASON = slurm.missing()
pytestmark = pytest.mark.skipif(bool(REASON), reason=REASON)

DATA = CHECKOUT / "tests/data/placed"
PROGRAMS = {
    "lmod": 'case "$1" in --version) echo "Modules based on Lua: Version 8.7.37" >&2;; esac',
    "sbatch": 'for file; do :; done; grep -q "^#SBATCH --account=proj" "$file" '
    '|| { echo "sbatch: error: Invalid account" >&2; exit 1; }; exec /usr/bin/sbatch "$@"',
    # Slurm 22.05 needs the fence (docs/torus.md)
    "site-run": f'LD_PRELOAD={CHECKOUT}/build/lib/railyard-fence.so exec /usr/bin/srun "$@"',
}
HBM = ["n0-0-1", "n0-1-0", "n1-0-0", "n1-1-1"]

ReFrame = Callable[..., "subprocess.CompletedProcess[str]"]


def site_reframe(folder: Path, *words: str, on: str = "") -> subprocess.CompletedProcess[str]:
    """Run ReFrame with the site's configuration alone; `on` is the cluster on whose head."""
    for name, text in PROGRAMS.items():
        (folder / name).write_text(f"#!/bin/bash\n{text}\n")
        (folder / name).chmod(0o755)
    head = entering(on) if on else []
    fixed = ["-C", str(DATA / "fake_site.py"), "--prefix", str(folder), "--nocolor"]
    fixed += [] if "-c" in words else ["-c", str(DATA / "on_fake_site.py")]
    site = {"SITE": str(folder), "CHECKOUT": str(CHECKOUT), "LMOD_CMD": str(folder / "lmod")}
    return in_checkout([*head, str(BIN / "reframe"), *fixed, *words], **site, PATH=f"{folder}:{environment()['PATH']}")


@pytest.mark.unit
def test_each_cluster_lists_and_dry_runs_the_checks_in_the_sites_own_words(tmp_path: Path) -> None:
    """Checks are selected by the site's mode, by environment and by maintainer; the job has the site's account."""
    checks = ["-c", str(CHECKOUT / "checks/halo.py"), "-c", str(CHECKOUT / "checks/applications/amg.py")]
    listed = site_reframe(tmp_path, *checks, "--system", "alpha", "--mode=quick", "-p", "site-mpich", "-l")
    assert "could not resolve" not in listed.stdout and "- halo_smoke" in listed.stdout, listed.stdout
    assert "halo_3d" not in listed.stdout, "only smoke checks"
    for system, jobs in {"alpha": 3, "beta": 2}.items():
        done = site_reframe(tmp_path, "--system", system, "--dry-run")
        assert done.returncode == 0 and f"Ran {jobs}/{jobs}" in done.stdout, done.stdout + done.stderr
    scripts = list(tmp_path.rglob("rfm_job.sh"))
    assert len(scripts) == 5
    for script in scripts:
        text = script.read_text()
        launched = re.findall(r"[ ](srun|\S+/site-run) .*--mpi=(\w+) env ", text)
        mpi, program = script.parts[-3].removeprefix("site-"), "beta" in script.parts
        assert {words[1] for words in launched} == {{"openmpi": "pmix", "mpich": "pmi2"}[mpi]}, text
        assert len(launched) == 3 and all(words[0].endswith("/site-run") is program for words in launched)
        assert "#SBATCH --account=proj" in text and f"module load {mpi}/site" in text
        assert ("#SBATCH -C hbm" in text) is program


@pytest.mark.slurm
def test_a_run_through_the_sites_launcher_has_a_record_that_the_rules_accept(
    railyard: Run, torus_name: str, tmp_path: Path
) -> None:
    up(railyard, torus_name, "--rate-scale", "0.01", "--network", "kernel", "--slurm")
    features = ["availablefeatures=hbm", "activefeatures=hbm"]
    on_head(railyard, torus_name, "scontrol", "update", f"nodename={','.join(HBM)}", *features)
    small = settings(archive=tmp_path / "archive", cells=8, repeats=2)
    assert_passed(site_reframe(tmp_path, "--system", "beta", "-p", "site-openmpi", "-r", *small, on=torus_name))
    (record,) = records(tmp_path)
    assert sorted(node["name"] for node in record.case.allocation["nodes"]) == HBM, "as the constraint has it"
    assert {one.placement_verdict for one in record.launches} == {"obeyed"}
    assert {one.command.split(" env ")[0].split()[-1] for one in record.launches} == {"--mpi=pmix"}
    assert record.provenance["job"]["modules"] == ["openmpi/site"]
    assert record.provenance["reframe"]["launcher"] == "slurm"
    refused = [fault.text for fault in rules.faults(record) if fault.field.endswith(".command")]
    assert refused and all(text == "launcher options of its own: --mpi=pmix" for text in refused), refused
