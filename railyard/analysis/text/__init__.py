"""Format numbers, and the tables of data behind figures.

Models: as many digits as the interval allows, one number of decimals per column, minus signs, and a table of finished
text that page, files, terminal and tests share. Leaves out: unit prefixes, because a value is shown in the unit that
its FOM's name contains, so that page and record agree; markup, matplotlib.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

SIGNIFICANT = 4
#: Digits of the narrowest interval, and of the largest value of a column.
_OF_INTERVAL, _OF_LARGEST = 2, 6
_MOST_DECIMALS = 8
MINUS = "\N{MINUS SIGN}"
NOTHING = "\N{EN DASH}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """How the values of one column are written; `decimals` None is scientific."""

    decimals: int | None

    @classmethod
    def for_values(cls, values: Sequence[float], widths: Sequence[float] = ()) -> Format:
        """Return four significant digits for the smallest value that is not 0; at least as many for the others.

        These are fewer where the narrowest interval, of `widths`, has its second digit before, and where the largest
        value has six; the smallest value always has one.
        """
        sizes = [abs(value) for value in values if value]
        if not sizes:
            return cls(decimals=0)
        last = _decade(min(sizes))
        decimals = min(SIGNIFICANT - 1 - last, max(-last, _OF_LARGEST - 1 - _decade(max(sizes))))
        if any(widths):
            decimals = max(-last, min(decimals, _OF_INTERVAL - 1 - _decade(min(filter(None, widths)))))
        return cls(decimals=None if decimals > _MOST_DECIMALS or max(sizes) >= 1e12 else max(0, decimals))

    def text(self, value: float) -> str:
        """Return `9,212.4`."""
        written = f"{value:.{SIGNIFICANT - 1}e}" if self.decimals is None else f"{value:,.{self.decimals}f}"
        return written.replace("-", MINUS)


def _decade(value: float) -> int:
    return math.floor(math.log10(value))


def percent(value: float | None, *, signed: bool = True) -> str:
    """Return `-8.5 %` with a real minus sign, a dash for None; two digits below 1 %: a small change is no zero."""
    if value is None:
        return NOTHING
    decimals = 2 if abs(value) < 1 else 1
    value = round(value, decimals) + 0.0  # + 0.0: no "-0.00"
    return f"{value:{'+' if signed else ''}.{decimals}f} %".replace("-", MINUS)


def capital(text: str) -> str:
    """Return a text that begins with a capital letter."""
    return text[:1].upper() + text[1:]


def plain(text: str) -> str:
    """Return text that Markdown shows unchanged, on one line, and that makes no element, link, mention or table."""
    escaped = re.sub(r"([\\`*_\[\]|~#!$])", r"\\\1", " ".join(text.split()))
    escaped = escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"@(?=\w)|(?<=\w):(?=//)|(?<=www)\.", lambda mark: f"{mark[0]}<!-- -->", escaped)


def cell(text: str) -> str:
    """Return the cell of a CSV file: an apostrophe before text that a spreadsheet would take for a formula."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


def counted(count: int, word: str) -> str:
    """Return `1 case`, `3,200 launches`."""
    ending = "es" if word.endswith("ch") else "s"
    return f"{count:,} {word}{'' if count == 1 else ending}"


def size_text(size_bytes: float) -> str:
    """Return `64 KiB`, exact powers only; else bytes with separators."""
    for power, name in ((30, "GiB"), (20, "MiB"), (10, "KiB")):
        if size_bytes >= 2**power and size_bytes % 2**power == 0:
            return f"{int(size_bytes) >> power} {name}"
    return f"{size_bytes:,.0f} B"


@dataclass(frozen=True, slots=True, kw_only=True)
class DataTable:
    """Columns and rows of finished text; `numbers` names the columns that hold numbers."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    numbers: frozenset[str] = frozenset()

    def lines(self) -> Iterator[str]:
        """Yield the header and the rows in aligned columns, numbers to the right; the last column is not padded."""
        table = (self.columns, *self.rows)
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        for row in table:
            cells = [
                cell.rjust(width) if name in self.numbers else cell.ljust(width)
                for cell, width, name in zip(row, widths, self.columns, strict=True)
            ]
            yield "  ".join(cells).rstrip()
