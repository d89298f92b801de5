"""Third-party programs: recorded output, whole or cut off, becomes figures digit for digit, or one line why not."""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from support.commands import BIN, CHECKOUT, ran
from support.inputs.outputs import CHECKS, DATA, RECORDED, SIZES, text_of

from checks.applications import mcb
from railyard.applications import launch, mpip, patterns
from railyard.applications import reading as patterns_of
from railyard.applications.launch import Witness
from railyard.applications.patterns import Figure, Limit, Patterns
from railyard.applications.programs import gpcnet, lulesh, osu
from railyard.applications.reading import Reading
from railyard.base.errors import InputError
from railyard.cli import cli
from railyard.records import benchmark
from railyard.records.benchmark import Series

#: FOM of a recording -> the line that the program printed it in, and how far railyard moves its point.
PRINTED = {
    "lulesh-8": ("fom_kzone_s", r"FOM                  =", 0),
    "lulesh-27": ("fom_kzone_s", r"FOM                  =", 0),
    "amg-8": ("fom_per_s", r"Figure of Merit (FOM_1):", 0),
    "amg2023-8": ("fom_per_s", "Figure of Merit (FOM): nnz_AP / (Setup Phase Time + Solve Phase Time)", 0),
    "hpcg-8": ("rating_gflop_s", "Final Summary::HPCG result is VALID with a GFLOP/s rating of=", 0),
    "minife-8": ("cg_mflop_s", "Total CG Mflops:", 0),
    "minighost-8": ("total_gflop_s", "GFLOPS_Total:", 0),
    "snap-8": ("cells_per_s", "Inverse Grind Time FOM (1/ns)", 9),
    "umt-8": ("unknowns_per_s", "figure of merit =", 0),
}


def read(name: str) -> Reading:
    return RECORDED[name](text_of(name), text_of(name, "left"), f"{name}.out")


def value(series: Iterable[Series], fom: str, **labels: object) -> float:
    (found,) = [each for each in series if each.fom == fom and dict(each.labels) == labels]
    return found.samples[0]


#: Mini-applications without a recording, and the reason.
NOT_RECORDED = {"mcb": "its licence lets nobody hand it on, and it was never run here"}
MINI_APPLICATIONS = [path for path in sorted(CHECKS.glob("*.py")) if "(MiniAppCheck):" in path.read_text()]


@pytest.mark.parametrize("check", MINI_APPLICATIONS, ids=lambda path: path.stem)
def test_a_mini_application_has_a_recording_a_package_and_a_row_on_the_page(check: Path) -> None:
    specs = re.findall(r"^    - ([\w-]+)", (CHECKOUT / "spack.yaml").read_text(), re.MULTILINE)
    page = (CHECKOUT / "docs/applications.md").read_text()
    for name, value in re.findall(r'^    (benchmark|package) = "(\S+)"$', check.read_text(), re.MULTILINE):
        if name == "package":
            assert value in specs, f"add {value} to spack.yaml"
            continue
        recordings = [recording for recording in RECORDED if recording.rpartition("-")[0] == value]
        assert recordings or value in NOT_RECORDED, f"add tests/data/applications/{value}-RANKS.out"
        assert f"| `{value}_*` |" in page, f"add a row `{value}_*` to docs/applications.md"


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_output_is_read_and_verified(name: str) -> None:
    found = read(name)
    assert found.verified and found.series
    assert found.ranks in (None, int(name.rpartition("-")[2]))


@pytest.mark.parametrize("name", PRINTED)
def test_a_figure_of_merit_is_the_printed_one_digit_for_digit(name: str) -> None:
    fom, words, places = PRINTED[name]
    (line,) = [line for line in (text_of(name) + text_of(name, "left")).splitlines() if line.strip().startswith(words)]
    printed = Decimal(line.strip().removeprefix(words).split()[0]).scaleb(places)
    assert Decimal(repr(value(read(name).series, fom))) == printed


#: The figures in the columns after the size, with their places; a nonblocking collective also prints what it computed.
OVERLAP = (("latency_us", 0), ("", 0), ("communication_us", 0), ("overlap_percent", 0))
COLUMNS: dict[str, tuple[tuple[str, int], ...]] = {
    "osu_mbw_mr-8": (("bandwidth_gbyte_s", -3), ("rate_message_s", 0)),
    **dict.fromkeys(("osu_ibarrier-4", "osu_iallreduce-4"), OVERLAP),
    **dict.fromkeys(("osu_put_latency-2", "osu_get_acc_latency-2"), (("latency_us", 0),)),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_every_line_of_an_osu_table_is_kept_digit_for_digit(name: str) -> None:
    found = read(name).series
    rows = [line.split() for line in text_of(name).splitlines() if line.strip()[:1].isdigit()]
    assert len(rows) == {"osu_mbw_mr-8": len(SIZES), "osu_ibarrier-4": 1}.get(name, len(rows)) > 0
    for row in rows:
        labels = {} if name == "osu_ibarrier-4" else {"size_bytes": int(row.pop(0))}
        for (fom, places), token in zip(COLUMNS[name], row, strict=False):
            assert not fom or Decimal(repr(value(found, fom, **labels))) == Decimal(token).scaleb(places)


@pytest.mark.parametrize("name", RECORDED)
def test_output_that_is_cut_off_anywhere_has_no_figure_or_the_same_ones(name: str) -> None:
    """The error names the recording; a cut behind the last line that matters changes nothing."""
    lines, left, whole = text_of(name).splitlines(keepends=True), text_of(name, "left"), read(name)
    for count in range(0, len(lines), max(1, len(lines) // 12)):
        try:
            reading = RECORDED[name]("".join(lines[:count]), left, f"{name}.out")
        except InputError as error:
            assert name in str(error)
        else:
            assert count and (reading.fault or reading == whole)


@pytest.mark.parametrize(
    ("name", "words"),
    [("minife-8", "Total CG Mflops"), ("minighost-8", "GFLOPS_Total"), ("snap-8", "Inverse Grind Time FOM")],
)
def test_a_file_that_is_cut_off_is_no_result(name: str, words: str) -> None:
    left = text_of(name, "left")
    figure = left.index(words)
    for cut in (0, figure // 2, figure, left.index("\n", figure)):
        with pytest.raises(InputError, match=name):
            RECORDED[name](text_of(name), left[:cut], f"{name}.out")


def test_half_a_number_is_none() -> None:
    text = text_of("lulesh-8")
    cut = text[: text.index("(z/s)") - 3]
    with pytest.raises(InputError, match=r"FOM: no line matches .*ends with .FOM  "):
        lulesh.parse(cut, "", "launch-000.out")
    table = text_of("osu_latency-2")
    with pytest.raises(InputError, match="table"):
        RECORDED["osu_latency-2"](table.rstrip("\n"), "", "launch-000.out")


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        ("lulesh-8", "2.720531e+04", "2.720532e+04", "final origin energy is 2.720532e+04, to be 2.720531e+04"),
        ("amg-8", "Relative Residual Norm = ", "Relative Residual Norm = 1", "to be at most 1e-08"),
        ("umt-8", "error= 0.00060287", "error= 0.0060287", "the largest error is 0.0060287, to be at most 0.002"),
        ("snap-8", "Max Diff= 1.359897E-02", "Max Diff= 1.359897E-01", "0.13599, to be at most 0.03"),
        ("snap-8", "Success! Done in a SNAP!", "Unconverged", "no line 'Success! Done in a SNAP!'"),
        ("quicksilver-8", "PASS:: Absorption / Fission", "FAIL:: Absorption / Fission", "no line matches"),
        ("quicksilver-8", "PASS:: Collision to Facet", "FAIL:: Collision to Facet", "no line matches"),
        ("quicksilver-8", "PASS:: No Particles Lost", "FAIL:: No Particles Lost", "no line matches"),
        (
            "osu_allreduce-8",
            "1399.47              Pass",
            "1399.47              Fail",
            "wrong data at 1024 bytes: validation says Fail",
        ),
    ],
)
def test_a_failed_verification_refuses_the_figure_of_merit(name: str, old: str, new: str, said: str) -> None:
    text, left = text_of(name), text_of(name, "left")
    assert old in text + left
    found = RECORDED[name](text.replace(old, new), left.replace(old, new), name)
    assert not found.verified and said in found.fault and not found.series


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("minife-failed", ""),
        ("minighost-failed", ""),
        ("osu_allreduce-failed", "osu_allreduce: wrong data at 16 bytes: validation says Fail"),
    ],
)
def test_a_run_that_failed_its_own_verification_is_said_so(name: str, said: str) -> None:
    """Recorded: a solver stopped too early, a tolerance that no run meets, sums of characters, which overflow."""
    parse = RECORDED[name.replace("failed", "8")]
    found = parse(text_of(name), text_of(name, "left") or text_of(name.replace("failed", "8"), "left"), name)
    assert not found.verified and not found.series and said in found.fault


MCB = """\
MC advance time =12.5
 MC max error =0.21
 globalTracks=1234567
 FOM =98765.4 tracks/second
 performance per core =12345.7 tracks/second/core
done!
"""


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [("", "", ""), ("0.21", "0.9", "MC max error is 0.9, to be at most 0.7"), ("done!", "", "no line matches")],
)
def test_mcbs_lines_are_read_and_its_error_judged_by_its_particles(old: str, new: str, said: str) -> None:
    """The lines as MCB's source prints them: the program may not be handed on, so none is recorded here."""
    parse = patterns.parser(mcb.reading(40_000))
    found = parse(MCB.replace(old, new) if old else MCB, "", "launch-000.out")
    assert found.verified is not bool(said) and said in found.fault
    assert not said or not found.series
    assert said or value(found.series, "tracks_per_s") == 98765.4


def test_threads_that_the_program_did_not_have_are_refused() -> None:
    """UMT prints its OpenMP threads; of a program that prints none the witness counts them."""

    def seen(threads: int | None) -> Witness:
        return dataclasses.replace(witness_of(8), openmp_threads=threads)

    launch.check_threads(read("umt-8"), seen(1), 1)
    launch.check_threads(read("amg-8"), seen(0), 1)
    launch.check_threads(read("amg-8"), seen(2), 2)
    launch.check_threads(read("amg-8"), seen(None), 2)
    launch.check_threads(read("umt-8"), seen(4), None)
    with pytest.raises(InputError, match=r"UMT: threads: .*2, as were requested"):
        launch.check_threads(read("umt-8"), seen(2), 2)
    with pytest.raises(InputError, match=r"AMG: threads: 4 .*2, as were requested"):
        launch.check_threads(read("amg-8"), seen(4), 2)
    with pytest.raises(InputError, match=r"AMG: threads: 0 .*2, as were requested.* without OpenMP"):
        launch.check_threads(read("amg-8"), seen(0), 2)


@pytest.mark.parametrize("said", ["nan", "-nan", "NaN", "inf"])
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("lulesh-8", "FOM                  ="),
        ("lulesh-8", "Final Origin Energy ="),
        ("lulesh-8", "TotalAbsDiff ="),
        ("amg-8", "Figure of Merit (FOM_1):"),
        ("amg-8", "Final Relative Residual Norm ="),
        ("minife-8", "Total CG Mflops:"),
        ("minife-8", "Final Resid Norm:"),
        ("minighost-8", "GFLOPS_Total:"),
        ("osu_latency-2", "1024"),
        ("osu_allreduce-8", "1024"),
    ],
)
def test_what_is_no_finite_number_is_no_figure_and_verifies_nothing(name: str, words: str, said: str) -> None:
    """In the figure of merit, in a residual or an energy that verification judges, at one size of a curve."""
    number = re.compile(rf"^( *{re.escape(words)} *)[-+.\deE]+", re.M)
    texts = [number.sub(rf"\g<1>{said}", text_of(name, ending)) for ending in ("out", "left")]
    assert texts != [text_of(name, ending) for ending in ("out", "left")]
    with pytest.raises(InputError, match=rf"{name}.*: '{said}' is not valid; expected a finite number"):
        RECORDED[name](texts[0], texts[1], f"{name}.out")


def test_a_barrier_that_took_no_number_is_no_result() -> None:
    text = text_of("osu_barrier-8").replace("890.16", "nan")
    with pytest.raises(InputError, match="table: lacks a line of figures after 'nan'"):
        RECORDED["osu_barrier-8"](text, "", "launch-000.out")


def test_worlds_of_one_rank_each_are_said_so() -> None:
    """Recorded: eight programs whose MPI did not know the launcher, each with the whole output."""
    with pytest.raises(InputError, match=r"8 lines match .*several programs ran, each alone"):
        lulesh.parse(text_of("lulesh-singletons"), "", "launch-000.out")


def witness_of(ranks: int) -> Witness:
    layout = {"ranks": 1, "cpu_sets": [], "cpu": "0", "allowed_cpus": ".", "numa_node": "."}
    nodes = [{"host": f"n{rank}", "ranks": str(rank), "layout": 0} for rank in range(ranks)]
    mpi = {"library": "Open MPI", "standard": "3.1", "ranks": ranks}
    return Witness(mpi=mpi, ranks={"layouts": [layout], "nodes": nodes})


def test_a_launch_becomes_a_benchmarks_output() -> None:
    made = launch.document("lulesh", read("lulesh-8"), witness_of(8), ranks=8)
    parsed = benchmark.parse(made, "launch-000.json")
    assert parsed.verified and [rank.host for rank in parsed.ranks] == [f"n{rank}" for rank in range(8)]
    assert {series.fom for series in parsed.series} == {"fom_kzone_s", "elapsed_s"}


@pytest.mark.parametrize(
    ("ranks", "said"), [(1, "8 ranks in one world; there are 8 worlds of one rank each"), (7, "8 ranks")]
)
def test_another_number_of_ranks_is_refused(ranks: int, said: str) -> None:
    with pytest.raises(InputError, match=f"the witness: ranks: {ranks} is not valid; expected {said}"):
        launch.check_world(witness_of(ranks), 8)


def test_a_program_that_says_another_number_of_ranks_is_refused() -> None:
    with pytest.raises(InputError, match="LULESH: ranks: 8 is not valid; expected 27"):
        launch.document("lulesh", read("lulesh-8"), witness_of(27), ranks=27)


def test_a_profile_says_where_the_time_goes() -> None:
    found = mpip.parse(text_of("lulesh-8", "mpiP"), "lulesh-8.mpiP")
    total = value(found.series, mpip.SHARE)
    classes = {
        str(each.labels["class"]): each.samples[0] for each in found.series if each.fom == mpip.SHARE and each.labels
    }
    assert 0 < total < 100 and math.isclose(sum(classes.values()), total, abs_tol=0.2)
    assert classes["point-to-point"] > 0 and classes["collective"] > 0
    assert value(found.series, mpip.SIZE, **{"class": "collective"}) == 8, "LULESH reduces one double"
    sent = [each.samples[0] for each in found.series if each.fom == mpip.SENT]
    assert math.isclose(sum(sent), 100, abs_tol=0.5)


def test_a_profile_that_is_cut_off_is_refused() -> None:
    text = text_of("lulesh-8", "mpiP")
    with pytest.raises(InputError, match="end: no line matches"):
        mpip.parse(text[: len(text) // 2], "lulesh-8.mpiP")


@pytest.mark.parametrize(
    ("kind", "functions"),
    [
        ("point-to-point", "Isend Waitall Sendrecv Iprobe"),
        ("collective", "Allreduce Barrier Ialltoallv Reduce_scatter_block"),
        ("other", "Comm_dup Put"),
    ],
)
def test_every_call_has_its_class(kind: str, functions: str) -> None:
    assert {mpip.call_class(function) for function in functions.split()} == {kind}


# ---- programs that are read by patterns of their check ----

HPCCG = Path(__file__).resolve().parents[1] / "data/site/hpccg.py"


def application(*arguments: object) -> Result:
    return CliRunner().invoke(cli, ["application", *map(str, arguments)])


@pytest.mark.parametrize(
    ("name", "recording", "lines"),
    [
        (
            str(HPCCG),
            "hpccg-8.out",
            ["HPCCG unknown: verified", "total_mflop_s: 21.3719 Mflop/s (higher is better)", "iterations: 149"],
        ),
        (
            "quicksilver",
            "quicksilver-8.out",
            ["Quicksilver 1.0: verified", "segments_per_s: 49900 1/s (higher is better)", "fluence_homogeneous: FAIL"],
        ),
    ],
)
def test_recorded_output_is_tried_by_a_check_of_one_file_or_a_name(name: str, recording: str, lines: list[str]) -> None:
    """HPCCG's check holds program, sizes, figures and verification. Quicksilver's fluence is read and not judged."""
    done = application("try", name, "--output", DATA / recording)
    assert done.exit_code == 0 and "ranks: 8" in done.output and done.output.count("(the score's)") == 1, done.output
    assert all(line in done.output for line in lines), done.output


def test_programs_with_a_module_are_listed() -> None:
    listed = application("list").output.split()
    assert {"lulesh", "osu_latency", "quicksilver"} <= set(listed)
    assert len(listed) == len(set(listed))


def test_a_run_outside_of_its_limit_is_not_verified(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.out"
    wrong.write_text(text_of("hpccg-8").replace("Final residual: 6.2431e-54", "Final residual: 1.5"))
    done = application("try", HPCCG, "--output", wrong)
    assert done.exit_code and "final residual is 1.5, to be at most 4.8704e-07" in str(done.exception)
    assert "Mflop/s" not in done.output, "a run that is not verified has no figure"


def figure(unit: str, better: str = "higher") -> Figure:
    return Figure(pattern="x", unit=unit, better=better)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"figures": {}}, "at least one figure of merit"),
        ({"verified": ""}, "a line or a limit of a right run"),
        ({"figures": {"hpl": figure("Tflop/h")}}, "X: figures.hpl.unit: 'Tflop/h'.*such as Tflop/s"),
        ({"figures": {"hpl": figure("Tflop/s", "more")}}, "X: figures.hpl.better: 'more'.*lower, higher"),
        ({"figures": {"HPL": figure("Tflop/s")}}, "'HPL'.*small letters"),
        (
            {"figures": {"total_mflop_s": figure("Mflop/s"), "total_s": figure("s", "lower")}},
            "'total_mflop_s, total_s' .*names that differ before the unit",
        ),
    ],
)
def test_patterns_that_could_never_give_a_result_are_refused(changes: dict[str, Any], words: str) -> None:
    whole = {"program": "X", "figures": {"total_mflop_s": figure("Mflop/s")}, "verified": "right"}
    with pytest.raises(InputError, match=words):
        Patterns(**{**whole, **changes})


def test_patterns_survive_the_way_through_a_job() -> None:
    made = Patterns(program="X", figures={"a_s": figure("s", "lower")}, limits={"r": Limit(pattern="R", at_most=1.0)})
    assert patterns.load(json.loads(json.dumps(made.document()))) == made


def test_a_pattern_that_fits_nothing_or_too_much_is_named() -> None:
    parse = patterns.parser(
        Patterns(program="X", figures={"a_s": Figure(pattern="A .*", unit="s", better="lower")}, verified="ok")
    )
    with pytest.raises(InputError, match=r"a_s: no line matches 'A \.\*'; the output ends with 'ok'"):
        parse("ok\n", "", "x.out")
    with pytest.raises(InputError, match=r"a_s: 2 lines match 'A \.\*', expected one"):
        parse("A 1\nA 2\nok\n", "", "x.out")


@pytest.mark.parametrize(("printed", "value"), [("950 us", 950.0), ("1.1 ms", 1100.0)])
def test_a_program_that_scales_its_unit_by_itself_is_read_in_the_declared_one(printed: str, value: float) -> None:
    figure = Figure(pattern=rf"A {patterns_of.NUMBER} (?P<unit>\S+)", unit="us", better="lower")
    parse = patterns.parser(Patterns(program="X", figures={"a_us": figure}, verified="ok"))
    (series,) = parse(f"A {printed}\nok\n", "", "x.out").series
    assert series.samples == pytest.approx((value,))
    with pytest.raises(InputError, match=r"unit of a_us: 'MB/s'"):
        parse("A 3 MB/s\nok\n", "", "x.out")


@pytest.mark.parametrize(
    ("name", "printed", "other"),
    [
        ("gpcnet-16", "MiB/s/rank", "KiB/s/rank"),
        ("osu_mbw_mr-8", "MB/s  ", "GB/s  "),
        ("osu_latency-2", "Avg Latency(us)", "Avg Latency(ms)"),
    ],
)
def test_a_unit_that_is_not_known_is_named(name: str, printed: str, other: str) -> None:
    changed = text_of(name).replace(printed, other)
    assert changed != text_of(name)
    parse = gpcnet.parse if name.startswith("gpcnet") else osu.parser(name.partition("-")[0], None)
    with pytest.raises(InputError, match=re.escape(other.strip())):
        parse(changed, "", "x.out")


def test_a_mistake_in_a_parser_is_one_line_with_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A launch's fault, not the end of the session without a record."""

    def oops(text: str, left: str, source: str) -> Reading:
        wanted: dict[str, Reading] = {}
        return wanted["oops"]

    seen = {"format": "railyard-witness/1", "mpi": {"ranks": 8}, "ranks": []}
    (tmp_path / "launch-000.witness").write_text(json.dumps(seen))
    monkeypatch.setattr(launch, "parser", lambda benchmark, parameters: oops)
    found = launch.read(tmp_path, "launch-000", "lulesh", parameters={}, ranks=8)
    assert re.fullmatch(r"the parser of lulesh failed: KeyError: 'oops' \(\S+\.py, line \d+\)", found)


def test_a_program_without_a_parser_is_refused_before_anything_runs() -> None:
    """Before, all its launches ran and were said to have left no output."""
    launch.need_parser("lulesh")
    with pytest.raises(InputError, match=r"'hpcgg' .*a program with a parser: amg, .*lulesh, .* others of OSU"):
        launch.need_parser("hpcgg")
    with pytest.raises(InputError, match=r"did you mean 'osu_latency'"):
        launch.need_parser("osu_latncy")
    with pytest.raises(InputError):
        launch.need_parser("mpip")


def test_gpcnets_victims_and_factors_are_those_that_it_printed() -> None:
    found = read("gpcnet-16")
    values = {
        (each.fom, *(dict(each.labels)[key] for key in ("test", "load", "statistic"))): each.samples[0]
        for each in found.series
    }
    latency = "RR Two-sided Lat (8 B)"
    assert values["latency_us", latency, "alone", "average"] == 316.9
    assert values["latency_us", latency, "loaded", "p99"] == 16805.0
    rate = values["bandwidth_gbyte_s", "RR Two-sided BW+Sync (8192 B)", "alone", "average"]
    assert rate == pytest.approx(1.8 * 1024**2 * 1e-9)
    assert values["impact_percent", latency, "loaded", "average"] == 1350
    assert len(values) == 18 and (found.ranks, found.version) == (16, "1.3")
    assert found.parameters == {"victim_nodes": 4, "congestor_nodes": 12}


def test_gpcnet_without_its_verbose_tables_reads_the_same() -> None:
    """A plain build prints one table of victims in place of one for each, without some columns."""
    whole = text_of("gpcnet-16")
    kept = []
    for line in whole.splitlines():
        cells = line.split("|")
        if "running with Congestion Tests (" in line:
            line = re.sub(r"\(.*\)", "", line)
        if len(cells) == 10:
            line = "|".join([cells[0], cells[1], cells[4], cells[6], cells[8], cells[9]])
        if len(cells) == 10 and cells[1].strip().startswith(("Alltoall", "Two-sided", "Put", "Get")):
            continue
        kept.append(line)
    plain = gpcnet.parse("\n".join(kept) + "\n", "", "plain.out")
    assert list(plain.series) == list(read("gpcnet-16").series)


def test_gpcnet_that_ended_before_its_factors_has_no_figure() -> None:
    whole = text_of("gpcnet-16")
    with pytest.raises(InputError, match="are not the same tests; the output ends with"):
        gpcnet.parse(whole[: whole.index("Key Results")], "", "cut.out")
    with pytest.raises(InputError, match="title: no line matches"):
        gpcnet.parse("ERROR: this application must be run on at least 10 nodes\n", "", "small.out")


def test_a_histogram_that_contradicts_the_times_is_in_the_document_as_not_measured() -> None:
    """UMT's recorded report is of mpiP 3.5, which adds bytes: 13 % of the time in MPI are 0.1 % in its histogram."""
    profile = mpip.parse(text_of("umt-8", "mpiP"), "umt-8.mpiP")
    made = launch.document("umt", read("umt-8"), witness_of(8), ranks=8, profile=profile)
    (missing,) = benchmark.parse(made, "launch-000.json").not_measured_json
    assert missing["fom"] == "collective_time_percent" and "0.097 % of the time in MPI" in missing["reason"]
    assert not [one for one in made["series"] if one["fom"] == "collective_time_percent"]


def test_osu_s_programs_that_the_page_names_are_those_of_the_checks() -> None:
    """Every check of the table exists, every check of OSU is on a page, and railyard reads each of its programs."""
    page = (CHECKOUT / "docs/benchmarks.md").read_text()
    table = page[page.index("## What OSU's programs answer") : page.index("## Against OSU")]
    source = (CHECKS / "osu.py").read_text()
    named = set(re.findall(r"^class (osu_\w+)", source, re.MULTILINE))
    assert set(re.findall(r"`(osu_\w+)`", table)) == named - {"osu_all_multirail"}
    programs = re.findall(r'"(osu_\w+)"', "".join(re.findall(r"test = parameter\(([^)]*)\)", source)))
    assert len(programs) > 20 and set(programs) <= set(osu.PROGRAMS)


def test_a_parser_of_a_site_s_package_reads_its_program(tmp_path: Path) -> None:
    """The package declares an entry point, and nothing else is edited."""
    source = CHECKOUT / "railyard/applications/programs/hpl.py"
    (tmp_path / "my_site.py").write_text(source.read_text().replace('program="HPL"', 'program="mine"'))
    about = tmp_path / "my_site-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: my-site\nVersion: 1\n")
    (about / "entry_points.txt").write_text("[railyard.applications.programs]\nmine = my_site\n")
    output = next((CHECKOUT / "tests/data/public/outputs").glob("hpl-2.3*/output.txt"))
    done = ran(BIN / "railyard", "application", "try", "mine", "--output", output, env={"PYTHONPATH": str(tmp_path)})
    assert done.returncode == 0 and done.stdout.startswith("mine "), done.stdout + done.stderr
