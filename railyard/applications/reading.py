"""Find figures in the output of a third-party program, which was written for people.

Models: `Reading`, the common result of every parser, and `Output`, a text in which each wanted line has one anchored
pattern. A line that is absent, there twice, or holds no finite number is an InputError that names program and field:
half an output never becomes half a result. Leaves out: what the lines of each program are (one module each).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from railyard.base.errors import InputError
from railyard.records.benchmark import Label, Series
from railyard.records.json_io import Json
from railyard.records.units import Fom

NUMBER = r"([-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|nan|inf|NaN|Infinity))"


class UnreadableError(InputError):
    """Output in which a line is missing, or exists several times. There is no valid value to name."""

    def __init__(self, source: str, field: str, words: str) -> None:
        super().__init__(source, field, words, "")
        self.args = (f"{source}: {field}: {words}",)

    def __reduce__(self) -> tuple[type[InputError], tuple[str, ...]]:
        return type(self), (self.source, self.field, str(self.value))


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The figures of one run. If the program's own verification failed, `fault` is the reason, and there are no series.

    `ranks` is the number of ranks that the program reports; None if it reports none.
    """

    program: str
    version: str
    ranks: int | None
    series: Sequence[Series]
    fault: str = ""
    parameters: Mapping[str, Json] = field(default_factory=dict)

    @property
    def verified(self) -> bool:
        return not self.fault


#: From the text of standard output and that of the file that the program left (empty for none) to a reading.
Parser = Callable[[str, str, str], Reading]


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """One text of a program; `source` names program and file in messages."""

    source: str
    text: str

    def number(self, name: str, pattern: str) -> float:
        """Return the finite number in the only line that matches `pattern`, which contains NUMBER once."""
        return finite(self.token(name, pattern), self.source, name)

    def whole(self, name: str, pattern: str) -> int:
        """Return the whole number in the only line that matches `pattern`, which has one group of digits."""
        return int(self.token(name, pattern))

    def token(self, name: str, pattern: str) -> str:
        """Return the first group of the only line that `pattern` matches from its start to its end.

        Raises UnreadableError if no line matches, or several do.
        """
        matches = self.lines(pattern)
        if len(matches) == 1:
            return matches[0].group(1)
        if matches:
            why = "the pattern fits several lines, or several programs ran, each alone"
            raise UnreadableError(
                self.source, name, f"{len(matches)} lines match {pattern!r}, expected one: {why}"
            )
        ends = f"the output ends with {self.last_line()!r}"
        raise UnreadableError(self.source, name, f"no line matches {pattern!r}; {ends}")

    def lines(self, pattern: str) -> list[re.Match[str]]:
        """Return the matches of whole lines, without trailing blanks; a last line without a newline is ignored."""
        return list(re.finditer(rf"^{pattern}[ \t\r]*\n", self.text, re.MULTILINE))

    def last_line(self) -> str:
        """Return the last line that is not blank, cut to 60 characters."""
        lines = [line.strip() for line in self.text.splitlines() if line.strip()]
        return lines[-1][:60] if lines else "nothing"


def finite(token: str, source: str, name: str) -> float:
    """Return a printed number as a float; InputError for NaN and infinities."""
    value = float(token)
    if not math.isfinite(value):
        raise InputError(source, name, token, "a finite number")
    return value


def shifted(token: str, places: int, source: str, name: str) -> float:
    """Return a printed number times ten to the power `places`, without rounding: -3 turns MB/s into GB/s."""
    finite(token, source, name)
    return float(Decimal(token).scaleb(places))


def single(fom: Fom, value: float, **labels: Label) -> Series:
    """Return a series of one sample, because such programs print one figure per run."""
    return Series(fom=fom, labels=labels, samples=(value,))
