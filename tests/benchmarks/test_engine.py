"""The engine that all benchmarks share: a program of its own, linked with nothing of the programs above the engine."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from support.benchmark_runs import BIN, ROOT, document, run


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a new benchmark, linked with the library that two programs or more share, and with MPI."""
    made: Path = tmp_path_factory.mktemp("engine")
    command: list[str | Path] = [
        "mpicc.openmpi",
        "-std=c11",
        "-D_GNU_SOURCE",
        f"-I{ROOT / 'benchmarks'}",
        "-o",
        made / "engine_program",
    ]
    command += [ROOT / "tests/data/engine_program.c", BIN.parent / "librailyard.a", "-lm", "-ldl"]
    subprocess.run(command, check=True)
    return made


def test_a_program_that_verifies_its_data_writes_a_document(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "output.json"
    outcome = run("engine_program", 2, "--json", path, folder=folder)
    assert (outcome.status, outcome.err) == (0, "")
    assert document(path)["verified"] is True


def test_a_program_whose_data_are_wrong_prints_no_number_and_writes_none(
    folder: Path, tmp_path: Path
) -> None:
    path = tmp_path / "output.json"
    outcome = run("engine_program", 2, "--json", path, "--wrong", "y", folder=folder)
    assert (outcome.status, outcome.out, outcome.error_lines) == (1, "", ["engine_program: data are wrong"])
    assert not path.exists()


def test_a_program_without_a_verify_function_is_told_what_to_add(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "output.json"
    outcome = run("engine_program", 2, "--json", path, folder=folder, TEST_NO_VERIFY="1")
    assert (outcome.status, outcome.out) == (2, "")
    (line,) = outcome.error_lines
    assert line.startswith("engine_program: ") and ".verify" in line and "struct benchmark" in line
    assert not path.exists()


def test_a_figure_without_a_unit_ends_the_run_with_a_line_that_names_it(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "output.json"
    outcome = run("engine_program", 1, "--json", path, folder=folder, TEST_NO_UNIT="1")
    (line,) = [line for line in outcome.error_lines if line.startswith("rank ")]
    assert outcome.status == 4 and "output.c" in line and "barrier_s: no unit; expected" in line
    assert not path.exists()
