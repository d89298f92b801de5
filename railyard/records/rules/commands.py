"""Rules about commands: a launch's command line names the program, its parameters, its placement and its own files."""

from __future__ import annotations

import ast
import functools
import itertools
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import PurePath

from railyard.base.checkout import CHECKOUT
from railyard.records.json_io import Json
from railyard.records.record import Origin, Record, Software
from railyard.records.rules.registry import Fault, ended_well, rule

BENCHMARKS = CHECKOUT / "benchmarks"
#: Further names under which the program `pt2pt` is built (benchmarks/CMakeLists.txt).
OF_PT2PT = frozenset({"hops", "paths", "contention"})
#: Folders of `benchmarks/` that contain a library and no program, as in benchmarks/CMakeLists.txt.
LIBRARIES = frozenset({"counters", "witness"})
#: Parameters that no option of the benchmark passes.
NO_OPTIONS = frozenset({"injection_percent", "fault", "scale", "pattern", "build"})
#: Parameters whose option has another name; that an option may omit the unit is not listed here.
OPTIONS = {"pairs_per_node": "pairs"}


@functools.cache
def own() -> frozenset[str]:
    """Return the names of railyard's own benchmarks (NAME/NAME.c), whose options are named as their parameters."""
    mains = {path.stem for path in BENCHMARKS.glob("*/*.c") if path.stem == path.parent.name}
    return frozenset(mains - LIBRARIES) | OF_PT2PT


@functools.cache
def programs_of_checks() -> Mapping[str, str]:
    """Return benchmark -> program as `_plain` has it, read from the source files of the checks."""
    programs: dict[str, str] = {}
    for path in sorted((CHECKOUT / "checks").rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            named = _named(node) if isinstance(node, ast.ClassDef) else {}
            if {"benchmark", "program"} <= named.keys():
                programs[named["benchmark"]] = _plain(named["program"])
    return programs


def _named(check: ast.ClassDef) -> dict[str, str]:
    """Return name -> string for the assignments of strings in a class body."""
    return {
        target.id: line.value.value
        for line in check.body
        if isinstance(line, ast.Assign)
        and isinstance(line.value, ast.Constant)
        and isinstance(line.value.value, str)
        for target in line.targets
        if isinstance(target, ast.Name)
    }


def _plain(name: str) -> str:
    """Return the letters and digits of a name, in lower case."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


@functools.lru_cache(maxsize=1024)
def _split(command: str) -> tuple[str, ...]:
    """Return the words of a command; cached, because five rules need them and splitting is slow."""
    try:
        return tuple(shlex.split(command))
    except ValueError:
        return ()


@rule("program")
def program(read: Record) -> Iterator[Fault]:
    """A launch's command runs the benchmark that the case names; a site's own program has its name in it."""
    for field, launch in ended_well(read):
        if not any(_runs(read.case.benchmark, program) for program in _programs(launch.command)):
            yield Fault(field=f"{field}.command", text=f"does not run {read.case.benchmark}")


def _runs(benchmark: str, program: str) -> bool:
    if benchmark in own():
        return program.startswith(_plain(benchmark))
    return _plain(benchmark) in program or program == programs_of_checks().get(benchmark)


@functools.lru_cache(maxsize=1024)
def _programs(command: str) -> frozenset[str]:
    """Return `_plain` of the last path component of each word of a command."""
    return frozenset(_plain(PurePath(word).name) for word in _split(command))


@rule("parameters")
def parameters(read: Record) -> Iterator[Fault]:
    """A launch's options have the values of the case's parameters, and every parameter of ours is an option."""
    if read.case.benchmark not in own():
        return
    wanted = [
        (name, value, _option_words(name), _forms(name, value))
        for name, value in read.case.parameters.items()
        if name not in NO_OPTIONS
    ]
    for field, launch in ended_well(read):
        options = _options(launch.command)
        for name, value, words, forms in wanted:
            given = next((options[word] for word in words if word in options), None)
            if given is None:
                yield Fault(field=f"{field}.command", text=f"no option gives the parameter {name[:60]}")
            elif given not in forms:
                yield Fault(
                    field=f"{field}.command", text=f"{given!r}; the parameter {name[:60]} is {value!r}"[:300]
                )


@functools.lru_cache(maxsize=1024)
def _options(command: str) -> Mapping[str, str]:
    """Return option -> following word, for the words of a command that begin with `--`; the first duplicate counts."""
    words = _split(command)
    values: dict[str, str] = {}
    for word, value in itertools.pairwise(words):
        if word.startswith("--"):
            values.setdefault(word, value)
    return values


@functools.lru_cache(maxsize=256)
def _option_words(name: str) -> tuple[str, ...]:
    """Return the options that may pass a parameter: `--sizes-bytes` or `--sizes` for `sizes_bytes`."""
    options = (name, OPTIONS.get(name, name), name.rpartition("_")[0] or name)
    return tuple(f"--{option.replace('_', '-')}" for option in options)


def _forms(name: str, value: Json) -> set[str]:
    """Return the ways to write a parameter's value on a command line; a number of bytes may end in `B`."""
    if isinstance(value, list):
        return {mark.join(map(str, value)) for mark in "x,"}
    unit = {f"{value}B"} if name.endswith("_bytes") else set()
    return {f"{value:g}", str(value), *unit} if isinstance(value, int | float) else {str(value)}


@rule("own-files")
def own_files(read: Record) -> Iterator[Fault]:
    """A launch's command writes the launch's own output, and reads the host file of its own placement."""
    for field, launch in ended_well(read):
        for word, number, stem in _files(launch.command):
            if number is not None and number != launch.index:
                yield Fault(field=f"{field}.command", text=f"{word}: the files of another launch")
            if stem is not None and not stem.endswith(_file_name(launch.placement)):
                yield Fault(
                    field=f"{field}.command",
                    text=f"{word}: the hosts of another placement than {launch.placement}",
                )


@functools.lru_cache(maxsize=1024)
def _files(command: str) -> tuple[tuple[str, int | None, str | None], ...]:
    """Return the words of a command that name a launch's files, as (word, launch number, stem of a host or rank file).

    The number or the stem is None if the word has none.
    """
    files = []
    for word in _split(command):
        numbered = re.match(r"launch-(\d+)\.", word)
        file = re.fullmatch(r"(.+)\.(hostfile|rankfile)", word)
        if numbered or file:
            files.append((word, int(numbered[1]) if numbered else None, file[1] if file else None))
    return tuple(files)


@functools.lru_cache(maxsize=256)
def _file_name(placement: str) -> str:
    """Return a placement as part of a file name, as `railyard.jobs.launching.file_name` does; a test compares both."""
    return re.sub(r"[^A-Za-z0-9.x-]+", "-", placement).strip("-.") or "placement"


@rule("rank-count")
def rank_count(read: Record) -> Iterator[Fault]:
    """A launcher that is given a number of ranks is given the number that ran."""
    for field, launch in ended_well(read):
        for option, value in _counts(launch.command):
            if int(value) != len(launch.ranks):
                yield Fault(field=f"{field}.command", text=f"{option} {value}; {len(launch.ranks)} ranks ran")


@functools.lru_cache(maxsize=1024)
def _counts(command: str) -> tuple[tuple[str, str], ...]:
    """Return (option, number) for each option that passes a number of ranks to the launcher."""
    words, counts = list(_split(command)), []
    for option in ("-np", "-n", "--ntasks"):
        value = words[words.index(option) + 1] if option in words[:-1] else ""
        is_launcher = option in words[:3] or (value and words.index(option) < 4)
        if value.isdecimal() and is_launcher:
            counts.append((option, value))
    return tuple(counts)


@rule("nic-option")
def nic_option(read: Record) -> Iterator[Fault]:
    """A command that includes one NIC alone includes the one that the policy nic-K names."""
    for field, launch in ended_well(read):
        policy = re.fullmatch(r"nic-(\d+)", launch.nic_policy)
        words = () if policy is None else _split(launch.command)
        if "btl_tcp_if_include" not in words[:-1] or launch.software is Software.IMAGE or policy is None:
            continue
        value, nic = words[words.index("btl_tcp_if_include") + 1], int(policy[1])
        devices = read.case.devices or ([f"nic{nic}"] * (nic + 1) if read.origin is Origin.EMULATED else [])
        if nic < len(devices) and value != devices[nic]:
            yield Fault(field=f"{field}.command", text=f"includes {value}; the policy is {launch.nic_policy}")
