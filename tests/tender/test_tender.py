"""The tender of docs/tender.md played through: request, two honest bidders, a careless and a dishonest one, award."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from support import evidence
from support.commands import CHECKOUT
from support.records import played_tender
from support.records.played_tender import CHALLENGE, bid_of, jobs_of, key_of, packed, run

from railyard.base.errors import InputError
from railyard.records import launch_order
from railyard.records.cli import results
from railyard.records.store import archive, bag
from railyard.tender import request

pytestmark = pytest.mark.skipif(
    shutil.which("ssh-keygen") is None, reason="no ssh-keygen on the PATH: Debian's openssh-client has it"
)
PAGE = (CHECKOUT / "docs" / "tender.md").read_text()


@pytest.fixture(scope="module")
def fair(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The request and the four bags of `played_tender.play`."""
    folder = tmp_path_factory.mktemp("tender")
    played_tender.play(folder)
    return folder


def test_the_honest_bids_are_complete(fair: Path) -> None:
    for name in ("swift", "steady"):
        done = run("check", fair / name, "--request", fair / "tender.yml", "--allowed-signers", fair / "signers")
        assert done.exit_code == 0, done.output
        assert f"{name} Ltd: 4 records, signed by {name}@example.org with SHA256:" in done.output
        assert done.output.endswith("complete\n")


def test_what_the_careless_bid_lacks_is_named_rule_by_rule_and_the_evidence_refuses_the_dishonest_one(
    fair: Path,
) -> None:
    done = run("check", fair / "careless", "--request", fair / "tender.yml")
    assert done.exit_code == 1 and done.output.endswith("not complete\n")
    assert "case halo, default order: 3 results with iteration_us under plain + library-default; 6 are" in done.output
    assert "missing  cases:" in done.output and "ok       challenge:" in done.output
    done = run("check", fair / "sly", "--request", fair / "tender.yml")
    assert done.exit_code == 1 and "this launch has the same samples as launch" in done.output


def test_the_award_names_the_best_complete_bid_with_its_lead(fair: Path) -> None:
    bags = [fair / name for name in ("sly", "careless", "steady", "swift")]
    done = run("evaluate", *bags, "--request", fair / "tender.yml")
    assert done.exit_code == 0, done.output
    lines = done.output.splitlines()
    assert lines[2].startswith("swift Ltd is best: it has the best score, 1.")
    assert re.search(r"1\.1\d\d times that of steady Ltd \(95 %: 1\.\d+ to 1\.\d+\)\.", lines[2])
    (scattered,) = [line.split(" | ") for line in lines if line.startswith("| halo, scattered ranks")]
    (near,) = [line.split(" | ") for line in lines if line.startswith("| halo, default order")]
    assert float(near[3].split()[0]) > float(near[2].split()[0]), "steady is the faster but for its slow link"
    assert float(scattered[3].split()[0]) < 0.7 * float(scattered[2].split()[0])
    table = [line for line in lines if line.startswith("| ")]
    assert [row.split(" | ")[0] for row in table[1:5]] == ["| swift Ltd", "| steady Ltd", "| careless Ltd", "| sly Ltd"]
    assert "- with the weight of halo, scattered ranks left out, steady Ltd is best" in lines
    assert "## Why sly Ltd is not complete" in done.output


def test_the_page_shows_what_the_commands_print(fair: Path) -> None:
    """Every line of the page's block, up to its digits, which a version of numpy may change."""
    common = ["--request", fair / "tender.yml", "--allowed-signers", fair / "signers"]
    bags = [fair / name for name in ("swift", "steady", "careless", "sly")]
    without = re.sub(r"[0-9.]+", "0", run("evaluate", *bags, *common).output)
    played = PAGE[PAGE.index("## The evaluation") : PAGE.index("### Metrics")]
    shown = [line for block in re.findall(r"```text\n(.*?)```", played, re.DOTALL) for line in block.splitlines()]
    assert len(shown) >= 4 and [line for line in shown if re.sub(r"[0-9.]+", "0", line) not in without] == []


def test_the_evaluation_as_csv_and_json(fair: Path, tmp_path: Path) -> None:
    bags = [fair / name for name in ("swift", "steady", "careless")]
    common = ["--request", fair / "tender.yml", "--format"]
    rows = list(csv.DictReader(io.StringIO(run("evaluate", *bags, *common, "csv").output)))
    assert len(rows) == 3 * 3 and {row["complete"] for row in rows if row["bid"] == "careless Ltd"} == {"no"}
    score = float(next(row["ratio"] for row in rows if row["bid"] == "swift Ltd" and row["case"] == "score"))
    cases = [float(row["ratio"]) for row in rows if row["bid"] == "swift Ltd" and row["case"] != "score"]
    assert score == pytest.approx((cases[0] ** 2 * cases[1]) ** (1 / 3))
    assert run("evaluate", *bags, *common, "json", "-o", tmp_path / "e.json").exit_code == 0
    document = json.loads((tmp_path / "e.json").read_text())
    assert [each["complete"] for each in document["bids"]] == [True, True, False]
    assert document["bids"][0]["score"]["low"] < score < document["bids"][0]["score"]["high"]


def test_two_equal_bids_are_not_told_apart(fair: Path, tmp_path: Path) -> None:
    twin = packed(tmp_path, "twin", *jobs_of(1.3, "twin"), options=("--sign", key_of(tmp_path, "twin")))
    done = run("evaluate", fair / "swift", twin, "--request", fair / "tender.yml")
    assert "cannot be told apart from" in done.output, done.output


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda bag: next(bag.rglob("2026*.json")).write_text("{}"), "another sha256"),
        (lambda bag: (bag / "data" / "extra.json").write_text("{}"), "no manifest names"),
        (lambda bag: (bag / "data" / "bid.json").unlink(), "no plain file"),
        (lambda bag: (bag / "bag-info.txt").write_text("Source-Organization: other\n"), "another sha256"),
        (lambda bag: ((bag / "data/bid.json").unlink(), (bag / "data/bid.json").symlink_to("/etc/passwd")), "plain"),
        (lambda folder: (folder / bag.SIGNATURE).unlink(), "not signed"),
    ],
)
def test_a_bag_that_was_changed_is_refused(spoil: Any, words: str, fair: Path, tmp_path: Path) -> None:
    changed = tmp_path / "bag"
    shutil.copytree(fair / "swift", changed)
    spoil(changed)
    done = run("check", changed, "--request", fair / "tender.yml")
    assert done.exit_code == 1 and words in done.output, done.output


def test_a_signature_over_another_bag_is_refused(fair: Path, tmp_path: Path) -> None:
    changed = tmp_path / "bag"
    shutil.copytree(fair / "swift", changed)
    shutil.copy(fair / "steady" / bag.SIGNATURE, changed / bag.SIGNATURE)
    assert bag.signed(changed).problem
    done = CliRunner().invoke(results, ["check", str(changed)])
    assert done.exit_code == 1 and "signature refused: it does not fit the bag" in done.output


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("", "is not in"),
        ('swift@x valid-before="20200101" KEY', "key has expired"),
        ('swift@x namespaces="other" KEY', "not permitted for use in signature namespace"),
    ],
)
def test_a_key_that_the_buyers_list_does_not_accept_is_a_fault(
    line: str, words: str, fair: Path, tmp_path: Path
) -> None:
    """Anyone could bid in anyone's name, and the check said `complete`."""
    public = " ".join((fair / "key-swift.pub").read_text().split()[:2])
    (tmp_path / "signers").write_text(line.replace("KEY", public) + "\n")
    common = ("--request", fair / "tender.yml", "--allowed-signers", tmp_path / "signers")
    done = run("check", fair / "swift", *common)
    assert done.exit_code == 1 and "signature refused" in done.output and words in done.output, done.output
    both = run("evaluate", fair / "swift", fair / "steady", *common)
    assert both.exit_code == 1 and "Why swift Ltd is not complete" in both.output, "no bid is complete"


def test_without_a_list_the_verdict_says_that_nobody_knows_the_key(fair: Path) -> None:
    done = run("check", fair / "swift", "--request", fair / "tender.yml")
    assert done.exit_code == 0 and "without a list of allowed signers nobody knows whose key" in done.output
    strict = CliRunner().invoke(results, ["check", "--strict", str(fair / "swift")])
    assert strict.exit_code == 0 and ": signed with SHA256:" in strict.output


def test_a_bidder_has_the_key_that_the_tender_names_and_letters_of_one_script(fair: Path, tmp_path: Path) -> None:
    named = tmp_path / "tender.yml"
    named.write_text((fair / "tender.yml").read_text() + "bidders: {steady Ltd: swift@example.org}\n")
    common = ("--request", named, "--allowed-signers", fair / "signers")
    assert "swift Ltd is none of steady Ltd" in run("check", fair / "swift", *common).output
    assert "is signed by steady@example.org; expected swift@" in run("check", fair / "steady", *common).output
    files = sorted((fair / "swift" / "data" / "records").rglob("*.json"))
    run("pack", *files, "-o", tmp_path / "bag", "--bidder", "\u0455wift Ltd")
    done = run("check", tmp_path / "bag", "--request", fair / "tender.yml")
    assert "CYRILLIC SMALL LETTER DZE" in done.output


def test_a_signature_is_read_as_any_file_and_no_file_of_a_bag_is_run(
    fair: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sparse signature of 3 GiB ended the check of all bids; `ssh-keygen` in a bag was run for a PATH with `.`."""
    for name in ("large", "link", "pipe", "program"):
        shutil.copytree(fair / "swift", tmp_path / name)
    os.truncate(tmp_path / "large" / bag.SIGNATURE, 3 << 30)
    for name in ("link", "pipe"):
        (tmp_path / name / bag.SIGNATURE).unlink()
    (tmp_path / "link" / bag.SIGNATURE).symlink_to(fair / "swift" / bag.SIGNATURE)
    os.mkfifo(tmp_path / "pipe" / bag.SIGNATURE)
    for name, words in (("large", "3221225472 bytes"), ("link", "no plain file"), ("pipe", "no plain file")):
        assert words in bag.signed(tmp_path / name).problem
    program = tmp_path / "program" / "ssh-keygen"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    program.chmod(0o755)
    monkeypatch.chdir(tmp_path / "program")
    monkeypatch.setenv("PATH", f".:{tmp_path / 'program'}:{os.environ['PATH']}")
    assert bag.signed(Path()).key and not (tmp_path / "ran").exists()


def test_records_of_another_challenge_origin_or_session_are_refused(fair: Path, tmp_path: Path) -> None:
    wanted = request.load(fair / "tender.yml")
    other = evidence.good(origin="measured", challenge="another-word", speed=1.0)
    emulated = evidence.good(challenge=CHALLENGE)
    late = bid_of(1.0, "late", number=1, previous="0" * 64)
    optimised = packed(tmp_path, "b", other, emulated, late, options=("--tier", "optimised"))
    done = run("check", optimised, "--request", fair / "tender.yml")
    for words in (
        "case.challenge: another-word",
        "origin: emulated; accepted: measured",
        "of 3 systems",
        "a job was left out: the one before record",
        "optimised without an attachment",
        "signature: not signed",
    ):
        assert words in done.output, words
    assert wanted.cases[0].weight == 2


def test_the_first_jobs_of_one_session_count(fair: Path, tmp_path: Path) -> None:
    """Whoever runs until the figures are good hands over later jobs, or the best jobs of several sessions."""
    common: dict[str, Any] = {"origin": "measured", "challenge": CHALLENGE, "system": "swift"}
    slow, fast = evidence.jobs(4, **common), evidence.jobs(2, speed=9.0, first=10, session="c8a1", **common)
    lucky = evidence.good(
        seed=9, speed=9.0, number=4, previous=slow[-1].sha256, created=evidence.CREATED + timedelta(hours=1), **common
    )
    done = run("check", packed(tmp_path, "later", *slow, lucky), "--request", fair / "tender.yml")
    assert "case halo, default order: the first 4 of 5 jobs count" in done.output
    assert "ok       limits" in done.output and "24 results of 4 jobs" in done.output
    done = run("check", packed(tmp_path, "chosen", *slow[:2], *fast), "--request", fair / "tender.yml")
    assert done.exit_code == 1 and "jobs of 2 sessions; expected one" in done.output
    assert "2 jobs with" not in done.output, "the fault is named once"


def test_pack_chooses_the_records_that_answer_and_names_the_others(fair: Path, tmp_path: Path) -> None:
    common: dict[str, Any] = {"origin": "measured", "challenge": CHALLENGE, "system": "swift"}
    jobs = evidence.jobs(4, **common)
    later = evidence.jobs(4, first=20, session="c8a1", **common)
    unchallenged = evidence.good(origin="measured", system="swift", seed=30, session="d1")
    emulated = evidence.good(challenge=CHALLENGE, seed=31, session="d2")
    others = [
        (unchallenged, "its challenge is none; the tender's is"),
        (emulated, "its origin is emulated; the tender accepts measured"),
        (evidence.good(check="halo_2d", seed=32, session="d3", **common), "no case of the tender runs halo_2d"),
        (evidence.good(grid=[2, 8], seed=33, session="d9", **common), "grid is [2, 8]; the tender names [4, 4]"),
        (later[3], "the tender counts the jobs of an earlier session than c8a1"),
    ]
    for read in (*jobs, *later[:3], *(read for read, _ in others)):
        archive.add(read, tmp_path / "archive")
    request_option = ("--request", fair / "tender.yml")
    key = key_of(tmp_path, "own")
    done = run("pack", tmp_path / "archive", "-o", tmp_path / "bag", "--bidder", "b", "--sign", key, *request_option)
    assert done.exit_code == 0 and ": 4 records, signed with" in done.output, done.output
    for read, words in others:
        assert any(read.id in line and words in line for line in done.output.splitlines()), words
    assert run("check", tmp_path / "bag", *request_option).exit_code == 0
    other = archive.add(unchallenged, tmp_path / "none")
    none = run("pack", other, "-o", tmp_path / "x", "--bidder", "b", *request_option)
    assert isinstance(none.exception, InputError) and "expected a record that answers" in str(none.exception)
    assert not (tmp_path / "x").exists()


def test_the_challenge_decides_every_order() -> None:
    assert launch_order.seed_of("", "halo_3d", 7) == 7
    seeds = {launch_order.seed_of(word, check, 1) for word in ("a", "b") for check in ("halo_3d", "hops")}
    assert len(seeds) == 4 and all(0 <= seed < 1 << 31 for seed in seeds)
    with pytest.raises(InputError):
        launch_order.seed_of("two words", "halo_3d", 1)


@pytest.mark.parametrize(
    "text",
    [
        *("", "[]", "format: railyard-tender/2", "a: &a [1]\nb: *a", "[" * 2000),
        'format: railyard-tender/1\ntitle: "a\\u202eb"\nchallenge: 12345678\norigins: [measured]\ncases: []',
    ],
)
def test_a_file_that_is_no_tender_is_one_line(text: str, tmp_path: Path) -> None:
    path = tmp_path / "tender.yml"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        request.load(path)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 400
