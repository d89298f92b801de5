"""The strict check and bundles: what a bidder hands over is complete and unchanged, and can do no harm."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import random
import tarfile
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from support import evidence, synthetic
from support.records.rows import of_rows, with_rows

from railyard.base.errors import InputError, RunError
from railyard.records import json_io, record, rules, studies
from railyard.records.cli import results
from railyard.records.record import Record
from railyard.records.store import archive, bundle
from railyard.records.validate import Checked, check_paths

GOOD = evidence.good()
SIGNED = "A Bidder <bidder@example.org>"


def strictly(path: Path) -> list[Checked]:
    return list(check_paths([path], True, lambda files, _: files))


def changed(change: Callable[[dict[str, Any]], object], of: Record = GOOD) -> Record:
    """A record with something changed, and the id that fits."""
    document = with_rows(of)
    change(document)
    return of_rows(document)


def faults(change: Callable[[dict[str, Any]], object]) -> list[str]:
    return [f"{each.field}: {each.text}" for each in rules.faults(changed(change))]


# ---- strict ----


def test_a_record_with_all_its_evidence_passes() -> None:
    assert rules.faults(GOOD, record.text(GOOD).encode()) == []


def drop_nics(launch: dict[str, Any], node: str) -> None:
    launch["nics"] = [each for each in launch["nics"] if each["node"] != node]


def rename_unit(document: dict[str, Any]) -> None:
    """The same figure of merit in another unit, in one launch."""
    document["launches"][3]["series"][0]["fom"] = "iteration_s"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda d: d["launches"][0].update(guard=None), "launches[0].guard: no guard"),
        (lambda d: d["launches"][0]["guard"].update(verdict="cannot-tell"), "could not tell"),
        (lambda d: d["launches"][0]["guard"].update(verdict="void", reasons=["busy"]), "void: busy"),
        (lambda d: d["launches"][0].update(nics=None), "launches[0].nics: no evidence"),
        (lambda d: d["launches"][0].update(nics=[]), "launches[0].nics: no evidence"),
        (lambda d: drop_nics(d["launches"][0], "n1-0"), "no NIC of n1-0"),
        (lambda d: [each.update(tx_bytes=0) for each in d["launches"][0]["nics"]], "no NIC sent a byte"),
        (
            lambda d: [each.update(nic_verdict="cannot-tell") for each in d["launches"]],
            "local-nic is not proved",
        ),
        (lambda d: d["launches"][0].update(placement_verdict="cannot-tell"), "placement is not proved"),
        (lambda d: d["launches"][0].update(ranks=[]), "no evidence of where the ranks stood"),
        (lambda d: d["launches"][0]["ranks"][0].update(cpu=None, allowed_cpus=None), "ranks' CPUs"),
        (lambda d: d["launches"][0].update(verified=None), "did not verify"),
        (lambda d: d["launches"][0]["series"][0].update(samples=[1.0]), "1 samples; at least 3"),
        (lambda d: d["launches"][0]["series"].pop(), "not the figures of the first launch"),
        (rename_unit, "iteration_s beside iteration_us: mixed units"),
        (lambda d: d["provenance"]["railyard"].update(git_commit=None), "the commit is not known"),
        (lambda d: d["provenance"]["railyard"].update(git_dirty=True), "git_dirty"),
        (lambda d: d["provenance"].update(reframe=None), "provenance.reframe: missing"),
        (lambda d: d["provenance"].update(mpi=None), "provenance.mpi: missing"),
        (lambda d: d["provenance"]["machine"].update(kernel=""), "provenance.machine.kernel"),
        (lambda d: d["case"].update(topology=None), "case.topology"),
    ],
)
def test_missing_evidence_and_mixed_units_are_named(change: Any, words: str) -> None:
    found = faults(change)
    assert any(words in each for each in found), found


def test_a_time_and_a_rate_of_one_name_are_no_mixed_units() -> None:
    """miniFE prints the seconds and the Mflop/s of its solver."""

    def add_rate(document: dict[str, Any]) -> None:
        for launch in document["launches"]:
            launch["series"].append({**launch["series"][0], "fom": "iteration_mflop_s"})

    assert not any("mixed units" in fault for fault in faults(add_rate))


def test_too_few_launches_are_named_with_the_number_that_the_study_needs() -> None:
    few = [each.text for each in rules.faults(evidence.good(launches=5))]
    assert few == [
        f"5 results of {placement} + {policy}; at least 6 are needed"
        for placement in evidence.PLACEMENTS
        for policy in evidence.POLICIES
    ]


def test_a_failed_launch_is_named() -> None:
    found = [each.text for each in rules.faults(evidence.good(change=evidence.failing(2)))]
    assert any("exit status 1" in each for each in found)


@pytest.mark.parametrize("name", sorted(studies.all_studies()))
def test_studies_have_published_numbers_with_units(name: str) -> None:
    study = studies.all_studies()[name]
    assert study.launches >= 6 and study.published and study.citation
    assert all(each.unit and each.figure and each.benchmark for each in study.published)


def test_the_five_studies_are_there() -> None:
    papers = {"pena2013", "pedretti2013", "ezell2013", "llnl-multirail"}
    assert set(studies.all_studies()) == papers | {"dragonfly-placement"}


# ---- bundles ----


@pytest.fixture
def packed(tmp_path: Path) -> Path:
    files = [archive.add(evidence.good(seed=seed), tmp_path / "archive") for seed in (1, 2)]
    bundle.pack(files, tmp_path / "b.tar.gz", signed_off_by=SIGNED, note="for the test")
    return tmp_path / "b.tar.gz"


def refusal(path: Path) -> str:
    """The first fault that refuses a bundle, in one line."""
    found = [fault for each in strictly(path) for fault in each.faults]
    assert found, "the bundle was not refused"
    assert "\n" not in found[0].text
    return found[0].text


def test_a_bundle_holds_what_was_packed(packed: Path, tmp_path: Path) -> None:
    assert [each.faults for each in strictly(packed)] == [[], []]
    manifest = bundle.manifest_of(packed)
    assert (manifest.signed_off_by, manifest.note, len(manifest.files)) == (SIGNED, "for the test", 2)
    assert bundle.unpack(packed, tmp_path / "there") == 2
    assert {each.id for each in archive.load_all(tmp_path / "there")} == {
        each.id for each in archive.load_all(tmp_path / "archive")
    }


def test_a_bundle_is_the_same_for_the_same_records_and_any_tar_reads_it(packed: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.tar.gz"
    digest = bundle.pack(
        archive.paths(tmp_path / "archive")[::-1], again, signed_off_by=SIGNED, note="for the test"
    )
    assert again.read_bytes() == packed.read_bytes()
    assert digest == hashlib.sha256(packed.read_bytes()).hexdigest()
    with tarfile.open(packed) as tar:
        assert tar.getnames()[0] == "manifest.json" and len(tar.getnames()) == 3


def repacked(packed: Path, change: Callable[[list[tuple[tarfile.TarInfo, bytes]]], object]) -> Path:
    """The bundle with its members changed by hand, sums as they were."""
    with tarfile.open(packed) as tar:
        members = [(each, (tar.extractfile(each) or io.BytesIO()).read()) for each in tar.getmembers()]
    change(members)
    path = packed.with_name("changed.tar.gz")
    with tarfile.open(path, "w:gz", format=tarfile.USTAR_FORMAT) as tar:
        for entry, content in members:
            entry.size = len(content) if entry.isreg() else 0
            tar.addfile(entry, io.BytesIO(content))
    return path


def with_sums(members: list[tuple[tarfile.TarInfo, bytes]]) -> None:
    """Makes the manifest fit whatever the members are: an attacker can do that, too."""
    document = json.loads(members[0][1])
    document["files"] = [
        {"path": entry.name, "sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
        for entry, content in members[1:]
    ]
    members[0] = (members[0][0], json_io.text(document).encode())


#: `python -m perf forgeries` makes 100,000.
MUTATIONS = 120


def test_any_changed_byte_of_a_record_is_refused(packed: Path) -> None:
    """With the manifest as it was, and with a manifest that was made to fit."""
    chance = random.Random(11)
    with tarfile.open(packed) as tar:
        members = [(each, (tar.extractfile(each) or io.BytesIO()).read()) for each in tar.getmembers()]
    content = members[1][1]
    for _ in range(MUTATIONS):
        place = chance.randrange(len(content))
        byte = chance.choice([value for value in range(256) if value != content[place]])
        mutant = content[:place] + bytes([byte]) + content[place + 1 :]
        member = bundle.Member(path=members[1][0].name, content=mutant)
        try:
            read = bundle.parse(packed, member)
        except InputError as error:
            assert "\n" not in str(error)
        else:
            assert rules.faults(read, mutant), f"byte {place} became {byte} and nobody saw it"
    for place in chance.sample(range(len(content)), 20):
        mutant = content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]

        def replaced(members: Any, mutant: bytes = mutant) -> None:
            members[1] = (members[1][0], mutant)

        path = repacked(packed, replaced)
        assert "sha256" in refusal(path)


def test_any_changed_or_missing_byte_of_a_bundle_is_refused(packed: Path) -> None:
    """Compressed bytes: a wrong sum, a wrong header, a wrong end, or not a byte of the content is different."""
    content, chance = packed.read_bytes(), random.Random(12)
    path = packed.with_name("bent.tar.gz")
    names = {each.path: each.content for each in bundle.members(packed)}
    for place in chance.sample(range(len(content)), 150):
        path.write_bytes(
            content[:place] + bytes([content[place] ^ 1 << chance.randrange(8)]) + content[place + 1 :]
        )
        try:
            assert {
                each.path: each.content for each in bundle.members(path)
            } == names  # a time stamp, an unused flag
        except InputError as error:
            assert "\n" not in str(error)
    for place in chance.sample(range(len(content) - 9), 60):
        path.write_bytes(content[:place])
        with pytest.raises(InputError):
            list(bundle.members(path))


def rename(name: str) -> Callable[[list[tuple[tarfile.TarInfo, bytes]]], None]:
    def change(members: list[tuple[tarfile.TarInfo, bytes]]) -> None:
        members[1][0].name = name
        with_sums(members)

    return change


def retype(kind: bytes, target: str) -> Callable[[list[tuple[tarfile.TarInfo, bytes]]], None]:
    def change(members: list[tuple[tarfile.TarInfo, bytes]]) -> None:
        members[1][0].type, members[1][0].linkname = kind, target

    return change


def twice(members: list[tuple[tarfile.TarInfo, bytes]]) -> None:
    members.insert(1, members[1])
    with_sums(members)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (rename("../../escape.json"), "records/<system>"),
        (rename("/etc/escape.json"), "records/<system>"),
        (rename("records/../../2026-11-21-000000000000.json"), "records/<system>"),
        (rename("records/schema/2026-11-21-000000000000.json"), "records/<system>"),
        (rename("records/vtorus/2026-11-21-000000000000.json"), "path"),
        (retype(tarfile.SYMTYPE, "/etc/passwd"), "plain file"),
        (retype(tarfile.LNKTYPE, "manifest.json"), "plain file"),
        (retype(tarfile.DIRTYPE, ""), "plain file"),
        (retype(tarfile.FIFOTYPE, ""), "plain file"),
        (retype(tarfile.CHRTYPE, ""), "plain file"),
        (lambda members: members.pop(), "end of file header"),
        (lambda members: members.append(members[1]), "after the last record"),
        (twice, "each path once"),
        (lambda members: members.reverse(), "manifest.json"),
        (lambda members: members.__setitem__(0, (members[0][0], b"{}")), "required"),
        (lambda members: members.__setitem__(0, (members[0][0], b"\xff")), "ASCII"),
    ],
)
def test_a_hostile_bundle_is_refused_and_nothing_is_written(
    change: Any, words: str, packed: Path, tmp_path: Path
) -> None:
    path = repacked(packed, change)
    there = tmp_path / "deep" / "there"
    with pytest.raises(InputError) as caught:
        bundle.unpack(path, there)
    assert any(word in str(caught.value) for word in words.split("|")), str(caught.value)
    assert "\n" not in str(caught.value)
    assert not there.exists()
    refusal(path)


def test_a_bomb_is_refused_before_it_is_unpacked(packed: Path, tmp_path: Path) -> None:
    """A header that promises more than a record may have; the bytes behind it are never read."""
    entry = tarfile.TarInfo("manifest.json")
    entry.size = bundle.MOST_MANIFEST_BYTES + 1
    path = tmp_path / "bomb.tar.gz"
    path.write_bytes(gzip.compress(entry.tobuf(tarfile.USTAR_FORMAT) + bytes(1 << 20)))
    with pytest.raises(InputError, match="at most"):
        bundle.manifest_of(path)


def test_a_name_longer_than_a_header_holds_is_no_way_out(packed: Path, tmp_path: Path) -> None:
    """Long names come as extensions (GNU, PAX), which are no plain files."""
    path = tmp_path / "long.tar.gz"
    for form in (tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        with tarfile.open(path, "w:gz", format=form) as tar:
            tar.addfile(tarfile.TarInfo("a/" * 200))
        assert "plain file" in refusal(path)


def test_what_cannot_be_packed_leaves_no_bundle(tmp_path: Path) -> None:
    path = archive.add(GOOD, tmp_path / "archive")
    with pytest.raises(RunError):
        bundle.pack([path], tmp_path / "none" / "b.tar.gz", signed_off_by=SIGNED)
    with pytest.raises(InputError, match="signed_off_by"):
        bundle.pack([path], tmp_path / "b.tar.gz", signed_off_by="two\nlines")
    assert not (tmp_path / "b.tar.gz").exists()


# ---- the commands ----


def run(*arguments: object) -> Any:
    return CliRunner().invoke(results, [str(each) for each in arguments])


def test_commands_from_adding_to_unpacking(tmp_path: Path) -> None:
    file = tmp_path / "r.json"
    file.write_text(record.text(GOOD))
    assert run("add", file, "--archive", tmp_path / "a").exit_code == 0
    assert GOOD.id in run("list", "--archive", tmp_path / "a").output
    assert json.loads(run("list", "--archive", tmp_path / "a", "--json").output)[0]["id"] == GOOD.id
    shown = run("show", GOOD.id[:5], "--archive", tmp_path / "a")
    assert "iteration: median" in shown.output
    assert json.loads(run("show", GOOD.id, "--archive", tmp_path / "a", "--json").output)["id"] == GOOD.id
    done = run("pack", tmp_path / "a", "-o", tmp_path / "b.tar.gz", "--signed-off-by", SIGNED)
    assert done.exit_code == 0 and "sha256" in done.output
    checked = run("check", "--strict", "--json", tmp_path / "b.tar.gz")
    assert checked.exit_code == 0 and json.loads(checked.output)["ok"] is True
    assert SIGNED in run("unpack", tmp_path / "b.tar.gz", "--archive", tmp_path / "c").output
    assert len(archive.paths(tmp_path / "c")) == 1


def test_list_chooses_by_system_check_and_date(tmp_path: Path) -> None:
    archive.add(GOOD, tmp_path)

    def count(*options: str) -> int:
        return len(run("list", "--archive", tmp_path, *options).output.splitlines()) - 1

    assert count() == count("--system", "vtorus") == count("--check", "halo_3d") == 1
    day, before = (f"{evidence.CREATED - timedelta(days=ago):%Y-%m-%d}" for ago in (0, 1))
    assert count("--since", day, "--until", day) == 1
    for nothing in (["--system", "x"], ["--check", "x"], ["--since", "2099-01-01"], ["--until", before]):
        assert isinstance(run("list", "--archive", tmp_path, *nothing).exception, InputError)
    for option in ("--since", "--until"):
        error = run("list", "--archive", tmp_path, option, "yesterday").exception
        assert isinstance(error, InputError) and "yesterday" in str(error)


def test_check_goes_on_after_a_bad_record_and_ends_with_1(tmp_path: Path) -> None:
    path = archive.add(GOOD, tmp_path)
    other = archive.add(evidence.good(seed=2), tmp_path)
    path.write_bytes(path.read_bytes()[:500])
    done = run("check", tmp_path)
    assert done.exit_code == 1
    assert "2 records checked, 1 refused" in done.output and str(other) not in done.output
    assert run("check", tmp_path / "none").exit_code != 0
    assert run("check", "--strict", synthetic_file(tmp_path)).exit_code == 1


def synthetic_file(tmp_path: Path) -> Path:
    """A valid record without evidence."""
    path = tmp_path / "plain.json"
    path.write_text(record.text(synthetic.halo(launches=2)))
    assert [each.faults for each in check_paths([path], False, lambda files, _: files)] == [[]]
    return path
