"""Make benchmark output from the files that one launch of a third-party program left in its job's folder.

    launch-NNN.out      what the program printed
    launch-NNN.left     the file that it wrote, for programs that do
    launch-NNN.witness  where its ranks ran (`railyard-witness`)
    launch-NNN.mpiP     mpiP's report, for launches that were profiled
    launch-NNN.persistent  what they sent by persistent requests (benchmarks/persistent)
    launch-NNN.counted  what the virtual torus counted, for launches with `counted`
    launch-NNN.json     the benchmark output, made here

Models: which parser reads a benchmark's output: the patterns of its job, OSU's, the function `parse` of the module with
the benchmark's name in `programs/`, or those of railyard's own helpers, for the time of any program (`railyard-time/1`)
and for what a ReFrame test's functions gave (`railyard.placed.figures`). Reading, witness and profile, if there is one,
become a document of `schema/benchmark-v1.json`. A program with fewer ranks than were requested ran as several MPI
worlds, because its MPI is not the launcher's: an error, and its figures are not used. Leaves out who writes the files
(`checks.application`), and whether a launch is a result (`railyard.records.assemble`).
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import json
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from railyard.applications import mpip, patterns, programs, torus_counters
from railyard.applications.mpip import Profile
from railyard.applications.programs import osu
from railyard.applications.reading import Parser, Reading, UnreadableError, finite, single
from railyard.base.errors import InputError
from railyard.records import benchmark, json_io, units
from railyard.records.json_io import Json
from railyard.records.store import archive

#: Value of the parameter `profiled_by` of a profiled case.
PROFILER = "mpiP, persistent sends"


def names_of_programs() -> list[str]:
    """Return the names of the programs with a parser in a module of `programs/`, and of OSU's programs."""
    return [*programs.parsers(), *sorted(osu.PROGRAMS)]


def is_application(benchmark: str) -> bool:
    """Return whether a benchmark is a third-party program with a parser here."""
    return benchmark in (ANY_PROGRAM, *osu.PROGRAMS, *programs.parsers())


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
        if read_by and REFRAME in read_by:
            parse: Parser = functools.partial(by_reframe, read_by[REFRAME])
        else:
            parse = patterns.parser(patterns.load(read_by)) if read_by else parser(benchmark, parameters)
        document, fault = _document(folder, stem, benchmark, parameters=parameters, ranks=ranks, parse=parse)
    except InputError as error:
        return str(error)
    except Exception as error:
        return broken(benchmark, error)
    archive.write_whole(folder / f"{stem}.json", json.dumps(document))
    return fault


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
    return time if benchmark == ANY_PROGRAM else programs.parsers()[benchmark]


def _document(
    folder: Path, stem: str, benchmark: str, *, parameters: Mapping[str, Json], ranks: int, parse: Parser
) -> tuple[dict[str, Json], str]:
    seen = load_witness(folder / f"{stem}.witness")
    check_world(seen, ranks)
    reading = parse(text_of(folder / f"{stem}.out"), text_of(folder / f"{stem}.left"), f"{stem}.out")
    check_threads(reading, seen, parameters.get("threads_per_rank"))
    profile = Profile()
    if parameters.get("profiled_by") == PROFILER:
        sends = mpip.load_persistent(folder / f"{stem}.persistent", ranks)
        profile = mpip.parse(text_of(folder / f"{stem}.mpiP"), f"{stem}.mpiP", sends)
    if parameters.get("counted_by") == torus_counters.COUNTED_BY:
        counted = torus_counters.read(folder / f"{stem}.counted")
        profile = dataclasses.replace(profile, series=[*profile.series, *counted])
    return document(benchmark, reading, seen, ranks=ranks, profile=profile), reading.fault


def text_of(path: Path) -> str:
    """Return the text of a file, whatever the locale; empty if there is none."""
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""


#: The benchmark of any program, whose only figure is its time.
ANY_PROGRAM = "any_program"
TIME = "railyard-time/1"
ELAPSED = units.fom("elapsed_s", "s", "lower")
#: The key of a job's `read_by` that selects the results of a ReFrame test; its value is the name of the program.
REFRAME = "reframe"


def time(_text: str, left: str, source: str) -> Reading:
    """Return the time of a run; raises InputError if the program did not reach MPI_Finalize."""
    try:
        document = json.loads(left)
    except ValueError:
        document = None
    if not isinstance(document, dict) or document.get("format") != TIME:
        raise UnreadableError(source, "time", "the program did not come to MPI_Finalize")
    elapsed_s = finite(str(document.get("elapsed_s")), source, "elapsed_s")
    return Reading(program="any", version="unknown", ranks=None, series=[single(ELAPSED, elapsed_s)])


def by_reframe(program: str, _text: str, left: str, source: str) -> Reading:
    """Return what the functions of a ReFrame test gave for a launch of a program, from the file with their results."""
    if not left:
        valid = "a job that ReFrame waited for"
        raise InputError(source, "", problem="ReFrame did not judge this launch", valid=valid)
    judged = json.loads(left)
    series = [
        single(units.fom(name, figure["unit"], figure["better"]), figure["value"])
        for name, figure in judged["figures"].items()
    ]
    fault = judged["fault"] or ("" if series else "no performance function of the test gave a number")
    return Reading(program=program, version="unknown", ranks=None, series=series, fault=fault)


WITNESS = "railyard-witness/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Witness:
    """What rank 0 wrote. `mpi` and `ranks` are validated as parts of a benchmark's output.

    `openmp_threads` is how many threads rank 0 would start, 0 in a program without OpenMP; None in files of older
    witnesses, which have no such number.
    """

    mpi: Mapping[str, Json]
    ranks: Json
    openmp_threads: int | None = None


def load_witness(path: Path) -> Witness:
    """Return the witness in a file; raises InputError if the file is missing or something else."""
    if not path.is_file():
        raise UnreadableError(path.name, "witness", "the program never started MPI (built without it?)")
    document = json_io.read(path)
    if not isinstance(document, Mapping) or document.get("format") != WITNESS:
        format_name = document.get("format") if isinstance(document, Mapping) else document
        raise InputError(path.name, "format", format_name, WITNESS)
    mpi = document.get("mpi")
    if not isinstance(mpi, Mapping) or type(mpi.get("ranks")) is not int or "ranks" not in document:
        raise InputError(path.name, "mpi.ranks", problem="missing", valid="the whole file of railyard-witness")
    threads = document.get("openmp_threads")
    return Witness(mpi=mpi, ranks=document["ranks"], openmp_threads=threads)


def document(
    program: str, reading: Reading, witness: Witness, *, ranks: int, profile: Profile | None = None
) -> dict[str, Json]:
    """Return the benchmark output of a launch of `ranks` ranks; InputError if the program reports another number."""
    if reading.ranks not in (None, ranks):
        raise InputError(reading.program, "ranks", reading.ranks, f"{ranks}, as were requested")
    series, not_measured = list(reading.series), list(reading.not_measured)
    if profile and reading.verified:
        series += profile.series
        not_measured += profile.not_measured
    unmeasured = [{"fom": str(one.fom), "labels": dict(one.labels), "reason": one.reason} for one in not_measured]
    return {
        "format": "railyard-benchmark/3",
        "benchmark": program,
        "version": reading.version,
        "parameters": {},
        "reported": dict(reading.parameters),
        "mpi": dict(witness.mpi),
        "verified": reading.verified,
        "ranks": witness.ranks,
        "figures": benchmark.figures_json([one.fom for one in series] + [one.fom for one in not_measured]),
        "series": [benchmark.series_json(one) for one in series],
        **({"not_measured": unmeasured} if unmeasured else {}),
    }


def check_world(witness: Witness, ranks: int) -> None:
    """Raise InputError unless the program's MPI made one world of `ranks` ranks."""
    size: int = witness.mpi["ranks"]
    if size != ranks:
        alone = f"{ranks} worlds of one rank each: the program's MPI does not know what started it"
        wanted = f"{ranks} ranks" if size > 1 else f"{ranks} ranks in one world; there are {alone}"
        raise InputError("the witness", "ranks", size, wanted)


def check_threads(reading: Reading, seen: Witness, wanted: Json) -> None:
    """Raise InputError unless each rank has as many OpenMP threads as were requested, if any were.

    Both the program's own output and the witness must agree, as far as they report threads.
    """
    if not wanted:
        return
    if seen.openmp_threads == 0 and wanted > 1:
        valid = f"{wanted}, as were requested; the program is built without OpenMP"
        raise InputError(reading.program, "threads", 0, valid)
    for reported in (seen.openmp_threads, reading.parameters.get("threads")):
        if reported not in (None, 0, wanted):
            raise InputError(reading.program, "threads", reported, f"{wanted}, as were requested")
