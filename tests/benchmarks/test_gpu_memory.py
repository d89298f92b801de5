"""Messages in a GPU's memory, by a runtime library that the test builds: which calls are made, and right data.

No GPU is here. The stub hands out the host's memory as the device's, so any MPI can send it. What only a GPU can show,
its rates and a GPU-aware MPI, is not tested.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from support.benchmark_runs import BIN, ENVIRONMENT, MPIRUN, assert_data_wrong, assert_refused, measured, run

from railyard.base.checkout import CHECKOUT

ONCE = "--repeats 1 --warmups 0 --warmup-time 0 --min-time-per-point 0"
PROGRAMS = {
    program: f"{options} {ONCE}".split()
    for program, options in {
        "pt2pt": "--units ranks --sizes 8,64KiB --tests latency,bandwidth,bibandwidth",
        "contention": "--groups ranks --sizes 8 --tests latency",
        "rowcol": "--sizes 8,1KiB --start barrier --collectives alltoall,allreduce,bcast,alltoallv",
        "halo": "--cells 6x5x4 --stencil full --variants manual,persistent,datatypes,neighbours,copy",
    }.items()
}


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The stub, as a library."""
    library = tmp_path_factory.mktemp("gpu") / "libstub.so"
    source = CHECKOUT / "tests/data/gpu_runtime.c"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    return library


@pytest.fixture
def counted(runtime: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[list[int]]]:
    """The calls of each rank: allocations, managed ones, copies, copies of rows, GPUs chosen before MPI_Init."""
    report = tmp_path / "calls"
    monkeypatch.setitem(ENVIRONMENT, "RAILYARD_GPU_RUNTIME", str(runtime))
    monkeypatch.setitem(ENVIRONMENT, "STUB_GPU_REPORT", str(report))
    return lambda: [list(map(int, line.split())) for line in report.read_text().splitlines()]


@pytest.mark.parametrize("memory", ["cuda", "hip", "cuda-managed", "hip-managed"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_every_program_sends_from_the_device_s_memory(
    program: str, memory: str, counted: Callable[[], list[list[int]]], tmp_path: Path
) -> None:
    read = measured(program, 2, *PROGRAMS[program], "--memory", memory, folder=tmp_path)
    assert read["verified"] is True and read["parameters"]["memory"] == memory
    calls = counted()
    assert len(calls) == 2
    for allocated, managed, copies, rows, before_init in calls:
        assert before_init == 1
        assert allocated > 0 and (managed == allocated) == ("managed" in memory)
        assert (copies > 0) == ("managed" not in memory)
        assert (rows > 0) == (program == "halo")


def test_wrong_data_in_the_device_s_memory_are_found(sanitized: Path, runtime: Path, tmp_path: Path) -> None:
    for program, arguments in PROGRAMS.items():
        path = tmp_path / "document.json"
        words = [*arguments, "--memory", "cuda", "--json", str(path)]
        env = {"RAILYARD_GPU_RUNTIME": str(runtime), "RAILYARD_TEST_FAULT": "1"}
        assert_data_wrong(run(program, 2, *words, folder=sanitized, **env), path, "rank 1")


def test_a_machine_without_a_gpu_is_one_line(runtime: Path, tmp_path: Path) -> None:
    arguments = [*PROGRAMS["halo"], "--memory", "hip"]
    missing = run("halo", 2, *arguments, RAILYARD_GPU_RUNTIME=str(tmp_path / "none.so"))
    assert_refused(missing, "halo", "--memory hip", "none.so", "RAILYARD_GPU_RUNTIME")
    none = run("halo", 2, *arguments, RAILYARD_GPU_RUNTIME=str(runtime), STUB_GPU_COUNT="0")
    assert_refused(none, "halo", "finds no usable GPU")
    other = run("halo", 2, *arguments, RAILYARD_GPU_RUNTIME="libm.so.6")
    assert_refused(other, "halo", "has no hipGetDeviceCount")


def test_the_check_of_a_machine_s_gpu(runtime: Path, tmp_path: Path) -> None:
    """tools/check-gpu: every launch's data are right and every size has a figure; launches that fail count."""
    mpirun = " ".join([*MPIRUN, "--allow-run-as-root"])
    tool: list[str | Path] = [CHECKOUT / "tools/check-gpu", "--programs", BIN, "--mpirun", mpirun]
    words = [*tool, "--rounds", "2", "--largest", "8"]
    env = ENVIRONMENT | {"RAILYARD_GPU_RUNTIME": str(runtime)}
    good = subprocess.run([*words, "--json", tmp_path / "values"], capture_output=True, text=True, env=env, check=True)
    assert "10 launches with right data, 0 failed" in good.stdout
    values = json.loads((tmp_path / "values").read_text())
    assert all(len(values["ours"][f"tail {memory}"]["8"]) == 2 for memory in ("cuda", "cuda-managed"))
    wrong = subprocess.run([*words, "--mpirun", "false"], capture_output=True, text=True, env=env, check=False)
    assert wrong.returncode == 1 and "halo, 4 ranks, cuda: FAILED" in wrong.stdout
