"""What becomes of what nodes counted besides NICs: sums of energy over nodes, and the NICs of each rank."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from support import evidence
from support.records.rows import of_rows, with_rows

from railyard.jobs.nodes.counted import ENERGY, RANK_SENT, Counted
from railyard.records import record, rules
from railyard.records.benchmark import Series
from railyard.records.record import Record


def read(path: Path) -> Counted:
    content = Counted.read(path)
    assert content is not None
    return content


def counted(path: Path, rows: Sequence[tuple[str, str, float]], form: str = "railyard-nics/1") -> Path:
    named = [dict(zip(("node", "counter", "joules"), row, strict=True)) for row in rows]
    path.write_text(json.dumps({"format": form, "nics": [], "energy": named}))
    return path


def test_counters_of_a_kind_are_added_over_sockets_and_nodes(tmp_path: Path) -> None:
    rows = [("n0", "package-0", 10.0), ("n0", "package-1", 5.0), ("n1.site", "package-0", 7.0), ("n0", "dram", 1.0)]
    (found,) = read(counted(tmp_path / "x", rows)).energy(["n0", "n1", "n1"], {})
    assert found == Series(fom=ENERGY, labels={"counter": "package"}, samples=(22.0,))
    assert (found.fom.unit.text, found.fom.better) == ("J", "lower")


@pytest.mark.parametrize("content", ["", "[]", '{"format": "other"}', '{"format": "railyard-nics/1", "nics": []}'])
def test_a_file_without_energy_gives_none(tmp_path: Path, content: str) -> None:
    (tmp_path / "x").write_text(content)
    assert read(tmp_path / "x").energy(["n0"], {}) == []
    assert Counted.read(tmp_path / "not-there") is None


def with_energy(joules: Sequence[float], copied: bool = False) -> Record:
    document: dict[str, Any] = with_rows(evidence.good(origin="measured"))
    for launch, value in zip(document["launches"], joules, strict=False):
        if copied:
            launch["series"] = [dict(each) for each in document["launches"][0]["series"]]
        series = {"fom": str(ENERGY), "labels": {"counter": "package"}, "samples": [value]}
        launch["series"] = [*(each for each in launch["series"] if each["fom"] != ENERGY), series]
    return of_rows(document)


def test_a_record_passes_the_strict_check_though_one_launch_lacks_energy_or_the_nics_of_its_ranks() -> None:
    assert rules.faults(with_energy([float(100 + each) for each in range(5)])) == []
    document: dict[str, Any] = json.loads(record.text(evidence.good(origin="measured")))
    document["figures"][str(RANK_SENT)] = RANK_SENT.document()
    for launch in document["launches"][1:]:
        series = {"fom": str(RANK_SENT), "labels": {"nic": "nic0", "ranks": "0-7"}, "samples": [97.5]}
        launch["series"].append(series)
    assert rules.faults(record.validate(record.sealed(document), "changed")) == []


def test_other_energies_do_not_hide_that_a_launch_is_a_copy() -> None:
    forged = with_energy([100.0, 101.0], copied=True)
    assert any("same samples" in each.text for each in rules.faults(forged))


def ranks_counted(path: Path, *rows: tuple[int, str, int], fabric_bytes: int = 0) -> list[Series]:
    """What two nodes of two ranks left: each of their Ethernet devices sent 1000 bytes."""
    nics = [(f"n{node}", f"nic{nic}", "linux-net", 1000) for node in (0, 1) for nic in (0, 1)]
    nics += [("n0", "mlx5_0:1", "infiniband", fabric_bytes)] if fabric_bytes else []
    of_nics = [dict(zip(("node", "nic", "group", "tx_bytes"), row, strict=True)) for row in nics]
    of_ranks = [
        {"rank": rank, "node": f"n{rank // 2}", "nic": nic, "tx_bytes": size, "rx_bytes": 0} for rank, nic, size in rows
    ]
    path.write_text(json.dumps({"format": "railyard-nics/1", "nics": of_nics, "ranks": of_ranks}))
    return read(path).rank_nics()


def test_ranks_whose_connections_have_the_same_nics_share_a_series(tmp_path: Path) -> None:
    """Ranks 0 to 2 send by one NIC each, and a few bytes by another; rank 3 by both."""
    path = tmp_path / "x"
    rows = [(0, "nic0", 900), (0, "nic1", 5), (1, "nic1", 895), (2, "nic0", 400), (3, "nic0", 400), (3, "nic1", 400)]
    read = {series.labels["nic"]: (series.labels["ranks"], series.samples) for series in ranks_counted(path, *rows)}
    assert read == {"nic0": ("0,2", (pytest.approx(32.625),)), "nic0+nic1": ("3", (20.0,)), "nic1": ("1", (22.375,))}


def test_the_nics_of_ranks_are_not_known_where_connections_carried_little(tmp_path: Path) -> None:
    rows = [(0, "nic0", 900), (1, "nic1", 900)]
    assert len(ranks_counted(tmp_path / "x", *rows)) == 2
    assert ranks_counted(tmp_path / "x", *rows, fabric_bytes=100_000) == []
    assert ranks_counted(tmp_path / "x", (0, "nic0", 100), (1, "nic1", 100)) == []
    assert ranks_counted(tmp_path / "x") == []
