"""Matrices of all pairs: worst pairs and nodes, points of an image, files that are not whole."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from support.commands import Run

from railyard.analysis.pairs import matrices
from railyard.base.errors import InputError

NODES = 30


def written(path: Path, *, better: str = "lower", nodes: int = NODES) -> None:
    """Write a file with one point: every pair takes 1 us, those of node 7 take 2 us, and 3 -> 4 takes 9 us."""
    values = np.ones((nodes, nodes), dtype="<f4")
    values[7, :] = values[:, 7] = 2
    values[3, 4] = 9
    values[5, 6] = 0  # not measured
    np.fill_diagonal(values, 0)
    point = {"test": "latency", "fom": "latency_us", "unit": "us", "better": better, "size_bytes": 8}
    text = json.dumps({"nodes": [f"n{i}" for i in range(nodes)], "points": [point]}).encode()
    head = matrices.HEAD.pack(matrices.MAGIC, len(text)) + text
    path.write_bytes(head + bytes(-len(head) % 4) + values.tobytes())


def test_the_worst_pair_and_node_are_named(railyard: Run, tmp_path: Path) -> None:
    path, image = tmp_path / "all.pairs", tmp_path / "all.png"
    written(path)
    done = railyard("pairs", str(path), "--worst", "1", "--image", str(image))
    assert done.stdout.splitlines() == [
        "latency 8 B: 869 of 870 pairs, median 1 us",
        "  n3 -> n4    9 us  +800.0 %",
        "  n7, median  2 us  +100.0 %",
    ]
    assert image.stat().st_size > 1000
    (stated,) = json.loads(railyard("pairs", str(path), "--worst", "1", "--json").stdout)
    assert (stated["worst_pairs"][0]["from"], stated["worst_nodes"][0]["node"]) == ("n3", "n7")


def test_a_point_of_an_image_is_the_worst_of_its_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matrices, "MOST_ROWS", 10)
    written(tmp_path / "low")
    written(tmp_path / "high", better="higher")
    low, high = (matrices.read(tmp_path / name).points[0].binned() for name in ("low", "high"))
    assert low.shape == high.shape == (10, 10)
    assert low[1, 1] == 9 and low[0, 2] == 2 and low[0, 1] == 1
    assert high[1, 1] == high[0, 2] == 1
    assert {pair[2] for pair in matrices.read(tmp_path / "high").points[0].worst(5)} == {1}


@pytest.mark.parametrize("length", [0, 10, 30, 200, -4])
def test_a_file_that_is_not_whole_is_one_line(tmp_path: Path, length: int) -> None:
    path = tmp_path / "all.pairs"
    written(path)
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(InputError, match=r"all\.pairs"):
        matrices.read(path)
