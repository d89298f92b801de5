"""What every C benchmark refuses in one line, and that each finds wrong data; both, and good runs, under sanitizers.

A row shared by several programs (lib/input/options.h) is tried with one of them.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from support.benchmark_runs import (
    BIN,
    ENVIRONMENT,
    Outcome,
    Pretend,
    assert_data_wrong,
    assert_refused,
    block,
    document,
    run,
)

#: Programs that need coordinates, and those that these tests give them.
TORI = {"paths": block(2, 2, 1), "topobw": block(2, 1, 1)}
AT_ONCE = "--min-time-per-point 0 --warmup-time 0 --repeats 2"
VARIANTS = "--variants manual,persistent,datatypes,neighbours,copy"
TESTS = "--tests latency,bandwidth,bibandwidth,rate,tail"


def start(pretend: Pretend, program: str, ranks: int, *words: str | Path, folder: Path = BIN) -> Outcome:
    """Start a program, on a pretended torus if it needs one."""
    if program in TORI:
        return pretend(TORI[program]).run(program, ranks, *words, folder=folder)
    return run(program, ranks, *words, folder=folder)


#: Of each program: ranks, options, and what its line has.
REFUSED = {
    "halo": [
        (4, "--grid 3x3", ["--grid 3x3", "9 positions for 4 ranks", "product is 4"]),
        (4, "--grid 4", ["--grid 4", "2 or 3"]),
        (4, "--grid 2x2x1x1", ["--grid 2x2x1x1", "product = ranks"]),
        (4, "--grid 2x-2", ["--grid 2x-2"]),
        (4, "--grid 2x2 --dimensions 3", ["--grid 2x2", "expected 3"]),
        (4, "--dimensions 4", ["--dimensions 4", "2, 3"]),
        (4, "--order snake", ["--order snake", "row-major", "column-major"]),
        (4, "--order rank-map", ["--order rank-map", "row-major"]),
        (4, "--rank-map /no/such/map", ["--rank-map /no/such/map", "cannot be read"]),
        (4, "--cells 0", ["--cells 0", "1 to 1000000"]),
        (4, "--cells 4x4", ["--cells 4x4", "expected 1 or 3"]),
        (4, "--cells 1000000", ["--cells 1000000", "face"]),
        (4, "--preset pena", ["--preset pena", "pena2013-2d"]),
        (4, "--preset pena2013-2d --cells 4", ["--preset pena2013-2d", "--cells"]),
        (4, "--preset pena2013-2d --grid 2x2x1", ["--grid 2x2x1", "expected 2"]),
        (4, "--face-memory 1GB", ["--face-memory 1GB", "GiB"]),
        (4, "--face-memory 1025GiB", ["--face-memory 1025GiB", "1024GiB"]),
        (4, "--stencil star", ["--stencil star", "faces", "full"]),
        (4, "--memory disk", ["--memory disk", "cuda-managed"]),
        (4, "--memory cuda", ["--memory cuda", "RAILYARD_GPU_RUNTIME"]),
        (4, "--variants magic", ["--variants magic", "neighbours"]),
        (4, "--repeats 0", ["--repeats 0", "1 to 1000000"]),
        (4, "--warmups -1", ["--warmups -1", "0 to 1000000"]),
        (4, "--seed x", ["--seed x"]),
        (4, "--json", ["--json", "missing"]),
        (4, "--json /no/such/folder/x", ["--json /no/such/folder/x", "cannot be written"]),
        (4, "--json /tmp", ["--json /tmp", "not a regular file"]),
        (4, "--bogus 1", ["--bogus", "expected --help --grid"]),
        (4, "stray", ["stray", "no such option"]),
    ],
    "pt2pt": [
        (4, "", ["--units nodes", "one node"]),
        (4, "--pattern square", ["--pattern square", "fan-out"]),
        (4, "--units ranks --per-node 2", ["--per-node 2", "expected 1 to 1"]),
        (4, "--units cores", ["--units cores"]),
        (4, "--units ranks --buffers two", ["--buffers two", "single"]),
        (4, "--units ranks --sizes 0 --tests bandwidth", ["--sizes 0", "from 1 B"]),
    ],
    "hops": [
        (2, "--coordinates /no/such/file", ["--coordinates /no/such/file", "cannot be read"]),
        (2, "--dimensions W", ["--dimensions W", "XYZ"]),
        (2, "--dimensions XX", ["--dimensions XX", "each once"]),
        (2, "--dimensions X", ["--dimensions X", "--coordinates"]),
        (2, "--hops 0", ["--hops 0", "from 1"]),
        (2, "--pairs-per-point 0", ["--pairs-per-point 0", "1 to"]),
        (2, "--pairs-per-point 2", ["--pairs-per-point 2", "--coordinates"]),
        (2, "--hops 3-1", ["--hops 3-1"]),
        (2, "--hops 2", ["--hops 2", "--coordinates"]),
        (2, "--sizes 4kB", ["--sizes 4kB", "KiB"]),
        (2, "--sizes 2048MiB", ["--sizes 2048MiB"]),
        (2, "--sizes 8GiB", ["--sizes 8GiB"]),
        (2, "--sizes 1,", ["--sizes 1,"]),
        (2, "--tests speed", ["--tests speed", "latency, bandwidth, bibandwidth"]),
        (2, "--window 0", ["--window 0"]),
        (2, "--batch 0", ["--batch 0"]),
        (2, "--max-time-per-point fast", ["--max-time-per-point fast", "no limit"]),
        (2, "--repeats=1.5", ["--repeats 1.5"]),
    ],
    "paths": [
        (4, "--paths 0", ["--paths 0", "from 1"]),
        (4, "--paths 5", ["on none of the requested paths", "at most"]),
    ],
    "contention": [
        (4, "", ["--groups halves", "one node", "2 nodes or more"]),
        (4, "--groups thirds", ["--groups thirds", "alternate"]),
        (4, "--groups ranks --pairs 2", ["--pairs 2", "expected 1 to 1"]),
        (4, "--pairs 0", ["--pairs 0"]),
        (4, "--rounds 0", ["--rounds 0"]),
        (4, "--spread -1", ["--spread -1"]),
    ],
    "rowcol": [
        (2, "--splits X", ["--splits X", "--coordinates"]),
        (2, "--splits W", ["--splits W", "XY, XZ, YZ, all"]),
        (2, "--collectives gather", ["--collectives gather", "allreduce"]),
        (2, "--sizes 0", ["--sizes 0", "alltoall", "from 1 B"]),
        (2, "--sizes 12", ["--sizes 12", "allreduce", "multiples of 8 B"]),
        (2, "--sizes 1024MiB", ["--sizes 1073741824", "2147483648 B", "at most 536870912 B"]),
        (2, "--batch 0", ["--batch 0"]),
        (2, "--start noon", ["--start noon", "barrier"]),
    ],
    "noise": [
        (2, "--quantum 0", ["--quantum 0", "above 0"]),
        (2, "--quantum 11", ["longer than 10 s"]),
        (2, "--count 0", ["--count 0"]),
    ],
    "congestor": [
        (3, "--beside incast --beside-ranks 2", ["--beside-ranks 2 of 3", "2 to all ranks but two"]),
        (4, "--beside incast --beside-size 12B", ["--beside-size 12B", "whole numbers of 8 B"]),
        (4, "--beside storm", ["--beside storm", "incast"]),
        (2, "--size 12B", ["--size 12B", "whole numbers of 8 B"]),
        (2, "--pattern storm", ["--pattern storm", "incast"]),
        (2, "--window 65", ["--window 65", "1 to 64"]),
        (1, "--rounds 1", ["2 ranks or more"]),
    ],
    "sonar": [
        (2, "--pings shout", ["--pings shout", "send, put, get"]),
        (2, "--payloads ones", ["--payloads ones", "random, zero"]),
        (2, "--sizes 0-4", ["--sizes 0-4", "from 1 B"]),
        (2, "--count 0", ["--count 0"]),
        (2, "--settle soon", ["--settle soon"]),
        (2, "", ["share a node"]),
    ],
    "topobw": [
        (2, "--size 0", ["--size 0", "1 to 1024MiB"]),
        (2, "--size 4GB", ["--size 4GB"]),
        (2, "--messages 0", ["--messages 0"]),
        (2, "--tolerance 100", ["--tolerance 100", "below 100"]),
        (2, "--tolerance -3", ["--tolerance -3"]),
        (2, "--deadline 0", ["--deadline 0", "1 to 1000000"]),
        (2, "--routes all", ["--routes all", "strict"]),
        (2, "--factor 0", ["--factor 0", "above 0"]),
        (2, "--factor 1", ["--factor 1", "--links"]),
        (2, "--links /no/such/file", ["--links /no/such/file", "cannot be read"]),
        (2, "--json /no/such/folder/x", ["cannot be written"]),
        (3, "", ["rank 2", "host n2"]),
    ],
}


@pytest.mark.parametrize(
    ("program", "ranks", "options", "parts"), [(program, *case) for program, cases in REFUSED.items() for case in cases]
)
def test_is_refused(*, program: str, ranks: int, options: str, parts: list[str], pretend: Pretend) -> None:
    assert_refused(start(pretend, program, ranks, *options.split()), program, *parts)


@pytest.mark.parametrize("program", ["paths", "topobw"])
def test_coordinates_must_be_given(program: str) -> None:
    assert_refused(run(program, 2), program, "--coordinates: missing")


@pytest.mark.parametrize(
    ("program", "ranks", "options"),
    [
        ("halo", 4, f"--grid 2x2x1 --cells 9x5x7 --repeats 2 {VARIANTS}"),
        ("halo", 4, f"--grid 4x1 --cells 300 --face-memory 0 --repeats 2 {VARIANTS}"),
        ("pt2pt", 3, f"--units ranks {TESTS} --sizes 1,64KiB {AT_ONCE} --buffers single --clock pings"),
        ("pt2pt", 3, f"--units ranks {TESTS} --sizes 1,64KiB {AT_ONCE} --clock pings"),
        ("hops", 4, f"--sizes 0-64KiB,3 {AT_ONCE}"),
        ("paths", 4, f"--sizes 1KiB {AT_ONCE}"),
        ("contention", 4, f"--groups ranks --sizes 0-4,64KiB --rounds 2 {AT_ONCE}"),
        ("rowcol", 4, f"--sizes 8-64KiB --start barrier {AT_ONCE}"),
    ],
)
def test_under_sanitizers(
    *, program: str, ranks: int, options: str, sanitized: Path, pretend: Pretend, tmp_path: Path
) -> None:
    path = tmp_path / "output.json"
    outcome = start(pretend, program, ranks, *options.split(), "--json", path, folder=sanitized)
    assert (outcome.status, outcome.err) == (0, "")
    assert document(path)["verified"] is True


MESSAGE = "rank 3, message of 1024 bytes from rank {}, byte 512"
COLLECTIVES = ["alltoall", "allgather", "allreduce", "bcast", "alltoallv", "reduce-scatter", "allreduce-float"]
PATTERNS = {"incast": 0, "alltoall": 0, "broadcast": 1, "allreduce": 1, "permutation": 1}


@pytest.mark.parametrize(
    ("program", "ranks", "rank", "options", "part"),
    [
        ("halo", 4, 2, "--cells 4", "rank 2, face X-, cell 15: expected "),
        ("pt2pt", 4, 3, f"--units ranks --tests bandwidth --sizes 1KiB {AT_ONCE}", MESSAGE.format(2)),
        ("hops", 4, 3, "--sizes 1KiB", MESSAGE.format(0)),
        ("paths", 4, 3, f"--sizes 1KiB {AT_ONCE}", MESSAGE.format(1)),
        ("contention", 4, 3, "--groups ranks --sizes 1KiB", MESSAGE.format(1)),
        ("noise", 3, 2, "--quantum 1e-4 --count 20 --repeats 2", "the same work"),
        (
            *("topobw", 2, 1, "--size 1KiB --messages 2 --repeats 1 --tolerance 99 --routes off"),
            "rank 1, message 1 of 2, of 1024 bytes from rank 0, byte 512",
        ),
        *(
            ("rowcol", 4, 2, f"--collectives {name} --sizes 64", f"rank 2, {name} of 64 bytes, byte ")
            for name in COLLECTIVES
        ),
        *(("congestor", 3, rank, f"--pattern {name} --size 64B --rounds 2", name) for name, rank in PATTERNS.items()),
    ],
)
def test_finds_corrupted_data(
    *,
    program: str,
    ranks: int,
    rank: int,
    options: str,
    part: str,
    sanitized: Path,
    pretend: Pretend,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(ENVIRONMENT, "RAILYARD_TEST_FAULT", str(rank))
    path = tmp_path / "output.json"
    outcome = start(pretend, program, ranks, *options.split(), "--json", path, folder=sanitized)
    assert_data_wrong(outcome, path, part)
