"""`make tender-demo`: what a newcomer sees of a tender, from records that are delivered."""

from __future__ import annotations

import re
import subprocess
from html import unescape
from pathlib import Path

import pytest
from support.commands import CHECKOUT


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Return what the demo prints, and the words of its page above the evidence."""
    folder = tmp_path_factory.mktemp("demo") / "tender"
    done = subprocess.run(
        [CHECKOUT / "tools" / "tender-demo", folder], capture_output=True, text=True, check=False
    )
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
        (
            "Who leads, and by how much?",
            "brisk Ltd. Its score of 1.2 is 23.2 % higher than that of steady Ltd",
        ),
        ("How certain is that?", "With a certainty of 95 %, the lead is between 22.8 % and 23.7 %."),
        ("What does the score mean?", "The reference system scores 1."),
        ("Which bids are not ranked, and why?", "swift Ltd: a job was left out"),
        ("What was taken on trust?", "No bid was measured on a real machine"),
        ("Who signed, and when?", "brisk Ltd: brisk@example.org; measured 2026-11-28."),
        ("What would change the result?", "No weight of a single case, halved, doubled or left out"),
        ("What comes next?", "Ask swift Ltd to mend what is listed above, or exclude the bid."),
    ],
)
def test_the_board_finds_its_questions_with_their_answers(
    demo: tuple[str, str], question: str, answer: str
) -> None:
    _, page = demo
    assert answer in page.replace("\N{NO-BREAK SPACE}", " ").split(question)[1][:500]


def test_the_page_says_that_the_example_is_no_machine_and_that_one_network_is_worse(
    demo: tuple[str, str],
) -> None:
    _, page = demo
    assert page.count("emulated (a network made by software)") == 2 and "steady has a worse cable" in page
