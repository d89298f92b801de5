"""The C benchmarks, run as a user would: under mpirun on this machine, over shared memory.

Nothing here asserts a time: the machine is shared. What is asserted: exit statuses, what is printed and how
often, the document's structure, exchanged volumes, who was measured, and that wrong data are found.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema
import pytest

ROOT = Path(__file__).parent.parent
BIN = ROOT / "build" / "benchmarks-openmpi" / "bin"
SCHEMA = ROOT / "results" / "schema" / "benchmark-v1.json"
DEADLINE_S = 60
MPIRUN = [
    "mpirun.openmpi" if shutil.which("mpirun.openmpi") else "mpirun",
    *("-q", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1", "--mca", "btl", "self,vader"),
    *("--mca", "odls_base_sigkill_timeout", "0"),  # else each exit status but 0 costs a second
]
ENVIRONMENT = os.environ | {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "ASAN_OPTIONS": "detect_leaks=0:verify_asan_link_order=0",
}
QUICK = {"halo": ["--cells", "4", "--repeats", "3"], "hops": ["--sizes", "0,1KiB,64KiB", "--repeats", "3"]}


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    status: int
    out: str
    err: str

    @property
    def error_lines(self) -> list[str]:
        return self.err.splitlines()


@pytest.fixture(scope="module", autouse=True)
def built() -> None:
    missing = [name for name in ("halo", "hops") if not (BIN / name).exists()]
    if missing:
        pytest.fail(f"{', '.join(missing)} not in {BIN}: run make setup", pytrace=False)


def mpirun(*command: str | Path, env: dict[str, str] | None = None) -> Outcome:
    done = subprocess.run(
        [*MPIRUN, *map(str, command)],
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        env=ENVIRONMENT | (env or {}),
        check=False,
    )
    return Outcome(status=done.returncode, out=done.stdout, err=done.stderr)


def run(program: str, ranks: int, *arguments: str | Path, folder: Path = BIN, **env: str) -> Outcome:
    return mpirun("-n", str(ranks), folder / program, *arguments, env=env)


def document(path: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(path.read_text())
    jsonschema.validate(read, json.loads(SCHEMA.read_text()))
    return read


def assert_refused(outcome: Outcome, program: str, *parts: str) -> None:
    """Exit status 2, nothing on stdout, and one line of the program that has all the parts."""
    assert outcome.status == 2, outcome
    assert outcome.out == ""
    assert len(outcome.error_lines) == 1, outcome.err
    assert outcome.err.startswith(f"{program}: ")
    for part in parts:
        assert part in outcome.err


# ---- good runs ----


@pytest.mark.parametrize("ranks", [1, 2, 4, 8])
def test_halo_runs_and_writes_its_document(ranks: int, tmp_path: Path) -> None:
    path = tmp_path / "halo.json"
    outcome = run("halo", ranks, *QUICK["halo"], "--json", path)
    assert (outcome.status, outcome.err) == (0, "")
    read = document(path)
    assert read["benchmark"] == "halo"
    assert read["verified"] is True
    assert read["mpi"]["ranks"] == ranks
    assert [rank["rank"] for rank in read["ranks"]] == list(range(ranks))
    assert all(rank["cpu"] in rank["allowed_cpus"] for rank in read["ranks"])
    foms = ["iteration_us", "pack_us", "unpack_us", "exchange_us", "wait_us", "bandwidth_gbyte_s"]
    assert [series["fom"] for series in read["series"]] == foms
    assert all(len(series["samples"]) == 3 and min(series["samples"]) > 0 for series in read["series"])
    assert read["not_measured"] == []
    assert all(fom in outcome.out for fom in foms)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("ranks", [2, 4, 8])
def test_hops_runs_and_writes_its_document(ranks: int, tmp_path: Path) -> None:
    path = tmp_path / "hops.json"
    outcome = run("hops", ranks, *QUICK["hops"], "--json", path)
    assert (outcome.status, outcome.err) == (0, "")
    read = document(path)
    points = [(s["labels"]["test"], s["labels"]["size_bytes"]) for s in read["series"]]
    assert points == [
        *(("latency", size) for size in (0, 1024, 65536)),
        *(("bandwidth", size) for size in (1024, 65536)),
        *(("bibandwidth", size) for size in (1024, 65536)),
    ]
    assert all(len(series["samples"]) == 3 and min(series["samples"]) > 0 for series in read["series"])
    assert {s["labels"]["dimension"] for s in read["series"]} == {"none"}
    assert {s["fom"] for s in read["series"]} == {"latency_us", "bandwidth_gbyte_s"}


def test_hops_needs_two_ranks() -> None:
    assert_refused(run("hops", 1), "hops", "1 rank", "2 ranks")


@pytest.mark.parametrize("program", ["halo", "hops"])
def test_help_is_printed_once_with_units_and_defaults(program: str) -> None:
    outcome = run(program, 2, "--help")
    assert (outcome.status, outcome.err) == (0, "")
    assert outcome.out.count("Usage:") == 1
    assert "--repeats COUNT" in outcome.out
    assert outcome.out.count("default:") == outcome.out.count("\n  --") - 1  # all but --help


def test_bandwidth_is_the_exchanged_volume_over_the_iteration(tmp_path: Path) -> None:
    run("halo", 2, *QUICK["halo"], "--json", tmp_path / "h.json")
    read = document(tmp_path / "h.json")
    samples = {series["fom"]: series["samples"] for series in read["series"]}
    volume = read["parameters"]["exchanged_bytes"]
    expected = [volume / (us * 1e3) for us in samples["iteration_us"]]
    assert samples["bandwidth_gbyte_s"] == pytest.approx(expected, rel=1e-9)


def test_programs_have_no_mutable_globals() -> None:
    """Simulated ranks share one process: .data and .bss of every object file are empty."""
    objects = sorted(BIN.parent.rglob("*.c.o"))
    assert objects
    listed = subprocess.run(["size", "-A", *objects], check=True, capture_output=True, text=True).stdout
    sections = [line.split() for line in listed.splitlines() if line.startswith((".data ", ".bss "))]
    assert {size for _, size, _ in sections} == {"0"}


# ---- halo: volumes, grids, orders ----


@pytest.mark.parametrize(
    ("ranks", "grid", "cells", "face_bytes"),
    [
        (1, "1x1", "5x3", [24, 40]),
        (2, "2x1", "6", [48, 48]),
        (4, "2x2", "7x2", [16, 56]),
        (6, "3x2", "4x5", [40, 32]),
        (1, "1x1x1", "2x3x4", [96, 64, 48]),
        (4, "1x2x2", "3x5x1", [40, 24, 120]),
        (8, "2x2x2", "4", [128, 128, 128]),
        (3, "3x1x1", "1", [8, 8, 8]),
    ],
)
def test_halo_exchanges_exactly(
    ranks: int, grid: str, cells: str, face_bytes: list[int], tmp_path: Path
) -> None:
    path = tmp_path / "h.json"
    arguments = ["--grid", grid, "--cells", cells, "--repeats", "1", "--json", str(path)]
    assert run("halo", ranks, *arguments).status == 0
    parameters = document(path)["parameters"]
    assert parameters["grid"] == [int(length) for length in grid.split("x")]
    assert parameters["face_bytes"] == face_bytes
    assert parameters["exchanged_bytes"] == 4 * sum(face_bytes)


@pytest.mark.parametrize("cells", ["300x200", "70x50x40", "64x1x64"])
def test_halo_verifies_folded_faces(cells: str, tmp_path: Path) -> None:
    path = tmp_path / "h.json"
    dimensions = str(cells.count("x") + 1)
    arguments = ["--dimensions", dimensions, "--cells", cells, "--face-memory", "1KiB", "--repeats", "1"]
    assert run("halo", 2, *arguments, "--json", path).status == 0
    assert any(document(path)["parameters"]["face_folded"])


def test_paper_preset_exchanges_4_mib(tmp_path: Path) -> None:
    path = tmp_path / "h.json"
    assert run("halo", 2, "--preset", "pena2013-2d", "--repeats", "1", "--json", path).status == 0
    parameters = document(path)["parameters"]
    assert parameters["exchanged_bytes"] == 4 * 2**20
    assert parameters["face_folded"] == [True, False]
    assert parameters["cells"] == [65536, 65536]


@pytest.mark.parametrize(
    ("order", "ranks_at"),
    [("row-major", [0, 1, 2, 3, 4, 5, 6, 7]), ("column-major", [0, 4, 2, 6, 1, 5, 3, 7])],
)
def test_orders_fill_the_grid(order: str, ranks_at: list[int], tmp_path: Path) -> None:
    path = tmp_path / "h.json"
    arguments = ["--grid", "2x2x2", "--order", order, *QUICK["halo"], "--json", str(path)]
    assert run("halo", 8, *arguments).status == 0
    parameters = document(path)["parameters"]
    assert (parameters["order"], parameters["rank_map"]) == (order, ranks_at)


def test_rank_map_is_obeyed(tmp_path: Path) -> None:
    path = tmp_path / "h.json"
    ranks = [3, 0, 7, 1, 6, 2, 5, 4]
    (tmp_path / "map").write_text("# by position\n" + "".join(f" {rank} # rank\n\n" for rank in ranks))
    arguments = ["--grid", "4x2", "--rank-map", str(tmp_path / "map"), *QUICK["halo"], "--json", str(path)]
    assert run("halo", 8, *arguments).status == 0
    parameters = document(path)["parameters"]
    assert (parameters["order"], parameters["rank_map"]) == ("rank-map", ranks)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("0\n1\n", ["2 ranks", "0 to 3"]),
        ("0\n1\n1\n2\n", ["line 3", "twice"]),
        ("0\n1\n2\n4\n", ["line 4", "4 is not a rank"]),
        ("0\n1\n2\n3\n0\n", ["line 5", "more than 4"]),
        ("0\n-1\n", ["line 2", "-1 is not a rank"]),
        ("", ["0 ranks"]),
    ],
)
def test_wrong_rank_maps_are_refused(text: str, parts: list[str], tmp_path: Path) -> None:
    path = tmp_path / "map"
    path.write_text(text)
    assert_refused(run("halo", 4, "--rank-map", path), "halo", f"--rank-map {path}", *parts)


# ---- wrong options ----


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        ("--grid 3x3", ["--grid 3x3", "9 positions for 4 ranks", "product is 4"]),
        ("--grid 4", ["--grid 4", "2 or 3"]),
        ("--grid 2x2x1x1", ["--grid 2x2x1x1", "product = ranks"]),
        ("--grid 2x-2", ["--grid 2x-2"]),
        ("--grid 2x2 --dimensions 3", ["--grid 2x2", "valid here: 3"]),
        ("--dimensions 4", ["--dimensions 4", "2, 3"]),
        ("--order snake", ["--order snake", "row-major", "column-major"]),
        ("--rank-map /no/such/map", ["--rank-map /no/such/map", "cannot be read"]),
        ("--cells 0", ["--cells 0", "1 to 1000000"]),
        ("--cells 4x4", ["--cells 4x4", "valid: 1 or 3"]),
        ("--cells 1000000", ["--cells 1000000", "face"]),
        ("--preset pena", ["--preset pena", "pena2013-2d"]),
        ("--preset pena2013-2d --cells 4", ["--preset pena2013-2d", "--cells"]),
        ("--preset pena2013-2d --grid 2x2x1", ["--grid 2x2x1", "valid here: 2"]),
        ("--face-memory 1GB", ["--face-memory 1GB", "MiB"]),
        ("--repeats 0", ["--repeats 0", "1 to 1000000"]),
        ("--warmups -1", ["--warmups -1", "0 to 1000000"]),
        ("--seed x", ["--seed x"]),
        ("--json", ["--json", "missing"]),
        ("--json /no/such/folder/x", ["--json /no/such/folder/x", "cannot be written"]),
        ("--json /tmp", ["--json /tmp", "not a regular file"]),
        ("--bogus 1", ["--bogus", "valid: --help --grid"]),
        ("stray", ["stray", "no such option"]),
    ],
)
def test_halo_refuses(arguments: str, parts: list[str]) -> None:
    assert_refused(run("halo", 4, *arguments.split()), "halo", *parts)


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        ("--coordinates /no/such/file", ["--coordinates /no/such/file", "cannot be read"]),
        ("--dimensions W", ["--dimensions W", "XYZ"]),
        ("--dimensions XX", ["--dimensions XX", "each once"]),
        ("--dimensions X", ["--dimensions X", "--coordinates"]),
        ("--hops 0", ["--hops 0", "from 1"]),
        ("--hops 3-1", ["--hops 3-1"]),
        ("--hops 2", ["--hops 2", "--coordinates"]),
        ("--sizes 4kB", ["--sizes 4kB", "KiB"]),
        ("--sizes 2048MiB", ["--sizes 2048MiB"]),
        ("--sizes 1,", ["--sizes 1,"]),
        ("--sizes 0", ["--sizes 0", "from 1 B"]),
        ("--tests speed", ["--tests speed", "latency, bandwidth, bibandwidth"]),
        ("--window 0", ["--window 0"]),
        ("--batch 0", ["--batch 0"]),
        ("--max-time-per-point fast", ["--max-time-per-point fast", "no limit"]),
        ("--repeats=1.5", ["--repeats 1.5"]),
    ],
)
def test_hops_refuses(arguments: str, parts: list[str]) -> None:
    assert_refused(run("hops", 2, *arguments.split()), "hops", *parts)


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


# ---- hops on a torus of pretended hosts ----


@pytest.fixture(scope="module")
def pretend_hosts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    library = tmp_path_factory.mktemp("preload") / "hostname.so"
    source = Path(__file__).parent / "benchmarks_hostname.c"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    return library


def run_on_torus(
    library: Path, folder: Path, text: str, ranks: int, *arguments: str, per_node: int = 1
) -> tuple[Outcome, Path]:
    path = folder / "coordinates"
    path.write_text(text)
    program = ["env", f"LD_PRELOAD={library}", BIN / "hops", "--coordinates", path, "--repeats", "2"]
    return mpirun("-n", str(ranks), *program, *arguments, env={"TEST_RANKS_PER_NODE": str(per_node)}), path


RING = "# a ring of 4, one node above\ntorus 4 2 1\nn0 0 0 0\nn1 1 0 0\nn2 2 0 0\nn3 0 1 0  # above n0\n"


def pairs(read: dict[str, Any]) -> list[tuple[Any, ...]]:
    return [tuple(s["labels"][key] for key in ("dimension", "hops", "from", "to")) for s in read["series"]]


def test_hops_measures_each_dimension_and_hop_count(pretend_hosts: Path, tmp_path: Path) -> None:
    path = tmp_path / "hops.json"
    arguments = ["--sizes", "8", "--tests", "latency", "--json", str(path)]
    outcome, _ = run_on_torus(pretend_hosts, tmp_path, RING, 4, *arguments)
    assert (outcome.status, outcome.err) == (0, "")
    read = document(path)
    assert pairs(read) == [("X", 1, "n0", "n1"), ("X", 2, "n0", "n2"), ("Y", 1, "n0", "n3")]
    assert [(m["labels"]["dimension"], m["reason"]) for m in read["not_measured"]] == [
        ("Z", "extent 1: no hops in this dimension")
    ]
    assert read["parameters"]["torus"] == [4, 2, 1]


def test_hops_wraps_and_reaches_the_samples_of_other_leaders(pretend_hosts: Path, tmp_path: Path) -> None:
    path = tmp_path / "hops.json"
    text = "torus 3 4 1\nn0 0 1 0\nn1 2 0 0\nn2 0 0 0\n"
    arguments = ["--sizes", "1KiB", "--dimensions", "YX", "--hops", "1-2", "--json", str(path)]
    outcome, _ = run_on_torus(pretend_hosts, tmp_path, text, 3, *arguments)
    assert (outcome.status, outcome.err) == (0, "")
    read = document(path)
    assert list(dict.fromkeys(pairs(read))) == [("Y", 1, "n2", "n0"), ("X", 1, "n1", "n2")]
    missing = read["not_measured"][::3]  # one per test
    assert [(m["labels"]["dimension"], m["labels"]["hops"], m["reason"]) for m in missing] == [
        ("Y", 2, "no two ranks are that many hops apart"),
        ("X", 2, "extent 3: at most 1 hops"),
    ]
    assert "not measured: latency_us, test latency, dimension X, hops 2" in outcome.out


def test_hops_takes_the_first_rank_of_a_node_and_router(pretend_hosts: Path, tmp_path: Path) -> None:
    path = tmp_path / "hops.json"
    text = "torus 2 1 1\nn0 0 0 0\nn1 0 0 0\nn2 1 0 0\nn3 1 0 0\n"
    arguments = ["--sizes", "8", "--tests", "bandwidth", "--json", str(path)]
    outcome, _ = run_on_torus(pretend_hosts, tmp_path, text, 8, *arguments, per_node=2)
    assert (outcome.status, outcome.err) == (0, "")
    assert pairs(document(path)) == [("X", 1, "n0", "n2")]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", ["no node"]),
        ("n0 0 0 0\n", ["line 1", "before the line torus"]),
        ("torus 2 2\n", ["line 1", "torus X Y Z"]),
        ("torus 2 2 2\ntorus 2 2 2\n", ["line 2", "second"]),
        ("torus 2 1 1\n\nn0 0 0\n", ["line 3", "HOST X Y Z"]),
        ("torus 2 1 1\nn0 2 0 0\n", ["line 2", "inside the torus 2x1x1"]),
        ("torus 2 1 1\nn0 0 0 0\nn0 1 0 0\n", ["line 3", "twice"]),
        ("torus 2 1 1\nn0 0 0 0\nx 1 0 0\n", ["rank 1", "host n1"]),
        ("torus 4 1 1\nn0 0 0 0\nn1 2 0 0\n", ["no two of the 2 ranks"]),
    ],
)
def test_wrong_coordinates_are_refused(
    text: str, parts: list[str], pretend_hosts: Path, tmp_path: Path
) -> None:
    outcome, path = run_on_torus(pretend_hosts, tmp_path, text, 2, "--hops", "1", "--sizes", "8")
    assert_refused(outcome, "hops", f"--coordinates {path}", *parts)


def test_slow_points_get_fewer_samples(tmp_path: Path) -> None:
    path = tmp_path / "hops.json"
    arguments = ["--sizes", "1MiB", "--repeats", "1000", "--max-time-per-point", "0.000001"]
    assert run("hops", 2, *arguments, "--json", path).status == 0
    read = document(path)
    assert read["parameters"]["repeats"] == 1000
    assert [len(series["samples"]) for series in read["series"]] == [3, 3, 3]


# ---- wrong data, sanitizers ----


@pytest.fixture(scope="module")
def sanitized(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A build with sanitizers, warnings as errors, and the fault that only test builds have."""
    build = tmp_path_factory.mktemp("sanitized")
    compiler = "mpicc.openmpi" if shutil.which("mpicc.openmpi") else "mpicc"
    options = ["RAILYARD_SANITIZE", "RAILYARD_WERROR", "RAILYARD_TEST_FAULT"]
    configure = ["cmake", "-S", ROOT / "benchmarks", "-B", build, f"-DMPI_C_COMPILER={compiler}"]
    configure += ["-DCMAKE_BUILD_TYPE=Debug", *(f"-D{option}=ON" for option in options)]
    subprocess.run(configure, check=True, capture_output=True)
    subprocess.run(["cmake", "--build", build, "-j2"], check=True, capture_output=True)
    return build / "bin"


@pytest.mark.parametrize(
    "arguments", ["--grid 2x2x1 --cells 9x5x7", "--grid 4x1 --cells 300 --face-memory 0"]
)
def test_halo_under_sanitizers(arguments: str, sanitized: Path, tmp_path: Path) -> None:
    path = tmp_path / "h.json"
    outcome = run("halo", 4, *arguments.split(), "--repeats", "2", "--json", path, folder=sanitized)
    assert (outcome.status, outcome.err) == (0, "")
    assert document(path)["verified"] is True


def test_hops_under_sanitizers(sanitized: Path, tmp_path: Path) -> None:
    path = tmp_path / "h.json"
    outcome = run("hops", 4, "--sizes", "0-64KiB,3", "--repeats", "2", "--json", path, folder=sanitized)
    assert (outcome.status, outcome.err) == (0, "")
    assert document(path)["verified"] is True


@pytest.mark.parametrize("program", ["halo", "hops"])
def test_refusals_under_sanitizers(program: str, sanitized: Path) -> None:
    assert_refused(run(program, 2, "--repeats", "none", folder=sanitized), program, "--repeats none")


def test_halo_finds_a_corrupted_cell(sanitized: Path, tmp_path: Path) -> None:
    path = tmp_path / "h.json"
    outcome = run("halo", 4, "--cells", "4", "--json", path, folder=sanitized, RAILYARD_TEST_FAULT="2")
    assert outcome.status == 1
    assert len(outcome.error_lines) == 1
    assert "rank 2, face X-, cell 15: expected " in outcome.err
    assert outcome.out == ""
    assert not path.exists()


def test_hops_finds_a_corrupted_byte(sanitized: Path, tmp_path: Path) -> None:
    path = tmp_path / "h.json"
    outcome = run("hops", 4, "--sizes", "1KiB", "--json", path, folder=sanitized, RAILYARD_TEST_FAULT="3")
    assert outcome.status == 1
    assert len(outcome.error_lines) == 1
    assert "rank 3, message of 1024 bytes from rank 0, byte 512" in outcome.err
    assert outcome.out == ""
    assert not path.exists()


@pytest.mark.parametrize("program", ["halo", "hops"])
def test_the_fault_is_not_in_the_usual_build(program: str) -> None:
    assert run(program, 2, *QUICK[program], RAILYARD_TEST_FAULT="0").status == 0


@pytest.mark.parametrize("program", ["halo", "hops"])
def test_the_mpich_build_runs(program: str, tmp_path: Path) -> None:
    """MPICH is optional: `make setup` builds with it where it is installed."""
    built = ROOT / "build/benchmarks-mpich/bin" / program
    if shutil.which("mpirun.mpich") is None or not built.exists():
        pytest.skip("MPICH is not installed: the benchmarks were built with Open MPI alone")
    output = tmp_path / "output.json"
    command = ["mpirun.mpich", "-n", "2", built, *QUICK[program], "--json", output]
    done = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_S, check=False)
    assert done.returncode == 0, done.stderr
    document = json.loads(output.read_text())
    assert "MPICH" in document["mpi"]["library"] and document["mpi"]["ranks"] == 2
