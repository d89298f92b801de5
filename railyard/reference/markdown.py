"""Write Markdown: tables and literal text whose cells may hold any character."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table. Cells are Markdown; a bar or a line break in one does not end it."""
    lines = [head, ["---"] * len(head), *rows]
    cells = ([" ".join(text.split()).replace("|", "\\|") for text in line] for line in lines)
    return "".join(f"| {' | '.join(line)} |\n" for line in cells)


def code(text: str) -> str:
    """Return the text as inline code; a dash if it is empty."""
    return f"`{text}`" if text else "-"


def escaped(text: str) -> str:
    """Return plain text as Markdown that shows it literally, outside of code between backticks."""
    parts = text.split("`")
    parts[::2] = [re.sub(r"([\\*_\[\]<>])", r"\\\1", part) for part in parts[::2]]
    return "`".join(parts)
