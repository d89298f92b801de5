"""Read what other tools wrote: perflogs and reports of ReFrame, tables of JUBE, results of Ramble, program outputs.

Models: the first of `READERS` that recognises a file reads it; outputs of programs are read by the parsers that checks
use (`railyard.applications.programs`). Only what a file has is taken. A time without a zone counts as UTC, and a
figure without a direction is better in `neither`. Leaves out: ReFrame 3 and older, which are refused by name.
"""

from __future__ import annotations

import csv
import dataclasses
import json
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from railyard.applications import launch
from railyard.applications.programs import osu
from railyard.base.errors import InputError
from railyard.records import json_io
from railyard.records.json_io import Json
from railyard.records.store.imported import Point, Result

#: What a user may state about results that do not have it: `--set NAME=VALUE`.
SETTABLE = ("system", "partition", "environment", "check", "created", "command", "exit_status", "machine", "software")
_OLD_PERFLOG = re.compile(r"[-0-9T:+]+\|reframe ([0-3]\.\S+)")
_UNIT = re.compile(r"(.*?)\s*\[([^\]]+)\]")
_PROGRAMS = {
    "Intel(R) MPI Benchmarks": "imb",
    "Intel (R) MPI Benchmarks": "imb",
    "linktest:": "linktest",
    "avg. bisection bw:": "linktest",
}


class File(NamedTuple):
    """A file to read: its name for messages, its text, and what the user added about columns and programs."""

    name: str
    text: str
    units: Mapping[str, str]
    program: str


def results(
    path: Path, *, stated: Mapping[str, str], units: Mapping[str, str], program: str = ""
) -> tuple[list[Result], bytes]:
    """Return the results in a file, and its bytes; `stated` fills what a result lacks, `units` names JUBE's figures.

    Raises InputError for a file that no reader knows, is cut short, or has no figure.
    """
    content = json_io.read_bytes(path)
    when = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    file = File(path.name, content.decode(errors="replace").lstrip("\ufeff"), units, program)
    reader = next((read for knows, read in READERS if knows(file)), None)
    if reader is None:
        raise InputError(path.name, "", problem="a file that no reader knows", valid=KNOWN)
    try:
        read = [_with(result, stated, when) for result in reader(file)]
    except InputError:
        raise
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        problem = f"a file of another form ({type(error).__name__}: {error})"
        raise InputError(path.name, "", problem=problem, valid=KNOWN) from error
    if not any(result.points or result.reason for result in read):
        raise InputError(path.name, "", problem="no figure", valid="a file with a number and its unit")
    return read, content


KNOWN = (
    "a perflog or run report of ReFrame 4, a result table of JUBE, results.json of Ramble, "
    "or the output of IMB, OSU or LinkTest; --program NAME for other programs of `railyard application list`"
)


def _with(result: Result, stated: Mapping[str, str], when: datetime) -> Result:
    """Return a result in which what the file does not have is as the user stated, or as the file's time."""
    own: dict[str, Json] = {name: value for name, value in stated.items() if getattr(result, name) in ("", None)}
    if "exit_status" in own:
        own["exit_status"] = _whole(own["exit_status"], "--set", "exit_status")
    own.setdefault("created", result.created or f"{when:%Y-%m-%dT%H:%M:%SZ}")
    own["created"] = _utc(own["created"], "--set")
    return dataclasses.replace(result, **own, is_dated=bool(result.created or "created" in stated))


def _utc(text: str, source: str) -> str:
    try:
        time = datetime.fromisoformat(text)
    except ValueError as error:
        raise InputError(source, "created", text, "a time such as 2026-11-21T03:00:00Z") from error
    return f"{time.astimezone(UTC) if time.tzinfo else time:%Y-%m-%dT%H:%M:%SZ}"


def _whole(text: Json, source: str, field: str) -> int | None:
    if text in (None, "", "null", "None"):
        return None
    try:
        return int(text)
    except (ValueError, TypeError) as error:
        raise InputError(source, field, text, "a whole number") from error


def _number(text: Json, source: str, field: str) -> float:
    try:
        value = float(text)
    except (ValueError, TypeError):
        value = float("nan")
    if value - value != 0:
        raise InputError(source, field, text, "a finite number")
    return value


# ---- ReFrame ----


def _perflog(file: File) -> Iterator[Result]:
    """Yield a result per line of a perflog of ReFrame 4, whose first line names the columns."""
    lines = [line for line in file.text.splitlines() if line]
    heads = lines[0].split("|" if "|" in lines[0] else ",")
    for number, row in enumerate(csv.reader(lines[1:], delimiter="|" if "|" in lines[0] else ","), 2):
        if row == heads:
            continue  # ReFrame repeats the line when the columns of a file change back
        if len(row) != len(heads):
            raise InputError(file.name, f"line {number}", problem=f"{len(row)} fields", valid=f"{len(heads)}")
        cells = {head: "" if cell in ("null", "None") else cell for head, cell in zip(heads, row, strict=True)}
        values = {head.removesuffix("_value"): cell for head, cell in cells.items() if head.endswith("_value") and cell}
        points = [
            Point(fom=fom, unit=cells[f"{fom}_unit"], value=_number(cell, file.name, f"line {number}: {fom}"))
            for fom, cell in values.items()
        ]
        name = cells.get("unique_name") or cells.get("name") or cells.get("display_name") or cells["info"]
        nodes = cells.get("job_nodelist", "")
        is_good = cells.get("result", "pass") in ("pass", "success")
        yield Result(
            tool=cells.get("version") or "ReFrame perflog",
            check=name.split(" ")[0],
            benchmark=(cells.get("name") or name).split(" ")[0],
            created=_utc(cells["job_completion_time"], file.name) if cells.get("job_completion_time") else "",
            points=points,
            system=cells.get("system", ""),
            partition=cells.get("partition", ""),
            environment=cells.get("environ", ""),
            job=cells.get("jobid", ""),
            parameters={"name": name, **{key: cells[key] for key in _KEPT if cells.get(key)}},
            # a list that is folded has commas within its brackets, too
            nodes=len(nodes.split(",")) if nodes and "[" not in nodes else None,
            ranks=_whole(cells.get("num_tasks"), file.name, f"line {number}: num_tasks"),
            exit_status=_whole(cells.get("job_exitcode"), file.name, f"line {number}: job_exitcode"),
            machine=nodes,
            reason="" if is_good else f"ReFrame: {cells['result']}",
        )


#: Columns of a perflog that are parameters.
_KEPT = ("num_tasks_per_node", "num_cpus_per_task", "num_gpus_per_node", "spack_spec", "env_vars", "extra_resources")


def _report(file: File) -> Iterator[Result]:
    """Yield a result per test case with figures of a run report of ReFrame 4."""
    document = _json(file)
    session = document["session_info"]
    if int(str(session["data_version"]).partition(".")[0]) < 3:
        version = f"ReFrame {session['version']}, data version {session['data_version']}"
        raise InputError(file.name, "session_info", problem=f"a report of {version}", valid="one of ReFrame 4")
    for case in (case for run in document["runs"] for case in run["testcases"]):
        measured = case.get("perfvalues") or {}
        points = [
            Point(fom=name.split(":")[-1], value=_number(row[0], file.name, name), unit=str(row[4] or ""))
            for name, row in measured.items()
            if row[0] is not None
        ]
        is_good = case["result"] in ("pass", "success")
        if not points and is_good:
            continue
        command = shlex.join([case.get("executable") or "", *(case.get("executable_opts") or [])]).removeprefix("''")
        nodes = case.get("job_nodelist") or case.get("nodelist") or []
        yield Result(
            tool=f"ReFrame {session['version']} run report",
            check=case["unique_name"],
            benchmark=case["name"],
            created=_utc(case.get("job_completion_time") or session["time_end"], file.name),
            points=points if is_good else [],
            system=case["system"].partition(":")[0],
            partition=case.get("partition") or "",
            environment=case.get("environ") or "",
            job=str(case.get("jobid") or ""),
            nodes=len(nodes) or None,
            ranks=_whole(case.get("num_tasks"), file.name, "num_tasks"),
            command=command,
            exit_status=_whole(case.get("job_exitcode"), file.name, "job_exitcode"),
            machine=",".join(nodes),
            software=" ".join([case.get("environ") or "", *(case.get("modules") or [])]).strip(),
            elapsed_s=case.get("time_run"),
            reason="" if is_good else " ".join(f"ReFrame: {case['result']}: {case.get('fail_reason')}".split())[:500],
        )


def _json(file: File) -> Mapping[str, Json]:
    try:
        document: Mapping[str, Json] = json.loads(file.text)
    except (ValueError, RecursionError) as error:
        raise InputError(file.name, "", problem=f"no JSON: {error}", valid="a whole file") from error
    return document


# ---- JUBE, Ramble ----


def _jube(file: File) -> Iterator[Result]:
    """Yield a result per row of a result table of JUBE, as text or CSV; columns with a unit are figures."""
    lines = [line.strip() for line in file.text.splitlines() if line.strip()]
    name = lines[0].removesuffix(":") if lines[0].endswith(":") else Path(file.name).stem
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    rows = [row for row in rows if not all(re.fullmatch("-+", cell) for cell in row)]
    heads = [(match[1], match[2]) if (match := _UNIT.fullmatch(head)) else (head, "") for head in rows[0]]
    units = {head: file.units.get(head, unit) for head, unit in heads}
    if not any(units.values()):
        valid = f"a unit for a figure: --unit NAME=UNIT; columns: {', '.join(units)}"
        raise InputError(file.name, "", problem="no column has a unit", valid=valid)
    if unknown := file.units.keys() - units.keys():
        raise InputError("--unit", "", min(unknown), f"columns of {file.name}: {', '.join(units)}")
    for number, row in enumerate(rows[1:], 1):
        if len(row) != len(heads):
            raise InputError(file.name, f"row {number}", problem=f"{len(row)} cells", valid=f"{len(heads)}")
        cells = dict(zip(units, row, strict=True))
        points = [
            Point(fom=head, unit=unit, value=_number(cells[head], file.name, f"row {number}: {head}"))
            for head, unit in units.items()
            if unit and cells[head]
        ]
        parameters = {head: cell for head, cell in cells.items() if not units[head] and cell}
        yield Result(tool="JUBE result table", check=name, benchmark=name, points=points, parameters=parameters)


def _ramble(file: File) -> Iterator[Result]:
    """Yield a result per experiment of Ramble's `results.latest.json`, which Benchpark has, too."""
    better = {"lower": "lower", "higher": "higher"}
    for one in _json(file)["experiments"]:
        variables, is_good = one.get("RAMBLE_VARIABLES") or {}, one.get("RAMBLE_STATUS") == "SUCCESS"
        points = [
            Point(
                fom=fom["name"],
                unit=fom.get("units") or "",
                value=_number(fom["value"], file.name, f"{one['name']}: {fom['name']}"),
                better=better.get(str(fom.get("fom_type", {}).get("better_direction")).lower(), "neither"),
                labels={} if context["name"] == "null" else {"context": context.get("display_name") or context["name"]},
            )
            for context in one.get("CONTEXTS") or ()
            for fom in context["foms"]
            if is_good and _is_number(fom["value"])
        ]
        yield Result(
            tool="Ramble results",
            check=one["name"],
            benchmark=one.get("application_name") or variables["application_name"],
            points=points,
            parameters={"workload": one.get("workload_name") or variables["workload_name"]},
            nodes=_whole(variables.get("n_nodes"), file.name, "n_nodes"),
            ranks=_whole(variables.get("n_ranks"), file.name, "n_ranks"),
            reason="" if is_good else f"Ramble: {one.get('RAMBLE_STATUS')}",
        )


def _is_number(value: Json) -> bool:
    """Return whether a figure of Ramble is a number: it lists versions and names as figures, too."""
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


# ---- outputs of programs ----


def _program(file: File) -> str:
    """Return the program that wrote an output; empty for one that is not known."""
    if file.program:
        return file.program
    if match := re.search(r"# OSU MPI(.*?)(?:-[A-Z]+)?( .*?) v[0-9]", file.text):
        title = "".join(match.groups()).lower()
        return next((name for name, words in osu.PROGRAMS.items() if words.format("").lower() == title), "")
    return next((program for words, program in _PROGRAMS.items() if words in file.text), "")


def _output(file: File) -> Iterator[Result]:
    program = _program(file)
    parse = osu.parser(program, None) if program in osu.PROGRAMS else launch.parser(program, {})
    reading = parse(file.text, "", file.name)
    system = re.findall(r"^# (?:Machine|System|Release) +: (.*)", file.text, re.MULTILINE) if program == "imb" else []
    called = re.search(r"^# Calling sequence was:\s*\n+# *(\S.*)", file.text, re.MULTILINE)
    yield Result(
        tool=f"output of {reading.program} {reading.version}".strip(),
        check=program,
        benchmark=program,
        points=[
            Point(fom=str(one.fom), **one.fom.document(), labels=one.labels, value=one.samples[0])
            for one in reading.series
        ],
        parameters=reading.parameters,
        ranks=reading.ranks,
        command=called[1].strip() if called else "",
        machine=" ".join(map(str.strip, system)),
        reason=reading.fault,
    )


def _refuse_old(file: File) -> Iterator[Result]:
    versions = _OLD_PERFLOG.findall(file.text)
    raise InputError(file.name, "", problem=f"a perflog of ReFrame {versions[0]}", valid="one of ReFrame 4")


READERS: Sequence[tuple[Callable[[File], object], Callable[[File], Iterator[Result]]]] = (
    (lambda file: file.program, _output),
    (lambda file: _OLD_PERFLOG.match(file.text), _refuse_old),
    (lambda file: re.match(r"[\w|,]*\bjob_completion_time\b", file.text), _perflog),
    (lambda file: re.match(r"\s*\{", file.text) and '"session_info"' in file.text, _report),
    (lambda file: re.match(r"\s*\{", file.text) and '"experiments"' in file.text, _ramble),
    (lambda file: re.match(r"(?:[^\n|]*:\s*\n)?\s*\|(?:[^\n]*\|)+\s*\n\s*\|[-|\s]+\|", file.text), _jube),
    (_program, _output),
)
