"""Which tests run on one worker, and which begin first, when `make test` deals them to several.

Tests of a file share its torus, cluster or engine, so a worker takes the whole file. Where they share nothing, or two
halves need no common machine, a file that takes minutes is dealt in parts. The longest begin first: a run then never
ends with one worker busy and the others idle.

On a machine one launch runs at a time, because two would measure each other. Tests assert no time, so each worker has a
launch lock of its own and does not wait for the others.
"""

from __future__ import annotations

import ctypes
import re
import subprocess
from pathlib import Path

from xdist.scheduler import LoadFileScheduling

from railyard.torus.virtual import lifecycle, locks

#: Files that take half a minute or more on two processors, the longest first.
LONG = (
    "tests/torus/slurm/test_slurm.py",
    "tests/benchmarks/test_topobw.py",
    "tests/torus/test_docker.py",
    "tests/checks/test_checks.py",
    "tests/benchmarks/test_benchmarks.py",
    "tests/analysis/test_fit.py",
    "tests/checks/test_application_checks.py",
    "tests/benchmarks/test_refusals.py",
    "tests/ci/test_tutorial.py",
    "tests/torus/test_flies_torus.py",
    "tests/torus/test_torus.py",
    "tests/repository/test_page_commands.py",
    "tests/torus/test_faults_everywhere.py",
    "tests/torus/test_mpis_torus.py",
    "tests/containers/test_sif.py",
    "tests/torus/test_life.py",
    "tests/torus/test_simulated.py",
    "tests/torus/slurm/test_inside.py",
    "tests/checks/test_multirail.py",
    "tests/torus/native/test_machines.py",
    "tests/benchmarks/test_nics_of_a_launch.py",
    "tests/admit/test_admit_torus.py",
    "tests/torus/native/test_idle.py",
    "tests/torus/slurm/test_srun.py",
)
#: Files whose tests share no machine: each test is dealt by itself.
SEPARATE = {
    "tests/checks/test_checks.py",
    "tests/repository/test_page_commands.py",
    "tests/torus/test_faults_everywhere.py",
}
#: Files in two halves, each with a machine of its own: the tests whose names match, and the others.
HALVES = {"tests/torus/slurm/test_slurm.py": re.compile("drained|dies|full_disk|ends_early|hung|wrong_distribution")}


def by_length(test: str) -> int:
    """Return a key that sorts tests: those of long files first, otherwise as they are collected."""
    file = test.partition("::")[0]
    return LONG.index(file) if file in LONG else len(LONG)


def unit(test: str) -> str:
    """Return the name of what a worker takes at once: a file, a part of it, or a test."""
    file, _, name = test.partition("::")
    if file in SEPARATE:
        return test
    return f"{file}::{bool(HALVES[file].search(name))}" if file in HALVES else file


class BySharedMachines(LoadFileScheduling):  # type: ignore[misc]
    """Deals units in the order of collection."""

    def _split_scope(self, nodeid: str) -> str:
        return unit(nodeid)


#: Of linux/sched.h and linux/mount.h, which Python 3.11 does not have.
CLONE_NEWNS = 0x20000
MS_BIND = 0x1000
SHARED = (Path("/run/netns"), lifecycle.RUN)


def share_namespaces() -> None:
    """Make these folders mounts that all workers share, as `ip netns add` does: each sees the tori of all."""
    for folder in SHARED:
        folder.mkdir(parents=True, exist_ok=True)
        # Path.is_mount sees no folder that is bound to itself.
        if f" {folder} " not in Path("/proc/self/mountinfo").read_text():
            subprocess.run(["mount", "--bind", folder, folder], check=True)
        subprocess.run(["mount", "--make-shared", folder], check=True)


def launch_beside_other_workers() -> None:
    """Give this worker its own files for the machine's launch lock (railyard/torus/virtual/locks.py).

    Where `/` is shared, as systemd makes it, what is mounted here must not reach everybody.
    """
    c = ctypes.CDLL(None, use_errno=True)
    own = Path("/dev/shm/railyard.of-root")
    if c.unshare(CLONE_NEWNS) != 0:
        raise OSError(ctypes.get_errno(), "a worker cannot have mounts of its own")
    for folder in (own.parent, locks.OF_ROOT.parent):
        found = subprocess.run(["findmnt", "-fno", "TARGET", "--target", folder], check=True, capture_output=True)
        subprocess.run(["mount", "--make-private", found.stdout.strip()], check=True)
    if c.mount(b"tmpfs", b"/dev/shm", b"tmpfs", 0, b"mode=1777") != 0:
        raise OSError(ctypes.get_errno(), "a worker cannot have a /dev/shm of its own")
    own.touch()
    locks.OF_ROOT.touch()
    if c.mount(bytes(own), bytes(locks.OF_ROOT), None, MS_BIND, None) != 0:
        raise OSError(ctypes.get_errno(), f"a worker cannot have a {locks.OF_ROOT} of its own")
