r"""Read a program's output by patterns that its check holds, for a program that has no parser of its own.

Models: figures of merit, the number of ranks, parameters and limits, each one line of the output with NUMBER or a group
where the wanted text is. A pattern is a regular expression for a whole line, or for several with `\n` between them.
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
    """A condition of a right run: a printed number is at most `at_most`, or at most that share of another number."""

    pattern: str
    at_most: float
    share_of: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Patterns:
    """The patterns of a program's output.

    `figures` are FOM -> pattern; a name ends in its unit (railyard/records/units.py), and the first is the score's.
    `verified` is a line that only a right run prints; a run needs it, or a limit, to be verified. `ranks` matches the
    number of ranks that the program itself counts, `parameters` further values for the record.
    """

    program: str
    figures: Mapping[str, str]
    ranks: str = ""
    verified: str = ""
    limits: Mapping[str, Limit] = field(default_factory=dict)
    parameters: Mapping[str, str] = field(default_factory=dict)
    version: str = "unknown"

    def __post_init__(self) -> None:
        """Raise InputError for patterns that can never give a figure, before anything runs."""
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
                valid="a line or a limit of a right run",
            )

    def document(self) -> dict[str, Json]:
        """Return the patterns as the JSON that a job contains."""
        return asdict(self)


def load(document: Mapping[str, Json]) -> Patterns:
    """Return the patterns in a job's JSON."""
    limits = {name: Limit(**limit) for name, limit in document["limits"].items()}
    return Patterns(**{**document, "limits": limits})


def parser(patterns: Patterns) -> Parser:
    """Return a parser that applies patterns."""

    def parse(text: str, left: str, source: str) -> Reading:
        del left
        output = Output(source=source, text=text)
        series = [single(name, output.number(name, pattern)) for name, pattern in patterns.figures.items()]
        ranks = output.whole("ranks", patterns.ranks) if patterns.ranks else None
        parameters = {name: output.token(name, pattern) for name, pattern in patterns.parameters.items()}
        fault = _fault(patterns, output)
        return Reading(
            program=patterns.program,
            version=patterns.version,
            ranks=ranks,
            series=[] if fault else series,
            fault=fault,
            parameters=parameters,
        )

    return parse


def _fault(patterns: Patterns, output: Output) -> str:
    """Return why a run is not verified, in one line; empty for a verified one."""
    if patterns.verified and not output.lines(patterns.verified):
        return f"{patterns.program}: no line matches {patterns.verified!r}, which a right run prints"
    for name, limit in patterns.limits.items():
        value = output.number(name, limit.pattern)
        most = limit.at_most * (output.number(f"{name}, share of", limit.share_of) if limit.share_of else 1.0)
        if not value <= most:
            return f"{patterns.program}: {name} is {value:g}, to be at most {most:g}"
    return ""
