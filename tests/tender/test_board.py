"""The page for a board: the verdict first, evidence behind every link, and what people without sight or colour need."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from support.records import figures

from railyard.records.rules.registry import Fault
from railyard.records.store.bag import Bid, Signed
from railyard.tender import board, presets
from railyard.tender.bids import Read
from railyard.tender.completeness import Note, Ruled
from railyard.tender.evaluation import SCENARIOS, Evaluation, Interval, Line
from railyard.tender.request import Case, Tender

LONG = "A bidder with a name of two hundred characters " * 4 + "=HYPERLINK(<script>alert(1)</script>)"
EMPTY = frozenset({"meta", "link", "br", "line", "circle"})


def read(bidder: str) -> Read:
    return Read(path=Path(bidder), bid=Bid(bidder=bidder, tier="baseline"), signed=Signed(key="SHA256:abc"))


def line(bidder: str, value: float | None, cases: tuple[str, ...]) -> Line:
    score = None if value is None else Interval(value=value, low=0.98 * value, high=1.02 * value)
    faults = [] if score else [Fault("case halo", "3 results; 6 are needed")] * 7
    return Line(
        read=read(bidder),
        rules=[
            Ruled(name="readable", text="The bag is whole.", faults=[]),
            Ruled(name="cases", text="x", faults=faults),
        ],
        score=score,
        cases=dict.fromkeys(cases, score) if score else {},
        wins=1.0 if value == 1.3 else 0.0,
        wins_by=dict.fromkeys(SCENARIOS, 0.5),
    )


def page_of(*lines: Line, **changes: Any) -> str:
    """The page of an evaluation of some bids, of a tender without cases."""
    wanted = Tender(title="Interconnect of the new machine", challenge="12345678", origins=(), cases=())
    made = {"tender": wanted, "sentence": "swift Ltd is best.", "flips": [], **changes}
    return board.page(Evaluation(lines=lines, **made))


@pytest.fixture(scope="module", params=[1, 40], ids=["one case", "40 cases"])
def page(request: pytest.FixtureRequest) -> str:
    names = tuple(f"case {number} of {request.param}" for number in range(request.param))
    of_case: dict[str, Any] = {"check": "c", "nodes": 1, "placement": "plain", "fom": figures.fom("a_s")}
    cases = tuple(Case(name=name, reference=1, **of_case) for name in names)
    preset = presets.load("jupiter")
    wanted = Tender(title="Interconnect", challenge="12345678", origins=(), cases=cases, presets=(preset,))
    lines = [line("swift Ltd", 1.3, names), line(LONG, 1.1, names), line("careless", None, names)]
    return page_of(*lines, tender=wanted, flips=["a & b"], trust=[("luck", "The best of 10 gains 0.3 %.")])


class Tags(HTMLParser):
    """Every start tag with its attributes, and the nesting of all."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.texts: dict[str, str] = {}
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open:
            self.texts[self.open[-1]] = self.texts.get(self.open[-1], "") + data

    def of(self, name: str) -> Iterator[dict[str, str | None]]:
        yield from (attributes for tag, attributes in self.tags if tag == name)


def test_the_verdict_comes_before_every_table_and_the_evidence_after(page: str) -> None:
    assert page.index("swift Ltd is best.") < page.index("<table ") < page.index('id="evidence"')
    assert page.count("<table", 0, page.index('id="evidence"')) == 1, "one table before the evidence"


def test_every_link_leads_to_evidence_on_the_page_or_to_a_public_source(page: str) -> None:
    found = Tags(page)
    ids = [attributes["id"] for _, attributes in found.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    for link in found.of("a"):
        target = link["href"] or ""
        assert target.startswith("https://") or target.removeprefix("#") in ids, target
    bidders = re.findall(r'<th scope="row"><a href="#bid-(\d)">', page)
    assert bidders == ["1", "2", "3"], "each bid links to its own rules"


def test_it_is_well_formed_and_names_its_language_title_and_parts(page: str) -> None:
    found = Tags(page)
    assert found.open == []
    (html,) = found.of("html")
    assert html["lang"] == "en" and found.texts["title"].strip()
    assert [next(found.of(name), None) is not None for name in ("main", "header", "footer")] == [True] * 3
    assert sum(1 for _ in found.of("h1")) == 1
    levels = [int(tag[1]) for tag, _ in found.tags if re.fullmatch("h[1-6]", tag)]
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels)), levels
    assert any(each.get("name") == "viewport" for each in found.of("meta"))


def test_tables_have_captions_and_scopes_and_pictures_have_words(page: str) -> None:
    found = Tags(page)
    assert sum(1 for _ in found.of("table")) == sum(1 for _ in found.of("caption"))
    assert all(each.get("scope") in {"row", "col"} for each in found.of("th"))
    assert all(each.get("role") == "img" and each.get("aria-label") for each in found.of("svg"))
    ids = {attributes.get("id") for _, attributes in found.tags}
    labelled = [each["aria-labelledby"] for _, each in found.tags if "aria-labelledby" in each]
    assert labelled and set(labelled) <= ids
    assert len(labelled) == len(set(labelled)), "each landmark has a name of its own"
    for _, attributes in found.tags:
        if attributes.get("tabindex") == "0":
            assert attributes.get("role") == "region" and attributes.get("aria-labelledby")


def test_nothing_of_a_bid_becomes_markup_and_nothing_is_loaded(page: str) -> None:
    assert "<script" not in page and "&lt;script&gt;" in page and "A &amp; b." in page
    found = Tags(page)
    assert not [attributes for _, attributes in found.tags if "src" in attributes or "style" in attributes]
    assert "url(" not in page and "@import" not in page


def test_colours_have_the_contrast_that_wcag_asks_for() -> None:
    """Level AA: 4.5 to 1 for text on the paper and on shaded headings, 3 to 1 for the marks of a drawing."""
    style = (board.TEMPLATES / "board.css").read_text()
    schemes = [dict(re.findall(r"--(\w+):#([0-9a-f]{3,6})", block)) for block in re.findall(r":root{(.*?)}", style)]
    assert len(schemes) == 2, "light and dark"
    for colours, name, ground in itertools.product(
        schemes, ("ink", "soft", "accent", "bad", "good"), ("paper", "shade")
    ):
        assert contrast(colours[name], colours[ground]) >= 4.5, (name, ground)


def contrast(one: str, other: str) -> float:
    """The ratio of WCAG 2: relative luminances plus 0.05."""
    light = []
    for colour in (one, other):
        digits = colour if len(colour) == 6 else "".join(2 * each for each in colour)
        parts = [int(digits[place : place + 2], 16) / 255 for place in (0, 2, 4)]
        red, green, blue = (p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
        light.append(0.2126 * red + 0.7152 * green + 0.0722 * blue)
    return (max(light) + 0.05) / (min(light) + 0.05)


def test_the_evidence_has_what_is_taken_on_trust_and_verdicts_are_words(page: str) -> None:
    assert '<th scope="row">luck</th><td>The best of 10 gains 0.3 %.</td>' in page[page.index('id="evidence"') :]
    assert '<strong class="bad">not met</strong>' in page and '<span class="good">met</span>' in page
    assert "and 2 more" in page, "seven faults are shortened to five"


def test_the_first_screen_names_the_first_broken_rule_in_whole_words() -> None:
    fault = Fault("record 1234: launches[0].series", "this launch has the same " + "long " * 40)
    broken = Ruled(name="evidence", text="x", faults=[fault])
    page = page_of(Line(read=read("sly"), rules=[broken], wins=0.0))
    first = page[: page.index('id="evidence"')]
    assert '<a href="#rule-evidence">evidence</a>: this launch has the same long' in first
    assert re.search(r"long \.\.\.</td>", first)


def answers(leads: list[Interval | None]) -> str:
    """Return the page of two bids with these leads, without markup."""
    page = page_of(line("swift", 1.3, ()), line("steady", 1.2, ()), leads=leads)
    return " ".join(re.sub(r"<[^>]*>", " ", page).replace("\N{NO-BREAK SPACE}", " ").split())


def test_a_lead_that_may_be_chance_is_never_called_certain() -> None:
    close = answers([Interval(value=1.083, low=0.99, high=1.18)])
    assert "the lead is between -1.0 % and 18.0 %" in close and "may be as good" in close
    assert "Ask the leading bidders for more jobs" in close
    clear = answers([Interval(value=1.083, low=1.05, high=1.12)])
    assert "may be as good" not in clear and "for more jobs" not in clear
    few = answers([None])
    assert "fewer than 4 jobs" in few and "Ask the leading bidders for more jobs" in few


def test_nobody_leads_until_it_is_decided_who_copied() -> None:
    note = Note("record 1234", "is in the bid of steady", is_open=True)
    open_rule = Ruled(name="own-launches", text="x", faults=[], notes=[note])
    page = page_of(dataclasses.replace(line("swift", 1.3, ()), rules=[open_rule]), line("steady", 1.2, ()))
    assert "Nobody, until it is decided who copied. swift has the highest score, 1.3" in page


def test_the_figure_has_every_bound_and_the_reference_inside() -> None:
    page = page_of(line("swift", 13.0, ()), line("steady", 0.2, ()))
    places = [float(place) for place in re.findall(r'[xc][12x]="([\d.]+)%"', page)]
    assert places and all(0 <= place <= 100 for place in places)
