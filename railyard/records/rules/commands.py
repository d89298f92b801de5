"""Check commands: a launch's line is the one that the case gives, with no other word, variable or operator."""

from __future__ import annotations

import dataclasses
import functools
import itertools
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
from railyard.records import image_engines, looks, programs
from railyard.records.json_io import Json
from railyard.records.programs import Free, Given, Word
from railyard.records.record import COMPUTED, Beside, Launch, Origin, Record, Software
from railyard.records.rules import rebuilt
from railyard.records.rules.registry import ALIKE_JOBS, Fault, answers, ended_well, rule

#: Parameters of railyard's own benchmarks that no option passes: those of the job, the torus and the launcher.
NO_OPTIONS = frozenset({"injection_percent", "pause_s", "matrix_sha256", "nic_settings", looks.UNTIL}) | {
    *("launcher_options", "launcher_modifier", "num_cpus_per_task")
}
#: Variables by which a program's libraries are replaced; no command of railyard sets one.
PRELOADS = re.compile(r"(?:.*[= ])?(?:LD_PRELOAD|LD_LIBRARY_PATH|LD_AUDIT)\b.*", re.DOTALL)
#: Most words of a site's modifier, such as `numactl --interleave=all`, before the launcher.
MOST_OF_A_MODIFIER = 8
#: Words under which a third-party program runs; before them those of its threads, after them those of a profiler.
WITNESS = ("railyard-witness", "launch-N.witness")
PROFILE = ("env", Free(r"MPIP=[ a-z0-9-]*", "MPIP=OPTIONS"))
PERSISTENT = "RAILYARD_PERSISTENT=launch-N.persistent"
PRELOADED = ("--preload", Free(r"(?:[^\0]*/)?libmpiP\.so", "libmpiP.so"))
PYTHON = Free(r"(?:[^\0]*/)?python[0-9.]*", "python3")
#: Benchmarks of several programs -> the end of the names of all.
ENDS = {"nccl_tests": ("perf", "perfpy")}
#: Words by which a launch on a real machine counts its NICs.
COUNTED = ("env", "RAILYARD_NICS=launch-N.nics")
#: How railyard starts a launch that is computed; nothing that ran was started so.
COMPUTES = frozenset({("railyard", "sim"), ("railyard", "model")})
#: Beginning of the fault of words between railyard's own line and the program; a tender may allow such words.
OWN_OPTIONS = "launcher options of its own: "
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)


@functools.cache
def programs_of_checks() -> Mapping[str, str]:
    """Return benchmark -> program as `_plain` has it, of the checks that name both."""
    named = ((values.get("benchmark"), values.get("program")) for _, values in check_sources.classes().values())
    return {
        benchmark: _plain(name) for benchmark, name in named if isinstance(benchmark, str) and isinstance(name, str)
    }


def _plain(name: str) -> str:
    """Return the letters and digits of a name, in lower case."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


@rule("command", once_for=ALIKE_JOBS)
def command(read: Record) -> Iterator[Fault]:
    """A launch's command, and those of programs run with it, follow from the case: launcher, variables, options."""
    verdicts, bodies = answers(read), dict[str, str]()
    outside = read.origin, rebuilt.site_launcher(read), str(read.provenance.get("image"))
    if site := rebuilt.site_launcher(read)[0]:
        text = f"{as_seen(site)[:200]}, a launcher of its own; expected none, or one that the tender names"
        yield Fault("provenance.reframe.wrapper", text, options=site, named_in="launchers")
    for field, launch in ended_well(read):
        text = launch.command.replace("launch-N.", "launch-?.")
        text = text.replace(f"launch-{launch.index:03d}.", "launch-N.")
        key = "command", *launch.combination, len(launch.ranks), launch.guard is None, outside, text
        if key not in verdicts:
            verdicts[key] = _judged(read, launch, text)
        problem, body = verdicts[key]
        first = body if problem else bodies.setdefault(str(launch.software), body)
        if body != first:
            problem = f"another program than the first launch's: {_difference(body.split(), first.split())}"
        if problem:
            options = problem.removeprefix(OWN_OPTIONS) if problem.startswith(OWN_OPTIONS) else ""
            yield Fault(f"{field}.command", as_seen(problem)[:300], options=options)
        yield from _beside(read, field, launch, body)


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
    if not is_canonical and (read.case.benchmark in programs.PROGRAMS or _has_operator(text)):
        return f"not one plain command: {text[:160]}", ""
    preloads = [word for word in words if PRELOADS.fullmatch(word)]
    own_words = set(itertools.chain.from_iterable(_between(read, launch))) if preloads else ()
    if preload := next((one for one in preloads if not any(_is(one, own) for own in own_words)), ""):
        return f"replaces libraries of the program: {preload}", ""
    for number, first in enumerate(rest[:MOST_OF_A_MODIFIER]):
        if possible := _possible(read, launch, first):
            return _after_modifier(read, launch, rest[:number], (possible, variables, rest[number:]))
    shown = rest[0] if rest else ""
    return f"begins with {shown!r}, which no launcher of railyard writes for {launch.placement}", ""


def _beside(read: Record, field: str, launch: Launch, body: str) -> Iterator[Fault]:
    """Yield faults of programs run with the measured one: not those of the load, or other words than a job writes.

    `body` are the words of the measured program.
    """
    load = spec.split_load(launch.placement)[1]
    kinds = list((read.case.roles or {}).get("loads", {}).get(load, ()))
    roles = launch.roles or ()
    if any(kind["role"] == "copy" for kind in kinds):
        kinds = [{**kinds[0], "name": f"copy-{number}"} for number in range(1, max(1, len(roles)) + 1)]
    if [role.name for role in roles] != (names := [kind["name"] for kind in kinds]):
        text = f"{[role.name for role in roles]}; the load of {launch.placement} has {names}"
        yield Fault(f"{field}.roles", as_seen(text)[:300])
        return
    stem, victim = f"launch-{launch.index:03d}", shlex.split(body) if roles else []
    for number, (role, kind) in enumerate(zip(roles, kinds, strict=True)):
        own = f"{stem}.{role.name}"
        files = ["--ready", f"{own}.ready", "--stop", f"{stem}.stop", "--json", f"{own}.json"]
        program = [*kind["program"], *([] if kind["again"] else files)]
        if kind["role"] == "copy":
            program = [word.replace("launch-N", own) for word in victim]
        if problem := _unlike_a_companion(read, launch, role, [program, victim]):
            yield Fault(f"{field}.roles[{number}].command", as_seen(problem)[:300])


def _unlike_a_companion(read: Record, launch: Launch, role: Beside, programs: Sequence[Sequence[str]]) -> str:
    """Return the first word of a companion's line that neither its program nor the victim's launcher has.

    `programs` are the words of the companion and of the victim.
    """

    def plain(word: str) -> str:
        return re.sub(r"\d+", "N", word.replace(f".{role.name}.", "."))

    try:
        lines = [shlex.split(text) for text in (role.command, launch.command)]
    except ValueError as error:
        return f"no line of a shell: {error}"
    starts = [len(words) - len(program) for words, program in zip(lines, programs, strict=True)]
    (before, end), launcher = (lines[0][: starts[0]], lines[0][starts[0] :]), lines[1][: starts[1]]
    if _has_operator(role.command) or end != list(programs[0]):
        return f"ends in {shlex.join(end)!r}; the case gives {shlex.join(programs[0])!r} there"
    first = next(iter(_variables(before)[1]), "")
    allowed = {*map(plain, launcher), "env", "RAILYARD_NICS=launch-N.nics"}
    for line in _possible(read, launch, first):
        variables = [f"{name}={value}" for name, value in line.environment.items()]
        allowed |= {*map(plain, (*line.words, *line.scripts, *variables))}
    stranger = next((word for word in before if plain(word) not in allowed), None if first else "nothing")
    return "" if stranger is None else f"{stranger!r} before the program; expected words of the launcher"


def _has_operator(text: str) -> bool:
    """Return whether a line has an operator of the shell, or a substitution, outside of quotes."""
    lexer = shlex.shlex(text, posix=False, punctuation_chars=";|&<>()`$\n")
    lexer.whitespace_split, lexer.whitespace = True, " \t"
    return any(set(word) <= set(";|&<>()`$\n") for word in lexer)


def _possible(read: Record, launch: Launch, first: str) -> list[LaunchLine]:
    """Return the lines by which railyard may start a launch that begin with a word."""
    cached = answers(read)
    counts, site = rebuilt.counts_nics(read, launch), rebuilt.site_launcher(read)
    key = "lines", read.origin, launch.placement, launch.nic_policy, len(launch.ranks), counts, site, first
    possible: list[LaunchLine] | None = cached.get(key)
    if possible is None:
        possible = cached[key] = list(_lines(read, launch, first))
    return possible


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
        if line.environment == variables
        and tuple(rest[: len(line.words)]) == line.words
        and set(line.scripts) <= {*rest}
    ]
    if not fits:
        return _nearest(possible, variables, rest), ""
    line = max(fits, key=lambda one: (len(one.scripts), len(one.words)))
    after = rest[len(line.words) :]
    if after[:1] == [f"--cpus-per-task={read.case.parameters.get('num_cpus_per_task')}"]:  # ReFrame's word for srun
        after = after[1:]
    own, problem, body = _program(read, launch, line.scripts, after)
    if (added := shlex.join([*modifier, *own])) and not problem:
        return f"{OWN_OPTIONS}{added}", body
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


def _nearest(possible: Sequence[LaunchLine], variables: Mapping[str, str], words: Sequence[str]) -> str:
    """Return the first difference from the line that has the most words in common."""
    line = max(possible, key=lambda one: (_common(words, one.words), one.environment == variables))
    number = _common(words, line.words)
    if number == len(line.words) and (missing := [name for name in line.scripts if name not in words]):
        return f"no {' '.join(missing)}, which the case gives"
    if number == len(line.words):
        return f"sets the variables {sorted(variables)}; the case gives {sorted(line.environment)}"
    stated, wanted = (" ".join(part[number : number + 2]) for part in (words, line.words))
    return f"{stated!r}; the case gives {wanted!r} there"


def _lines(read: Record, launch: Launch, first: str) -> Iterator[LaunchLine]:
    """Yield the lines by which railyard may start a combination's ranks, up to the program."""
    wrapper, launcher = rebuilt.site_launcher(read)
    for placed in _placed(read, launch.placement, len(launch.ranks)):
        try:
            for line in lines.possible(
                placed,
                launch.nic_policy,
                launch.placement,
                devices=read.case.devices,
                first=first,
                by_script=rebuilt.counts_nics(read, launch),
                family=launcher if first == wrapper else "",
                stated=str(read.case.parameters.get("nic_settings", "")),
            ):
                if read.origin in COMPUTED or line.words[:2] not in COMPUTES:
                    yield line
        except InputError:
            continue


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


def _program(
    read: Record, launch: Launch, scripts: Sequence[str], words: Sequence[str]
) -> tuple[Sequence[str], str, str]:
    """Return the words of a site's own between launcher and program, what else is wrong, and the program's words."""
    benchmark = read.case.benchmark
    programs_at = [number for number, word in enumerate(words) if _is_program(benchmark, word)]
    if not programs_at:
        return (), f"does not run {benchmark}: {' '.join(words[:3])}", shlex.join(words)
    between = [(*scripts, *wanted) for wanted in _between(read, launch)]
    splits = [
        (start, end, at)
        for start, wanted in itertools.product(range(programs_at[-1] + 1), between)
        if len(words) >= (end := start + len(wanted))
        and all(map(_is, words[start:end], wanted))
        and (at := next((number for number in programs_at if number >= end), -1)) >= 0
        and (PYTHON not in wanted or words[at].endswith(".py"))
    ]
    if not splits:
        return (), _stranger(words, between), shlex.join(words)
    start, end, at = min(splits, key=lambda one: one[0] + one[2] - one[1])
    return [*words[:start], *words[end:at]], _unlike_the_case(read, words[at:]), shlex.join(words[at:])


def _between(read: Record, launch: Launch) -> Iterator[tuple[Word, ...]]:
    """Yield what railyard may write between the scripts of ranks and the program: counting, the image, a witness."""
    counted: list[tuple[Word, ...]] = [(), COUNTED] if rebuilt.counts_nics(read, launch) else [()]
    inside: list[tuple[Word, ...]] = [()]
    if launch.software is Software.IMAGE:
        image = read.provenance.get("image") or {}
        name = str(image.get("engine", image_engines.DEFAULT)).partition(" ")[0]
        is_bound = image.get("mpi_model") == "bind"
        inside = list(image_engines.possible(name, str(image.get("file", "")), is_bound=is_bound))
    witness = [()] if read.case.benchmark in programs.PROGRAMS else _witness(read.case.parameters)
    for parts in itertools.product(counted, inside, witness):
        yield tuple(itertools.chain.from_iterable(parts))


def _witness(parameters: Mapping[str, Json]) -> list[tuple[Word, ...]]:
    """Return the words under which a third-party program may run with these parameters."""
    threads = parameters.get("threads_per_rank")
    waits = ["OMP_WAIT_POLICY=passive"] if "omp_wait_policy" in parameters else []
    before = ["env", f"OMP_NUM_THREADS={threads}", *waits] if threads else []
    if "profiled_by" in parameters:
        profiles = [PROFILE, (*PROFILE, PERSISTENT)]
        return [(*before, *profile, *WITNESS, *PRELOADED) for profile in profiles]
    return [(*before, *WITNESS), (*before, *WITNESS, PYTHON)]


def _stranger(words: Sequence[str], possible: Sequence[Sequence[Word]]) -> str:
    """Return the first word that is not in its place in the line that has the most words in common."""
    if not possible:
        return "runs in an image, whose engine the provenance does not name or this checker does not know"

    candidates = itertools.product(range(len(words)), possible)
    start, wanted = max(candidates, key=lambda one: _common(words[one[0] :], one[1]))
    number = _common(words[start:], wanted)
    stated = " ".join(words[start + number : start + number + 1])
    return f"{stated!r} before the program; expected {_shown(wanted[number:], 0)!r} there"


def _unlike_the_case(read: Record, words: Sequence[str]) -> str:
    """Return what in the words of a program is not as the case gives them; empty if all are."""
    given = Given(
        parameters=read.case.parameters,
        is_located=read.case.topology is not None,
        is_emulated=read.origin is Origin.EMULATED,
    )
    options = programs.expected(read.case.benchmark, given)
    if options is None:
        return "':' begins a second program; expected one" if ":" in words else ""
    if unused := sorted(read.case.parameters.keys() - given.used - NO_OPTIONS):
        return f"no option gives the parameter {unused[0][:60]}"
    return _unlike(words, [read.case.benchmark, *options, "--json", "launch-N.json"])


def _is_program(benchmark: str, word: str) -> bool:
    """Return whether a word is a benchmark's program: railyard's own by its whole name, others at any path."""
    return word == benchmark if benchmark in programs.PROGRAMS else _runs(benchmark, _plain(PurePath(word).name))


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


def _common(words: Sequence[str], wanted: Sequence[Word]) -> int:
    """Return how many words at the beginning are those that are wanted."""
    pairs = zip(words, wanted, strict=False)
    return sum(1 for _ in itertools.takewhile(lambda pair: _is(*pair), pairs))


def _is(word: str, wanted: Word) -> bool:
    return re.fullmatch(wanted.pattern, word) is not None if isinstance(wanted, Free) else word == wanted


def _shown(wanted: Sequence[Word], number: int) -> str:
    shown = wanted[max(0, number - 1) : number + 1]
    return " ".join(word.shown if isinstance(word, Free) else word for word in shown)


def _difference(words: Sequence[str], others: Sequence[str]) -> str:
    pairs = zip(words, others, strict=False)
    return next((f"{one!r}, there {other!r}" for one, other in pairs if one != other), "another number of words")
