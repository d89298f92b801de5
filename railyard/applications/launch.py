"""Make benchmark output from the files that one launch of a third-party program left in its job's folder.

    launch-NNN.out      what the program printed
    launch-NNN.left     the file that it wrote, for programs that do
    launch-NNN.witness  where its ranks ran (`railyard-witness`)
    launch-NNN.mpiP     mpiP's report, for launches that were profiled
    launch-NNN.persistent  what they sent by persistent requests (benchmarks/persistent)
    launch-NNN.counted  what the virtual torus counted, for launches with `counted`
    launch-NNN.json     the benchmark output, made here

Models: which parser reads a benchmark's output: the patterns of its job, OSU's, or the function `parse` of the module
with the benchmark's name in `programs/`. Leaves out who writes the files (`checks.application`), and whether a
launch is a result (`railyard.records.assemble`).
"""

from __future__ import annotations

import dataclasses
import difflib
import json
import traceback
from collections.abc import Mapping
from pathlib import Path

from railyard.applications import convert, left, mpip, patterns, persistent, programs, torus_counters
from railyard.applications.programs import osu
from railyard.applications.reading import Parser
from railyard.base.errors import InputError
from railyard.records.json_io import Json
from railyard.records.store import archive

#: Value of the parameter `profiled_by` of a profiled case.
PROFILER = "mpiP, persistent sends"


def names_of_programs() -> list[str]:
    """Return the names of the programs with a parser in a module of `programs/`, and of OSU's programs."""
    return [*programs.parsers(), *sorted(osu.PROGRAMS)]


def is_application(benchmark: str) -> bool:
    """Return whether a benchmark is a third-party program with a parser here."""
    return benchmark in (left.ANY_PROGRAM, *osu.PROGRAMS, *programs.parsers())


def need_parser(benchmark: str) -> None:
    """Raise InputError for a program without a parser."""
    if not is_application(benchmark):
        other = f"or add railyard/applications/programs/{benchmark}.py, or patterns to the check"
        names = ", ".join([*programs.parsers(), *difflib.get_close_matches(benchmark, osu.PROGRAMS)])
        valid = f"a program with a parser: {names}, and others of OSU (railyard application list); {other}"
        raise InputError("benchmark", "", benchmark, valid)


def read(
    folder: Path,
    stem: str,
    benchmark: str,
    *,
    parameters: Mapping[str, Json],
    ranks: int,
    read_by: Mapping[str, Json] | None = None,
) -> str:
    """Write the benchmark output of a launch; return why it is not a result, in one line, or an empty text.

    No output is written if the program's own is cut off, has no number, or is that of several MPI worlds. `read_by`
    contains the patterns of a program without a parser. An exception in a parser is returned with its file and line.
    """
    try:
        parse = _parser_of(read_by) if read_by else parser(benchmark, parameters)
        document, fault = _document(folder, stem, benchmark, parameters=parameters, ranks=ranks, parse=parse)
    except InputError as error:
        return str(error)
    except Exception as error:
        return broken(benchmark, error)
    archive.write_whole(folder / f"{stem}.json", json.dumps(document), replace=True)
    return fault


def _parser_of(read_by: Mapping[str, Json]) -> Parser:
    if left.REFRAME in read_by:
        return left.of_reframe(read_by[left.REFRAME])
    return patterns.parser(patterns.load(read_by))


def broken(benchmark: str, error: Exception) -> str:
    """Return an exception of a parser as one line, with file and line number."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{Path(last.filename).name}, line {last.lineno}"
    return f"the parser of {benchmark} failed: {type(error).__name__}: {error} ({place})"


def parser(benchmark: str, parameters: Mapping[str, Json]) -> Parser:
    """Return the parser of a benchmark's output; InputError if there is none."""
    if benchmark in osu.PROGRAMS:
        return osu.parser(benchmark, parameters["sizes_bytes"], parameters.get("device", ""))
    need_parser(benchmark)
    return left.time if benchmark == left.ANY_PROGRAM else programs.parsers()[benchmark]


def _document(
    folder: Path, stem: str, benchmark: str, *, parameters: Mapping[str, Json], ranks: int, parse: Parser
) -> tuple[dict[str, Json], str]:
    seen = convert.load_witness(folder / f"{stem}.witness")
    convert.check_world(seen, ranks)
    reading = parse(text_of(folder / f"{stem}.out"), text_of(folder / f"{stem}.left"), f"{stem}.out")
    convert.check_threads(reading, seen, parameters.get("threads_per_rank"))
    profile = _profile(folder, stem, parameters.get("profiled_by"), ranks)
    if parameters.get("counted_by") == torus_counters.COUNTED_BY:
        counted = torus_counters.read(folder / f"{stem}.counted")
        profile = dataclasses.replace(profile, series=[*profile.series, *counted])
    return convert.document(benchmark, reading, seen, ranks=ranks, profile=profile), reading.fault


def _profile(folder: Path, stem: str, profiled_by: Json, ranks: int) -> mpip.Profile:
    """Return the profile of a case's profiler; without series for a case without one."""
    if profiled_by != PROFILER:
        return mpip.Profile(ranks=ranks, series=())
    path = folder / f"{stem}.mpiP"
    return mpip.parse(text_of(path), path.name, persistent.load(folder / f"{stem}.persistent", ranks))


def text_of(path: Path) -> str:
    """Return the text of a file, whatever the locale; empty if there is none."""
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
