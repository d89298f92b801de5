"""Bids that need no forged number: honest runs of something easier. Each is refused by a line that names the trick."""

from __future__ import annotations

import dataclasses
import hashlib
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from support import evidence, forgeries, synthetic
from support.forgeries import Change, Document, in_commands, put, then
from support.records.played_tender import CHALLENGE, PAGE, packed, run

from railyard.records.record import Record
from railyard.tender import agreement, judged


def good(**changes: Any) -> Record:
    return evidence.good(origin="measured", challenge=CHALLENGE, system="swift", **changes)


@pytest.fixture
def asked(tmp_path: Path) -> Path:
    """The tender file of docs/tender.md, without a signature."""
    (text,) = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    path = tmp_path / "tender.yml"
    path.write_text(re.sub(r"(?m)^ *(signed|jobs): .*\n", "", text))
    return path


def digest(bag: Path) -> str:
    return hashlib.sha256((bag / "tagmanifest-sha256.txt").read_bytes()).hexdigest()


def checked(bag: Path, request: Path) -> str:
    done = run("check", bag, "--request", request)
    return "complete" if done.exit_code == 0 else done.output


def scaled(factor: float) -> Change:
    """As if every iteration took `factor` of the time."""

    def change(document: Document) -> None:
        for launch in document["launches"]:
            for series in launch["series"]:
                by = 1 / factor if series["fom"] == "bandwidth_gbyte_s" else factor
                series["samples"] = [sample * by for sample in series["samples"]]

    return change


def on_one_node(document: Document) -> None:
    """What `-S ranks_per_node=16` gives: all ranks in the shared memory of the first of 16 nodes."""
    document["case"]["ranks_per_node"] = 16
    for launch in document["launches"]:
        for rank in launch["ranks"]:
            rank["host"] = document["case"]["allocation"]["nodes"][0]["name"]
        launch["spans"] = {"switches": 1, "groups": None, "group_nodes": None}
    scaled(0.1)(document)


def given(option: str, **parameters: Any) -> Change:
    """What an option of the check gives, which is a parameter of the case and a word of every command."""
    return then(put("case.parameters", **parameters), forgeries.more_options(option), scaled(0.05))


def times_alone(document: Document) -> None:
    for launch in document["launches"]:
        launch["series"] = [each for each in launch["series"] if each["fom"] == "iteration_us"]


#: What `-S variants=copy` gives: iterations that send no message.
only_copy = then(
    put("case.parameters", variants=["copy"]),
    in_commands(" --repeats", " --variants copy --repeats"),
    times_alone,
    scaled(0.05),
)
TRICKS: dict[str, tuple[str, Change]] = {
    "one-node": ("ranks ran on 1 of 16 nodes; the tender names 16", on_one_node),
    "copy": ("variants is ['copy'], which the tender does not name; the default is ['manual']", only_copy),
    "grid-number": ("grid is 16; the tender names [4, 4]", put("case.parameters", grid=16)),
    "small-cells": (
        "cells is [16, 16]; the tender names [2048, 2048]",
        then(put("case.parameters", cells=[16, 16]), in_commands("2048x2048", "16x16"), scaled(0.2)),
    ),
    "second-cells": ("'--cells 16x16' again", given("--cells 16x16")),
    "folded": (
        "face_memory_bytes is 1, which the tender does not name",
        given("--face-memory 1B", face_memory_bytes=1),
    ),
    "diagonals": ("stencil is full, which the tender does not name", given("--stencil full", stencil="full")),
}


def test_a_network_that_is_no_name_ends_no_evaluation(asked: Path, tmp_path: Path) -> None:
    torus = {"name": "t", "engine": "netns", "rate_scale": 1, "latency_scaled": False, "network": ["router"]}
    forged = forgeries.changed(good(), put("provenance", torus=torus))
    bags = packed(tmp_path, "forger", forged), packed(tmp_path, "honest", good())
    done = run("evaluate", *bags, "--request", asked)
    assert done.exit_code == 0 and "Why forger is not complete" in done.output, done.output


def test_an_honest_bid_is_complete_and_shows_on_what_it_ran(asked: Path, tmp_path: Path) -> None:
    bag = packed(tmp_path, "honest", good())
    assert checked(bag, asked) == "complete"
    shown = run("check", bag, "--request", asked).output
    assert "on 16 of 16 nodes; not named by the tender: ranks_per_node 1" in shown and "repeats 20" in shown


@pytest.mark.parametrize("name", TRICKS)
def test_an_easier_run_is_refused_by_a_line_that_names_it(name: str, asked: Path, tmp_path: Path) -> None:
    words, change = TRICKS[name]
    assert words in checked(packed(tmp_path, name, forgeries.changed(good(), change)), asked)


def test_records_of_an_easier_run_are_not_pooled_with_honest_ones(asked: Path, tmp_path: Path) -> None:
    first = good()
    second = good(seed=2, created=synthetic.CREATED + timedelta(hours=3), number=1, previous=first.sha256)
    mixed = packed(tmp_path, "mixed", first, forgeries.changed(second, only_copy))
    assert "variants is ['copy']" in checked(mixed, asked)

    def fewer(document: Document) -> None:
        then(put("case.parameters", repeats=10), in_commands("--repeats 20", "--repeats 10"))(document)
        for launch in document["launches"]:
            for series in launch["series"]:
                series["samples"] = series["samples"][:10]

    other = packed(tmp_path, "other", first, forgeries.changed(second, fewer))
    assert re.search("are not one case: repeats (20 and 10|10 and 20)", checked(other, asked))


def test_of_two_bids_with_the_same_launches_the_one_received_first_stays(asked: Path, tmp_path: Path) -> None:
    """Whoever got the bag of another bid could make both incomplete."""
    honest = good()
    renamed = then(put("system", name="other"), put("run", job="f" * 32))
    bags = packed(tmp_path, "a", honest), packed(tmp_path, "b", forgeries.changed(honest, renamed))
    done = run("evaluate", *bags, "--request", asked)
    assert "cannot be the best until it is decided who copied" in done.output, done.output
    assert "is not complete" not in done.output and "is in the bid of b" in done.output
    asked.write_text(f"{asked.read_text()}received: [{digest(bags[0])}]\n")
    done = run("evaluate", *bags, "--request", asked)
    assert "no other bid is complete" in done.output and "Why b is not complete" in done.output
    assert "is in the bid of a, launches\\[0\\] of record" in done.output, done.output


def test_the_best_of_several_sessions_gives_no_award(asked: Path, tmp_path: Path) -> None:
    lucky = packed(tmp_path, "lucky", good(speed=1.08))
    plain = packed(tmp_path, "plain", evidence.good(origin="measured", challenge=CHALLENGE, system="plain", seed=9))
    done = run("evaluate", lucky, plain, "--request", asked)
    assert "nobody can tell whether its machine is better: 1 job of a case in a bid" in done.output
    assert "With fewer than 4 jobs nobody knows how much the best of them gains" in done.output
    assert "determine iteration\\_us; that all of them were scaled together is not seen" in done.output


@pytest.mark.parametrize("line", ["./fast; : ", "LD_PRELOAD='/tmp/f.so "], ids=["another program", "a library"])
def test_words_that_look_like_allowed_launcher_options_allow_nothing(line: str, asked: Path, tmp_path: Path) -> None:
    """A fault whose text ended in the words of an allowed option was taken for that option."""
    asked.write_text(asked.read_text() + "launcher_options: [--exclusive]\n")
    end = "launcher options of its own: --exclusive"

    def change(document: Document) -> None:
        quote = "'" if "'" in line else ""
        for launch in document["launches"]:
            rest = f"{quote} {launch['command']}" if quote else ""
            launch["command"] = f"{line}{end}{rest}"

    assert end in checked(packed(tmp_path, "sly", forgeries.changed(good(), change)), asked)


@pytest.mark.parametrize(("named", "is_complete"), [("FASTRUN", True), ("fastrun", False), ("", False)])
def test_a_program_in_the_launchers_place_counts_if_the_tender_names_it(
    named: str, is_complete: bool, asked: Path, tmp_path: Path
) -> None:
    """Any program passed for a site's own launcher."""
    asked.write_text(f"{asked.read_text()}launchers: [{named}]\nlauncher_options: [FASTRUN]\n")
    wrapped = packed(tmp_path, "wrapped", forgeries.changed(good(), forgeries.start_by("FASTRUN")))
    answer = checked(wrapped, asked)
    assert (answer == "complete") is is_complete
    assert is_complete or "reframe.wrapper: FASTRUN, a launcher of its own; expected none, or one" in answer


def test_the_programs_own_cells_are_not_those_of_a_tender_that_names_the_default(asked: Path, tmp_path: Path) -> None:
    """Without the option a program runs its own small default, which no parameter of the record named."""
    asked.write_text(re.sub(r", cells: \S+ \S+}", "}", asked.read_text()))
    change = then(lambda document: document["case"]["parameters"].pop("cells"), in_commands(" --cells 2048x2048", ""))
    assert "missing; halo needs it" in checked(packed(tmp_path, "sly", forgeries.changed(good(), change)), asked)


def later(minutes: int, first: Record) -> Record:
    created = evidence.CREATED + timedelta(minutes=minutes)
    return good(seed=2, created=created, number=1, previous=first.sha256)


def test_two_jobs_at_one_time_on_one_set_of_nodes_and_two_clocks_of_one_boot(asked: Path, tmp_path: Path) -> None:
    first = good()
    assert checked(packed(tmp_path, "honest", first, later(10, first)), asked) == "complete"
    twins = packed(tmp_path, "twins", first, later(0, first))
    assert "of the same nodes ended" in checked(twins, asked)

    def earlier(document: Document) -> None:
        for launch in document["launches"]:
            launch["begun_monotonic_s"] -= 600
            launch["ended_monotonic_s"] -= 600

    dated = packed(tmp_path, "dated", first, forgeries.changed(later(10, first), earlier))
    assert "600 s against record" in checked(dated, asked)


def test_a_name_that_looks_like_that_of_another_bid_is_refused(asked: Path, tmp_path: Path) -> None:
    bags = (packed(tmp_path, "ACME Ltd", good()), packed(tmp_path, "\u0410\u0421\u041c\u0415 Ltd", good(seed=9)))
    done = run("evaluate", *bags, "--request", asked)
    assert "cannot be the best" in done.output and "looks like ACME Ltd" in done.output, done.output
    asked.write_text(f"{asked.read_text()}received: [{digest(bags[0])}]\n")
    assert "ACME Ltd has the best score" in run("evaluate", *bags, "--request", asked).output


def of_one_case(folder: Path, origin: str, grid: str, nodes: int) -> Path:
    path = folder / "tender.yml"
    path.write_text(
        f"format: railyard-tender/1\ntitle: t\nchallenge: {CHALLENGE}\norigins: [{origin}]\ncases:\n  - {{name: a, "
        f"check: halo_3d, parameters: {{grid: {grid}, cells: [2048, 2048]}}, nodes: {nodes}, placement: plain, "
        "fom: iteration_us, reference: 9200}\n"
    )
    return path


def test_another_block_of_the_torus_is_a_parameter_that_the_tender_names(tmp_path: Path) -> None:
    """Eight nodes in a cube are not eight nodes in a row."""
    path = of_one_case(tmp_path, "measured", "[2, 2]", 4)
    bag = packed(tmp_path, "box", good(topology="gemini-2x2x2", grid=[2, 2], block=[2, 2, 1], placements=["plain"]))
    assert "block is [2, 2, 1], which the tender does not name" in checked(bag, path)
    path.write_text(path.read_text().replace("2048]}", "2048], block: [2, 2, 1]}"))
    assert checked(bag, path) == "complete"


def test_the_tender_names_the_rates_of_a_network_and_no_majority_does(tmp_path: Path) -> None:
    """Two bids of one network made a third one incomplete, whatever the tender meant."""
    path = of_one_case(tmp_path, "emulated", "[4, 4]", 16)
    one, two, three = (
        evidence.good(challenge=CHALLENGE, seed=seed, nic_policies=["library-default"]) for seed in (1, 2, 3)
    )
    faster = put("provenance.torus", rate_scale=0.5)
    records = {"a": one, "b": forgeries.changed(two, faster), "c": forgeries.changed(three, faster)}
    bags = [packed(tmp_path, name, read) for name, read in records.items()]
    assert "do not name all of topology" in checked(bags[0], path)
    rates = "topology: dual-rail-small, rate_scale: 0.001, latency_scaled: false"
    path.write_text(path.read_text().replace("2048]}", f"2048], {rates}}}"))
    done = run("evaluate", *bags, "--request", path)
    assert done.output.count("is not complete") == 2 and "a has the best score" in done.output, done.output
    assert "rate\\_scale is 0.5; the tender names 0.001" in done.output


def set_machine(**values: object) -> Change:
    return put("provenance.machine", **values)


def set_files(**digests: str) -> Change:
    return then(*(put(f"run.{when}.files", **digests) for when in ("written", "ended")))


DIFFERENT: dict[str, tuple[str, Change]] = {
    "cpu": ("Another CPU", set_machine(cpu="Another CPU")),
    "memory": ("memory 32000000000", set_machine(memory_bytes=32_000_000_000)),
    "kernel": ("Linux 6.9", set_machine(kernel="Linux 6.9")),
    "files": ("halo: sha256 d0d0d0d0d0d0; record", set_files(halo="d0" * 32)),
    "nics": ("nics mlx5_0; record", put("case", devices=["mlx5_0"])),
    "script": ("fast.sh: among the files of 1 of the 2 jobs", set_files(**{"fast.sh": "d0" * 32})),
    "extra": ("libfast.so: among the files of 1 of the 2 jobs", set_files(**{"libfast.so": "d0" * 32})),
    "clock": ("changes the program's clock", set_files(**{"libfaketime.so.1": "d0" * 32})),
    "node_names": ("gpu#", set_machine(hostname="gpu17")),
    "mpi": ("mpi MPICH", put("provenance.mpi", library="MPICH 4.2")),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_what_jobs_of_one_bid_do_not_share_is_named_and_the_tender_may_allow_it(
    name: str, asked: Path, tmp_path: Path
) -> None:
    words, change = DIFFERENT[name]
    first = good()
    bag = packed(tmp_path, "union", first, forgeries.changed(later(10, first), change))
    missing = checked(bag, asked)
    assert words in missing and "missing  one-machine" in missing, missing
    allowed = "files" if name in {"extra", "script", "clock"} else name
    asked.write_text(f"{asked.read_text()}may_differ: [{allowed}]\n")
    shown = run("check", bag, "--request", asked).output
    is_ok = "ok       one-machine" in shown
    assert words in shown and is_ok is (name != "clock"), "no tender allows another clock"
    assert name != "clock" or "clock; expected" not in shown, "advice that would not help"


def test_jobs_in_two_images_of_one_name_are_named() -> None:
    first = good()
    of_image = [
        judged.of_record(dataclasses.replace(read, provenance={**read.provenance, "image": image}))
        for read, image in (
            (first, {"file": "a.sif", "sha256": "1" * 64}),
            (later(10, first), {"file": "a.sif", "sha256": "2" * 64}),
        )
    ]
    ((name, field, text),) = agreement.differences(of_image)
    assert (name, field.split(": ")[1]) == ("files", "a.sif") and "sha256 222222222222; record" in text


def test_jobs_on_other_nodes_of_one_machine_agree(asked: Path, tmp_path: Path) -> None:
    """Memory differs by what the kernel keeps, and a job starts on the node that the scheduler gives it."""
    first = good()
    other = forgeries.changed(later(10, first), set_machine(memory_bytes=16_050_000_000, hostname="bench"))
    assert checked(packed(tmp_path, "same", first, other), asked) == "complete"


def test_a_name_that_no_job_can_differ_in_is_refused_with_the_valid_ones(asked: Path) -> None:
    asked.write_text(f"{asked.read_text()}may_differ: [colour]\n")
    done = run("check", asked, "--request", asked)
    assert "may_differ[0]" in str(done.exception) and "node_names" in str(done.exception), done.exception
