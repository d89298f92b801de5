"""halo: exchanged volumes, grids, orders, variants, bad input, wrong data."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.benchmark_runs import assert_refused, document, measured, run, samples_of

QUICK = ["--cells", "4", "--repeats", "3"]
FOMS = ["iteration_us", "pack_us", "unpack_us", "exchange_us", "wait_us", "bandwidth_gbyte_s"]
EXCHANGES = "manual,persistent,datatypes,neighbours"
VARIANTS = ["--variants", f"{EXCHANGES},copy"]


@pytest.mark.parametrize("ranks", [1, 2, 4, 8])
def test_runs_and_writes_its_document(ranks: int, tmp_path: Path) -> None:
    path = tmp_path / "halo.json"
    outcome = run("halo", ranks, *QUICK, "--json", path)
    assert (outcome.status, outcome.err) == (0, "")
    read = document(path)
    assert read["benchmark"] == "halo"
    assert read["verified"] is True
    assert read["mpi"]["ranks"] == ranks
    assert [rank["rank"] for rank in read["ranks"]] == list(range(ranks))
    assert all(rank["cpu"] in rank["allowed_cpus"] for rank in read["ranks"])
    assert [series["fom"] for series in read["series"]] == FOMS
    assert all(len(series["samples"]) == 3 and min(series["samples"]) >= 0 for series in read["series"])
    assert read["not_measured"] == []
    assert all(fom in outcome.out for fom in FOMS)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("ranks", [1, 2, 4, 8])
def test_every_variant_exchanges_verified_data(ranks: int, tmp_path: Path) -> None:
    read = measured("halo", ranks, *QUICK, *VARIANTS, folder=tmp_path)
    assert read["parameters"]["variants"] == [*EXCHANGES.split(","), "copy"]
    assert list(samples_of(read, variant="manual")) == list(samples_of(read, variant="persistent")) == FOMS
    for variant in ("datatypes", "neighbours"):
        assert list(samples_of(read, variant=variant)) == [FOMS[0], *FOMS[3:]]
    assert list(samples_of(read, variant="copy")) == FOMS[:3]


def test_one_variant_alone_needs_no_label(tmp_path: Path) -> None:
    read = measured("halo", 2, *QUICK, "--variants", "neighbours", folder=tmp_path)
    assert [series["labels"] for series in read["series"]] == [{}] * 4


@pytest.mark.parametrize("grid", ["2x1x1", "1x2x1", "1x1x2", "2x1", "1x2"])
def test_dimensions_of_one_and_two_meet_the_right_faces(grid: str, tmp_path: Path) -> None:
    """Both neighbours are one rank, or the rank itself; every face has its own size here."""
    cells = "3x4x5"[: 2 * len(grid.split("x")) - 1]
    arguments = ["--grid", grid, "--cells", cells, "--repeats", "1", "--variants", EXCHANGES]
    assert measured("halo", 2, *arguments, folder=tmp_path)["verified"] is True


def test_times_are_parts_of_the_iteration_and_bandwidth_is_the_exchanged_volume_over_it(tmp_path: Path) -> None:
    read = measured("halo", 1, "--cells", "64", "--repeats", "5", folder=tmp_path)
    of = samples_of(read)
    for i, whole in enumerate(of["iteration_us"]):
        assert of["pack_us"][i] + of["unpack_us"][i] + of["exchange_us"][i] == pytest.approx(whole, rel=1e-6)
        assert of["wait_us"][i] <= of["exchange_us"][i]
        volume = read["parameters"]["exchanged_bytes"]
        assert of["bandwidth_gbyte_s"][i] == pytest.approx(volume / (whole * 1e3), rel=1e-9)


@pytest.mark.parametrize(
    ("ranks", "grid", "cells", "values", "face_bytes"),
    [
        (1, "1x1", "5x3", 1, [24, 40]),
        (2, "2x1", "6", 1, [48, 48]),
        (4, "2x2", "7x2", 1, [16, 56]),
        (6, "3x2", "4x5", 1, [40, 32]),
        (1, "1x1x1", "2x3x4", 1, [96, 64, 48]),
        (4, "1x2x2", "3x5x1", 1, [40, 24, 120]),
        (8, "2x2x2", "4", 1, [128, 128, 128]),
        (3, "3x1x1", "1", 1, [8, 8, 8]),
        (2, "2x1x1", "3x4x5", 56, [8 * 56 * 20, 8 * 56 * 15, 8 * 56 * 12]),
    ],
)
def test_exchanges_exactly(
    *, ranks: int, grid: str, cells: str, values: int, face_bytes: list[int], tmp_path: Path
) -> None:
    """Values of a cell are ghost layers times variables, in every variant; S3D's faces have four layers of 14."""
    arguments = ["--grid", grid, "--cells", cells, "--values", str(values), "--repeats", "1"]
    parameters = measured("halo", ranks, *arguments, *VARIANTS, folder=tmp_path)["parameters"]
    assert parameters["values"] == values
    assert parameters["grid"] == [int(length) for length in grid.split("x")]
    assert parameters["face_bytes"] == face_bytes
    assert parameters["exchanged_bytes"] == 4 * sum(face_bytes)
    own = [size for size, count in zip(face_bytes, parameters["grid"], strict=True) if count == 1]
    assert parameters["own_bytes"] == 4 * sum(own)


@pytest.mark.parametrize("cells", ["300x200", "70x50x40", "64x1x64"])
def test_folded_faces_are_verified_in_every_variant(cells: str, tmp_path: Path) -> None:
    dimensions = str(cells.count("x") + 1)
    arguments = ["--dimensions", dimensions, "--cells", cells, "--face-memory", "1KiB", "--repeats", "1"]
    read = measured("halo", 2, *arguments, *VARIANTS, folder=tmp_path)
    assert any(read["parameters"]["face_folded"])


def test_paper_preset_exchanges_4_mib(tmp_path: Path) -> None:
    arguments = ["--preset", "pena2013-2d", "--repeats", "1"]
    parameters = measured("halo", 2, *arguments, folder=tmp_path)["parameters"]
    assert parameters["exchanged_bytes"] == 4 * 2**20
    assert parameters["face_folded"] == [True, False]
    assert parameters["cells"] == [65536, 65536]


@pytest.mark.parametrize(
    ("order", "ranks_at"), [("row-major", [0, 1, 2, 3, 4, 5, 6, 7]), ("column-major", [0, 4, 2, 6, 1, 5, 3, 7])]
)
def test_orders_fill_the_grid(order: str, ranks_at: list[int], tmp_path: Path) -> None:
    arguments = ["--grid", "2x2x2", "--order", order, *QUICK]
    parameters = measured("halo", 8, *arguments, folder=tmp_path)["parameters"]
    assert (parameters["order"], parameters["rank_map"]) == (order, ranks_at)


def test_rank_map_is_obeyed(tmp_path: Path) -> None:
    ranks = [3, 0, 7, 1, 6, 2, 5, 4]
    (tmp_path / "map").write_text("# by position\n" + "".join(f" {rank} # rank\n\n" for rank in ranks))
    arguments = ["--grid", "4x2", "--rank-map", str(tmp_path / "map"), *QUICK]
    parameters = measured("halo", 8, *arguments, folder=tmp_path)["parameters"]
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


@pytest.mark.parametrize(
    ("ranks", "grid", "cells", "neighbours", "exchanged"),
    [
        (4, "2x2", "3x5", 8, 2 * 8 * (2 * 3 + 2 * 5 + 4)),
        (8, "2x2x2", "3x4x5", 26, 2 * 8 * (2 * (12 + 15 + 20) + 4 * (3 + 4 + 5) + 8)),
        (3, "3x1x1", "2x3x4", 26, 2 * 8 * (2 * (6 + 8 + 12) + 4 * (2 + 3 + 4) + 8)),
    ],
)
def test_a_full_stencil_exchanges_verified_edges_and_corners(
    *, ranks: int, grid: str, cells: str, neighbours: int, exchanged: int, tmp_path: Path
) -> None:
    """Every ghost cell of every variant is verified; the volume is that of all faces, edges and corners."""
    arguments = ["--grid", grid, "--cells", cells, "--stencil", "full", "--repeats", "1"]
    read = measured("halo", ranks, *arguments, "--variants", EXCHANGES, folder=tmp_path)
    assert read["parameters"]["neighbours"] == neighbours
    assert read["parameters"]["exchanged_bytes"] == exchanged


@pytest.mark.parametrize("order", ["mpi-cart", "mpi-dist-graph"])
def test_the_mapping_that_mpi_chose_is_in_the_document(order: str, tmp_path: Path) -> None:
    read = measured("halo", 8, "--grid", "2x2x2", "--order", order, *QUICK, folder=tmp_path)
    assert read["parameters"]["order"] == order
    assert sorted(read["parameters"]["rank_map"]) == list(range(8))


def test_a_point_takes_its_least_time_and_no_more_than_its_longest(tmp_path: Path) -> None:
    """Iterations of some microseconds: many are needed for half a second, and none but 3 fit into almost nothing."""
    least = measured("halo", 2, *QUICK, "--min-time-per-point", "0.5", folder=tmp_path)
    (samples,) = (s["samples"] for s in least["series"] if s["fom"] == "iteration_us")
    assert len(samples) > 3
    longest = ["--cells", "4", "--repeats", "1000", "--max-time-per-point", "0.0000001"]
    assert len(measured("halo", 2, *longest, folder=tmp_path)["series"][0]["samples"]) == 3


def test_the_true_extent_of_a_long_face_can_be_asked_for(tmp_path: Path) -> None:
    """2 GiB of a face, of which only the touched pages cost memory: nothing is folded."""
    arguments = "--grid 1x1 --cells 16384 --face-memory 3GiB --repeats 1 --warmups 0"
    read = measured("halo", 1, *arguments.split(), folder=tmp_path)
    assert read["parameters"]["face_folded"] == [False, False]
