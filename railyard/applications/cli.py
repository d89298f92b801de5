"""`railyard application`: what a contributor of an application needs before a torus is built."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import click

from railyard.applications import launch, patterns
from railyard.applications.launch import Witness
from railyard.applications.patterns import Patterns
from railyard.applications.programs import osu
from railyard.applications.reading import Parser, Reading
from railyard.base.commands import THERE, Commands, example, option
from railyard.base.errors import InputError, RunError
from railyard.records import benchmark
from railyard.records.benchmark import Series, Unmeasured


@click.group(cls=Commands)
def application() -> None:
    """List and try the parsers of third-party programs."""


@application.command(name="list", epilog=example("railyard application list"))
def list_programs() -> None:
    """Name the programs that have a parser; others are read by the patterns of a check."""
    for name in launch.names_of_programs():
        click.echo(name)


@application.command(name="try", epilog=example("railyard application try osu_bw --output osu_bw.out"))
@click.argument("name")
@option("--output", "File with the output of a run.", THERE, required=True)
@option("--left", "File that the run wrote, for a program that writes one.", THERE)
@option("--sizes", "Message sizes of an OSU program in bytes, with commas: each must be there.", default="")
def try_parser(name: str, output: Path, left: Path | None, sizes: str) -> None:
    """Read recorded output as a check would: figures, verdict, or the pattern that matched nothing.

    NAME is a program that `railyard application list` names, or the file of a check with patterns (FOLDER/NAME.py).
    """
    try:
        if name.endswith(".py"):
            parse = parser_of_check(Path(name))
        else:
            parse = osu.parser(name, _sizes(sizes)) if name in osu.PROGRAMS else launch.parser(name, {})
        texts = [launch.text_of(file) if file else "" for file in (output, left)]
        reading = parse(texts[0], texts[1], output.name)
    except (InputError, RunError):
        raise
    except Exception as error:
        raise RunError(launch.broken(name, error)) from error
    record_rules(name, reading, output.name)
    for line in _lines(reading):
        click.echo(line)
    if reading.fault:
        raise RunError(f"not verified: {reading.fault}")


def record_rules(name: str, reading: Reading, source: str) -> None:
    """Raise InputError for a reading that no record takes: a point twice, a sample outside of its unit's range."""
    count = reading.ranks or 1
    mpi = {"library": "any", "standard": "any", "ranks": count}
    layout = {"ranks": count, "cpu_sets": [], **dict.fromkeys(("cpu", "allowed_cpus", "numa_node"), f".*{count}")}
    nodes = [{"host": "any", "ranks": f"0-{count - 1}", "layout": 0}]
    seen = Witness(mpi=mpi, ranks={"layouts": [layout], "nodes": nodes})
    document = launch.document(Path(name).stem, reading, seen, ranks=count)
    benchmark.parse(document, source)


def _sizes(text: str) -> list[int] | None:
    """Return the numbers of a list, None for an empty one; InputError for a word that is no number."""
    words = [word.strip() for word in text.split(",") if word.strip()]
    if wrong := next((word for word in words if not (word.isascii() and word.isdigit())), ""):
        raise InputError("railyard application try", "--sizes", wrong, "message sizes in bytes, such as 8,1024")
    return [int(word) for word in words] if text else None


def parser_of_check(file: Path) -> Parser:
    """Return the parser of the only check with patterns in a file; InputError for none, or several."""
    if not file.is_file():
        raise InputError(str(file), "", problem="no such file", valid="the file of a check")
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # ReFrame looks up the file of each check
    spec.loader.exec_module(module)
    outputs = [vars(member).get("output") for member in vars(module).values() if isinstance(member, type)]
    all_patterns = [item for item in outputs if isinstance(item, Patterns)]
    if len(all_patterns) != 1:
        problem, valid = f"{len(all_patterns)} checks with patterns", "one class with `output = Patterns(...)`"
        raise InputError(str(file), "output", problem=problem, valid=f"{valid}, or in the file's place a parser's name")
    return patterns.parser(all_patterns[0])


def _lines(reading: Reading) -> list[str]:
    """Return a reading as lines for people; the first figure is the one that scores use."""
    lines = [f"{reading.program} {reading.version}: {'verified' if reading.verified else 'not verified'}"]
    lines += [f"  ranks: {reading.ranks if reading.ranks is not None else 'the output does not say'}"]
    for number, series in enumerate(reading.series):
        first = " (the score's)" if number == 0 else ""
        lines.append(f"  {_point(series)}: {series.samples[0]:g} {series.fom.heading}{first}")
    lines += [f"  {_point(one)} was not measured: {one.reason}" for one in reading.not_measured]
    lines += [f"  {key}: {value}" for key, value in reading.parameters.items()]
    return lines


def _point(one: Series | Unmeasured) -> str:
    return f"{one.fom}{''.join(f' {key}={value}' for key, value in one.labels.items())}"
