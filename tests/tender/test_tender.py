"""The tender of docs/tender.md played through: request, two honest bidders, a careless and a dishonest one, award."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from support import evidence, forgeries
from support.commands import CHECKOUT

from railyard.base.errors import InputError
from railyard.records.cli import results
from railyard.records.record import Record
from railyard.records.store import archive, bag
from railyard.records.store import challenge as challenges
from railyard.tender import completeness, request
from railyard.tender.cli import tender

PAGE = (CHECKOUT / "docs" / "tender.md").read_text()
CHALLENGE = "7f3a-Sunday-rain"
#: One cable at a fraction of its rate: neighbours of the plain order do not share it, scattered ranks do.
SLOW_LINK = {"random": 1.6}


def run(*arguments: object) -> Result:
    return CliRunner().invoke(tender, [str(each) for each in arguments])


def bid_of(speed: float, system: str, **changes: Any) -> Record:
    return evidence.good(origin="measured", challenge=CHALLENGE, speed=speed, system=system, **changes)


def key_of(folder: Path, name: str) -> Path:
    if shutil.which("ssh-keygen") is None:
        pytest.skip("no ssh-keygen on the PATH: Debian's openssh-client has it")
    path = folder / f"key-{name}"
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(path)]
    subprocess.run(command, check=True, capture_output=True)
    return path


@pytest.fixture(scope="module")
def fair(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The request and four bags: swift and steady are honest, steady has a slow link; careless; sly copies a launch.

    Steady is the faster machine but for the one link, which the case of scattered ranks alone shows.
    """
    folder = tmp_path_factory.mktemp("tender")
    (example,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    (folder / "tender.yml").write_text(example)
    swift, steady = bid_of(1.30, "swift"), bid_of(1.34, "steady", slow=SLOW_LINK)
    careless = bid_of(1.6, "careless", launches=3)
    sly = forgeries.changed(bid_of(1.9, "sly"), copy_series)
    known = []
    for name, made in (("swift", swift), ("steady", steady), ("careless", careless), ("sly", sly)):
        file = archive.add(made, folder / "archives" / name)
        key = key_of(folder, name)
        known.append(f"{name}@example.org {key.with_suffix('.pub').read_text()}")
        done = run("pack", file, "-o", folder / name, "--bidder", f"{name} Ltd", "--sign", key)
        assert done.exit_code == 0 and "signed with SHA256:" in done.output, done.output
    (folder / "signers").write_text("".join(known))
    return folder


def copy_series(document: dict[str, Any]) -> None:
    """The fastest launch's figures for all."""
    best = min(document["launches"], key=lambda each: sum(each["series"][0]["samples"]))
    for launch in document["launches"]:
        launch["series"] = best["series"]


def test_the_honest_bids_are_complete(fair: Path) -> None:
    for name in ("swift", "steady"):
        done = run(
            "check", fair / name, "--request", fair / "tender.yml", "--allowed-signers", fair / "signers"
        )
        assert done.exit_code == 0, done.output
        assert f"{name} Ltd: 1 records, signed by {name}@example.org with SHA256:" in done.output
        assert done.output.endswith("complete\n")


def test_what_the_careless_bid_lacks_is_named_rule_by_rule(fair: Path) -> None:
    done = run("check", fair / "careless", "--request", fair / "tender.yml")
    assert done.exit_code == 1 and done.output.endswith("not complete\n")
    assert (
        "case halo, default order: 3 results with iteration_us under plain + library-default; 6 are"
        in done.output
    )
    assert "missing  cases:" in done.output and "ok       challenge:" in done.output


def test_the_dishonest_bid_is_refused_by_the_evidence(fair: Path) -> None:
    done = run("check", fair / "sly", "--request", fair / "tender.yml")
    assert done.exit_code == 1 and "this launch has the same samples as launch" in done.output


def test_the_award_names_the_best_complete_bid_with_its_lead(fair: Path) -> None:
    bags = [fair / name for name in ("sly", "careless", "steady", "swift")]
    done = run("evaluate", *bags, "--request", fair / "tender.yml")
    assert done.exit_code == 0, done.output
    lines = done.output.splitlines()
    assert lines[2].startswith("swift Ltd is best with a score of 1.2")
    assert re.search(r"1\.1\d\d to 1\.1\d\d times the score of steady Ltd \(95 %\)\.", lines[2])
    (scattered,) = [line.split(" | ") for line in lines if line.startswith("| halo, scattered ranks")]
    (near,) = [line.split(" | ") for line in lines if line.startswith("| halo, default order")]
    assert float(near[3].split()[0]) > float(near[2].split()[0]), "steady is the faster but for its slow link"
    assert float(scattered[3].split()[0]) < 0.7 * float(scattered[2].split()[0])
    table = [line for line in lines if line.startswith("| ")]
    assert [row.split(" | ")[0] for row in table[1:5]] == [
        "| swift Ltd",
        "| steady Ltd",
        "| careless Ltd",
        "| sly Ltd",
    ]
    assert "- with the weight of halo, scattered ranks left out, steady Ltd is best" in lines
    assert "## Why sly Ltd is not complete" in done.output


def test_the_page_shows_what_the_commands_print(fair: Path) -> None:
    """Every line of the page's blocks, up to its digits, which a version of numpy may change."""
    common = ["--request", fair / "tender.yml", "--allowed-signers", fair / "signers"]
    bags = [fair / name for name in ("swift", "steady", "careless", "sly")]
    printed = run("evaluate", *bags, *common).output
    printed += "".join(run("check", each, *common).output for each in bags)
    played = PAGE[PAGE.index("## Played through") : PAGE.index("## What nothing determines")]
    shown = [
        line for block in re.findall(r"```text\n(.*?)```", played, re.DOTALL) for line in block.splitlines()
    ]
    without = re.sub(r"[0-9.]+", "0", printed)
    assert len(shown) >= 7
    assert [line for line in shown if re.sub(r"[0-9.]+", "0", line) not in without] == []


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
    file = archive.add(bid_of(1.3, "twin", number=0), tmp_path / "a")
    run("pack", file, "-o", tmp_path / "twin", "--bidder", "twin", "--sign", key_of(tmp_path, "twin"))
    done = run("evaluate", fair / "swift", tmp_path / "twin", "--request", fair / "tender.yml")
    assert "the two cannot be told apart" in done.output, done.output


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda bag: next(bag.rglob("2026*.json")).write_text("{}"), "another sha256"),
        (lambda bag: (bag / "data" / "extra.json").write_text("{}"), "no manifest names"),
        (lambda bag: (bag / "data" / "bid.json").unlink(), "no plain file"),
        (lambda bag: (bag / "bag-info.txt").write_text("Source-Organization: other\n"), "another sha256"),
        (
            lambda bag: ((bag / "data/bid.json").unlink(), (bag / "data/bid.json").symlink_to("/etc/passwd")),
            "plain",
        ),
        (lambda bag: (bag / bag_signature()).unlink(), "not signed"),
    ],
)
def test_a_bag_that_was_changed_is_refused(spoil: Any, words: str, fair: Path, tmp_path: Path) -> None:
    changed = tmp_path / "bag"
    shutil.copytree(fair / "swift", changed)
    spoil(changed)
    done = run("check", changed, "--request", fair / "tender.yml")
    assert done.exit_code == 1 and words in done.output, done.output


def bag_signature() -> str:
    return bag.SIGNATURE


def test_a_signature_over_another_bag_is_refused(fair: Path, tmp_path: Path) -> None:
    changed = tmp_path / "bag"
    shutil.copytree(fair / "swift", changed)
    shutil.copy(fair / "steady" / bag.SIGNATURE, changed / bag.SIGNATURE)
    assert bag.signed(changed).problem
    done = CliRunner().invoke(results, ["check", str(changed)])
    assert done.exit_code == 1 and "signature refused: it does not fit the bag" in done.output
    assert bag.signed(fair / "swift", fair / "tender.yml").by == "", (
        "a key that the reader does not know has no name"
    )


def test_results_check_says_who_signed(fair: Path) -> None:
    done = CliRunner().invoke(results, ["check", "--strict", str(fair / "swift")])
    assert done.exit_code == 0 and ": signed with SHA256:" in done.output


def test_records_of_another_challenge_origin_or_session_are_refused(fair: Path, tmp_path: Path) -> None:
    wanted = request.load(fair / "tender.yml")
    other = evidence.good(origin="measured", challenge="another-word", speed=1.0)
    emulated = evidence.good(challenge=CHALLENGE)
    late = bid_of(1.0, "late", number=1, previous="0" * 64)
    optimised = tmp_path / "bag"
    files = [archive.add(each, tmp_path / "a") for each in (other, emulated, late)]
    bag.write(optimised, files, bag.Bid(bidder="b", tier="optimised"))
    done = run("check", optimised, "--request", fair / "tender.yml")
    for words in (
        "case.challenge: another-word",
        "origin: emulated; accepted: measured",
        "of 3 systems",
        "is missing",
        "optimised without an attachment",
        "signature: not signed",
    ):
        assert words in done.output, words
    assert wanted.cases[0].weight == 2


def test_the_challenge_decides_every_order() -> None:
    assert challenges.seed_of("", "halo_3d", 7) == 7
    seeds = {challenges.seed_of(word, check, 1) for word in ("a", "b") for check in ("halo_3d", "hops")}
    assert len(seeds) == 4 and all(0 <= seed < 1 << 31 for seed in seeds)
    with pytest.raises(InputError):
        challenges.seed_of("two words", "halo_3d", 1)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "format: railyard-tender/2",
        "a: &a [1]\nb: *a",
        "[" * 2000,
        'format: railyard-tender/1\ntitle: "a\\u202eb"\nchallenge: 12345678\norigins: [measured]\ncases: []',
    ],
)
def test_a_file_that_is_no_tender_is_one_line(text: str, tmp_path: Path) -> None:
    path = tmp_path / "tender.yml"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        request.load(path)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 400


def test_the_page_has_a_line_for_every_rule() -> None:
    for rule in completeness.RULES:
        assert f"| `{rule.__name__.replace('_', '-')}` | {(rule.__doc__ or '').strip()} |" in PAGE
