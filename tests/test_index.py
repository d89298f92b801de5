"""The index: the same as reading every record, kept up to date, never trusted from an archive."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from analysis import cases
from railyard.errors import InputError
from results import archive, index

sys.path.insert(0, str(Path(__file__).parent / "data" / "records"))
import evidence  # the generators are data of these tests, not packages
import synthetic


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for each in (evidence.good(), synthetic.hops(), synthetic.allreduce()):
        archive.add(each, tmp_path / "archive")
    return tmp_path / "archive"


def ids(root: Path) -> list[str]:
    return [entry.head["id"] for entry in index.entries(root)]


def test_an_entry_is_what_its_record_says(root: Path) -> None:
    by_id = {each.id: each for each in archive.load_all(root)}
    for _ in range(2):  # made, then read
        for entry in index.entries(root):
            wanted = index.of_record(by_id[entry.head["id"]])
            assert (entry.head, list(entry.values)) == (wanted.head, list(wanted.values))


def test_values_are_those_that_cases_compare(root: Path) -> None:
    (case,) = cases.group([evidence.good()])
    found = {
        (key[0], combination.placement, combination.nic_policy): [each.value for each in values]
        for key, of_key in cases.observations(case).items()
        for combination, values in of_key.items()
    }
    entry = index.of_record(evidence.good())
    assert {(each.fom, each.placement, each.nic_policy): list(each.values) for each in entry.values} == found


def test_records_that_come_and_go_are_noticed(root: Path) -> None:
    before = ids(root)
    path = archive.add(evidence.good(seed=9), root)
    assert len(ids(root)) == len(before) + 1
    path.unlink()
    assert ids(root) == before


def test_an_edited_record_is_read_again_and_refused(root: Path) -> None:
    ids(root)
    path = archive.paths(root)[0]
    path.write_text(path.read_text().replace("library-default", "library-fefault"))
    with pytest.raises(InputError):
        ids(root)


def test_only_new_records_are_read(root: Path) -> None:
    read: list[Path] = []

    def watch(files: object, count: int) -> list[Path]:
        read.extend(files)  # type: ignore[call-overload]
        return list(read)

    list(index.entries(root, progress=watch))
    assert len(read) == 3
    list(index.entries(root, progress=watch))
    assert len(read) == 3


@pytest.mark.parametrize("content", [b"", b"railyard-index/0\n", b"\xff\x00", b"cut"])
def test_a_broken_index_is_made_anew(root: Path, content: bytes) -> None:
    before = ids(root)
    file = index.file_of(root)
    file.write_bytes(file.read_bytes()[:300] if content == b"cut" else content)
    assert ids(root) == before


def test_an_archive_cannot_bring_an_index_and_gets_none(root: Path) -> None:
    ids(root)
    assert {path.suffix for path in root.rglob("*") if path.is_file()} == {".json"}


def test_a_cache_that_cannot_be_written_is_no_fault(root: Path, cache: Path) -> None:
    cache.write_text("a file where the folder should be")
    assert len(ids(root)) == 3


def test_many_records_are_read_by_several_processes(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = ids(root)
    index.file_of(root).unlink()
    monkeypatch.setattr(index, "_FEW", 0)
    assert ids(root) == before
