"""The fence behind MPI_Init, with a stand-in for MPI: what an earlier start of the job left opens it for nobody."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.commands import CHECKOUT, HUNG_S
from support.waiting import wait_until

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="writes below /run; run as root")


@pytest.fixture
def folder() -> Iterator[Path]:
    torus = Path("/run/railyard", f"fence{os.getpid()}")
    (torus / "slurm/fences").mkdir(parents=True)
    yield torus / "slurm/fences"
    shutil.rmtree(torus)


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A program that does nothing but MPI_Init, which succeeds."""
    (tmp_path / "mpi.c").write_text("int MPI_Init(int *c, char ***v) { (void)c; (void)v; return 0; }")
    (tmp_path / "main.c").write_text(
        "int MPI_Init(int *, char ***); int main(int c, char **v) { return MPI_Init(&c, &v); }"
    )
    subprocess.run(["cc", "-shared", "-fPIC", "-o", "libmpi.so", "mpi.c"], cwd=tmp_path, check=True)
    linked = ["-L.", "-lmpi", f"-Wl,-rpath,{tmp_path}"]
    subprocess.run(["cc", "-o", "main", "main.c", *linked], cwd=tmp_path, check=True)
    return tmp_path / "main"


def start(program: Path, folder: Path, restart: str) -> subprocess.Popen[bytes]:
    told = {
        "RAILYARD_TORUS": folder.parent.parent.name,
        "SLURM_JOB_ID": "7",
        "SLURM_STEP_ID": "0",
        "SLURM_STEP_NUM_TASKS": "2",
        "LD_PRELOAD": str(CHECKOUT / "build/lib/railyard-fence.so"),
    }
    return subprocess.Popen([program], env={**told, **({"SLURM_RESTART_COUNT": restart} if restart else {})})


def test_a_job_that_is_started_again_is_not_let_through_by_what_its_first_start_left(
    program: Path, folder: Path
) -> None:
    died = start(program, folder, "")
    wait_until(lambda: any(path.read_bytes().strip(b"\0") for path in folder.iterdir()), "the first rank waits")
    died.kill()
    died.wait()
    first = start(program, folder, "1")
    wait_until(
        lambda: first.poll() is not None or len(list(folder.iterdir())) == 2,
        "the second start has a counter of its own",
    )
    assert first.poll() is None
    second = start(program, folder, "1")
    assert (first.wait(timeout=HUNG_S), second.wait(timeout=HUNG_S)) == (0, 0)
