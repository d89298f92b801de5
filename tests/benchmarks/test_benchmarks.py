"""What all C benchmarks have in common: help, exit statuses, one line of error, documents whole or not at all.

Nothing here or in the files of the single benchmarks asserts a time: the machine is shared. What is asserted: exit
statuses, what is printed and how often, the document's structure, volumes, who was measured, that wrong data are found.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from support.benchmark_runs import (
    BIN,
    DEADLINE_S,
    MORE,
    QUICK,
    ROOT,
    Outcome,
    Pretend,
    assert_refused,
    block,
    document,
    mpirun,
    preload,
    run,
)

#: What a sanitizer writes.
SANITIZERS = re.compile(r"Sanitizer|runtime error")
#: Words that every program refuses.
MISTAKES = (["--repeats", "none"], ["--bogus", "1"], ["--json", "/no/such/folder/x"])
#: paths and sonar measure nothing on one host.
PROGRAMS = [*QUICK, "paths", "sonar"]


@pytest.fixture(scope="module", autouse=True)
def built() -> None:
    missing = [name for name in PROGRAMS if not (BIN / name).exists()]
    if missing:
        pytest.fail(f"{', '.join(missing)} not in {BIN}: run make setup", pytrace=False)


@pytest.mark.parametrize("program", PROGRAMS)
def test_help_is_printed_once_with_units_and_defaults(program: str) -> None:
    outcome = run(program, 2, "--help")
    assert (outcome.status, outcome.err) == (0, "")
    assert outcome.out.count("Usage:") == 1
    assert "--repeats COUNT" in outcome.out
    assert outcome.out.count("default:") == outcome.out.count("\n  --") - 1  # all but --help


@pytest.mark.parametrize("program", [name for name in [*PROGRAMS, "topobw"] if name not in ("halo", "noise")])
def test_one_rank_is_refused(program: str) -> None:
    assert_refused(run(program, 1), program, "1 rank", "expected 2 ranks or more")


def test_programs_have_no_mutable_globals() -> None:
    """Simulated ranks share one process: .data and .bss of every object file are empty."""
    objects = sorted((ROOT / "build/benchmarks-simgrid").rglob("*.c.o"))
    if not objects:
        pytest.skip("SimGrid is not installed: nothing was built for it")
    listed = subprocess.run(["size", "-A", *objects], check=True, capture_output=True, text=True).stdout
    sections = [line.split() for line in listed.splitlines() if line.startswith((".data ", ".bss "))]
    assert {size for _, size, _ in sections} == {"0"}


def test_ranks_that_disagree_still_end_together() -> None:
    outcome = mpirun("-n", "2", BIN / "halo", ":", "-n", "2", BIN / "halo", "--order", "snake")
    assert_refused(outcome, "halo", "--order snake")


def test_full_disk_is_one_line_and_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "h.json"
    limited = f'trap "" XFSZ; ulimit -f 4; exec {BIN}/halo --cells 4 --repeats 1000 --json {path}'
    outcome = mpirun("-n", "1", "bash", "-c", limited)
    assert outcome.status == 3
    assert outcome.error_lines == [f"halo: --json {path}: cannot be written: File too large"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ranks", [1, 3, 8])
@pytest.mark.parametrize("program", [*QUICK, *MORE])
def test_good_runs_and_error_paths_under_sanitizers(
    program: str, ranks: int, sanitized: Path, pretend: Pretend
) -> None:
    """A run ends well, or is refused in one line where so few ranks have nothing to measure; so is each mistake."""
    torus = pretend(block(2, 2, 2))
    words = [*QUICK.get(program, []), *MORE.get(program, [])]

    def start(*more: str | Path) -> Outcome:
        if program in ("paths", "topobw"):
            return torus.run(program, ranks, *words, *more, folder=sanitized)
        beside = preload(torus.library, sanitized / program) if program == "sonar" else [sanitized / program]
        return mpirun("-n", str(ranks), *beside, *words, *more, env={"TEST_RANKS_PER_NODE": "1"})

    good = start("--json", torus.coordinates.with_suffix(".json"))
    assert good.status in (0, 2) and not SANITIZERS.search(good.err), good.err
    assert len(good.error_lines) == (good.status == 2), good.err
    # How a mistake is agreed on depends on whether there are other ranks, not on how many.
    for mistake in MISTAKES if ranks < 8 else ():
        wrong = start(*mistake)
        assert not SANITIZERS.search(wrong.err), wrong.err
        assert_refused(wrong, program, *(mistake[:1] if good.status == 0 else ()))


def test_the_fault_is_not_in_the_usual_build(sanitized: Path) -> None:
    variable = b"RAILYARD_TEST_FAULT"
    assert [name for name in [*QUICK, *MORE] if variable in (BIN / name).read_bytes()] == []
    assert variable in (sanitized / "halo").read_bytes()


@pytest.mark.parametrize("program", [*QUICK, "topobw"])
def test_the_mpich_build_runs(program: str, tmp_path: Path) -> None:
    """MPICH is optional: `make setup` builds with it where it is installed."""
    built = ROOT / "build/benchmarks-mpich/bin" / program
    if shutil.which("mpirun.mpich") is None or not built.exists():
        pytest.skip("MPICH is not installed: the benchmarks were built with Open MPI alone")
    output = tmp_path / "output.json"
    words = [*QUICK[program], "--json", output] if program in QUICK else ["--help"]
    command: list[str | Path] = ["mpirun.mpich", "-n", "2", built, *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_S, check=False)
    assert done.returncode == 0, done.stderr
    if program not in QUICK:
        assert done.stdout.count("Usage:") == 1
        return
    read = json.loads(output.read_text())
    assert "MPICH" in read["mpi"]["library"] and read["mpi"]["ranks"] == 2


# ---- the engine that all share: a program of its own, linked with the engine and what lies below it ----


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a new benchmark, and of the same without a verify function."""
    made: Path = tmp_path_factory.mktemp("engine")
    flags = ["-std=c11", "-D_GNU_SOURCE", '-DRAILYARD_VERSION="1"', f"-I{ROOT / 'benchmarks'}"]
    sources = [ROOT / "tests/data/engine_program.c", ROOT / "benchmarks/engine/benchmark.c"]
    libraries = [BIN.parent / f"librailyard{name}.a" for name in ("-counters", "")]
    for name, verify in (("engine_program", "verify"), ("unverified", "NULL")):
        output = ["-o", str(made / name), f"-DVERIFY={verify}"]
        words = ["mpicc.openmpi", *flags, *output, *map(str, [*sources, *libraries]), "-lm", "-ldl"]
        subprocess.run(words, check=True)
    return made


@pytest.mark.parametrize(
    ("program", "words", "status", "line"),
    [
        ("engine_program", [], 0, None),
        ("engine_program", ["--wrong", "y"], 1, ["data are wrong"]),
        ("unverified", [], 2, [".verify", "struct benchmark"]),
    ],
)
def test_a_program_whose_data_are_not_verified_prints_no_number_and_writes_none(
    *, folder: Path, tmp_path: Path, program: str, words: list[str], status: int, line: list[str] | None
) -> None:
    """One without a verify function is told what to add."""
    path = tmp_path / "output.json"
    outcome = run(program, 2, "--json", path, *words, folder=folder)
    assert outcome.status == status
    if line is None:
        assert outcome.err == "" and document(path)["verified"] is True
        return
    (said,) = outcome.error_lines
    assert said.startswith("engine_program: ") and all(part in said for part in line)
    assert outcome.out == "" and not path.exists()


def test_a_figure_without_a_unit_ends_the_run_with_a_line_that_names_it(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "output.json"
    outcome = run("engine_program", 1, "--json", path, folder=folder, TEST_NO_UNIT="1")
    (line,) = [line for line in outcome.error_lines if line.startswith("rank ")]
    assert outcome.status == 4 and "output.c" in line and "barrier_s: no unit; expected" in line
    assert not path.exists()
