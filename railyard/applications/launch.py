"""What one launch of a third-party program left in its job's folder, made into benchmark output.

    launch-NNN.out      what the program printed
    launch-NNN.left     the file that it wrote, for programs that do
    launch-NNN.witness  where its ranks ran (`railyard-witness`)
    launch-NNN.mpiP     mpiP's report, for launches that were profiled
    launch-NNN.json     the benchmark output, made here

Models: which benchmark's output which parser reads. Leaves out: how the files come there (`checks.application`) and
what a launch is worth (`results.assemble`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from railyard.applications import amg, convert, lulesh, minife, minighost, mpip, osu, witness
from railyard.applications.reading import Parser
from railyard.errors import InputError
from railyard.records import archive
from railyard.records.benchmark import Series
from railyard.records.json_io import Json

PARSERS: Mapping[str, Parser] = {
    "amg": amg.parse,
    "lulesh": lulesh.parse,
    "minife": minife.parse,
    "minighost": minighost.parse,
}
#: What a profiled case says in its parameter `profiled_by`.
PROFILER = "mpiP"


def is_application(benchmark: str) -> bool:
    """Whether a benchmark is a third-party program, whose output is read here."""
    return benchmark in PARSERS or benchmark in osu.PROGRAMS


def read(folder: Path, stem: str, benchmark: str, parameters: Mapping[str, Json], ranks: int) -> str:
    """Make the benchmark output of a launch of so many ranks; why it is not a result, or nothing.

    No output is made where the program's own is cut off, is no number, or is that of several worlds.
    """
    try:
        made, fault = _document(folder, stem, benchmark, parameters, ranks)
    except InputError as error:
        return str(error)
    archive.write_whole(folder / f"{stem}.json", json.dumps(made), replace=True)
    return fault


def _document(
    folder: Path, stem: str, benchmark: str, parameters: Mapping[str, Json], ranks: int
) -> tuple[dict[str, Json], str]:
    seen = witness.load(folder / f"{stem}.witness")
    convert.check_world(seen, ranks)
    parse = _parser(benchmark, parameters)
    reading = parse(_text(folder / f"{stem}.out"), _text(folder / f"{stem}.left"), f"{stem}.out")
    profile = _profile(folder / f"{stem}.mpiP") if parameters.get("profiled_by") == PROFILER else ()
    return convert.document(benchmark, reading, seen, ranks, profile), reading.fault


def _parser(benchmark: str, parameters: Mapping[str, Json]) -> Parser:
    if benchmark in PARSERS:
        return PARSERS[benchmark]
    return osu.parser(benchmark, parameters["sizes_bytes"])


def _profile(path: Path) -> Sequence[Series]:
    return mpip.parse(_text(path), path.name).series


def _text(path: Path) -> str:
    """What a launch wrote; nothing where it wrote none."""
    return path.read_text(errors="replace") if path.is_file() else ""
