"""Statistics against closed forms, careful words, and the page: self-contained, escaped, repeatable."""

from __future__ import annotations

import dataclasses
import html.parser
import json
import math
import random
import re
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import scipy.stats
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from support import evidence, synthetic
from support.records.rows import of_rows, with_rows

from railyard.analysis.cases import cases, comparison, curves, modelled, tables
from railyard.analysis.cases.cases import Case
from railyard.analysis.cases.judgement import Comparison
from railyard.analysis.cases.titles import origin_note
from railyard.analysis.figures import drawing, general, registry
from railyard.analysis.judge.judged import judge, judge_case
from railyard.analysis.report import answer, exports
from railyard.analysis.report import page as pages
from railyard.analysis.report.cli import report as command
from railyard.analysis.stats import medians
from railyard.analysis.text import Format, percent, size_text
from railyard.base.errors import InputError, RunError
from railyard.records import rules
from railyard.records.assemble import LaunchRun, assemble
from railyard.records.record import Record
from railyard.records.store import archive

CHECKOUT = Path(__file__).parents[2]
DATA = Path(__file__).parents[1] / "data" / "records"

HALO, HOPS, NICS = synthetic.halo(launches=8), synthetic.hops(), synthetic.allreduce()
ALL = (HALO, HOPS, NICS)
VALUES = st.lists(st.floats(0, 1e6), min_size=1, max_size=60)


# ---- statistics ----


@pytest.mark.parametrize("n", [6, 7, 8, 9, 10, 20, 2000])
def test_median_interval_lies_between_the_order_statistics_around_its_coverage(n: int) -> None:
    interval, half = medians.median_interval(range(1, n + 1)), scipy.stats.binom(n, 0.5)
    assert interval is not None and interval.coverage == 0.95
    assert interval.low + interval.high == pytest.approx(n + 1)
    rank = math.floor(interval.low)
    assert 1 - 2 * half.cdf(rank - 1) >= 0.95 > 1 - 2 * half.cdf(rank)


def test_too_few_launches_have_no_interval_and_none_no_summary() -> None:
    assert [medians.median_interval([float(k) for k in range(n)]) for n in range(6)] == [None] * 6
    with pytest.raises(ValueError, match="no launch"):
        medians.summarise([])


@settings(deadline=None)  # other work on the machine is no fault of the function
@given(VALUES)
def test_summary_is_ordered_and_ignores_order(values: list[float]) -> None:
    found = medians.summarise(values)
    assert found.minimum <= found.median <= found.maximum
    assert found == medians.summarise(sorted(values))
    if found.interval:
        assert found.interval.low <= found.median <= found.interval.high


@pytest.mark.parametrize(("jobs", "of"), [(1, "this job"), (3, "these 3 jobs"), (6, "the machine")])
def test_an_interval_says_of_what_it_is(jobs: int, of: str) -> None:
    values = [100.0 * 2**job + launch for job in range(jobs) for launch in range(6)]
    summary = medians.summarise(values, of_jobs=[str(job) for job in range(jobs) for _ in range(6)])
    assert summary.interval is not None and summary.interval.of == of
    assert summary.interval.low <= summary.median <= summary.interval.high


def test_a_median_of_four_or_five_jobs_has_no_interval_and_that_of_more_is_of_the_jobs() -> None:
    middles = [100.0, 102.0, 101.0, 99.0, 103.0, 104.0]
    five, six = (
        medians.summarise([one for one in middles[:jobs] for _ in range(9)], of_jobs=sorted([*"abcdef"[:jobs]] * 9))
        for jobs in (5, 6)
    )
    assert five.interval is None and six.interval == medians.median_interval(middles, "the machine")


def test_readings_of_a_coarse_clock_widen_the_interval() -> None:
    found = medians.median_interval([1.0, 1.0, 1.0, 1.0, 1.0, 2.0])
    assert found is not None and found.low == 0.5 and found.high >= 1.5
    assert medians.median_interval([1.0] * 6) is None
    assert medians.change_percent(91.5, 100) == pytest.approx(-8.5) and medians.change_percent(1.0, 0.0) is None


# ---- numbers ----


@pytest.mark.parametrize(
    ("values", "width", "text"),
    [
        ([9212.43], 0.0, "9,212"),
        ([0.084761], 0.0, "0.08476"),
        ([1.5e-7], 0.0, "1.500e\N{MINUS SIGN}07"),
        ([0.0], 0.0, "0"),
        ([12.0, 9000.0], 0.0, "12.00"),
        ([9212.43], 400.0, "9,212"),
        ([7.3012], 0.18, "7.30"),
        ([7.3012], 0.0, "7.301"),
        ([0.05, 1494.039], 0.0, "0.05"),
    ],
)
def test_numbers_have_four_digits_unless_an_interval_or_the_largest_value_takes_them(
    values: list[float], width: float, text: str
) -> None:
    assert Format.for_values(values, [width]).text(values[0]) == text


def test_emulated_rates_and_times_are_those_of_the_modelled_machine_and_the_csv_has_the_recorded_ones() -> None:
    (shown,) = modelled.records([HALO])
    pairs = zip(HALO.launches[0].series, shown.launches[0].series, strict=True)
    factors = {str(one.fom): other.samples[0] / one.samples[0] for one, other in pairs if one.samples[0]}
    assert factors["iteration_us"] == pytest.approx(0.001) and factors["bandwidth_gbyte_s"] == pytest.approx(1000)
    assert modelled.scale_text(HALO) == "at 1/1,000"
    assert next(exports.rows(judge([HALO])))["median"] != next(exports.rows(judge([shown])))["median"]


def test_percent_and_sizes() -> None:
    assert [percent(-8.51), percent(0.234), percent(-0.001)] == ["\N{MINUS SIGN}8.5 %", "+0.23 %", "+0.00 %"]
    assert [size_text(size) for size in (0, 8, 1024)] == ["0 B", "8 B", "1 KiB"]
    assert [size_text(size) for size in (1500, 2**20, 3 * 2**30)] == ["1,500 B", "1 MiB", "3 GiB"]


# ---- cases ----


def test_equal_records_are_one_case_and_each_counts_once() -> None:
    """Every job has a name of its own for its torus."""
    one, other = synthetic.halo(seed=1), synthetic.halo(seed=2, torus={**synthetic.TORUS, "name": "job7"})
    grouped = cases.group([one, other, one])
    assert [len(case.records) for case in grouped] == [2]
    found = comparison.comparisons(grouped[0])[0]
    assert [each.summary.n for each in found.groups if each.summary] == [12, 12, 12]


def test_cases_name_why_they_are_not_one() -> None:
    """Which records are, tests/records/test_comparable.py shows."""
    mpich = {"library": "MPICH 4.1", "standard": "4.0"}
    named = cases.differences(*cases.group([synthetic.halo(), synthetic.halo(seed=2, mpi=mpich)]))
    assert named == ["provenance.mpi.library", "provenance.mpi.standard"]
    dirty = {"version": "0.1.0", "git_commit": "1f" * 20, "git_dirty": True}
    one, other = cases.group([synthetic.halo(seed=seed, railyard=dirty) for seed in (1, 2)])
    assert "uncommitted changes" in cases.differences(one, other)[0]


@pytest.mark.parametrize(
    ("series", "median"),
    [
        ([{"fom": "a_us", "labels": {}, "samples": [1.0, 100.0, 3.0]}], 3.0),
        (
            [
                {"fom": "a_us", "labels": {"from": "n-0", "to": to}, "samples": [value]}
                for to, value in (("n-1", 1.0), ("n-2", 3.0))
            ],
            2.0,
        ),
    ],
    ids=["repeats", "pairs of hosts"],
)
def test_a_launch_is_the_median_of_its_repeats_and_of_its_pairs_of_hosts(
    series: list[dict[str, Any]], median: float
) -> None:
    made = synthetic.case(extents=[2, 1, 1], placements=["plain"], launches_per_combination=1)
    found = comparison.comparisons(cases.group([synthetic.job(made, lambda *_: series)])[0])
    assert [(each.labels, each.groups[0].summary) for each in found] == [((), medians.summarise([median]))]


# ---- words ----


def sentence(speed: Mapping[str, float], **changes: Any) -> str:
    return comparison.sentence(comparison.comparisons(cases.group([synthetic.halo(speed, **changes)])[0])[0])


def test_sentences_name_a_best_placement_only_when_it_is_apart() -> None:
    assert sentence(synthetic.HALO_SPEED, launches=8) == (
        "custom is lowest (8,492 µs), 8.7 % below plain (95 %: 7.7 to 9.5 %) and 4.8 % below cart-create (95 %: 4.1 to "
        "5.4 %); every difference is significant (Welch's test, Holm: p < 0.001)."
    )
    alike = sentence({"plain": 1.0, "other": 1.0}, launches=8)
    assert re.fullmatch(
        r"No difference is shown between \w+ and \w+; a difference above [\d.]+ % is excluded \(99 %\)\.", alike
    )
    assert re.search(
        r"below plain \(95 %: [\d.]+ to [\d.]+ %\): the difference is significant \(Welch's test, Holm: p < 0.001\)\.$",
        sentence({"plain": 1.0, "b": 0.9, "c": 0.9}, launches=8),
    )
    assert "n too small (n = 3; 4 launches each are needed)" in sentence(synthetic.HALO_SPEED, launches=3)
    assert "ran alone, so nothing is compared" in sentence({"plain": 1.0}, launches=8)


def spoil(run: LaunchRun, document: dict[str, Any]) -> LaunchRun:
    if run.placement == "custom":
        return dataclasses.replace(run, exit_status=137, output=None)
    if run.placement == "plain" and run.repeat == 0:
        document["ranks"][5]["host"] = "n-0-0-1"
    if run.placement == "cart-create" and run.repeat == 1:
        return dataclasses.replace(run, exit_status=None, output=None, started=None, elapsed_s=None)
    return run


SPOILED = synthetic.halo(launches=8, change=spoil)


def test_failed_and_not_measured_launches_are_counted_and_left_out() -> None:
    case = cases.group([SPOILED])[0]
    assert cases.tally(case) == Counter(planned=24, ok=14, failed=9, not_measured=1)
    found = comparison.comparisons(case)[0]
    rows = {row.name: (row.n, row.note) for row in tables.rows(found)}
    assert rows == {
        "plain": ("7 of 8", "1 failed"),
        "cart-create": ("7 of 8", "1 not measured"),
        "custom": ("0 of 8", "8 failed"),
    }
    assert comparison.sentence(found).endswith("There is no value of custom.")


# ---- curves ----


def test_curves_have_a_line_for_each_dimension_and_keep_every_point() -> None:
    panels = curves.panels(cases.group([HOPS])[0])
    over = [(panel.subject, panel.axis, panel.title, [*panel.lines]) for panel in panels]
    assert over == [
        ("bandwidth", "hops", "1 MiB", ["X", "Y", "Z"]),
        ("bidirectional bandwidth", "hops", "1 MiB", ["X", "Y", "Z"]),
        ("bandwidth", "size_bytes", "1 hop", ["X", "Y", "Z"]),
        ("bidirectional bandwidth", "size_bytes", "1 hop", ["X", "Y", "Z"]),
        ("latency", "hops", "8 B", ["X", "Y", "Z"]),
    ]
    assert [[*line] for line in panels[0].lines.values()] == [[*range(1, 7)], [1, 2], [*range(1, 7)]]


def test_a_curve_that_starts_at_no_bytes_is_drawn() -> None:
    output = json.loads((DATA / "output-hops.json").read_text())
    made = synthetic.case(
        benchmark="hops", extents=[2, 1, 1], parameters={}, placements=["plain"], launches_per_combination=1
    )
    only = cases.group([synthetic.job(made, lambda *_: output["series"])])[0]
    panels = curves.panels(only)
    assert [(panel.subject, panel.axis) for panel in panels] == [
        ("bandwidth", "size_bytes"),
        ("bidirectional bandwidth", "size_bytes"),
        ("latency", "size_bytes"),
    ]
    assert 0 in next(iter(panels[2].lines.values()))
    assert "0 B" in texts(drawing.inline_svg(general.panel_drawing(panels[2], "f"), ""))


def test_nic_policies_are_compared_by_their_names_and_a_curve_has_a_line_for_each_in_the_asked_order() -> None:
    (case,) = cases.group([NICS])
    first = comparison.comparisons(case)[0]
    assert first.baseline == "library-default"
    assert [group.name for group in first.groups] == ["library-default", "nic-1", "nic-0", "nearest"]
    (panel,) = curves.panels(case)
    assert list(panel.lines) == list(synthetic.LLNL_SECONDS)


# ---- figures ----


def texts(svg: str) -> list[str]:
    root = ElementTree.fromstring(svg)
    return [element.text or "" for element in root.iter("{http://www.w3.org/2000/svg}text")]


def test_figures_are_text_with_units_and_follow_the_page() -> None:
    found = comparison.comparisons(cases.group([HALO])[0])[:1]
    svg = drawing.inline_svg(general.comparison_drawing(found, "f"), "")
    assert {"plain", "cart-create", "custom", "Iteration", "ms (lower is better)"} <= set(texts(svg))
    assert "currentColor" in svg
    assert "var(--s1, #0072b2)" in svg
    assert not re.search(r"#0a0b|#010203|DejaVu|<style|metadata", svg)
    assert 'role="img"' in svg
    assert "iteration: custom is lowest (" in svg, "what is read aloud"


def test_pictures_are_the_same_drawn_by_one_process_or_several(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = [pages.draw(judge_case(case)).drawings for case in cases.group([HALO, NICS])]
    alone = drawing.images(drawn)
    monkeypatch.setattr(drawing, "_MANY", 1)
    assert drawing.images(drawn) == alone


def test_a_benchmark_brings_its_own_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """One figure takes over one FOM."""
    own = drawing.Drawing(
        name="own",
        title="Own",
        description="own",
        paint=lambda figure: figure.subplots().set_axis_off(),
        data=drawing.DataTable(columns=("row", "value"), rows=[("X", "1")], numbers=frozenset({"value"})),
        statement="Own words.",
        foms=frozenset({"iteration_us"}),
    )
    monkeypatch.setattr(registry.families()["halo"], "drawings", lambda case: [own])
    (case,) = cases.group([HALO])
    drawn = pages.draw(judge_case(case))
    assert [each.name for each in drawn.drawings] == ["own", "f0"], "bandwidth is the reciprocal of iteration"
    shown = pages.view(drawn, 1, drawing.images([drawn.drawings])[0])
    assert shown["findings"][0].text == "Own words."
    assert not any("Iteration" in each.title for each, _ in shown["figures"])


# ---- the page ----


class Page(html.parser.HTMLParser):
    """Elements, ids, and every attribute that could fetch something."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.feed(text)
        self.ids = [value for _, name, value in self.attributes if name == "id"]
        fetching = {"href", "src", "xlink:href", "action", "data", "srcset", "poster"}
        self.fetched = [value for _, name, value in self.attributes if name in fetching]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]


@cache
def page_text() -> str:
    """Return the page of all records; drawn for the first test that reads it, as a worker that runs none needs none."""
    return pages.html(judge([*ALL, SPOILED]))


def test_page_is_complete_in_itself_with_an_end_of_every_link_and_a_label_of_every_figure() -> None:
    page = Page(page_text())
    assert [target for target in page.fetched if not target.startswith("#")] == []
    assert not {"link", "img", "iframe", "object", "embed", "base", "form"} & set(page.tags)
    assert "url(http" not in page_text()
    assert "@import" not in page_text()
    schemes = set(re.findall(r"https?://[^\"' <>]*", page_text()))
    assert schemes == {"http://www.w3.org/2000/svg"}  # the name of a namespace; nothing is fetched
    assert len(page.ids) == len(set(page.ids))
    assert {target[1:] for target in page.fetched} <= set(page.ids)
    clips = set(re.findall(r"url\(#([^)]+)\)", page_text()))
    assert clips
    assert clips <= set(page.ids)
    assert page.tags.count("th") == sum((tag, name) == ("th", "scope") for tag, name, _ in page.attributes)
    assert page_text().count("<svg ") == page_text().count('role="img" aria-label="')
    assert not re.search(r'<th scope="col"[^>]*></th>', page_text()), "every column has a name"
    # tables of several cases have one name, which landmarks may not have
    assert 'role="group" aria-label=' in page_text() and 'role="region"' not in page_text()


def test_page_is_the_same_for_the_same_records_in_any_order() -> None:
    assert pages.html(judge([SPOILED, *reversed(ALL)])) == page_text()


def test_page_says_what_the_origin_means_and_what_went_wrong() -> None:
    assert (
        "Rate scale 0.001. Shown for the modelled machine, emulated at 1/1,000. Latency is not scaled." in page_text()
    )
    assert "rank 5 ran on n-0-0-1, asked n-1-1-0" in page_text()
    assert "n too small for 95 %" in page_text()
    assert "exit status 137" in page_text()


def test_every_column_and_every_benchmarks_figures_are_explained_in_one_document() -> None:
    """A family of figures is named after a benchmark."""
    checks = [path.read_text() for path in (CHECKOUT / "checks").rglob("*.py")]
    benchmarks = {name for text in checks for name in re.findall(r'benchmark = "([\w-]+)"', text)}
    assert sorted(registry.of_benchmarks().keys() - benchmarks) == []
    text = " ".join((CHECKOUT / "docs/report.md").read_text().split())
    template = (pages.TEMPLATES / "report.html.j2").read_text()
    heads = re.findall(r"(?:head\(|columns = )\[(.*?)\]", template)
    names = {name for head in heads for name in re.findall(r'"([^"]+)"', head)}
    assert len(names) > 25
    assert sorted(name for name in names if name.lower() not in text.lower()) == []
    assert sorted(name for name in registry.of_benchmarks() if f"`{name}`" not in text) == []


def test_jobs_without_values_are_shown_with_their_reasons() -> None:
    asked: dict[str, Any] = {"system": {"name": "v", "partition": "p", "environment": "e"}, "origin": "measured"}
    origin = synthetic.provenance(torus=None)
    lost = assemble(case=synthetic.case(), provenance=origin, launches=[], **asked)
    page = pages.html(judge([synthetic.not_measured("needs two rails"), lost]))
    assert "not-measured:</span> needs two rails" in page
    assert "18 of 18 launches not measured: the launch was never started" in page
    assert "<svg" not in page
    assert "No records" in pages.html(judge([]))


HOSTILE = "<script>alert(1)</script>\"'&$x^2$ ]]> {{7919*7919}}"


def test_hostile_names_are_text_everywhere() -> None:
    made = synthetic.case(
        extents=[2, 1, 1],
        check=HOSTILE,
        benchmark=HOSTILE,
        studies=[HOSTILE],
        placements=["plain", HOSTILE],
        nic_policies=["library-default", HOSTILE],
        launches_per_combination=1,
    )
    made["topology"]["name"] = made["allocation"]["order"] = HOSTILE

    def series(chance: random.Random, placement: str, policy: str) -> list[dict[str, Any]]:
        curve = [
            {"fom": "latency_us", "labels": {"hops": hop, "dimension": HOSTILE}, "samples": [hop]} for hop in (1, 2)
        ]
        return [{"fom": "iteration_us", "labels": {"test": HOSTILE}, "samples": [1.0]}, *curve]

    def change(run: LaunchRun, document: dict[str, Any]) -> LaunchRun:
        failed = run.placement == HOSTILE and run.nic_policy == HOSTILE
        return dataclasses.replace(run, command=HOSTILE, exit_status=int(failed), reason=HOSTILE)

    made_record = synthetic.job(made, series, change=change, mpi={"library": HOSTILE, "standard": HOSTILE})
    page = pages.html(judge([made_record]))
    assert page.count("<script") == 1, "the page's own"
    assert "62710561" not in re.sub(r"<svg.*?</svg>|<style.*?</style>", "", page, flags=re.DOTALL)
    assert page.count("&lt;script&gt;") > 20
    assert Page(page).tags.count("script") == 1


def test_table_and_summary_for_programs_are_the_golden_ones() -> None:
    """The part of a page that a person checks is the first case's table."""
    judged = judge([HALO])
    pattern = r'<table class="sortable">\n<caption>Median over launches.*?</table>'
    table = re.search(pattern, pages.html(judged), re.DOTALL)
    assert table and table[0] + "\n" == (DATA / "halo-table.html").read_text(encoding="utf-8")
    golden = json.loads((DATA / "halo-summary.json").read_text(encoding="utf-8"))
    assert exports.json_document(judged)["cases"][0]["comparisons"][0] == golden


def test_record_and_page_show_under_which_binding_the_library_chose_its_nics() -> None:
    """Unbound ranks may all take the first NIC (open-mpi/ompi#12144); `/launcher` passes no option at all."""

    def glossary(record: Record) -> dict[str, str]:
        return dict(answer.glossary(cases.group([record])))

    both = ["plain", "plain/launcher"]
    read = evidence.good(origin="measured", placements=both)
    assert rules.faults(read) == []
    words = {launch.placement: launch.command for launch in read.launches}
    assert "--bind-to none" in words["plain"] and "--bind-to" not in words["plain/launcher"]
    shown = glossary(read)
    assert "nothing bound the ranks under plain." in shown["library-default"]
    assert shown["/launcher"].startswith("What the launcher chooses")
    bound = evidence.good(origin="measured", placements=both[1:])
    one_nic = evidence.good(topology="gemini-2x2x2", grid=[2, 2, 2], nic_policies=["library-default"])
    assert not any("nothing bound" in glossary(each)["library-default"] for each in (bound, one_nic))


def test_slower_ones_are_counted_in_a_person_s_words() -> None:
    assert [answer._slower(count, others) for count, others in ((1, 1), (2, 2), (3, 3), (1, 3))] == [
        "The other is slower",
        "Both others are slower",
        "All 3 others are slower",
        "1 of the 3 others is slower",
    ]


# ---- the command ----


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    for each in (HALO, HOPS):
        archive.add(each, tmp_path / "archive")
    return tmp_path / "archive"


def run(*arguments: object) -> Any:
    return CliRunner().invoke(command, [str(each) for each in arguments])


def test_command_writes_page_summary_and_pictures_of_comparisons_made_once(
    kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    real = comparison.comparisons

    def counted(case: Case) -> list[Comparison]:
        made.append(case.key)
        return real(case)

    monkeypatch.setattr(comparison, "comparisons", counted)
    files = ["-o", tmp_path / "r.html", "--json", tmp_path / "r.json"]
    done = run(kept, *files, "--figures", tmp_path / "figures")
    assert done.exit_code == 0, done.output
    assert len(made) == 2 * len(set(made)) == 4, "once for people, and once as recorded, for programs"
    assert (tmp_path / "r.html").read_text() == pages.html(judge(modelled.records([HALO, HOPS])))
    assert json.loads((tmp_path / "r.json").read_text())["format"] == exports.SUMMARY_FORMAT
    assert "The placement custom makes the halo exchange" in done.output and str(tmp_path / "r.html") in done.output
    assert sorted(path.name for path in tmp_path.iterdir()) == ["archive", "figures", "r.html", "r.json"]


def test_command_takes_a_systems_folder_and_refuses_a_truncated_file_in_one_line(kept: Path, tmp_path: Path) -> None:
    assert run(kept / "vtorus", "-q", "-o", tmp_path / "r.html").exit_code == 0
    path = archive.paths(kept)[0]
    for size in (5000, 100, 1, 0):
        path.write_bytes(path.read_bytes()[:size])
        done = run(path, "-o", tmp_path / "none.html")
        assert isinstance(done.exception, InputError) and str(done.exception).startswith(f"{path}: line ")
        assert "\n" not in str(done.exception) and not (tmp_path / "none.html").exists()


def test_empty_folders_missing_files_and_unwritable_pages_are_one_line(kept: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert isinstance(run(tmp_path / "empty").exception, InputError)
    assert isinstance(run(tmp_path / "none.json").exception, InputError)
    assert isinstance(run(kept, "-q", "-o", tmp_path / "no" / "r.html").exception, RunError)


def test_the_origin_note_has_the_error_bounds_of_the_launches_that_count() -> None:
    def watched(run: LaunchRun, document: dict[str, Any]) -> LaunchRun:
        void = run.index == 1
        bound = 40.0 if void else 1.0 + run.index / 10
        guard: dict[str, Any] = {"verdict": "void" if void else "ok", "reasons": [], "error_bound_percent": bound}
        return dataclasses.replace(run, guard=guard)

    (case,) = cases.group([synthetic.halo(launches=3, change=watched)])
    note = origin_note(case)
    assert re.search(r"Error bound of the launches: 1\.\d % in the middle, 1\.\d % at most\.$", note), note
    (without,) = cases.group([synthetic.halo(launches=3)])
    assert "Error bound" not in origin_note(without)


def test_two_records_of_one_job_give_its_launches_once() -> None:
    """One was recovered while the job ran, the other made when it had ended."""
    whole = evidence.good(launches=6)
    document = with_rows(whole)
    document["status"], document["reason"] = "not-measured", "1 of 24 launches not measured: killed"
    last = document["launches"][-1]
    empty = {"status": "not-measured", "reason": "killed", "exit_status": None, "started": None, "elapsed_s": None}
    last.update(empty, ranks=[], series=[], verified=None, guard=None, nics=None, placement_verdict="cannot-tell")
    last.update(nic_verdict="cannot-tell", begun_monotonic_s=None, ended_monotonic_s=None)
    partial = of_rows(document)
    for both in ([whole, partial], [partial, whole]):
        (case,) = cases.group(both)
        assert [each.sha256 for each in case.records] == [whole.sha256]
