"""The index: the same as reading every record, kept up to date, never trusted from an archive."""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from support import evidence, synthetic

from railyard.analysis.cases import cases
from railyard.base.errors import InputError
from railyard.records.record import Record
from railyard.records.store import archive, entries, index
from railyard.records.store.entries import Entry


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


GOOD, HOPS = evidence.good(), synthetic.hops(most=2, launches=1)
RECORDS = (GOOD, HOPS, synthetic.allreduce(launches=2))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for each in RECORDS:
        archive.add(each, tmp_path / "archive")
    return tmp_path / "archive"


def ids(root: Path) -> list[str]:
    return [entry.own["id"] for entry in index.read(root).entries()]


def parts(entry: Entry) -> tuple[object, ...]:
    return entry.setting, entry.own, list(entry.values)


def test_an_entry_is_what_its_record_says(root: Path) -> None:
    by_id = {each.id: each for each in archive.load_all(root)}
    for _ in range(2):  # made, then read
        for entry in index.read(root).entries():
            assert parts(entry) == parts(entries.of_record(by_id[entry.own["id"]]))


def test_records_of_one_setting_share_it(root: Path) -> None:
    archive.add(evidence.good(seed=9), root)
    for _ in range(2):  # made, then read
        found = list(index.read(root).entries())
        assert len(found) == 4 and len({id(entry.setting) for entry in found}) == 3


def pairs_of_ranks() -> Record:
    """One benchmark between two pairs of ranks on the same hosts."""

    def found(chance: random.Random, *_: str) -> list[dict[str, Any]]:
        pairs = [{"from": "n-0", "to": "n-1", "from_rank": rank, "to_rank": rank + 2} for rank in (0, 1)]
        return [
            {
                "fom": "bandwidth_gbyte_s",
                "labels": {"pattern": "all", "size_bytes": 8, **pair},
                "samples": [chance.random() for _ in range(3)],
            }
            for pair in pairs
        ]

    return synthetic.job(synthetic.case(benchmark="contention", placements=["plain"]), found)


@pytest.mark.parametrize("read", [GOOD, HOPS, pairs_of_ranks()], ids=["plain", "hosts", "ranks"])
def test_values_are_those_that_cases_compare(read: Record) -> None:
    (case,) = cases.group([read])
    found = {
        (fom, labels, combination.placement, combination.nic_policy): [each.value for each in values]
        for (fom, labels), of_key in cases.observations(case).items()
        for combination, values in of_key.items()
    }
    entry = entries.of_record(read)
    assert {(key.fom, key.labels, key.placement, key.nic_policy): values for key, values in entry.values} == found
    names = {name for key, _ in entry.values for name, _ in key.labels}
    assert not names & {"from", "to", "from_rank", "to_rank"}


def test_records_that_come_and_go_are_noticed_and_only_new_ones_are_read(root: Path) -> None:
    read: list[int] = []

    def watch(files: Iterable[Path], count: int) -> Iterable[Path]:
        read.append(count)
        return files

    index.read(root, progress=watch)
    before, path = ids(root), archive.add(evidence.good(seed=9), root)
    for _ in range(2):
        index.read(root, progress=watch)
    assert read == [3, 1] and len(ids(root)) == 4
    path.unlink()
    assert ids(root) == before
    assert {path.suffix for path in root.rglob("*") if path.is_file()} == {".json"}, "an archive gets no index"


def test_an_edited_record_is_read_again_and_refused(root: Path) -> None:
    ids(root)
    path = archive.paths(root)[0]
    path.write_text(path.read_text().replace("library-default", "library-fefault"))
    with pytest.raises(InputError):
        ids(root)


def test_an_index_that_is_cut_or_of_something_else_is_made_anew(root: Path) -> None:
    before, file = ids(root), index.file_of(root)
    whole = file.read_bytes()
    cut = [whole[: int(share * len(whole))] for share in (0, 0.01, 0.2, 0.5, 0.9, 0.999)]
    for content in (*cut, b"railyard-index/0\n", b"\xff\x00"):
        file.write_bytes(content)
        assert ids(root) == before and file.read_bytes() == whole


def test_a_cache_that_cannot_be_written_is_no_fault(root: Path, cache: Path) -> None:
    cache.write_text("a file where the folder should be")
    assert len(ids(root)) == 3


def test_many_records_are_read_by_several_processes_and_a_bad_one_is_one_line_there_too(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, path = ids(root), archive.paths(root)[0]
    text = path.read_text()
    path.write_text(text[:1000])
    with pytest.raises(InputError) as here:
        index.read(root)
    monkeypatch.setattr(index, "_FEW", 0)
    with pytest.raises(InputError) as there:
        index.read(root)
    assert str(there.value) == str(here.value) and "\n" not in str(here.value)
    path.write_text(text)
    index.file_of(root).unlink()
    assert ids(root) == before
