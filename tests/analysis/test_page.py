"""The page in a real browser: nothing but its own script runs; sorting, folding, a phone's width, light and dark."""

from __future__ import annotations

import dataclasses
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright
from support import synthetic

from railyard.analysis.judge.judged import judge
from railyard.analysis.report import page
from railyard.records.assemble import LaunchRun

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine: the page was not rendered")


def spoil(run: LaunchRun, document: dict[str, Any]) -> LaunchRun:
    """One launch void, one failed."""
    if run.index == 3:
        return dataclasses.replace(run, guard={"verdict": "void", "reasons": ["the CPU was busy"]})
    return dataclasses.replace(run, exit_status=1, reason="killed") if run.index == 4 else run


OTHER = {"name": "vtorus-degraded", "partition": "netns", "environment": "openmpi"}
RECORDS = [
    synthetic.halo(launches=10),
    synthetic.halo({"plain": 1.2, "cart-create": 1.1, "custom": 1.05}, launches=10, system=OTHER, change=spoil),
    synthetic.hops(),
    synthetic.allreduce(),
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield found
        found.close()


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(page.html(judge(RECORDS)), encoding="utf-8")
    return path


@pytest.fixture
def opened(browser: Browser, file: Path) -> Iterator[Page]:
    """The page at a desktop's width, offline, with whatever the browser complains about."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, offline=True)
    shown = context.new_page()
    complaints: list[str] = []
    shown.on("console", lambda message: complaints.append(message.text))
    shown.on("pageerror", lambda error: complaints.append(str(error)))
    shown.goto(file.as_uri())
    shown.get_by_role("button", name="Unfold all cases").click()
    yield shown
    context.close()
    assert complaints == []


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_page_fits_its_window_and_follows_the_colour_scheme(
    browser: Browser, file: Path, width: int, scheme: Any
) -> None:
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
    shown = context.new_page()
    shown.goto(file.as_uri())
    assert shown.evaluate("document.documentElement.scrollWidth <= innerWidth")
    heights = shown.eval_on_selector_all("svg.figure", "all => all.map(each => each.getBoundingClientRect().height)")
    assert len(heights) >= 8 and min(heights) > 50
    if width == 390:  # labels can be read on a phone
        shown.set_viewport_size({"width": 400, "height": 800})
        shown.get_by_role("button", name="Unfold all cases").click()
        sizes = shown.eval_on_selector_all(
            "svg.figure text",
            """all => all.map(one => parseFloat(getComputedStyle(one).fontSize)
                * one.ownerSVGElement.getBoundingClientRect().width / one.ownerSVGElement.viewBox.baseVal.width)""",
        )
        assert len(sizes) > 50 and min(sizes) >= 11
    paper, ink = {
        "light": ("rgb(255, 255, 255)", "rgb(27, 32, 38)"),
        "dark": ("rgb(20, 23, 27)", "rgb(223, 227, 232)"),
    }[scheme]
    assert shown.evaluate("getComputedStyle(document.body).backgroundColor") == paper
    assert shown.evaluate("getComputedStyle(document.querySelector('svg.figure text')).fill") == ink
    context.close()


#: What a reader asks of a page, and the visible text that answers it.
QUESTIONS = {
    "which system is better, by how much, how sure": r"vtorus is 1\.\d+ times as fast as vtorus-degraded \(",
    "can that be trusted": r"cannot tell which is faster\. A side needs at least 4 jobs",
    "which placement is best": r"The placement custom makes the halo exchange 1\.\d+ times as fast as the pl",
    "how many cases are behind it": r"times as fast as the placement plain \(95 %: [\d. to]+, 1 case, in this job\)",
    "on what machine, with which MPI": r"vtorus \(netns, openmpi\); .*\s+topologies\s+gemini-4x4x4.*\s+MPI\s+Open MPI",
    "how many jobs": r"4 records of 4 jobs",
    "what is custom": r"custom\s+[A-Z]",
    "what is emulated": r"Real MPI and real packets on a virtual torus",
    "which records": r"[0-9a-f]{64}",
    "which number was published": r"Fig\. 6\s+3D, Custom over Plain, up to\s+8\.5 %\s+\d",
}


def test_the_page_answers_what_a_reader_asks(browser: Browser, file: Path) -> None:
    """Only what is visible before anything is clicked counts; verdict, ratio and figure are on the first screen."""
    shown = browser.new_page(viewport={"width": 1280, "height": 900})
    shown.goto(file.as_uri())
    text = "\n".join(shown.locator("section:has(#answer), section:has(#origins)").all_inner_texts())
    assert [question for question, answer in QUESTIONS.items() if not re.search(answer, text)] == [], text
    first, figure = (shown.locator(where).first.bounding_box() for where in (".answer", "figure"))
    assert first and first["y"] < 300 and figure and figure["y"] < 600
    shown.close()


def column(shown: Page, table: str, place: int) -> list[str]:
    texts: list[str] = shown.eval_on_selector_all(
        f"{table} tr:not(.section):not(thead tr)", "(rows, at) => rows.map(row => row.cells[at].textContent)", place
    )
    return texts


def test_a_head_sorts_its_table_up_and_down_by_numbers(opened: Page) -> None:
    opened.locator("section:has(#sides) details > summary").first.click()
    table = "section:has(#sides) table.sortable"
    head = opened.locator(f"{table} th:nth-child(3)")
    head.locator("button").click()
    body = f"{table} tbody:nth-of-type(1)"
    values = [float(text.replace(",", "")) for text in column(opened, body, 2)]
    assert values == sorted(values) and len(set(values)) > 2
    assert head.get_attribute("aria-sort") == "ascending"
    head.locator("button").click()
    assert [float(text.replace(",", "")) for text in column(opened, body, 2)] == values[::-1]
    assert head.get_attribute("aria-sort") == "descending"
    opened.locator(f"{table} th:nth-child(2) button").click()
    names = column(opened, body, 1)
    assert names == sorted(names) and head.get_attribute("aria-sort") is None
    of_sections = opened.locator("#case-1 table.sortable:has(tr.section)").first
    of_sections.locator("thead button").nth(1).click()
    for rows in of_sections.locator("tbody").all():
        assert rows.locator("tr").first.get_attribute("class") == "section", "rows stay under their heading"


def test_cases_fold_by_button_by_keyboard_and_by_a_link_and_the_data_of_a_figure_unfolds(opened: Page) -> None:
    cases = opened.locator("details.case")
    assert cases.count() == len(RECORDS)
    opened.get_by_role("button", name="Fold all cases", exact=True).click()
    assert not any(each.evaluate("each => each.open") for each in cases.all())
    first = cases.first.locator("summary").first
    first.focus()
    opened.keyboard.press("Enter")
    assert cases.first.evaluate("each => each.open")
    opened.get_by_role("button", name="Unfold all cases").click()
    assert all(each.evaluate("each => each.open") for each in cases.all())
    figure = opened.locator("figure").first
    assert not figure.locator("table").is_visible()
    figure.locator("summary").click()
    assert figure.locator("table").is_visible(), "the data of a figure"
    opened.get_by_role("button", name="Fold all cases", exact=True).click()
    opened.locator("a[href='#case-2']").first.click()
    opened.wait_for_function("document.getElementById('case-2').open")


def test_the_list_of_cases_stays_in_view_and_the_filter_hides_what_lacks_the_word(opened: Page) -> None:
    entries = opened.locator("nav li[data-case]")
    assert entries.count() == len(RECORDS)
    opened.locator("#provenance").scroll_into_view_if_needed()
    listed = opened.locator("nav").bounding_box()
    assert listed and 0 <= listed["y"] < 100, "the list is sticky"
    opened.get_by_role("searchbox").fill("HOPS")
    shown = opened.locator("nav li[data-case]:visible").all_inner_texts()
    assert shown and all("hops" in text for text in shown)
    assert opened.locator("details.case:visible").count() == len(shown)
    opened.get_by_role("searchbox").fill("")
    assert opened.locator("details.case:visible").count() == len(RECORDS)


def test_only_the_script_of_the_page_runs(browser: Browser, file: Path, tmp_path: Path) -> None:
    """The content security policy names the script by its hash."""
    hostile = file.read_text().replace("</main>", "<script>document.title = 'owned'</script></main>")
    path = tmp_path / "hostile.html"
    path.write_text(hostile.replace("<h1>", "<h1 onclick=\"document.title = 'owned'\">"))
    shown = browser.new_page()
    shown.goto(path.as_uri())
    shown.locator("h1").click()
    assert "owned" not in shown.title()
    assert shown.locator("thead button").count() > 0, "the page's own script still runs"
    shown.close()


def test_the_page_is_whole_without_its_script(browser: Browser, file: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    shown = context.new_page()
    shown.goto(file.as_uri())
    table = shown.locator("details.case table.sortable:has(tr.section)").first
    assert not table.is_visible(), "several cases are folded"
    shown.locator("details.case > summary").first.click()
    assert table.is_visible()
    assert not shown.get_by_role("button", name="Fold all cases").is_visible()
    context.close()


def test_void_and_failed_launches_are_shown_and_no_sentence_twice(opened: Page) -> None:
    text = opened.locator("main").inner_text()
    assert "the CPU was busy" in text and "exit status 1; killed" in text
    absent = opened.locator("section:has(#absent)").inner_text()
    assert "launches void" in absent and "launches failed" in absent
    texts = opened.eval_on_selector_all(".answer, .said li", "all => all.map(one => one.textContent)")
    long = [text for text in texts if len(text) > 60]
    assert len(long) > 6 and len(long) == len(set(long))


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of one record with forty combinations of a placement and a NIC policy."""
    placements = ["plain", "cart-create", "custom", "random", "cyclic", "blocks:2x2x2", "rows", "snake"]
    policies = ["round-robin", "nic-0", "nic-1", "local-nic", "stripe"]
    case = synthetic.case(placements=placements, nic_policies=policies, launches_per_combination=2)
    case["topology"]["rails"] = 2
    record = synthetic.job(case, synthetic.halo_series(dict.fromkeys(placements, 1.0)))
    path = tmp_path_factory.mktemp("many") / "report.html"
    path.write_text(page.html(judge([record])), encoding="utf-8")
    return path


@pytest.mark.parametrize("name", ["file", "many"])
def test_nothing_is_wider_or_taller_than_a_sheet_of_paper(
    browser: Browser, name: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """An A4 sheet has 718 by 1047 pixels between Chromium's margins."""
    context = browser.new_context(viewport={"width": 718, "height": 1047})
    shown = context.new_page()
    shown.emulate_media(media="print")
    shown.goto(request.getfixturevalue(name).as_uri())
    assert shown.evaluate("document.documentElement.scrollWidth") <= 718
    heights = shown.evaluate(
        "[...document.querySelectorAll('figure')].map(each => each.getBoundingClientRect().height)"
    )
    assert heights and max(heights) <= 1047
    shown.pdf(path=tmp_path / "report.pdf", format="A4")
    assert (tmp_path / "report.pdf").stat().st_size > 50_000, "with everything unfolded"
    context.close()


def test_each_number_of_the_table_of_effects_leads_to_its_figure(opened: Page) -> None:
    """Colour is not the only sign, the largest effect comes first, and one item of the side list is current."""
    cells = opened.locator(".effects td.cell")
    texts = cells.all_inner_texts()
    assert texts and all(re.match(r"[\u25b2\u25bc\u25cb] \d+\.\d\d", text) for text in texts)
    targets = cells.locator("a").evaluate_all(
        "all => all.map(one => Boolean(document.querySelector(one.hash + ' svg')))"
    )
    assert targets and all(targets)
    opened.get_by_role("button", name="Fold all cases", exact=True).click()
    cells.locator("a").first.click()
    opened.wait_for_function("document.querySelector(location.hash).getBoundingClientRect().height > 50")
    assert opened.locator("nav [aria-current]").count() == 1
