"""Write Markdown: tables and literal text whose cells may hold any character."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table. Cells are Markdown; a bar or a line break in one does not end it."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(_cell, line)) + " |" for line in lines) + "\n"


def code(text: str) -> str:
    """Return the text as inline code; a dash if it is empty."""
    return f"`{text}`" if text else "-"


def escaped(text: str) -> str:
    """Return plain text as Markdown that shows it literally, outside of code between backticks."""
    parts = text.split("`")
    return "`".join(part if index % 2 else _literal(part) for index, part in enumerate(parts))


def _literal(text: str) -> str:
    for mark in "\\*_[]<>":
        text = text.replace(mark, f"\\{mark}")
    return text


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
