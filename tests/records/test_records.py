"""Records, benchmark outputs, the archive: what is accepted, what is refused in one line, what survives a
kill.
"""

from __future__ import annotations

import dataclasses
import errno
import itertools
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from support import evidence, fuzz, synthetic
from support.commands import HUNG_S
from support.records import rows
from support.waiting import wait_until

from railyard.base import schemas
from railyard.base.errors import InputError, RunError
from railyard.cli import cli
from railyard.records import benchmark, json_io, provenance, record
from railyard.records.assemble import LaunchRun, assemble
from railyard.records.folded import columns, nic_bytes, tables
from railyard.records.record import Status, Verdict
from railyard.records.store import archive

DATA = Path(__file__).parents[1] / "data" / "records"

SCHEMAS = Path(__file__).parents[2] / "results" / "schema"
HALO = synthetic.halo(launches=2)
SMALL = synthetic.small()
GUARD = {"verdict": "void", "reasons": ["the CPU was busy"], "cpu_busy_percent": 99.1}
NICS = [{"node": "n-0-0-0", "nic": "h0", "tx_bytes": 10, "rx_bytes": 0}]


def refusal(document: Any, source: str = "r.json") -> str:
    """The one line that refuses a document."""
    with pytest.raises(InputError) as caught:
        record.validate(document, source)
    return one_line(caught.value)


def one_line(error: Exception) -> str:
    text = str(error)
    assert "\n" not in text
    assert "\r" not in text
    assert len(text) < 700
    return text


def changed(change: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    """The document of a small record changed, with a new id that fits."""
    document = json.loads(record.text(SMALL))
    change(document)
    return record.sealed(document)


# ---- schemas ----


def test_both_schemas_share_their_definitions() -> None:
    one, other = (json.loads((SCHEMAS / name).read_text())["$defs"] for name in ("record-v2.json", "benchmark-v1.json"))
    for name in ("name", "line", "parameters", "samples", "labels", "fom", "series", "unmeasured"):
        assert one[name] == other[name]


def objects(schema: Any) -> list[dict[str, Any]]:
    if isinstance(schema, list):
        return [found for each in schema for found in objects(each)]
    if not isinstance(schema, dict):
        return []
    here = [schema] if schema.get("type") == "object" else []
    return here + [found for each in schema.values() for found in objects(each)]


@pytest.mark.parametrize("name", ["record-v2.json", "benchmark-v1.json"])
def test_every_object_of_a_schema_is_closed_except_those_for_others_to_fill(name: str) -> None:
    schema = json.loads((SCHEMAS / name).read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    open_ones = [each for each in objects(schema) if "additionalProperties" not in each]
    assert all(
        {"rate_scale", "session", "verdict", "findings"} & set(each.get("properties", {}))
        or "propertyNames" in each
        or "component" in each.get("required", [])
        for each in open_ones
    )


# ---- benchmark output ----

US = {"unit": "us", "better": "lower"}
OUTPUT = rows.output(
    synthetic.benchmark_document(
        synthetic.case(extents=[2, 1, 1]), [{"fom": "iteration_us", "labels": {}, "samples": [2.0, 1.0]}]
    )
)
LAYOUTS, NODES = OUTPUT["ranks"]["layouts"], OUTPUT["ranks"]["nodes"]


def test_benchmark_output_is_read_made_up_and_recorded() -> None:
    read = benchmark.parse(OUTPUT, "b.json")
    assert (read.benchmark, read.verified, len(read.ranks)) == ("halo", True, 2)
    assert read.series[0].samples == (2.0, 1.0)
    read = benchmark.load(DATA / "output-hops.json")
    assert (read.benchmark, read.verified) == ("hops", True)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"format": "railyard-benchmark/4"}, "format: 'railyard-benchmark/4'"),
        ({"format": "railyard-benchmark/3", "figures": {}}, "series[0].fom: 'iteration_us'"),
        ({"figures": {"iteration_us": {"unit": "us"}}}, "figures.iteration_us.better: missing"),
        ({"figures": {"iteration_us": US | {"unit": "Tflop/h"}}}, "figures.iteration_us.unit: 'Tflop/h'"),
        ({"verified": "yes"}, "verified: 'yes'"),
        ({"extra": 1}, "extra: an unknown field"),
        ({"series": []}, "series: empty"),
        ({"series": [{"fom": "rate_widget_s", "labels": {}, "samples": [1]}]}, "series[0].fom"),
        ({"series": [{"fom": "Rate/s", "labels": {}, "samples": [1]}]}, "series[0].fom: 'Rate/s'"),
        ({"series": [{"fom": "a_us", "labels": {}, "samples": []}]}, "series[0].samples"),
        ({"series": [{"fom": "iteration_us", "labels": {}, "samples": [-1]}]}, "series[0].samples[0]: -1"),
        ({"series": [{"fom": "a_us", "labels": {"hops": 1.5}, "samples": [1]}]}, "series[0].labels.hops: 1.5"),
        ({"series": [{"fom": "iteration_us", "labels": {}, "samples": [1]}] * 2}, "series[1]"),
        ({"ranks": {"layouts": LAYOUTS, "nodes": [NODES[0]] * 2}}, "ranks.nodes: a rank twice"),
        ({"ranks": {"layouts": LAYOUTS, "nodes": NODES[:1]}}, "ranks: 1 ranks"),
        ({"ranks": {"layouts": LAYOUTS, "nodes": [NODES[0] | {"host": "a\n"}]}}, "ranks.nodes[0].host"),
        ({"ranks": [{"rank": 0, "host": "a"}]}, "ranks: an array of 1 items"),
    ],
)
def test_benchmark_output_is_refused_in_one_line(change: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError) as caught:
        benchmark.parse({**OUTPUT, **change}, "b.json")
    assert one_line(caught.value).startswith("b.json: ")
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "line 1 column 1"),
        (b"\xff\xfe", "byte 0"),
        (b'{"a": NaN}', "NaN"),
        (b'{"a": 1e999}', "a finite number"),
        (b'{"a": 1, "a": 2}', "each key once"),
        (b'{"a": "\\ud800"}', "surrogate"),
        (b"[" * 100_000, "too deep"),
        (b"1" * 5000, "too long"),
        (b'{"a": 18446744073709551616}', "64 bits"),
        (b"[]", "an array of 0 items"),
        (None, "no such file"),
    ],
)
def test_files_that_are_no_json_are_refused_in_one_line(tmp_path: Path, content: bytes | None, words: str) -> None:
    path = tmp_path / "b.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        benchmark.load(path)
    assert words in one_line(caught.value)
    assert str(path) in str(caught.value)


# ---- record ----


def test_record_file_is_stable_readable_and_the_golden_one(tmp_path: Path) -> None:
    text = record.text(SMALL)
    assert text == (DATA / "small.json").read_text(encoding="utf-8")
    path = tmp_path / "r.json"
    path.write_text(text)
    again = record.load(path)
    assert again.document == SMALL.document
    assert record.text(again) == text
    assert json.loads(text) == SMALL.document
    sample_lines = [line for line in text.splitlines() if '"samples"' in line]
    assert len(sample_lines) == 3
    assert all(line.count(",") > 15 for line in sample_lines)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda d: d.pop("figures"), "figures: missing"),
        (lambda d: d["figures"].pop("iteration_us"), "launches[0].series[0].fom: 'iteration_us'"),
        (lambda d: d["figures"].update(other=d["figures"]["iteration_us"]), "figures.other: no series has it"),
        (lambda d: d["figures"]["iteration_us"].update(unit="Tflop/h"), "figures.iteration_us.unit: 'Tflop/h'"),
        (lambda d: d["figures"]["iteration_us"].update(better="more"), "figures.iteration_us.better: 'more'"),
        (lambda d: d.update(schema="railyard-record/2.1"), "schema: 'railyard-record/2.1'"),
        (lambda d: d.update(origin="guessed"), "origin: 'guessed'"),
        (lambda d: d["system"].update(name="../up"), "system.name"),
        (lambda d: d["system"].update(name="schema"), "system.name"),
        (lambda d: d.update(created="2026-13-01T00:00:00Z"), "created"),
        (lambda d: d.update(created="yesterday"), "created"),
        (lambda d: d["case"].update(placements=[]), "case.placements"),
        (lambda d: d["case"].update(placements=["other"]), "launches[0].placement: 'plain'"),
        (lambda d: d["case"].update(launches_per_combination=2), "launches: '1 launches'"),
        (lambda d: d["launches"][0].update(index=1), "launches[0].index"),
        (lambda d: d["launches"][0].update(repeat=1), "launches[0].repeat"),
        (lambda d: d["launches"][0].update(exit_status=1), "launches[0].exit_status"),
        (lambda d: d["launches"][0].update(verified=False), "launches[0].status"),
        (lambda d: d["launches"][0].update(placement_verdict="not-obeyed"), "launches[0].status"),
        (lambda d: d["launches"][0].update(status="failed"), "launches[0].reason"),
        (lambda d: d["launches"][0].update(status="not-measured", reason="x"), "launches[0].status"),
        (lambda d: (d["launches"][0].update(series=[]), d.update(figures={})), "launches[0].series"),
        (lambda d: d["launches"][0]["series"][0].update(fom="Time"), "launches[0].series[0].fom"),
        (lambda d: d["launches"][0]["series"][0].update(samples=[1e13]), "samples[0]: 10000000000000.0"),
        (lambda d: d["launches"][0].pop("verified"), "launches[0].verified: missing"),
        (lambda d: d.update(status="failed", reason="x"), "status: 'failed'"),
        (lambda d: d.update(reason="fine"), "reason: 'fine'"),
        (lambda d: d["provenance"].update(torus=None), "provenance.torus"),
        (lambda d: d["provenance"]["torus"].pop("rate_scale"), "provenance.torus.rate_scale"),
        (lambda d: d["provenance"]["machine"].update(user="me"), "provenance.machine.user"),
        (lambda d: d["launches"][0].update(repeat=0.0), "launches[0].repeat: Expected int, got float"),
        (lambda d: d["case"].update(seed=2.0), "case.seed: Expected int, got float"),
        (lambda d: d["tables"]["columns"].update(c0="0"), "one per rank"),
        (lambda d: d["tables"]["columns"].update(c0="0,7"), "ranks.host"),
        (lambda d: d["launches"][0]["ranks"].update(cpu="c9"), "tables.columns"),
        (lambda d: d["launches"][0].update(nics={"of": "n0", "tx_bytes": [], "rx_bytes": []}), "tables.nics"),
        (lambda d: d["tables"].update(cpu_sets=[]), "tables.cpu_sets"),
        (lambda d: d["case"]["allocation"]["nodes"].update(names=["a"]), "2 values"),
        (lambda d: d["launches"][0].update(guard={"verdict": "fine", "reasons": []}), "launches[0].guard"),
        (lambda d: d["launches"][0].update(guard={"verdict": "ok"}), "launches[0].guard"),
        (lambda d: d["launches"][0].update(nics=[{**NICS[0], "tx_bytes": -1}]), "launches[0].nics"),
        (lambda d: d["launches"][0].update(nics=[{**NICS[0], "serial": "x"}]), "launches[0].nics"),
        (lambda d: d["launches"][0].update(nic_verdict="not-obeyed"), "launches[0].status"),
    ],
)
def test_wrong_records_are_refused_with_the_field(change: Callable[[dict[str, Any]], object], words: str) -> None:
    assert words in refusal(changed(change))


# ---- parts ----


def test_the_fault_that_is_named_is_the_one_of_the_whole_validator() -> None:
    """Parts that are surely valid are left out of the explanation, which changes nothing that is said."""
    against, compared = json_io.validator("record-v2.json"), 0
    for seed in range(25):
        chance = random.Random(seed)
        document = fuzz.changed(json.loads(record.text(synthetic.halo(launches=1))), chance)
        whole = jsonschema.Draft202012Validator(against.content)
        wanted = jsonschema.exceptions.best_match(whole.iter_errors(document))
        found = schemas.best_fault(document, against)
        if wanted is not None:
            compared += 1
            assert (list(wanted.absolute_path), wanted.message) == (list(found.absolute_path), found.message)
    assert compared > 10


def test_what_only_rows_show_survives_the_way_there_and_back() -> None:
    """Nulls, absent fields, sets of CPUs in any order, names with brackets, hosts that come back."""
    ranks = [
        {"rank": 0, "host": "b[1]", "cpu": None, "allowed_cpus": [7, 3, 3], "numa_node": -1},
        {"rank": 1, "host": "n10"},
        {"rank": 2, "host": "n9", "cpu": -1, "allowed_cpus": None},
        {"rank": 3, "host": "b[1]", "cpu": 5, "allowed_cpus": [], "numa_node": None},
        {"rank": 4, "host": "n007.a.org", "cpu": 200, "allowed_cpus": [*range(256)], "numa_node": 1},
    ]
    nics = [{**NICS[0], "node": row["host"], "tx_bytes": 1 << 62} for row in ranks]
    document = rows.with_rows(SMALL)
    document["case"]["allocation"]["nodes"] = [
        {"name": "x", "coordinate": None},
        {"name": "n1", "coordinate": []},
        {"name": "n2", "coordinate": [4]},
    ]
    document["launches"][0] |= {"ranks": ranks, "nics": nics}
    read = rows.of_rows(document)
    again = rows.with_rows(read)
    assert {**again, "id": 0, "sha256": 0} == {**document, "id": 0, "sha256": 0}
    assert list(read.launches[0].ranks) == list(rows.ranks_of(ranks))
    assert read.launches[0].ranks[0].allowed_cpus == (7, 3, 3)


@given(st.lists(st.integers(-3, 300) | st.just(7), max_size=40), st.integers(1, 4))
def test_a_column_is_read_as_it_was_written(numbers: list[int], times: int) -> None:
    text = columns.fold(numbers * times)
    assert columns.unfold(text, "r", "c0").tolist() == numbers * times


@pytest.mark.parametrize(
    ("text", "words"),
    [("3-1", "'3-1'"), ("1,,2", "''"), ("0*999999999", "more values"), ("-2", "'-2'"), ("?-4", "'?-4'")],
)
def test_a_column_that_is_none_is_refused(text: str, words: str) -> None:
    with pytest.raises(InputError, match=re.escape(words)):
        columns.unfold(text, "r", "tables.columns.c0")


def test_a_machine_folds_to_a_few_words() -> None:
    names = [f"nid{number:06d}.cluster" for number in range(9000, 19_000)]
    assert tables.fold_names(names) == ["nid00[9000-9999].cluster", "nid0[10000-18999].cluster"]
    assert tables.unfold_names(tables.fold_names(names), "r", "hosts") == names
    assert columns.fold([*range(128)] * 10_000) == "0-127*10000"


def test_guard_and_nics_are_kept_and_a_void_launch_is_no_result() -> None:
    launch = judged(with_run(guard=GUARD, nics=nic_bytes.of_rows(NICS), nic_verdict=Verdict.OBEYED))
    assert launch.is_void and not launch.is_result and launch.status is Status.OK
    assert launch.guard and launch.guard.figures == {"cpu_busy_percent": 99.1}
    assert launch.nics and launch.nics.tx_bytes == [10]


def test_all_64_digits_of_the_content_are_compared_whatever_the_order_of_keys() -> None:
    """Two records of one id can be searched for; two of one digest cannot."""
    assert record.sealed(dict(reversed(list(SMALL.document.items()))))["sha256"] == SMALL.sha256
    assert "the record was changed" in refusal({**SMALL.document, "created": "2026-11-22T03:00:00Z"})
    assert SMALL.document["sha256"] == SMALL.sha256 == record.sealed(SMALL.document)["sha256"]
    wrong = SMALL.sha256[:12] + "0" * 52
    assert "sha256" in refusal({**SMALL.document, "sha256": wrong})


TEXT = record.text(SMALL).encode()


@settings(max_examples=150, deadline=None)
@given(place=st.integers(0, len(TEXT) - 3), byte=st.integers(0, 255))
def test_a_changed_byte_is_refused_or_changes_nothing_and_a_cut_is_refused(place: int, byte: int) -> None:
    try:
        read = record.parse(TEXT[:place] + bytes([byte]) + TEXT[place + 1 :], "r.json")
    except InputError as error:
        one_line(error)
    else:
        assert read.document == SMALL.document  # a blank became another blank
    with pytest.raises(InputError) as caught:
        record.parse(TEXT[:place], "r.json")
    assert one_line(caught.value).startswith("r.json: ")


def test_a_large_record_is_compressed_and_read_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "PLAIN_BYTES", 1000)
    path = archive.add(SMALL, tmp_path)
    assert path.name.endswith(f"{SMALL.id}.json.gz")
    shown = subprocess.run(["zcat", path], capture_output=True, text=True, check=True)
    assert shown.stdout == record.text(SMALL)
    (read,) = archive.load_all(tmp_path)
    assert read.document == SMALL.document and archive.add(read, tmp_path) == path
    whole = path.read_bytes()
    for broken in (whole[:-9], whole + b"x", whole[:200] + bytes(50) + whole[250:]):
        path.write_bytes(broken)
        with pytest.raises(InputError) as caught:
            record.load(path)
        assert one_line(caught.value).startswith(str(path))


def test_what_unpacks_to_a_great_many_bytes_is_neither_written_nor_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_io, "MOST_UNPACKED_BYTES", 2000)
    with pytest.raises(InputError, match="at most 67,108,864, unpacked 2,000"):
        archive.add(SMALL, tmp_path)
    assert list(tmp_path.rglob("*.json*")) == []
    with pytest.raises(InputError, match="more bytes when unpacked"):
        record.parse(json_io.packed(b" " * 4000), "bomb.json.gz")


# ---- assemble ----


def judged(change: Callable[[LaunchRun, dict[str, Any]], LaunchRun]) -> record.Launch:
    """The only launch of a small job, spoiled."""
    made = synthetic.small(change=change)
    assert record.validate(json.loads(record.text(made)), "again").document == made.document
    assert made.status is made.launches[0].status
    return made.launches[0]


def with_document(**changes: Any) -> Callable[[LaunchRun, dict[str, Any]], LaunchRun]:
    def change(run: LaunchRun, document: dict[str, Any]) -> LaunchRun:
        document.update(changes)
        return run

    return change


def alone(run: LaunchRun, document: dict[str, Any]) -> LaunchRun:
    """As where the program's MPI does not understand the launcher, and each rank is rank 0 of 1."""
    document["mpi"]["ranks"], document["ranks"] = 1, document["ranks"][:1]
    return run


def with_run(**changes: Any) -> Callable[[LaunchRun, dict[str, Any]], LaunchRun]:
    return lambda run, document: dataclasses.replace(run, **changes)


@pytest.mark.parametrize(
    ("change", "status", "verdict", "reason"),
    [
        (with_run(), "ok", "obeyed", ""),
        (with_run(exit_status=3), "failed", "obeyed", "exit status 3"),
        (with_run(exit_status=137, reason="killed\nby hand"), "failed", "obeyed", "exit status 137; killed by hand"),
        (with_run(output=None), "failed", "cannot-tell", "the benchmark left no output"),
        (with_document(verified=False), "failed", "obeyed", "the benchmark found wrong data"),
        (with_document(benchmark="hops"), "failed", "obeyed", "hops ran, the case says halo"),
        (with_document(parameters={"grid": [9]}), "failed", "obeyed", "grid: [9] ran, the case says [2, 1, 1]"),
        (with_run(expected_hosts=["n-0-0-0", "n-9"]), "failed", "not-obeyed", "rank 1 ran on n-1-0-0, asked n-9"),
        (
            alone,
            "failed",
            "not-obeyed",
            "2 singletons instead of 2 ranks: the program's MPI does not understand what started it",
        ),
        (with_run(expected_hosts=["n-0-0-0"]), "failed", "not-obeyed", "2 ranks ran, asked 1"),
        (with_run(expected_hosts=None), "ok", "cannot-tell", ""),
        (with_run(exit_status=None, output=None), "not-measured", "cannot-tell", "the launch was never started"),
    ],
)
def test_a_launch_is_judged_by_the_first_fault(change: Any, status: str, verdict: str, reason: str) -> None:
    launch = judged(change)
    assert (launch.status, launch.placement_verdict, launch.reason.removeprefix("parameter ")) == (
        status,
        verdict,
        reason,
    )


HERE: dict[str, Any] = {"system": {"name": "v", "partition": "p", "environment": "e"}, "origin": "emulated"}


def test_a_truncated_output_fails_the_launch_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "launch-0.json"
    path.write_text(json.dumps(OUTPUT)[:100])
    case = synthetic.case(extents=[2, 1, 1], launches_per_combination=1, placements=["plain"])
    run = LaunchRun(placement="plain", nic_policy="library-default", repeat=0, command="x", exit_status=0, output=path)
    made = assemble(case=case, provenance=synthetic.provenance(), launches=[run], **HERE)
    assert made.status is Status.FAILED
    assert made.launches[0].reason.startswith("launch-0.json: line 1 column")


def test_launches_that_are_not_described_are_not_measured_and_mpi_comes_from_the_first_output() -> None:
    made = assemble(case=synthetic.case(), provenance=synthetic.provenance(mpi=None), launches=[], **HERE)
    assert made.status is Status.NOT_MEASURED
    assert len(made.launches) == 18
    assert made.provenance["mpi"] is None
    made = synthetic.job(
        synthetic.case(extents=[2, 1, 1], launches_per_combination=1),
        synthetic.halo_series(synthetic.HALO_SPEED),
        mpi=None,
    )
    assert made.provenance["mpi"] == synthetic.MPI


def test_provenance_of_here_fits_the_schema() -> None:
    collected = {**synthetic.provenance(), "railyard": provenance.code(), "machine": provenance.machine()}
    made = changed(lambda document: document.update(provenance=collected))
    assert record.validate(made, "here").provenance["machine"]["cpus"] == os.cpu_count()


# ---- archive ----


def test_archive_keeps_each_record_once(tmp_path: Path) -> None:
    path = archive.add(SMALL, tmp_path)
    before = path.stat().st_mtime_ns
    assert archive.add(SMALL, tmp_path) == path
    assert path.stat().st_mtime_ns == before
    assert path.relative_to(tmp_path).as_posix() == f"vtorus/2026-11-21-{SMALL.id}.json"
    assert [each.id for each in archive.load_all(tmp_path)] == [SMALL.id]


def test_archive_passes_over_what_is_no_record(tmp_path: Path) -> None:
    archive.add(SMALL, tmp_path)
    for name in ("schema/record-v1.json", "vtorus/.2026-11-21-abc.json.x.tmp", "vtorus/notes.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("{")
    assert len(archive.load_all(tmp_path)) == 1


def test_archive_tells_an_edited_record_and_one_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    path = archive.add(SMALL, tmp_path)
    path.write_text(record.text(HALO))
    with pytest.raises(InputError, match="as the file's name says"):
        archive.load_all(tmp_path)
    with pytest.raises(InputError, match="another record of the same id"):
        archive.add(SMALL, tmp_path)
    with pytest.raises(RunError) as caught:
        archive.add(SMALL, path)
    one_line(caught.value)


def test_archive_without_hard_links_still_adds_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Path, target: Path) -> None:
        raise PermissionError(errno.EPERM, "no links here")

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    assert archive.add(SMALL, tmp_path) == archive.add(SMALL, tmp_path)
    assert len(list((tmp_path / "vtorus").iterdir())) == len(archive.load_all(tmp_path)) == 1


ADDER = (
    "import itertools, json, sys; from pathlib import Path\n"
    "from railyard.records import record; from railyard.records.store import archive\n"
    "document = json.loads(Path(sys.argv[1]).read_text())\n"
    "import numpy; print('ready', flush=True)\n"
    "for seed in itertools.islice(itertools.count(int(sys.argv[3])), int(sys.argv[4])):\n"
    "    document['case']['seed'] = seed\n"
    "    document = record.sealed(document)\n"
    "    archive.add(record.validate(document, 'made'), Path(sys.argv[2]))\n"
)


def python(program: str, *arguments: object) -> list[str]:
    return [sys.executable, "-c", program, *map(str, arguments)]


def test_several_processes_add_the_same_and_other_records(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    starts = [0, 0, 10, 15]  # the first two add the very same records
    adders = [
        subprocess.Popen(python(ADDER, DATA / "small.json", tmp_path, start, 20), cwd=root, stdout=subprocess.DEVNULL)
        for start in starts
    ]
    assert [adder.wait(timeout=HUNG_S) for adder in adders] == [0] * 4
    seeds = sorted(each.case.seed for each in archive.load_all(tmp_path))
    assert seeds == sorted(set(itertools.chain(*(range(start, start + 20) for start in starts))))
    assert len(list((tmp_path / "vtorus").iterdir())) == len(seeds)


def test_a_kill_at_any_moment_leaves_the_archive_readable(tmp_path: Path) -> None:
    root, chance = Path(__file__).parents[2], random.Random(2)
    for start in range(0, 6000, 1000):
        with subprocess.Popen(
            python(ADDER, DATA / "small.json", tmp_path, start, 1000), cwd=root, stdout=subprocess.PIPE, text=True
        ) as adder:
            assert adder.stdout is not None
            assert adder.stdout.readline() == "ready\n"
            if start:  # the first is killed however little it did, on a busy machine nothing
                wait_until(lambda: archive.paths(tmp_path), "a record is there")
            time.sleep(chance.uniform(0.01, 0.2))
            adder.send_signal(signal.SIGKILL)
        archive.load_all(tmp_path)
    loaded = archive.load_all(tmp_path)
    assert loaded
    assert archive.add(SMALL, tmp_path).exists()


def test_a_file_that_cannot_be_read_hides_no_other(tmp_path: Path) -> None:
    root, elsewhere = tmp_path / "archive", archive.add(synthetic.halo(seed=3), tmp_path / "elsewhere")
    good = [archive.add(synthetic.halo(seed=seed), root) for seed in (1, 2)]
    bad = good[0].with_name("2026-11-21-0123456789ab.json")
    bad.write_text("{")
    for words in (
        ["report", root, "--format", "csv", "-o", tmp_path / "rows.csv"],
        ["compare", root, elsewhere],
        ["series", "sizes", "--archive", root],
        ["results", "list", "--archive", root],
    ):
        done = CliRunner().invoke(cli, list(map(str, words)))
        assert done.exit_code == 0, done.output
        lines = done.stderr.splitlines()
        assert lines and all("passed over" in line and str(bad) in line for line in lines)


def test_a_field_that_only_the_schema_and_its_maker_know_is_written_and_read(monkeypatch: pytest.MonkeyPatch) -> None:
    content = json.loads((json_io.SCHEMAS / "record-v2.json").read_text())
    content["$defs"]["launch"]["properties"]["fan_rpm"] = {"type": "integer", "minimum": 0}
    patched = schemas.compiled(content)
    monkeypatch.setattr(json_io, "validator", lambda _: patched)
    made = evidence.good(change=lambda run, _: dataclasses.replace(run, others={"fan_rpm": 900 + run.index}))
    again = record.parse(record.text(made).encode(), "r")
    assert [launch.others for launch in again.launches] == [{"fan_rpm": 900 + at} for at in range(len(again.launches))]
    with pytest.raises(InputError, match=r"fan_rpm: -1 is not valid"):
        evidence.good(change=lambda run, _: dataclasses.replace(run, others={"fan_rpm": -1}))
