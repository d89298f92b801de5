"""`make tender-demo`: what a newcomer sees of a tender, from records that are delivered."""

from __future__ import annotations

import re
import shutil
import subprocess
from html import unescape
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import sync_playwright
from support.commands import CHECKOUT

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder to which the demo writes."""
    return tmp_path_factory.mktemp("demo") / "tender"


@pytest.fixture(scope="module")
def demo(folder: Path) -> tuple[str, str]:
    """Return what the demo prints, and the words of its page above the evidence."""
    done = subprocess.run([CHECKOUT / "tools" / "tender-demo", folder], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    page = (folder / "page.html").read_text(encoding="utf-8")
    first = page[page.index("<body>") : page.index('id="evidence"')]
    return done.stdout, " ".join(unescape(re.sub(r"<[^>]*>", " ", first)).split())


def test_two_bids_are_ranked_and_the_third_shows_in_one_line_why_it_is_not(demo: tuple[str, str]) -> None:
    printed, _ = demo
    assert "brisk Ltd is best: it has the best score, 1.2, 1.232 times that of steady Ltd" in printed
    assert "Why swift Ltd is not complete\n- sessions: session " in printed
    assert "a job was left out: the one before record d4c875d76c1f" in printed
    path = printed.split("the page for a board: ")[1].strip()
    assert Path(path).name == "page.html" and Path(path).is_absolute()


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Who leads, and by how much?", "brisk Ltd. Its score of 1.2 is 23.2 % higher than that of steady Ltd"),
        ("How certain is that?", "With a certainty of 95 %, the lead is between 22.8 % and 23.7 %."),
        ("What does the score mean?", "The reference system scores 1."),
        ("Which bids are not ranked, and why?", "swift Ltd does not follow this rule: Every session"),
        ("What was taken on trust?", "No bid was measured on a real machine"),
        ("Who signed, and when?", "brisk Ltd: brisk@example.org; measured 2026-11-28."),
        ("What would change the result?", "No weight of a single case, halved, doubled or left out"),
        ("What comes next?", "Ask swift Ltd to mend what is listed above, or exclude the bid."),
    ],
)
def test_the_board_finds_its_questions_with_their_answers(demo: tuple[str, str], question: str, answer: str) -> None:
    _, page = demo
    assert answer in page.replace("\N{NO-BREAK SPACE}", " ").split(question)[1][:500]


def test_the_page_says_that_the_example_is_no_machine_and_that_one_network_is_worse(demo: tuple[str, str]) -> None:
    _, page = demo
    assert page.count("emulated (a network made by software)") == 2 and "steady has a worse cable" in page


@pytest.mark.browser
@pytest.mark.parametrize(("width", "scheme"), [(400, "light"), (1280, "dark")])
def test_the_page_fits_a_phone_and_a_screen_with_letters_that_can_be_read(
    demo: tuple[str, str], folder: Path, width: int, scheme: Literal["light", "dark"]
) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        page.goto((folder / "page.html").as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        heights = page.evaluate("[...document.querySelectorAll('svg text')].map(e => e.getBBox().height)")
        assert heights and min(heights) >= 11
        browser.close()
