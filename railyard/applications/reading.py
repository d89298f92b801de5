"""Read figures from the output of a third-party program, which is written for people.

Models: `Reading`, the common result of every parser, and `Output`, a text in which each wanted line has one anchored
pattern. A line that is missing, occurs twice, or has no finite number is an InputError that names program and field:
half an output never becomes half a result. A rate that is 0 or less is refused, and `disagreement` compares a rate with
what the rest of the output determines. Labels of launchers before lines are removed. Leaves out: what the lines of each
program are (`railyard.applications.programs`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from railyard.base.errors import InputError, as_seen, listed
from railyard.records.benchmark import Label, Series, Unmeasured
from railyard.records.json_io import Json
from railyard.records.units import Better, Fom

#: What launchers put before a line on request: `srun -l`, Hydra's and Intel's `-l`, Open MPI's `--tag-output`; and the
#: time that a CI service puts there.
_LABEL = re.compile(
    r"^ *(?:[0-9]+:(?: |$)|\[[0-9]+\] |\[[^\s\]]*,[0-9]+\]<std(?:out|err)>: ?"
    r"|(?:[0-9]{4}-[0-9]{2}-[0-9]{2}[T ])?[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})?Z?(?: {1,2}|$))",
    re.MULTILINE,
)
#: GB in one MiB, which many programs call MB.
MIB_GBYTE = (1 << 20) * 1e-9
#: Largest number of digits of a whole number in a record.
MOST_DIGITS = 18

#: Possessive, so that no line of digits takes time that grows with its square.
NUMBER = r"([-+]?(?:(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][-+]?\d++)?|nan|inf|NaN|Infinity))"


class UnreadableError(InputError):
    """Output in which a line is missing, or exists several times. There is no valid value to name."""

    def __init__(self, source: str, field: str, words: str) -> None:
        super().__init__(source, field, words, "")
        self.args = (as_seen(f"{source}: {field}: {listed(words)}"),)

    def __reduce__(self) -> tuple[type[InputError], tuple[str, ...]]:
        return type(self), (self.source, self.field, str(self.value))


class Number(float):
    """A finite number that a program printed; as a text it is what was printed, whose digits are its precision."""

    __slots__ = ("printed",)
    printed: str

    def __new__(cls, token: str, source: str, name: str) -> Number:
        """Return the number that a word is; InputError for NaN, infinities and other words."""
        value = float(token) if re.fullmatch(NUMBER, token, re.ASCII) else math.nan
        if not math.isfinite(value):
            raise InputError(source, name, token, "a finite number")
        number = super().__new__(cls, value)
        number.printed = token
        return number

    def __str__(self) -> str:
        return self.printed


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The figures of one run. If the program's own verification failed, `fault` is the reason, and there are no series.

    `ranks` is the number of ranks that the program reports; None if it reports none. `not_measured` are figures that
    the output lacks or contradicts, with the reason.
    """

    program: str
    version: str
    ranks: int | None
    series: Sequence[Series]
    fault: str = ""
    parameters: Mapping[str, Json] = field(default_factory=dict)
    not_measured: Sequence[Unmeasured] = ()

    def __post_init__(self) -> None:
        """Drop the series of a fault; raise InputError for a rate of 0 or less: it overflowed, or was rounded away."""
        object.__setattr__(self, "fault", as_seen(self.fault))
        object.__setattr__(self, "series", [] if self.fault else self.series)
        for series in self.series:
            rate = series.fom.better is Better.HIGHER and "rate" in series.fom.unit.measures
            if rate and min(series.samples, default=1.0) <= 0:
                raise InputError(self.program, series.fom, min(series.samples), "a rate above 0")

    @property
    def verified(self) -> bool:
        return not self.fault


#: Makes a reading of standard output, and of the file that the program left (empty for none).
Parser = Callable[[str, str, str], Reading]


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """One text of a program; `source` names program and file in messages."""

    source: str
    text: str

    def __post_init__(self) -> None:
        """Remove what is not the program's: a byte order mark, carriage returns, labels of launchers."""
        text = self.text.removeprefix("\ufeff").replace("\r\n", "\n")
        lines = sum(1 for line in text.split("\n") if line.strip())
        # Labels that more than half of the lines have, blank ones not counted; a CI service's are outside a launcher's.
        while lines and 2 * len(_LABEL.findall(text)) > lines:
            text = _LABEL.sub("", text)
        object.__setattr__(self, "text", text)

    def number(self, name: str, pattern: str) -> Number:
        """Return the finite number in the only line that matches `pattern`, which contains NUMBER once."""
        return Number(self.token(name, pattern), self.source, name)

    def whole(self, name: str, pattern: str) -> int:
        """Return the whole number in the only line that matches `pattern`, which has one group of digits."""
        return whole(self.token(name, pattern), self.source, name)

    def token(self, name: str, pattern: str) -> str:
        """Return the first group of the only line that `pattern` matches from its start to its end.

        Raises UnreadableError if no line matches, or several do.
        """
        matches = self.lines(pattern)
        if len(matches) == 1:
            return matches[0].group(1)
        if matches:
            why = "the pattern fits several lines, or several programs ran, each alone"
            raise UnreadableError(self.source, name, f"{len(matches)} lines match {pattern!r}, expected one: {why}")
        ends = f"the output ends with {self.last_line()!r}"
        raise UnreadableError(self.source, name, f"no line matches {pattern!r}; {ends}")

    def lines(self, pattern: str) -> list[re.Match[str]]:
        """Return the matches of whole lines, without trailing blanks; a last line without a newline is ignored."""
        return list(re.finditer(rf"^{pattern}[ \t\r]*\n", self.text, re.MULTILINE | re.ASCII))

    def last_line(self) -> str:
        """Return the last line that is not blank, cut to 60 characters."""
        lines = [line.strip() for line in self.text.splitlines() if line.strip()]
        return lines[-1][:60] if lines else "nothing"


def whole(token: str, source: str, name: str) -> int:
    """Return printed digits as a whole number; InputError for another word, and for more digits than a count has."""
    if not re.fullmatch(rf"[0-9]{{1,{MOST_DIGITS}}}", token):
        raise InputError(source, name, token, f"a whole number of at most {MOST_DIGITS} digits")
    return int(token)


def finite(token: str, source: str, name: str) -> float:
    """Return a printed number as a float; InputError for NaN, infinities and other words."""
    return float(Number(token, source, name))


def shifted(token: str, places: int, source: str, name: str) -> float:
    """Return a printed number times ten to the power `places`, without rounding: -3 turns MB/s into GB/s."""
    return float(Decimal(str(Number(token, source, name))).scaleb(places))


def precision(printed: Number | str) -> float:
    """Return the relative error of a printed number, half a unit in its last place; infinity for zero and NaN."""
    if not float(printed) or not math.isfinite(float(printed)):
        return math.inf
    number = Decimal(str(printed))
    last = Decimal((0, (5,), int(number.as_tuple().exponent) - 1))
    return float(last / abs(number))


def disagreement(name: str, printed: Number | str, determined: float, *parts: Number | str) -> str:
    """Return why a printed rate is not what the rest of the output determines, in one line; empty if it is.

    `parts` are the printed numbers that `determined` is a product or quotient of. Rounding of all of them is allowed
    for; where it leaves nothing to compare, only a rate of 0 or less is refused.
    """
    value = float(printed)
    room = sum(map(precision, (printed, *parts)))
    if value > 0 and (room >= 1 or abs(value - determined) <= 1.01 * room / (1 - room) * value):
        return ""
    return f"{name} is {printed}, but the rest of the output gives {determined:.6g}"


def single(fom: Fom, value: float, **labels: Label) -> Series:
    """Return a series of one sample, because such programs print one figure per run."""
    return Series(fom=fom, labels=labels, samples=(float(value),))
