"""railyard-idle.so under a program that polls in vain: how long it sleeps, and which yields it makes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from support.benchmark_runs import ENVIRONMENT
from support.commands import CHECKOUT, HUNG_S, TESTS, Run

#: The first four polls do not sleep. Those after them sleep for 20, 40, 80, 160 and 320 ms;
#: among ranks of one node for 1 ms.
POLLS, ALONE_MS, SHARED_MS = 9, 620.0, 5.0
PRELOADED = CHECKOUT / "build/lib/railyard-idle.so"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = tmp_path_factory.mktemp("idle") / "idle_program"
    source = TESTS / "data/idle_program.c"
    subprocess.run(["cc", "-Wall", "-Werror", "-o", built, source], check=True)
    return built


def polled(program: Path, **variables: str) -> tuple[float, int, int]:
    """Return the time of all polls in ms, and the yields that the kernel saw: between the polls, and without any."""
    done = subprocess.run(
        [program, str(POLLS)],
        env={"LD_PRELOAD": str(PRELOADED), **variables},
        capture_output=True,
        text=True,
        timeout=HUNG_S,
        check=True,
    )
    took, between, without = done.stdout.split()
    return float(took), int(between), int(without)


def undisturbed(program: Path, least_ms: float, **variables: str) -> tuple[float, int, int]:
    """Return the first of at most 20 runs that took so long, else the longest.

    A poll that takes 0.1 ms of processor time counts as work, and the sleeps begin anew: a busy machine does that.
    """
    longest = (0.0, 0, 0)
    for _ in range(20):
        longest = max(longest, polled(program, **variables))
        if longest[0] >= least_ms:
            break
    return longest


@pytest.mark.built
@pytest.mark.parametrize(
    "variables",
    [
        {"OMPI_COMM_WORLD_LOCAL_SIZE": "1"},
        {"MPI_LOCALNRANKS": "1"},
        {"OMPI_COMM_WORLD_LOCAL_SIZE": "4", "OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "self,tcp"},
    ],
)
def test_a_rank_that_hears_by_its_sockets_sleeps_longer_each_time_and_does_not_queue_behind_the_others(
    program: Path, variables: dict[str, str]
) -> None:
    took_ms, between, without = undisturbed(program, ALONE_MS, **variables)
    assert took_ms >= ALONE_MS
    assert between == 0
    assert without == POLLS, "a loop that only yields would never let the others run"


@pytest.mark.built
@pytest.mark.parametrize(
    "ranks",
    [
        {},
        {"OMPI_COMM_WORLD_LOCAL_SIZE": "2"},
        {"OMPI_COMM_WORLD_LOCAL_SIZE": "2", "OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "self,vader,tcp"},
        {"OMPI_COMM_WORLD_LOCAL_SIZE": "2", "OMPI_MCA_pml": "ucx", "OMPI_MCA_btl": "self,tcp"},
        {"MPI_LOCALNRANKS": "2", "OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "self,tcp"},
    ],
)
def test_ranks_that_share_a_node_yield_to_each_other_after_every_poll(program: Path, ranks: dict[str, str]) -> None:
    took_ms, between, without = undisturbed(program, SHARED_MS, **ranks)
    assert took_ms >= SHARED_MS
    assert (between, without) == (POLLS, POLLS)


@pytest.mark.torus
def test_ranks_that_share_a_node_of_a_torus_hear_by_their_sockets(program: Path, railyard: Run, small: str) -> None:
    """64 of them, four on a node, woke every millisecond and took a core: launches were void by 6 %."""
    done = railyard("torus", "mpirun", small, "-np", "2", "--host", "n0-0-0:2", program, str(POLLS))
    assert done.returncode == 0, done.stderr
    took_ms = [float(line.split()[0]) for line in done.stdout.splitlines()]
    assert len(took_ms) == 2 and min(took_ms) > 3 * SHARED_MS, done.stdout


@pytest.mark.mpi
def test_a_rank_that_tests_its_requests_between_short_work_is_left_to_it_and_one_that_says_that_it_waits_sleeps(
    tmp_path: Path,
) -> None:
    """64 ranks of topobw that woke every millisecond took three quarters of two cores, and voided the launch."""
    busy = tmp_path / "busy_program"
    subprocess.run(["mpicc.openmpi", "-Wall", "-Werror", "-o", busy, TESTS / "data/busy_program.c"], check=True)
    assert slept(busy, 400, 6) < 400 / 10, "a pass with work slept"
    assert slept(busy, 100, 6, "waits") >= 100


def slept(program: Path, passes: int, tests: int, *words: str) -> int:
    """Return how often a rank slept in so many tests of a request that is not answered, in each of the passes."""
    over_tcp = ("--oversubscribe", "--mca", "pml", "ob1", "--mca", "btl", "self,tcp")
    preloaded = ("-x", f"LD_PRELOAD={PRELOADED}")
    done = subprocess.run(
        ["mpirun.openmpi", *over_tcp, *preloaded, "-n", "2", program, str(passes), str(tests), *words],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=HUNG_S,
        check=True,
    )
    return int(done.stdout)
