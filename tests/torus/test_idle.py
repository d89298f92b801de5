"""railyard-idle.so under a program that polls in vain: how long it sleeps, and which yields it makes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from support.commands import CHECKOUT, HUNG_S, TESTS

#: The first four polls do not sleep. Those after them sleep for 5, 10, 20, 40 and 80 ms;
#: among ranks of one node for 1 ms.
POLLS, ALONE_MS, SHARED_MS = 9, 155.0, 5.0
PRELOAD = {"LD_PRELOAD": str(CHECKOUT / "build/lib/railyard-idle.so")}


def built(folder: Path, name: str) -> Path:
    program = folder / name
    subprocess.run(["cc", "-Wall", "-Werror", "-o", program, TESTS / f"data/{name}.c"], check=True)
    return program


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("idle"), "idle_program")


def polled(program: Path, **variables: str) -> tuple[float, int, int]:
    """Return the time of all polls in ms, and the yields that the kernel saw: between the polls, and without any."""
    done = subprocess.run(
        [program, str(POLLS)],
        env={**PRELOAD, **variables},
        capture_output=True,
        text=True,
        timeout=HUNG_S,
        check=True,
    )
    took, between, without = done.stdout.split()
    return float(took), int(between), int(without)


@pytest.mark.built
@pytest.mark.parametrize("variable", ["OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"])
def test_a_rank_alone_on_its_node_sleeps_longer_each_time_and_does_not_queue_behind_the_others(
    program: Path, variable: str
) -> None:
    took_ms, between, without = polled(program, **{variable: "1"})
    assert took_ms >= ALONE_MS
    assert between == 0
    assert without == POLLS, "a loop that only yields would never let the others run"


@pytest.mark.built
@pytest.mark.parametrize("ranks", [{}, {"OMPI_COMM_WORLD_LOCAL_SIZE": "2"}])
def test_ranks_that_share_a_node_yield_to_each_other_after_every_poll(
    program: Path, ranks: dict[str, str]
) -> None:
    took_ms, between, without = polled(program, **ranks)
    assert took_ms >= SHARED_MS
    assert (between, without) == (POLLS, POLLS)


@pytest.mark.built
@pytest.mark.parametrize("polls", [6, 12])
def test_a_rank_that_has_work_between_its_polls_is_soon_left_to_it(tmp_path: Path, polls: int) -> None:
    """Without that, each of its passes would sleep once or more."""
    program = built(tmp_path, "busy_program")
    done = subprocess.run(
        [program, "400", str(polls)],
        env={**PRELOAD, "OMPI_COMM_WORLD_LOCAL_SIZE": "1"},
        capture_output=True,
        text=True,
        timeout=HUNG_S,
        check=True,
    )
    assert int(done.stdout) < 100
