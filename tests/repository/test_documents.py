"""The documents are readable and complete: short sentences, and nothing that a user can name lacks a description."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.commands import CHECKOUT, tracked

from railyard import __version__
from railyard.reference import __main__ as reference
from railyard.reference import checks, markdown

#: Every page in git. The changelog is left out, as it describes the past, and so are templates of the forge.
PAGES = [page for page in tracked("*.md") if page != "CHANGELOG.md" and not page.startswith(".")]
MOST_WORDS = 25


def sentences(text: str) -> list[str]:
    """Return the sentences of a page's prose: no code, tables, pictures or targets of links."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    lines = [line for line in text.splitlines() if not re.match(r"    |\||#|!\[", line)]
    prose = "\n".join(re.sub(r"^(- |\d+\. )", "\n", line) for line in lines)
    prose = re.sub(r"\]\([^)]*\)", "]", prose)
    parts = [part for paragraph in re.split(r"\n\s*\n", prose) for part in re.split(r"(?<=[.?!:])\s+", paragraph)]
    return [" ".join(part.split()) for part in parts if part.strip()]


def test_sentences_are_split_where_a_reader_pauses() -> None:
    text = "One. Two:\n\n    code that is long\n\n- three [four](five.md)\n\n| six | seven |\n"
    assert sentences(text) == ["One.", "Two:", "three [four]"]


@pytest.mark.parametrize("document", PAGES)
def test_no_sentence_is_longer_than_a_breath(document: str) -> None:
    long = [one for one in sentences((CHECKOUT / document).read_text()) if len(one.split()) > MOST_WORDS]
    assert long == []


#: Words that only the authors used so: a placement does not say, stand or hear. And "a node" where "per node" is meant.
PRIVATE = re.compile(
    r"\b(says?|said|told|asked|hears?|stands?|meant)\b|(?<![/-])\bcarr(y|ies|ied)\b(?![/-])"
    r"|\b(nodes?|ranks?|packets|bytes|messages|launches|line) an? (router|node|second|line|rank|link|job|launch)\b"
)


@pytest.mark.parametrize("document", PAGES)
def test_pages_use_the_words_of_the_field(document: str) -> None:
    text = " ".join((CHECKOUT / document).read_text().split())
    assert [text[max(0, m.start() - 40) : m.end() + 20] for m in PRIVATE.finditer(text)] == []


def test_everything_that_a_user_can_name_is_described() -> None:
    """Commands and options: test_help.py; orders, policies, launchers: tests/placements/test_launchers.py."""
    declared = checks.variables()
    texts = {one.name for one in declared if one.text}
    assert [one.name for one in declared if one.name not in texts] == []
    every = checks.checks()
    assert [one.name for one in every if not one.text] == []


def test_every_field_of_a_document_is_described() -> None:
    """In its schema, or by its name on a page."""
    pages = "".join((CHECKOUT / "docs" / name).read_text() for name in ("formats.md", "tender.md"))
    pages += reference.schemas()
    for path in reference.SCHEMAS:
        missing = [name for name in undescribed(json.loads(path.read_text())) if name not in pages]
        assert missing == [], path


def undescribed(part: Any) -> Iterator[str]:
    """Yield the names of a schema's properties without a description, also in parts and definitions."""
    if isinstance(part, dict):
        for name, field in part.get("properties", {}).items():
            if isinstance(field, dict) and not {"description", "$ref"} & field.keys():
                yield name
    for inner in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        yield from undescribed(inner)


def test_no_page_of_the_reference_has_a_broken_table(tmp_path: Path) -> None:
    reference.write(tmp_path)
    for file in tmp_path.glob("*.md"):
        for block in re.findall(r"(?:^\|.*\n)+", file.read_text(), re.MULTILINE):
            columns = {len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}
            assert len(columns) == 1, f"{file.name}: {block.splitlines()[0]}"


def test_a_cell_may_hold_any_character() -> None:
    assert markdown.table(["a"], [["x | y\nz"]]) == "| a |\n| --- |\n| x \\| y z |\n"
    assert markdown.escaped("`a_b` c_d <e>") == "`a_b` c\\_d \\<e\\>"


def test_the_version_is_in_one_place_and_the_citation_repeats_it() -> None:
    assert f"\nversion: {__version__}\n" in (CHECKOUT / "CITATION.cff").read_text()
    assert not re.search(r"^version = \"", (CHECKOUT / "pyproject.toml").read_text(), re.MULTILINE)
