"""Judgements that an earlier evaluation kept: used for the same record and checker, and for nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from support import evidence, forgeries

from railyard.base import checkout
from railyard.records.record import Record
from railyard.records.store import archive, bag
from railyard.tender import bids, kept


@pytest.fixture(autouse=True)
def few(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let three records be many, and the cache be the test's."""
    monkeypatch.setattr(bids, "_FEW", 3)
    monkeypatch.setattr(bids, "_BATCH", 1)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def saved(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many judgements were new, evaluation by evaluation that had any."""
    counts: list[int] = []
    save = kept.save

    def counted(made: Mapping[bytes, bytes]) -> None:
        counts.append(len(made) - len(kept.load()))
        save(made)

    monkeypatch.setattr(kept, "save", counted)
    return counts


def bag_of(folder: Path, records: list[Record]) -> Path:
    paths = [archive.add(each, folder / "archive") for each in records]
    bag.write(folder / "bag", paths, bag.Bid(bidder="A Ltd", tier="baseline"))
    return folder / "bag"


def honest() -> list[Record]:
    return [evidence.good(origin="measured", seed=seed) for seed in (1, 2, 3)]


def copied(of: Record) -> Record:
    return forgeries.forged(of, "one launch copied")


def test_a_record_is_judged_once_and_read_alike_the_second_time(tmp_path: Path, saved: list[int]) -> None:
    path = bag_of(tmp_path, honest())
    first = bids.read(path)
    second = bids.read(path)
    assert first.records == second.records and len(first.records) == 3
    (fom, _), *_ = second.records[0].launches[0].values
    assert fom.unit.name == "us", "a tender refuses a figure in another unit, the second time, too"
    assert (first.faults, first.broken) == (second.faults, second.broken) == ([], [])
    assert saved == [3], "the second time nothing was judged"
    assert bids.read(path, again=True).records == first.records and saved == [3, 0]


def test_a_record_with_a_fault_is_never_kept(tmp_path: Path, saved: list[int]) -> None:
    path = bag_of(tmp_path, [*honest(), copied(honest()[0])])
    for _ in range(2):
        assert any("same samples" in each.text for each in bids.read(path).faults)
    assert saved == [3]


def test_another_record_and_another_checker_are_judged(
    tmp_path: Path, saved: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    records = honest()
    bids.read(bag_of(tmp_path / "one", records))
    forged = bids.read(bag_of(tmp_path / "other", [copied(records[0]), *records[1:]]))
    assert any("same samples" in each.text for each in forged.faults)
    monkeypatch.setattr(kept, "checker", lambda: "another")
    bids.read(tmp_path / "one" / "bag")
    assert saved == [3, 3]


def test_a_file_that_is_not_what_the_manifest_names_is_found_though_it_was_judged(tmp_path: Path) -> None:
    path = bag_of(tmp_path, honest())
    assert bids.read(path).broken == []
    file = next((path / "data" / "records").rglob("*.json"))
    file.write_bytes(file.read_bytes() + b"\n")
    assert [each.text.split(": ")[-1] for each in bids.read(path).broken] != []


@pytest.mark.parametrize("how", ["writable", "cut off", "damaged"])
def test_a_file_of_judgements_that_cannot_be_trusted_is_not_used(
    tmp_path: Path, saved: list[int], how: str
) -> None:
    path = bag_of(tmp_path, honest())
    bids.read(path)
    content = kept.file().read_bytes()
    if how == "writable":
        kept.file().chmod(0o666)
    elif how == "cut off":
        kept.file().write_bytes(content[:-10])
    else:
        middle = len(content) // 2
        kept.file().write_bytes(content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :])
    assert len(bids.read(path).records) == 3
    assert saved[-1] == 3


def test_the_checker_is_known_by_everything_that_a_judgement_depends_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("railyard/a.py", "placements/topologies/t.yml", "results/schema/s.json", "README.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("1")
    monkeypatch.setattr(checkout, "CHECKOUT", tmp_path)
    digests = [kept.checker.__wrapped__()]
    for name in ("README.md", "railyard/a.py", "placements/topologies/t.yml", "results/schema/s.json"):
        (tmp_path / name).write_text("2")
        digests.append(kept.checker.__wrapped__())
    assert digests[0] == digests[1] and len(set(digests)) == 4
