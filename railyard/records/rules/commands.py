"""Rules about commands: a launch's line is the one that the case gives, with no other word, variable or operator."""

from __future__ import annotations

import dataclasses
import functools
import math
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath

from railyard.base import check_sources
from railyard.base.errors import InputError, as_seen
from railyard.placements.nics import lines
from railyard.placements.nics.lines import LaunchLine
from railyard.placements.orders import spec
from railyard.placements.orders.placement import Placement, place
from railyard.records import looks, programs
from railyard.records.programs import Free, Given, Word
from railyard.records.record import Launch, Origin, Record, Software
from railyard.records.rules import rebuilt
from railyard.records.rules.registry import Fault, answers, ended_well, rule

#: Parameters of railyard's own benchmarks that no option passes: those of the job, the torus and the launcher.
NO_OPTIONS = frozenset(
    {
        "injection_percent",
        "pause_s",
        "launcher_options",
        "launcher_modifier",
        "num_cpus_per_task",
        "matrix_sha256",
        "nic_settings",
        looks.UNTIL,
    }
)
#: Variables by which a program's libraries are replaced; no command of railyard sets one.
PRELOADS = re.compile(r"(?:.*[= ])?(?:LD_PRELOAD|LD_LIBRARY_PATH|LD_AUDIT)\b.*", re.DOTALL)
#: Most words of a site's modifier, such as `numactl --interleave=all`, before the launcher.
MOST_OF_A_MODIFIER = 8
#: Words that railyard writes before a third-party program; the others where a case names a profiler.
BEFORE_A_PROGRAM = re.compile(
    r"env|(?:OMP_NUM_THREADS|OMP_WAIT_POLICY)=[a-z0-9]+|railyard-witness|launch-N\.witness|(?:.*/)?python3?"
)
OF_A_PROFILER = re.compile(
    r"MPIP=[ a-z0-9-]*|RAILYARD_PERSISTENT=launch-N\.persistent|--preload|(?:.*/)?libmpiP\.so", re.DOTALL
)
#: Benchmarks of several programs -> the end of the names of all.
ENDS = {"nccl_tests": ("perf", "perfpy")}
#: Words by which a launch on a real machine counts its NICs.
COUNTED = ("env", "RAILYARD_NICS=launch-N.nics")
#: Beginning of the fault of words between railyard's own line and the program; a tender may allow such words.
OWN_OPTIONS = "launcher options of its own: "
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)


def own() -> frozenset[str]:
    """Return the names of railyard's own benchmarks, whose options follow from the case."""
    return frozenset(programs.PROGRAMS)


@functools.cache
def programs_of_checks() -> Mapping[str, str]:
    """Return benchmark -> program as `_plain` has it, of the checks that name both."""
    named = [
        values for _, values in check_sources.classes().values() if {"benchmark", "program"} <= values.keys()
    ]
    return {
        values["benchmark"]: _plain(values["program"])
        for values in named
        if isinstance(values["benchmark"], str) and isinstance(values["program"], str)
    }


def _plain(name: str) -> str:
    """Return the letters and digits of a name, in lower case."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


@rule("command")
def command(read: Record) -> Iterator[Fault]:
    """A launch's command is the line that the case gives: launcher, variables, program, options, own files alone."""
    verdicts, bodies = answers(read), dict[str, str]()
    for field, launch in ended_well(read):
        text = launch.command.replace(f"launch-{launch.index:03d}.", "launch-N.")
        key = (
            "command",
            launch.placement,
            launch.nic_policy,
            str(launch.software),
            len(launch.ranks),
            _wrapper(read),
            text,
        )
        if key not in verdicts:
            verdicts[key] = _judged(read, launch, text)
        problem, body = verdicts[key]
        first = body if problem else bodies.setdefault(str(launch.software), body)
        if body != first:
            problem = f"another program than the first launch's: {_difference(body.split(), first.split())}"
        if problem:
            options = problem.removeprefix(OWN_OPTIONS) if problem.startswith(OWN_OPTIONS) else ""
            yield Fault(field=f"{field}.command", text=as_seen(problem)[:300], options=options)


def _judged(read: Record, launch: Launch, text: str) -> tuple[str, str]:
    """Return what is wrong with a line (empty if nothing is), and the words of its program.

    In the line, the launch's own number in names of files is N.
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        return f"no line of a shell: {error}", ""
    variables, rest = _variables(words)
    is_canonical = lines.LaunchLine(environment=variables, words=tuple(rest)).command(()) == text
    if not is_canonical and (read.case.benchmark in own() or _has_operator(text)):
        return f"not one plain command: {text[:160]}", ""
    if preload := next((word for word in words if PRELOADS.fullmatch(word)), ""):
        return f"replaces libraries of the program: {preload}", ""
    for number, first in enumerate(rest[:MOST_OF_A_MODIFIER]):
        if possible := _possible(read, launch, first):
            return _after_modifier(read, launch, rest[:number], (possible, variables, rest[number:]))
    shown = rest[0] if rest else ""
    return f"begins with {shown!r}, which no launcher of railyard writes for {launch.placement}", ""


def _has_operator(text: str) -> bool:
    """Return whether a line has an operator of the shell, or a substitution, outside of quotes."""
    lexer = shlex.shlex(text, posix=False, punctuation_chars=";|&<>()`$\n")
    lexer.whitespace_split, lexer.whitespace = True, " \t"
    return any(set(word) <= set(";|&<>()`$\n") for word in lexer)


def _possible(read: Record, launch: Launch, first: str) -> list[LaunchLine]:
    """Return the lines by which railyard may start a launch that begin with a word."""
    possible = answers(read)
    key = "lines", launch.placement, launch.nic_policy, len(launch.ranks), _wrapper(read), first
    if key not in possible:
        possible[key] = list(_lines(read, launch, first))
    lines: list[LaunchLine] = possible[key]
    return lines


def _after_modifier(
    read: Record,
    launch: Launch,
    modifier: Sequence[str],
    stated: tuple[Sequence[LaunchLine], Mapping[str, str], Sequence[str]],
) -> tuple[str, str]:
    """Return what is wrong with a line after the words before its launcher, and the words of its program."""
    possible, variables, rest = stated
    fits = [
        line
        for line in possible
        if line.environment == variables and _begins(rest, line.words) and set(line.scripts) <= set(rest)
    ]
    if not fits:
        return _nearest(possible, variables, rest), ""
    line = max(fits, key=lambda one: (len(one.scripts), len(one.words)))
    after = rest[len(line.words) :]
    if after[:1] == [
        f"--cpus-per-task={read.case.parameters.get('num_cpus_per_task')}"
    ]:  # ReFrame's word for srun
        after = after[1:]
    start = after.index(line.scripts[0]) if line.scripts else 0
    end = start + len(line.scripts)
    problem, body = _program(read, launch, after[end:])
    if tuple(after[start:end]) != line.scripts:
        return f"{' '.join(after[start:end])!r}; the case gives {' '.join(line.scripts)!r} there", body
    added = shlex.join([*modifier, *after[:start]])
    if added and (not problem or problem.startswith(OWN_OPTIONS)):
        return f"{OWN_OPTIONS}{added} {problem.removeprefix(OWN_OPTIONS)}".rstrip(), body
    return problem, body


def _variables(words: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """Return the variables that a line sets before its first word, and the words after them."""
    variables: dict[str, str] = {}
    for number, word in enumerate(words):
        match = _ASSIGNMENT.fullmatch(word)
        if match is None:
            return variables, list(words[number:])
        variables[match[1]] = match[2]
    return variables, []


def _begins(words: Sequence[str], beginning: Sequence[str]) -> bool:
    return tuple(words[: len(beginning)]) == tuple(beginning)


def _nearest(possible: Sequence[LaunchLine], variables: Mapping[str, str], words: Sequence[str]) -> str:
    """Return the first difference from the line that has the most words in common."""

    def common(line: LaunchLine) -> int:
        return next(
            (n for n, pair in enumerate(zip(line.words, words, strict=False)) if pair[0] != pair[1]),
            min(len(line.words), len(words)),
        )

    line = max(possible, key=lambda one: (common(one), one.environment == variables))
    number = common(line)
    if number == len(line.words) and (missing := [name for name in line.scripts if name not in words]):
        return f"no {' '.join(missing)}, which the case gives"
    if number == len(line.words):
        return f"sets the variables {sorted(variables)}; the case gives {sorted(line.environment)}"
    stated, wanted = (" ".join(part[number : number + 2]) for part in (words, line.words))
    return f"{stated!r}; the case gives {wanted!r} there"


def _lines(read: Record, launch: Launch, first: str) -> Iterator[LaunchLine]:
    """Yield the lines by which railyard may start a combination's ranks, up to the program."""
    wrapper, launcher = _wrapper(read)
    for placed in _placed(read, launch.placement, len(launch.ranks)):
        try:
            yield from lines.possible(
                placed,
                launch.nic_policy,
                launch.placement,
                devices=read.case.devices,
                first=first,
                by_script=read.origin is Origin.MEASURED or launch.counts_its_nics,
                family=launcher if first == wrapper else "",
                stated=str(read.case.parameters.get("nic_settings", "")),
            )
        except InputError:
            continue


def _wrapper(read: Record) -> tuple[str, str]:
    """Return the program that a site starts in a launcher's place, and the launcher; both are empty if there is none.

    ReFrame's configuration names them (`extras: launch`), and no field of the case.
    """
    reframe = read.provenance["reframe"] or {}
    return str(reframe.get("wrapper", "")), str(reframe.get("launcher", ""))


def _placed(read: Record, name: str, ranks: int) -> Iterator[Placement]:
    """Yield a placement, and the stand-ins that a job renders before its scheduler grants the nodes."""
    allocation = rebuilt.allocation(read)
    if allocation is None:
        return
    grid, most = rebuilt.grid(read) or (ranks,), rebuilt.ranks_per_node(read)
    for nodes in (allocation, rebuilt.flat(read), rebuilt.under_its_name(read)):
        own = rebuilt.victims(read, nodes)
        try:
            if (placed := rebuilt.placement(read, nodes, name, ranks)) is not None:
                yield placed
            if own is not None and math.prod(grid) == ranks:
                plain = place("plain", own, grid, ranks_per_node=most)
                parsed = spec.parse(name)
                for order in (plain.order, parsed.order):
                    yield dataclasses.replace(plain, order=order, binding=parsed.binding)
        except InputError:
            continue


def _program(read: Record, launch: Launch, words: Sequence[str]) -> tuple[str, str]:
    """Return what is wrong with the words of the program, and the words without the image and the counting of NICs."""
    benchmark = read.case.benchmark
    if launch.counts_its_nics:
        words = _uncounted(benchmark, words)
    if launch.software is Software.IMAGE:
        inside = next(
            (
                n
                for n, word in enumerate(words)
                if BEFORE_A_PROGRAM.fullmatch(word) or _is_program(benchmark, word)
            ),
            0,
        )
        words = words[inside:]
    body = shlex.join(words)
    given = Given(
        parameters=read.case.parameters,
        is_located=read.case.topology is not None,
        is_emulated=read.origin is Origin.EMULATED,
    )
    options = programs.expected(benchmark, given)
    start = next((n for n, word in enumerate(words) if _is_program(benchmark, word)), None)
    if start is None:
        return f"does not run {benchmark}: {' '.join(words[:3])}", body
    patterns = [BEFORE_A_PROGRAM, *([OF_A_PROFILER] if "profiled_by" in read.case.parameters else [])]
    if extra := [
        word
        for word in words[:start]
        if options is not None or not any(pattern.fullmatch(word) for pattern in patterns)
    ]:
        return f"{OWN_OPTIONS}{shlex.join(extra)}", body
    if options is None:
        return "", body
    if unused := sorted(read.case.parameters.keys() - given.used - NO_OPTIONS):
        return f"no option gives the parameter {unused[0][:60]}", body
    wanted = [benchmark, *options, "--json", "launch-N.json"]
    return _unlike(words, wanted), body


def _uncounted(benchmark: str, words: Sequence[str]) -> Sequence[str]:
    """Return the words without those that count NICs, which follow the launcher's options and precede the program."""
    for number, word in enumerate(words):
        if _begins(words[number:], COUNTED):
            return [*words[:number], *words[number + len(COUNTED) :]]
        if _is_program(benchmark, word):
            break
    return words


def _is_program(benchmark: str, word: str) -> bool:
    """Return whether a word is a benchmark's program: railyard's own by its whole name, others at any path."""
    return word == benchmark if benchmark in own() else _runs(benchmark, _plain(PurePath(word).name))


def _runs(benchmark: str, program: str) -> bool:
    if benchmark in ENDS:
        return program.endswith(ENDS[benchmark])
    return _plain(benchmark) in program or program == programs_of_checks().get(benchmark)


def _unlike(words: Sequence[str], wanted: Sequence[Word]) -> str:
    """Return the first word of a program that the case does not give; empty if all are as the case gives them."""
    for number, word in enumerate(words):
        if number < len(wanted) and _is(word, wanted[number]):
            continue
        name, value = word.partition("=")[0], " ".join(words[number : number + 2])
        if word.startswith("--") and (name not in wanted or name in words[:number]):
            again = " again" if name in wanted else ""
            return f"the option {value!r}{again}, which no parameter of the case gives"
        stated = " ".join(words[number - 1 : number + 1])
        return f"{stated!r}; the parameters of the case give {_shown(wanted, number)!r}"
    if len(words) < len(wanted):
        return f"no {_shown(wanted, len(words) + 1)!r}, which the parameters of the case give"
    return ""


def _is(word: str, wanted: Word) -> bool:
    return re.fullmatch(wanted.pattern, word) is not None if isinstance(wanted, Free) else word == wanted


def _shown(wanted: Sequence[Word], number: int) -> str:
    shown = wanted[max(0, number - 1) : number + 1]
    return " ".join("NUMBER" if isinstance(word, Free) else word for word in shown)


def _difference(words: Sequence[str], others: Sequence[str]) -> str:
    pairs = zip(words, others, strict=False)
    return next(
        (f"{one!r}, there {other!r}" for one, other in pairs if one != other), "another number of words"
    )
