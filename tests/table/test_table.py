"""The table: rows equal the records, questions have answers, a kill and a bad record do no harm; levels; imports."""

from __future__ import annotations

import dataclasses
import json
import os
import random
import shutil
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest
from click.testing import CliRunner
from support import pages, synthetic
from support.commands import CHECKOUT

from railyard.base.errors import InputError
from railyard.cli import cli
from railyard.placements.topology import catalog
from railyard.records import json_io, record
from railyard.records.store import archive, entries, imported, levels
from railyard.records.store.levels import Level
from railyard.table import foreign, parquet
from railyard.table import rows as columns

EXAMPLE = CHECKOUT / "results/example"
OSU = CHECKOUT / "tests/data/public/outputs/osu-bw-cuda/output.txt"
PERFLOG = CHECKOUT / "tests/data/public/imports/reframe-4-perflog/Solver.log"


def run(*words: object) -> str:
    done = CliRunner().invoke(cli, list(map(str, words)), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def rows(folder: Path, sql: str) -> list[tuple[Any, ...]]:
    return duckdb.connect().sql(sql.replace("'DIR/", f"'{folder}/")).fetchall()


def pairs() -> record.Record:
    """A record of pt2pt whose figures are of two pairs of nodes, and of which one launch failed."""
    case = synthetic.case(benchmark="pt2pt", check="pairs", studies=[], placements=["plain"], parameters={})
    case["topology"]["sha256"] = catalog.load("gemini-4x4x4").sha256

    def series(chance: random.Random, placement: str, policy: str) -> list[dict[str, Any]]:
        rates = {"n0-0-1": 1.5, "n1-0-0": 0.5}
        labels = {target: {"size_bytes": 8, "from": "n0-0-0", "to": target} for target in rates}
        return [{"fom": "pair_bandwidth_gbyte_s", "labels": labels[to], "samples": [rates[to]]} for to in rates]

    def fails(launch: Any, document: dict[str, Any]) -> Any:
        if launch.index:
            return launch
        launch.output.unlink(missing_ok=True)
        return dataclasses.replace(launch, exit_status=1, output=None)

    return synthetic.job(case, series, change=fails)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive with the example's records, one with pairs, two months of halo, and an imported result."""
    root = tmp_path_factory.mktemp("archive") / "results"
    shutil.copytree(EXAMPLE, root)
    archive.add(pairs(), root)
    for seed, month in ((1, 10), (2, 11)):
        archive.add(synthetic.halo(seed=seed, created=synthetic.CREATED.replace(month=month)), root)
    run("results", "import", OSU, "--system", "elsewhere", "--archive", root)
    return root


@pytest.fixture(scope="module")
def table(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The table of that archive."""
    folder = tmp_path_factory.mktemp("table") / "table"
    assert run("results", "export", "--parquet", folder, "--archive", root) == (
        f"added 10 records to {folder}, which had 0\n"
    )
    return folder


def test_the_table_has_every_launch_with_the_values_that_lists_and_comparisons_use(root: Path, table: Path) -> None:
    values = {
        (sha256, launch, fom, tuple(sorted(json.loads(labels).items()))): value
        for sha256, launch, fom, labels, value in rows(
            table, "SELECT record_sha256, launch, fom, labels, value FROM 'DIR/**/*.parquet' WHERE fom IS NOT NULL"
        )
    }
    launches = 0
    for read in archive.load_all(root):
        launches += len(read.launches)
        for launch in read.launches:
            for series in launch.series:
                point = read.sha256, launch.index, str(series.fom), tuple(sorted(series.labels.items()))
                assert values.pop(point) == entries.value_of([series.samples])
    assert all(key[0] not in {read.sha256 for read in archive.load_all(root)} for key in values)
    (count,) = rows(table, "SELECT count(DISTINCT (record_sha256, launch)) FROM 'DIR/**/*.parquet' WHERE level > 0")
    assert count == (launches,)


def test_the_page_of_columns_and_the_files_agree(table: Path) -> None:
    described = rows(table, "DESCRIBE SELECT * FROM read_parquet('DIR/**/*.parquet', hive_partitioning=false)")
    assert [name for name, *_ in described] == [column.name for column in columns.COLUMNS]
    assert (table / "columns.md").read_text() == columns.page()
    assert {name for name, kind, *_ in described if kind == "DOUBLE"} == {
        column.name for column in columns.COLUMNS if column.kind == columns.REAL
    }


QUESTIONS = pages.questions("docs/table.md")


@pytest.mark.parametrize(("question", "sql"), QUESTIONS, ids=[question for question, _ in QUESTIONS])
def test_every_question_of_the_page_has_an_answer(question: str, sql: str, table: Path) -> None:
    assert len(QUESTIONS) == 10
    assert rows(table, sql), question


def test_the_slowest_pair_and_its_share_of_the_limit_are_found(table: Path) -> None:
    questions = dict(QUESTIONS)
    first = rows(table, questions["Which pairs of nodes are slowest?"])[0]
    assert first[1:] == ("n0-0-0", "n1-0-0", 0.5)
    (reason,) = {row[3] for row in rows(table, questions["Why do launches fail?"]) if row[2] == "failed"}
    assert "exit status 1" in reason or "status 1" in reason


def test_a_second_export_adds_what_is_new_alone(root: Path, tmp_path: Path) -> None:
    own, folder = tmp_path / "results", tmp_path / "table"
    shutil.copytree(root, own)
    run("results", "export", "--parquet", folder, "--archive", own)
    before = {path: path.stat().st_mtime_ns for path in parquet.parts(folder)}
    assert "added 0 records" in run("results", "export", "--parquet", folder, "--archive", own)
    archive.add(synthetic.halo(seed=9), own)
    assert "added 1 record " in run("results", "export", "--parquet", folder, "--archive", own)
    after = {path: path.stat().st_mtime_ns for path in parquet.parts(folder)}
    assert len(after) == len(before) + 1 and before.items() <= after.items()


def test_a_record_that_was_changed_is_passed_over_with_a_line(tmp_path: Path) -> None:
    root, folder = tmp_path / "results", tmp_path / "table"
    shutil.copytree(EXAMPLE / "vcluster", root / "vcluster")
    bad, undeclared, *_ = archive.paths(root)
    bad.write_text(bad.read_text().replace('"exit_status": 0', '"exit_status": 3', 1))
    document = json.loads(undeclared.read_text())
    del document["figures"]["elapsed_s" if "elapsed_s" in document["figures"] else next(iter(document["figures"]))]
    sealed = record.sealed(document)
    undeclared.unlink()
    (root / "vcluster" / f"{sealed['created'][:10]}-{sealed['id']}.json").write_text(json.dumps(sealed))
    output = run("results", "export", "--parquet", folder, "--archive", root)
    assert "added 3 records" in output and output.count("passed over") == 2 and "the record was changed" in output
    assert len(rows(folder, "SELECT DISTINCT record_sha256 FROM 'DIR/**/*.parquet'")) == 3


def test_a_table_of_other_columns_is_refused(tmp_path: Path) -> None:
    part = tmp_path / "system=a/month=2026-11/x.parquet"
    part.parent.mkdir(parents=True)
    duckdb.sql(f"COPY (SELECT 'a' AS system, 'b' AS record_id, 9 AS schema_version) TO '{part}' (FORMAT parquet)")
    done = CliRunner().invoke(cli, ["results", "export", "--parquet", str(tmp_path), "--archive", str(EXAMPLE)])
    assert isinstance(done.exception, InputError)
    assert str(done.exception).endswith("schema_version: 9 is not valid; expected 2; export to a new folder")


#: The command line of railyard, in which every process dies when one publishes its file of a given number.
KILLED = """
import os, pathlib, signal, sys
from railyard.cli import cli

publish, left = pathlib.Path.replace, int(sys.argv[1])

def replace(path, target):
    global left
    left -= pathlib.Path(target).suffix == ".parquet"
    if not left:
        os.killpg(0, signal.SIGKILL)
    return publish(path, target)

pathlib.Path.replace = replace
os.cpu_count = lambda: 2  # with more workers none would come to its eighth file
cli(sys.argv[2:])
"""


def make(root: Path, first: int, count: int) -> None:
    """Write copies of four records into an archive, an hour apart in turn on each of four systems."""
    copied = [json_io.read(path) for path in sorted((EXAMPLE / "vcluster").glob("2026-11-21-*.json"))]
    for number in range(first, first + count):
        document = copied[number % len(copied)]
        created = datetime(2024, 1, 1, tzinfo=UTC) + timedelta(minutes=15 * number)
        system = {**document["system"], "name": f"site{number // len(copied) % 4}"}
        sealed = record.sealed({**document, "created": f"{created:%Y-%m-%dT%H:%M:%SZ}", "system": system})
        path = root / system["name"] / f"{created:%Y-%m-%d}-{sealed['id']}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(sealed))


def test_a_killed_export_leaves_whole_records_and_the_next_one_ends_it(tmp_path: Path) -> None:
    root, folder = tmp_path / "results", tmp_path / "table"
    root.mkdir()
    for month in range(10):
        make(root, 3000 * month, 60)  # 40 files: of four systems, a month apart
    wanted = len(archive.paths(root))
    words = ["results", "export", "--parquet", str(folder), "--archive", str(root)]
    there = 0
    for number in (1, 3, 8):
        command = [sys.executable, "-c", KILLED, str(number), *words]
        done = subprocess.run(command, cwd=CHECKOUT, stdout=subprocess.DEVNULL, start_new_session=True)
        assert done.returncode == -signal.SIGKILL
        assert len(parquet.parts(folder)) - there in range(number - 1, 40 - there)
        there = len(parquet.parts(folder))
        sql = "SELECT record_sha256, count(DISTINCT launch) FROM 'DIR/**/*.parquet' GROUP BY ALL"
        assert not there or {launches for _, launches in rows(folder, sql)} == {3}
    run("results", "export", "--parquet", folder, "--archive", root)
    sql = "SELECT count(*), count(DISTINCT (record_sha256, launch, fom, labels)) FROM 'DIR/**/*.parquet'"
    ((all_rows, different),) = rows(folder, sql)
    assert all_rows == different
    assert rows(folder, "SELECT count(DISTINCT record_sha256) FROM 'DIR/**/*.parquet'") == [(wanted,)]


# ---- levels ----


def test_the_level_follows_from_what_a_record_has() -> None:
    by_check = {read.case.check: levels.of(read.document) for read in archive.load_all(EXAMPLE)}
    assert by_check["multirail_halo"][0] is Level.REPEATED
    level, lacks = by_check["lulesh_profile"]
    assert level is Level.PLACED and lacks.startswith("3 results of a combination instead of 6; run: reframe ")
    (halo,) = [path for path in archive.paths(EXAMPLE) if path.parent.name == "vcluster-degraded"]
    document = json.loads(halo.read_text())
    for launch in document["launches"]:
        launch["placement_verdict"] = "cannot-tell"
    assert levels.of(document)[0] is Level.RAN
    assert "no launch is a result" in levels.of({**document, "launches": []})[1]


def test_results_of_several_levels_are_not_compared_without_a_word(tmp_path: Path) -> None:
    warning = "Results of different levels of evidence are mixed: 2 placed, 3 repeated."
    halo = [one for one in archive.load_all(EXAMPLE) if one.case.benchmark == "halo"]
    alone = [archive.add(one, tmp_path / "a") for one in halo]
    assert warning not in run("report", "--format", "md", *alone) + run("compare", *alone)
    document = record.sealed({name: part for name, part in halo[0].document.items() if name != "run"})
    other = archive.add(record.validate(document, "other"), tmp_path / "b")
    assert warning in run("report", "--format", "text", alone[0], other)
    assert warning in run("compare", alone[1], other)


# ---- results of other tools ----


def test_an_imported_result_is_in_lists_and_nowhere_else(root: Path) -> None:
    (path,) = imported.paths(root)
    listed = [line.split() for line in run("results", "list", "--archive", root).splitlines()]
    assert [row[2:6] for row in listed if row[2] == "imported"] == [["imported", "elsewhere", "osu_bw", "0"]]
    name = path.stem[11:]
    shown = run("results", "show", name, "--archive", root)
    assert "lacks        the command, the exit status, the machine, software" in shown
    done = CliRunner().invoke(cli, ["results", "check", str(path)])
    assert done.exit_code == 1 and "1 refused" in done.output
    assert path not in archive.paths(root)


def test_what_a_user_states_lifts_a_result_to_level_1_and_is_refused_where_it_is_wrong(tmp_path: Path) -> None:
    facts = {"command": "srun osu_bw", "exit_status": "0", "machine": "north", "software": "MPICH 4.2"}
    words = [word for name, value in facts.items() for word in ("--set", f"{name}={value}")]
    output = run("results", "import", OSU, "--system", "n", *words, "--archive", tmp_path)
    assert output.endswith("level 1\n")
    again = run("results", "import", OSU, "--system", "n", *words, "--archive", tmp_path)
    assert again.endswith("is there already\n") and len(imported.paths(tmp_path)) == 1
    for pair, message in (
        ("nodes=3", "--set: 'nodes' is not valid"),
        ("exit_status=no", "exit_status: 'no' is not valid; expected a whole number"),
        ("created=yesterday", "created: 'yesterday' is not valid; expected a time"),
        ("command", "--set: 'command' is not valid; expected NAME=VALUE"),
    ):
        with pytest.raises(InputError, match=message.replace("(", r"\(")):
            run("results", "import", OSU, "--system", "n", "--set", pair, "--archive", tmp_path)
    with pytest.raises(InputError, match="--system NAME"):
        run("results", "import", OSU, "--archive", tmp_path)


def test_a_log_that_has_grown_and_a_copy_of_another_time_add_what_is_new_alone(tmp_path: Path) -> None:
    log, output = tmp_path / PERFLOG.name, tmp_path / OSU.name
    lines = PERFLOG.read_text().splitlines(keepends=True)
    shutil.copy(OSU, output)
    log.write_text("".join(lines[:-1]))
    for _ in range(2):
        run("results", "import", log, output, "--system", "n", "--archive", tmp_path / "results")
        os.utime(output, (10**9, 10**9))
    before = imported.paths(tmp_path / "results")
    assert len(before) == len(lines) - 2 + 1
    log.write_text("".join(lines))
    run("results", "import", log, "--system", "n", "--archive", tmp_path / "results")
    assert len(imported.paths(tmp_path / "results")) == len(before) + 1


def test_a_cut_or_damaged_file_is_refused_in_one_line(tmp_path: Path) -> None:
    """Every cut and many a damaged byte of a report: a result, or one line; never a traceback."""
    whole = (CHECKOUT / "tests/data/public/imports/reframe-4-report/run-report.json").read_bytes()
    chance, file = random.Random(1), tmp_path / "run-report.json"
    for number in range(400):
        at = chance.randrange(len(whole))
        file.write_bytes(whole[:at] if number % 2 else whole[:at] + bytes([chance.randrange(256)]) + whole[at + 1 :])
        try:
            for result in foreign.results(file, stated={"system": "s"}, units={})[0]:
                document = imported.document(result, file.name, b"")
                record.check(document, file.name, imported.SCHEMA)
        except InputError as error:
            assert "\n" not in str(error)
