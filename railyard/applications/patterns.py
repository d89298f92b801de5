"""Read a program's output by patterns that its check holds, for a program that has no parser of its own.

Models: figures of merit, the number of ranks, parameters and limits, each one line of the output with NUMBER or a group
where the wanted text is. A pattern is a regular expression for a whole line, or for several with `\\n` between them.
Leaves out programs whose figures are in a file or in a table: they have a module with a `parse` function.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from railyard.applications.reading import Output, Parser, Reading, single
from railyard.base.errors import InputError
from railyard.records import units
from railyard.records.json_io import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """What must hold of a run: a printed number is at most `at_most`, or at most that share of another number."""

    pattern: str
    at_most: float
    share_of: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Patterns:
    """How a program's output is read.

    `figures` are FOM -> pattern; a name ends in its unit (railyard/records/units.py), and the first is the score's.
    `verified` is a line that only a right run prints; a run needs it, or a limit, to be verified. `ranks` holds the
    number of ranks that the program itself counts, `parameters` what else is worth keeping.
    """

    program: str
    figures: Mapping[str, str]
    ranks: str = ""
    verified: str = ""
    limits: Mapping[str, Limit] = field(default_factory=dict)
    parameters: Mapping[str, str] = field(default_factory=dict)
    version: str = "unknown"

    def __post_init__(self) -> None:
        """Refuse, before anything runs, what could never give a figure."""
        for name in self.figures:
            units.unit_of_new(name)
        if not self.figures:
            raise InputError(
                self.program,
                "figures",
                problem="none is named",
                valid="at least one figure of merit, with its pattern",
            )
        stems = [units.stem(name) for name in self.figures]
        if twice := next((name for name in self.figures if stems.count(units.stem(name)) > 1), ""):
            same = ", ".join(name for name in self.figures if units.stem(name) == units.stem(twice))
            valid = "names that differ before the unit, because the report shows them without it"
            raise InputError(self.program, "figures", same, valid)
        if not self.verified and not self.limits:
            raise InputError(
                self.program,
                "verified, limits",
                problem="neither is named",
                valid="a line or a limit that says a run was right",
            )

    def document(self) -> dict[str, Json]:
        """As a job keeps it."""
        return asdict(self)


def load(document: Mapping[str, Json]) -> Patterns:
    """The patterns of a job."""
    limits = {name: Limit(**limit) for name, limit in document["limits"].items()}
    return Patterns(**{**document, "limits": limits})


def parser(patterns: Patterns) -> Parser:
    """The parser that patterns stand for."""

    def parse(text: str, left: str, source: str) -> Reading:
        del left
        said = Output(source=source, text=text)
        series = [single(name, said.number(name, pattern)) for name, pattern in patterns.figures.items()]
        ranks = said.whole("ranks", patterns.ranks) if patterns.ranks else None
        parameters = {name: said.token(name, pattern) for name, pattern in patterns.parameters.items()}
        fault = _fault(patterns, said)
        return Reading(
            program=patterns.program,
            version=patterns.version,
            ranks=ranks,
            series=[] if fault else series,
            fault=fault,
            parameters=parameters,
        )

    return parse


def _fault(patterns: Patterns, said: Output) -> str:
    """Why a run is not verified; empty for one that is."""
    if patterns.verified and not said.lines(patterns.verified):
        return f"{patterns.program}: no line matches {patterns.verified!r}, which a right run prints"
    for name, limit in patterns.limits.items():
        found = said.number(name, limit.pattern)
        most = limit.at_most * (said.number(f"{name}, share of", limit.share_of) if limit.share_of else 1.0)
        if not found <= most:
            return f"{patterns.program}: {name} is {found:g}, to be at most {most:g}"
    return ""
