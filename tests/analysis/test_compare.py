"""Sides, rows, scores and references: what may be said of two machines, and what must not."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from support import synthetic
from support.entries import KEY, entry
from support.records import figures

from railyard.analysis.cases import cases, comparison, judgement, published, scoreboard
from railyard.analysis.cases.judgement import Evidence, Series
from railyard.analysis.cases.scoreboard import Ratio, Score
from railyard.analysis.judge import sides, text, versus
from railyard.analysis.judge.cli import compare as compare_command
from railyard.analysis.judge.judged import judge
from railyard.analysis.judge.versus import Versus
from railyard.analysis.references import judging
from railyard.analysis.references import update as making
from railyard.analysis.references.cli import commands as references_command
from railyard.analysis.report import exports, page
from railyard.analysis.report.cli import report as report_command
from railyard.analysis.stats.verdicts import Finding
from railyard.base.errors import InputError
from railyard.cli import cli
from railyard.records import references
from railyard.records.record import Record
from railyard.records.store import archive
from railyard.records.store import entries as records
from railyard.records.store.entries import Entry
from railyard.records.units import Better

SPEED = {"plain": 1.0, "custom": 0.9}
SLOWER = {name: 1.05 * value for name, value in SPEED.items()}
OTHER = {"name": "other", "partition": "netns", "environment": "openmpi"}
A = synthetic.halo(SPEED, launches=10)
B = synthetic.halo(SLOWER, launches=10, seed=2, system=OTHER)
#: Sides that share no job are compared by jobs: five of each.
A_JOBS = [synthetic.halo(SPEED, launches=4, seed=job) for job in range(5)]
B_JOBS = [synthetic.halo(SLOWER, launches=4, seed=10 + job, system=OTHER) for job in range(5)]


def entries(*given: Record) -> list[Entry]:
    return [records.of_record(each) for each in given]


def compared(texts: Sequence[str], *records: Record, baseline: str | None = None) -> Versus:
    known = entries(*records)
    return versus.of_texts(texts, lambda **_: known, baseline)


def verdicts(found: Versus, side: str) -> set[str]:
    return {
        comparison.verdict_text(row.comparison, group)
        for row in found.rows
        if not row.comparison.follows
        for group in row.comparison.measured
        if group.name == side
    }


# ---- sides ----


@pytest.mark.parametrize(
    ("word", "wanted"),
    [
        ("vtorus", {"system": "vtorus"}),
        ("custom", {"placement": "custom"}),
        ("library-default", {"nic": "library-default"}),
        ("2026-11-21", {"date": "2026-11-21"}),
        ("date=2026-11-01..2026-11-30", {"date": "2026-11-01..2026-11-30"}),
        ("system=vtorus,placement=plain", {"system": "vtorus", "placement": "plain"}),
    ],
)
def test_a_side_is_told_by_key_or_by_a_word_of_the_archive(word: str, wanted: dict[str, str]) -> None:
    (side,) = sides.parse([word], lambda: entries(A))
    assert side.wanted == wanted


@pytest.mark.parametrize("word", ["nobody", "colour=red", "date=soon", "system="])
def test_a_side_that_means_nothing_is_one_line(word: str) -> None:
    with pytest.raises(InputError) as caught:
        sides.parse([word], lambda: entries(A))
    assert "\n" not in str(caught.value) and word.partition("=")[2] in str(caught.value)


def test_a_launch_of_two_sides_is_refused_and_named() -> None:
    """Found by a slower program whose folder still had the baseline's record: `1.00 times as fast`."""
    with pytest.raises(InputError, match=f"{A.id} is of system=vtorus and of date="):
        compared(["system=vtorus", f"date={A.created[:10]}"], A, B)
    assert compared(["placement=plain", "placement=custom"], A).rows


def test_rate_scales_are_converted_or_never_mixed() -> None:
    """Equal machines at two rate scales have equal times of links, and no times of programs that compare."""
    twice = {**synthetic.TORUS, "rate_scale": 0.002}
    fast = {name: value / 2 for name, value in SPEED.items()}
    jobs = [synthetic.halo(fast, launches=4, seed=20 + job, system=OTHER, torus=twice) for job in range(5)]
    links = compared(["vtorus", "other"], *A_JOBS, *jobs)
    assert verdicts(links, "other") == {"no difference shown"}

    def program(**changes: Any) -> Record:
        made = synthetic.case(check="sums", benchmark="allreduce", placements=["plain"])
        return synthetic.job(made, lambda *_: [{"fom": "allreduce_s", "labels": {}, "samples": [1.0]}], **changes)

    mixed = compared(["vtorus", "other"], program(), program(system=OTHER, torus=twice))
    assert not any(row.is_shared for row in mixed.rows)
    assert mixed.refused == [
        "not compared: other ran at rate scale 0.002, vtorus ran at rate scale 0.001; times of a program at different "
        "rate scales are never mixed"
    ]


# ---- the cost of a placement ----


@pytest.mark.parametrize("jobs", [1, 5])
def test_equal_placements_are_said_to_cost_time_at_most_one_time_in_twenty(jobs: int) -> None:
    """40 draws each: five winners or fewer have a probability of 95 % if the rate is 5 %."""
    names = [f"p{number}" for number in range(5)]
    won = 0
    for seed in range(40):
        chance, entries = np.random.default_rng((7, seed)), []
        for job in range(jobs):
            values = 1000 * np.exp(0.02 * chance.standard_normal((5, 6)) + 0.02 * chance.standard_normal())
            rows = [(KEY._replace(placement=name), row.tolist()) for name, row in zip(names, values, strict=True)]
            entries.append(dataclasses.replace(entry(job, rows[0][1], placements=names), values=rows))
        sides = [f"placement={name}" for name in names]
        scores = versus.of_texts(sides, lambda entries=entries, **_: entries).scores.values()
        won += any(score.finding in (Finding.BETTER, Finding.WORSE) for score in scores if score)
    assert won <= 5


@pytest.mark.parametrize(
    ("speed", "answer", "saved"),
    [
        ((2.0, 1.0), r"The scheduler's order costs no time .*\(vtorus, emulated\)\.\nThe sch.* 2\.0", 50),
        ((1.1, 0.5), r"The scheduler's order costs time .*\nThe placement custom makes the halo exch.* 2\.0", 50),
        ((1.0, 1.0), r"random:1 against scheduler .*: no difference shown", None),
    ],
)
def test_placement_cost_answers_in_words_and_node_hours(
    tmp_path: Path, speed: tuple[float, float], answer: str, saved: float | None
) -> None:
    times = dict(zip(("scheduler", "random:1", "custom"), (1.0, *speed), strict=True))
    archive.add(synthetic.halo(times, launches=10), tmp_path)
    archive.add(synthetic.halo(SPEED, launches=10, seed=5), tmp_path)
    words = ["placement-cost", "system=vtorus", "--archive", str(tmp_path)]
    done = CliRunner().invoke(cli, words)
    assert done.exit_code == 0 and re.search(answer, done.output), done.output
    assert "plain" not in done.output, "a placement of another job is no part of the answer"
    share = re.search(r"saves ([\d.]+) \(95 %: ([\d.]+) to ([\d.]+)\)", done.output)
    assert bool(share) == (saved is not None)
    if share and saved is not None:
        middle, low, high = map(float, share.groups())
        assert low < middle < high and middle == pytest.approx(saved, abs=2)


# ---- rows ----


NEXT_DAY = [
    synthetic.halo(SLOWER, launches=4, seed=20 + job, created=synthetic.CREATED.replace(day=22)) for job in range(5)
]
SAME = [synthetic.halo(SPEED, launches=4, seed=30 + job, system=OTHER) for job in range(5)]
SYSTEMS = ("system=vtorus", "system=other")


@pytest.mark.parametrize(
    ("given", "texts", "baseline", "wanted", "words"),
    [
        # the bandwidth is that of the time
        ([*A_JOBS, *B_JOBS], SYSTEMS, 0, {"worse"}, "4 rows in common with vtorus: worse in 4."),
        ([*A_JOBS, *B_JOBS], SYSTEMS, 1, {"better"}, "vtorus is 1.051 times as fast as other (95 %: "),
        ([A, B], ("placement=plain", "placement=custom"), 0, {"better"}, "placement=custom is 1.1"),
        ([synthetic.allreduce()], ("nic=library-default", "nic=nic-0"), 0, {"worse", "no difference shown"}, ""),
        ([*A_JOBS, *NEXT_DAY], ("2026-11-21", "2026-11-22"), 0, {"worse"}, ""),
        ([*A_JOBS, *SAME], SYSTEMS, 0, {"no difference shown"}, "no difference shown overall"),
        # twice as slow with any number of launches: two jobs may differ as much
        (
            [A, B],
            SYSTEMS,
            0,
            {"n too small (needs 4 jobs)"},
            "cannot tell which is faster. A side needs at least 4 jobs",
        ),
    ],
)
def test_the_other_side_has_one_verdict_in_all_rows_and_words_overall(
    *, given: Sequence[Record], texts: Sequence[str], baseline: int, wanted: set[str], words: str
) -> None:
    found = compared(texts, *given, baseline=texts[baseline])
    assert verdicts(found, texts[1 - baseline]) == wanted
    assert words in text.sentences(found)[0]
    assert all(row.differs == [] for row in found.rows)
    assert ({row.row.key.placement for row in found.rows} == {""}) is texts[0].startswith("placement")


def test_placements_of_different_jobs_are_compared_by_jobs_and_of_four_shared_ones_by_a_ratio_per_job() -> None:
    """One job ran plain, another custom: their launches are as far apart as two jobs may be."""
    texts = ["placement=plain", "placement=custom"]
    plain, custom = (
        synthetic.halo({name: speed}, launches=10, seed=n) for n, (name, speed) in enumerate(SPEED.items())
    )
    assert verdicts(compared(texts, plain, custom), "placement=custom") == {"n too small (needs 4 jobs)"}
    shared = compared(texts, plain, custom, A)
    assert {group.sample and len(group.sample.values) for row in shared.rows for group in row.comparison.groups} == {10}
    assert "in this job)" in text.sentences(shared)[0]
    four = compared(texts, *A_JOBS[:4])
    assert "4 shared jobs)" in text.sentences(four)[0]
    assert {group.sample and group.sample.by_job for row in four.rows for group in row.comparison.groups} == {True}


def test_a_job_counts_once_however_many_placements_a_side_takes_of_it() -> None:
    found = compared(["system=vtorus", "system=other,placement=plain"], *A_JOBS, *B_JOBS)
    shared = [row for row in found.rows if row.is_shared]
    groups = [group.sample for row in shared for group in row.comparison.groups]
    assert groups and all(sample and len(sample.units) == 5 for sample in groups)


def ratio(
    case: str, fom: str, side: Sequence[float], baseline: Sequence[float], *, jobs: Sequence[str] = ("", "")
) -> Ratio:
    """Return one contribution to a score; `jobs` are prefixes of the sides' jobs, if values are those of jobs."""
    evidence = {
        name: Evidence(values=list(one), jobs=[f"{job}{at}" for at in range(len(one))] if job else ())
        for name, one, job in (("side", side, jobs[0]), ("base", baseline, jobs[1]))
    }
    series = Series(fom=figures.fom(fom), labels=(), evidence=evidence, deterministic=False)
    (contribution,) = (scoreboard.ratio(one, "side", (case,)) for one in judgement.compare([series], "base"))
    assert contribution is not None
    return contribution


def scored(*ratios: Ratio) -> Score | None:
    return scoreboard.scores({"side": ratios})["side"]


def test_the_interval_over_jobs_covers_one_although_rows_share_their_jobs() -> None:
    """Six rows of the same five jobs, which differ by 1 %: the rows are no independent evidence."""
    chance, covered = np.random.default_rng(6), 0
    for _ in range(200):
        levels = chance.normal(0, 0.01, (2, 5))
        ratios = [
            ratio(
                str(row),
                "a_us",
                np.exp(levels[0] + chance.normal(0, 0.004, 5)).tolist(),
                np.exp(levels[1] + chance.normal(0, 0.004, 5)).tolist(),
                jobs=("a", "b"),
            )
            for row in range(6)
        ]
        found = scored(*ratios)
        assert found and found.low is not None and found.high is not None
        covered += found.low <= 1 <= found.high
    assert covered >= 0.92 * 200


def test_other_builds_and_faults_are_named_on_every_row() -> None:
    build = {"library": "MPICH 4.1", "standard": "4.0"}
    faults = {**synthetic.TORUS, "faults": ["up leaf0>spine0: 3 lane(s) lost in 1 tile(s)"]}
    changed = synthetic.halo(SPEED, launches=10, seed=2, system=OTHER, mpi=build, torus=faults)
    found = compared(["system=vtorus", "system=other"], A, changed)
    assert {tuple(row.differs) for row in found.rows} == {("mpi", "torus.faults")}
    assert "Records differ in mpi, torus.faults." in text.sentences(found)[0]
    assert {line.differs for line in text.lines(found)} == {"mpi, torus.faults"}


def test_origins_are_never_mixed() -> None:
    simulated = synthetic.halo(SLOWER, launches=10, origin="simulated", system=OTHER)
    found = compared(["system=vtorus", "system=other"], A, simulated)
    assert not any(row.is_shared for row in found.rows)
    assert text.lines(found) == []
    assert found.refused == [
        "not compared: system=other is simulated, system=vtorus is emulated; numbers of different origin are never "
        "mixed"
    ]
    assert found.refused[0] in text.sentences(found)


def test_records_that_are_no_sides_leave_nothing_behind() -> None:
    """Each record is let go before the next is read, so that settings may follow each other at one address."""
    known = (records.of_record(A if number % 3 else B) for number in range(30))
    found = versus.compare([(known, sides.parse(["system=other"], list))], ["system=other"], "system=other")
    assert found.counts["system=other"]["records"] == 10
    assert {row.row.shared["system"] for row in found.rows} == {"other"}


def test_what_only_one_side_has_is_told() -> None:
    found = compared(["system=vtorus", "system=other"], A, B, synthetic.hops())
    assert [(side, count) for side, _, count in text.alone(found)] == [("system=vtorus", 98)]


def test_void_and_failed_launches_are_counted() -> None:
    def spoil(run: Any, document: Any) -> Any:
        return dataclasses.replace(run, guard={"verdict": "void", "reasons": ["busy"]})

    void = synthetic.halo(SPEED, launches=10, system=OTHER, change=spoil)
    found = compared(["system=vtorus", "system=other"], A, void)
    assert found.counts["system=other"] == Counter(records=1, void=20)
    assert all(row.comparison.group("system=other").summary is None for row in found.rows)


# ---- the score ----


NOISE = [0.99, 1.0, 1.01, 0.995, 1.005, 1.0]


def test_a_score_is_a_geometric_mean_over_cases_each_by_its_first_figure_turned_so_that_above_one_is_better() -> None:
    found = scored(
        ratio("x", "a_us", [50 * one for one in NOISE], [100 * one for one in NOISE]),
        ratio("x", "b_us", [9 * one for one in NOISE], NOISE),
        ratio("y", "b_gbyte_s", [8 * one for one in NOISE], NOISE),
    )
    assert found and found.value == pytest.approx(4.0) and found.cases == 2
    assert found.low is not None and found.high is not None and 3.9 < found.low < 4 < found.high < 4.1
    few = scored(ratio("x", "a_us", [50.0] * 3, [100.0] * 9))
    assert few and few.low is None and few.finding is Finding.TOO_FEW and few.value == pytest.approx(2.0)
    assert "no winner is named" in text.overall("b", few, "a", "emulated")
    assert scored() is None and scored(ratio("x", "a_percent", [1.0], [1.0])) is None


# ---- commands ----


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for each in (*A_JOBS, *B_JOBS):
        archive.add(each, tmp_path / "archive")
    return tmp_path / "archive"


def run(command: Any, *arguments: object) -> Any:
    return CliRunner().invoke(command, [str(each) for each in arguments])


def test_compare_prints_the_modelled_machines_values_for_people_and_the_recorded_ones_for_programs(root: Path) -> None:
    words = "vtorus", "other", "--archive", root
    done = run(compare_command, *words)
    assert done.exit_code == 0 and "times as fast as" in done.output and "vtorus (baseline): 5 records" in done.output
    assert "those of the modelled machine" in done.output
    document = json.loads(run(compare_command, *words, "--json").output)
    assert document["format"] == text.FORMAT and len(document["rows"]) == 6
    (recorded, *others) = json.loads(run(compare_command, *words, "--json", "--fom", "iteration_us").output)["rows"]
    assert {row["fom"] for row in (recorded, *others)} == {"iteration_us"}
    assert recorded["sides"][1]["verdict"] == "worse"
    (line, *_) = [text for text in done.output.splitlines() if re.match("  vtorus +[0-9]", text)]
    of_torus = synthetic.TORUS["rate_scale"] * recorded["sides"][0]["median"]
    assert float(line.split()[1]) == pytest.approx(of_torus, rel=1e-3)


@pytest.mark.parametrize(
    "arguments",
    [
        ["vtorus"],
        ["vtorus", "nobody"],
        ["vtorus", "vtorus"],
        ["vtorus", "other", "--baseline", "x"],
        ["vtorus", "system=x"],
        ["vtorus", "other", "--fom", "iteration_s"],
    ],
)
def test_compare_refuses_in_one_line(root: Path, arguments: list[str]) -> None:
    error = run(compare_command, *arguments, "--archive", root).exception
    assert isinstance(error, InputError) and "\n" not in str(error)


# ---- other formats ----


def test_markdown_has_verdicts_scores_and_what_is_missing() -> None:
    found = exports.text(judge([*A_JOBS, *B_JOBS], ["system=vtorus", "system=other"]), "md")
    assert "times as fast as" in found and "## Scores" in found and "custom is lowest" in found
    assert "## Sides compared" in found and "| system=other |" in found and "differs in" in found
    assert "pena2013: hops was not run" in found


def test_markdown_shows_hostile_names_as_text() -> None:
    hostile = "<script>|[x](javascript:y)`*"
    record = synthetic.halo({"plain": 1.0, hostile: 0.9}, launches=2)
    lines = [line for line in exports.text(judge([record]), "md").splitlines() if "script" in line]
    assert lines and all("<script" not in line and "](" not in line.replace("\\](", "") for line in lines)


def test_csv_has_a_row_for_each_group_and_no_formula() -> None:
    record = synthetic.halo({"plain": 1.0, "=1+1": 0.9}, launches=6)
    rows = list(csv.DictReader(io.StringIO(exports.text(judge([record, synthetic.hops()]), "csv"))))
    first = next(row for row in rows if row["fom"] == "iteration_us" and row["placement"] == "'=1+1")
    assert (first["n"], first["outcome"], first["void"]) == ("6", "best", "0")
    assert float(first["change_percent"]) == pytest.approx(-10, abs=1)
    assert any(row["check"] == "hops" and "hops 3" in row["labels"] for row in rows)


def test_a_folder_that_is_a_side_of_the_report_gives_its_own_records(tmp_path: Path) -> None:
    """What a run of continuous integration does: the page is of the new records, the table also of the old ones."""
    for name, factor, first in (("old", 1.0, 0), ("new", 2.0, 4)):
        for job in range(4):
            archive.add(synthetic.halo({"plain": factor}, launches=2, seed=first + job), tmp_path / name)
    old, new = tmp_path / "old", tmp_path / "new"
    done = run(report_command, new, "--format", "md", "--compare", old, "--compare", new)
    assert done.exit_code == 0 and "times as fast as" in done.output, done.output
    assert done.output.count("Launches: 8 with a result") == 1


def test_report_writes_every_format_and_every_figure(root: Path, tmp_path: Path) -> None:
    for form in ("md", "csv", "json"):
        done = run(report_command, root, "--format", form)
        assert done.exit_code == 0 and "vtorus" in done.output, done.exception
    done = run(report_command, root, "--figures", tmp_path / "svg", "-q")
    assert done.exit_code == 0, done.exception
    assert [each.name for each in sorted((tmp_path / "svg").iterdir())][:2] == ["case-1-f0.svg", "case-2-f0.svg"]
    done = run(report_command, root, "--compare", "vtorus", "--compare", "other", "-q", "-o", tmp_path / "r.html")
    assert done.exit_code == 0 and "Sides compared" in (tmp_path / "r.html").read_text()
    assert isinstance(run(report_command, root, "--compare", "vtorus").exception, InputError)


def test_systems_of_one_origin_are_compared_on_the_page_unasked() -> None:
    page_of_both = judge([*A_JOBS, *B_JOBS])
    assert page_of_both.sides and page_of_both.sides.sides == ["system=other", "system=vtorus"]
    assert judge([A]).sides is None
    alone = synthetic.hops(system={**OTHER, "name": "third"})
    with_alone = judge([A, B, alone]).sides
    assert with_alone and with_alone.sides == page_of_both.sides.sides, "what ran nothing that others ran is no side"
    assert judge([A, alone]).sides is None


# ---- published numbers ----


def test_published_numbers_stand_beside_ours() -> None:
    (case,) = cases.group([synthetic.halo(launches=8)])
    rows = published.rows([(case, comparison.comparisons(case))])
    (row,) = (row for row in rows if row.quantity == "3D, Custom over Plain, up to")
    assert (row.value, row.study) == ("8.5 %", "Peña et al., EuroMPI'13")
    assert "Faces are smaller" in row.differs and published.reasons(rows)[0][0] == row.study
    assert answers(case.first)["3D, Custom over Plain, up to"] == "9.3 % better (bandwidth)"
    same = synthetic.halo(dict.fromkeys(synthetic.HALO_SPEED, 1.0), launches=8)
    assert answers(same)["3D, Custom over Plain, up to"].startswith("no difference shown (")


def of_policies(benchmark: str, fom: str, values: Mapping[str, float], sizes: Sequence[int]) -> Record:
    """One launch under each NIC policy, with a curve over sizes that grows by the size's place."""
    asked = synthetic.case(
        benchmark=benchmark,
        studies=["llnl-multirail"],
        placements=["plain"],
        nic_policies=list(values),
        launches_per_combination=1,
    )
    samples = {
        policy: [
            {"fom": fom, "labels": {"size_bytes": size}, "samples": [value**place]} for place, size in enumerate(sizes)
        ]
        for policy, value in values.items()
    }
    return synthetic.job(asked, lambda _, __, policy: samples[policy])


def answers(record: Record) -> dict[str, str]:
    (case,) = cases.group([record])
    answered = published.rows([(case, comparison.comparisons(case))])
    return {row.quantity.partition(" (")[0]: row.of[case.origin][0][0] for row in answered}


def test_a_share_between_nic_policies_is_that_of_the_largest_message_and_times_of_a_rate_are_more_where_it_is() -> None:
    values = {"nic-0": 10.0, "round-robin": 5.0, "nic-1": 12.0}
    found = answers(of_policies("osu_allreduce", "latency_us", values, [4, 16384]))
    assert found["Allreduce, Default"] == "50.0 % (16 KiB)"
    assert found["Allreduce, NIC-1 as a share of NIC-0"] == "120.0 % (16 KiB)"
    assert found["Allreduce, Local-NIC as a share of NIC-0"] == "not measured"
    of_rates = {"nic-0": 2.0, "round-robin": 3.0}, {"library-default": 2.0}  # one has no policy of the numbers
    rate, alone = (answers(of_policies("contention", "aggregate_bandwidth_gbyte_s", of, [8, 1024])) for of in of_rates)
    row = "effective bandwidth under high contention, Default over NIC-0, up to"
    assert rate[row] == "1.5 times (1 KiB)" and alone == {}


def test_counts_of_all_soundings_are_compared() -> None:
    launches = iter([{8: [100.0, 100.0], 1024: [2000.0, 2001.0]}, {8: [100.0, 101.0], 1024: [2002.0, 2003.0]}])

    def series(*_: Any) -> list[dict[str, Any]]:
        labels = {"ping": "send", "payload": "random"}
        return [
            {"fom": "source_sent_bytes", "labels": labels | {"size_bytes": size}, "samples": samples}
            for size, samples in next(launches).items()
        ]

    asked = synthetic.case(
        benchmark="sonar", studies=["pedretti2013"], placements=["plain"], launches_per_combination=2
    )
    found = answers(synthetic.job(asked, series))
    assert found["counted bytes, how far apart from run to run, nearly"] == "1.0 % at most (8 B, n = 4)"


# ---- references ----


def test_references_are_medians_with_tolerances_and_survive_their_file(tmp_path: Path) -> None:
    made = making.updated(entries(A), {}).references
    entry = made["halo_3d"][references.case_name(A)]
    reference = entry.references["custom/iteration_us"]
    assert reference.better is Better.LOWER and 0.03 <= reference.tolerance <= 0.5
    assert entry.about == references.About(commit="1f" * 20, date="2026-11-21", launches=10, records=1)
    path = tmp_path / "r.yaml"
    path.write_text(references.text(made))
    assert references.load(path) == made
    assert references.text(references.load(path)) == path.read_text()


ITERATION = figures.fom("iteration_us").named("plain/iteration_us")
RATE = figures.fom("bandwidth_gbyte_s").named("plain/bandwidth_gbyte_s")


def test_a_regression_is_named_with_its_commit() -> None:
    made = making.updated(entries(A), {}).references
    case = references.case_name(A)
    median = made["halo_3d"][case].references["plain/iteration_us"].median
    assert not judging.judged("halo_3d", case, {ITERATION: median}, made).worse
    (line,) = judging.judged("halo_3d", case, {ITERATION: 2 * median}, made).worse
    assert "100.0 % above the reference" in line and "last passed at commit 1f1f1f1f1f1f of 2026-11-21 (n = 10)" in line
    assert judging.judged("halo_3d", case, {RATE: 1e-9}, made).worse
    other = judging.judged("halo_3d", "another case", {ITERATION: 1e9}, made)
    assert not other.worse and "no reference for this case: 'another case'" in other.missing[0]
    assert not judging.judged("new_check", case, {ITERATION: 1e9}, made).missing


def test_a_reference_does_not_follow_a_regression_unless_told() -> None:
    made = making.updated(entries(A), {}).references
    later = datetime(2026, 11, 22, tzinfo=UTC)
    slow = {name: 2 * value for name, value in SPEED.items()}
    worse = synthetic.halo(slow, launches=10, created=later)
    kept = making.updated(entries(worse), made)
    (entry,) = kept.references["halo_3d"].values()
    assert dataclasses.replace(entry, suspects=()) == made["halo_3d"][references.case_name(A)]
    assert "left out, because it got worse: custom/" in kept.notes[0]
    taken = making.updated(entries(worse), made, accept=True)
    (entry,) = taken.references["halo_3d"].values()
    assert any("custom/iteration_us" in line and "worse" in line for line in entry.history[-1].accepted)
    again = synthetic.halo(slow, launches=10, seed=5, created=datetime(2026, 11, 23, tzinfo=UTC))
    assert not making.updated(entries(again), taken.references).notes, "the new level is the reference"


def test_few_launches_and_dirty_checkouts_make_no_reference() -> None:
    def made(launches: int, commit: str | None, *, is_dirty: bool | None) -> making.Updated:
        code = {"version": "0.1.0", "git_commit": commit, "git_dirty": is_dirty}
        return making.updated(entries(synthetic.halo(SPEED, launches=launches, railyard=code)), {})

    few, dirty = made(5, "1f" * 20, is_dirty=False), made(10, "1f" * 20, is_dirty=True)
    assert few.references == {} and "fewer than 6" in few.notes[0]
    assert dirty.references == {} and "left out" in dirty.notes[0]
    assert made(10, "1f" * 20, is_dirty=None).references, "delivered without git"
    assert not made(10, None, is_dirty=None).references


@pytest.mark.parametrize("content", ["[1, 2]", "halo: {x: 1}", ": :", "a: {b: {c: [1]}}"])
def test_a_file_that_is_no_references_is_one_line(tmp_path: Path, content: str) -> None:
    path = tmp_path / "r.yaml"
    path.write_text(content)
    with pytest.raises(InputError) as caught:
        references.load(path)
    assert "\n" not in str(caught.value)


def test_commands_of_references(root: Path, tmp_path: Path) -> None:
    file = tmp_path / "refs" / "r.yaml"
    done = run(references_command, "update", "--archive", root, "-o", file)
    assert done.exit_code == 0 and "2 cases" in done.output, done.exception
    shown = run(references_command, "show", "-o", file).output
    assert re.search(r"custom/iteration_us .* 4 launches at [\d.]+ % noise find 10 % in \d+ of 100 runs", shown)
    judged = run(references_command, "judge", "--archive", root, "-o", file)
    assert judged.exit_code == 0 and judged.output.endswith("judged, 0 worse\n"), judged.output
    slow = synthetic.halo({name: 2 * value for name, value in SPEED.items()}, launches=10)
    archive.add(slow, tmp_path / "slow")
    summary = tmp_path / "summary.md"
    worse = run(references_command, "judge", "--archive", tmp_path / "slow", "-o", file, "--summary", summary)
    assert worse.exit_code == 1 and "worse: halo_3d: 6 of 6 variables are " in worse.output, "alike, in one line"
    assert "| halo\\_3d | custom/iteration\\_us |" in summary.read_text() and "worse" in summary.read_text()
    unknown = run(references_command, "judge", "--archive", tmp_path / "slow", "-o", tmp_path / "none.yaml")
    assert unknown.exit_code == 1 and "no record has a reference" in str(unknown.exception)
    (tmp_path / "empty").mkdir()
    none = run(references_command, "update", "--archive", tmp_path / "empty", "-o", tmp_path / "none.yaml")
    assert none.exit_code != 0 and "no reference" in str(none.exception)
    assert not (tmp_path / "none.yaml").exists(), "nothing could ever get worse than no reference"


def test_random_order_of_records_changes_nothing() -> None:
    records = [A, B, synthetic.halo(SPEED, seed=7, launches=6)]
    wanted = text.document(compared(["system=vtorus", "system=other"], *records))
    random.Random(1).shuffle(records)
    found = text.document(compared(["system=vtorus", "system=other"], *records))
    assert [row["sides"][0]["median"] for row in found["rows"]] == [row["sides"][0]["median"] for row in wanted["rows"]]


def test_published_numbers_stand_beside_two_series_of_ours_by_origin() -> None:
    times = {("X", 8): 1.0, ("Y", 8): 1.0, ("X", 1024): 100.0, ("Y", 1024): 30.0}
    series = [
        {"fom": "slowest_us", "labels": {"collective": "alltoall", "split": way, "size_bytes": size}, "samples": [us]}
        for (way, size), us in times.items()
    ]
    asked = synthetic.case(benchmark="rowcol", placements=["plain"], launches_per_combination=1)
    (case,) = cases.group([synthetic.job(asked, lambda *_: series)])
    (row,) = published.rows([(case, comparison.comparisons(case))])
    assert (row.quantity, row.value) == ("row-wise Alltoall in Y against X, latency", "\N{MINUS SIGN}74 %")
    answers = {origin: [value for value, _ in of] for origin, of in row.of.items() if of}
    assert list(answers.values()) == [["\N{MINUS SIGN}70.0 %"]]  # at the largest size
    assert ">\N{MINUS SIGN}70.0 %<" in page.html(judge([case.first]))
