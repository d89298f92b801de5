"""Find the line of a standard error that explains a failure, among the notices and the consequences around it.

Models: each line has a kind, by the tables below; the first line of the strongest kind is the reason, and notices are
kept beside it. Open MPI's messages between two rules are one line, their first sentence. tests/data/public has what
launchers, libraries, containers, shells and profilers write. Leaves out: whether the launch failed
(`railyard.records.assemble`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import IntEnum
from pathlib import Path


class Kind(IntEnum):
    """What a line is, the strongest reason first; a frame contains no information at all."""

    SIGNAL = 0
    FATAL = 1
    CAUSE = 2
    WORDS = 3
    DETAIL = 4
    CONSEQUENCE = 5
    NOTICE = 6
    FRAME = 7


#: Kind and what its lines contain; the first row that fits decides. A line that fits none is somebody's own words.
KINDS: tuple[tuple[Kind, re.Pattern[str]], ...] = tuple(
    (kind, re.compile("|".join(patterns), re.IGNORECASE))
    for kind, patterns in (
        (
            Kind.FRAME,
            (
                r"^[\W_]*$",
                r"^Primary job +terminated normally|^a non-zero exit code\. Per user-direction",
                r"^(mpirun|prterun)\S* (detected that|: Forwarding signal)|^(thus causing )?the job to be terminated\.",
                r"^\s+(Process name|Exit code): ",
                r"^(\S+: line \d+: +\d+ )?(Terminated|Killed|Hangup)\b",
                r"^railyard: (waiting for|no longer waiting|removed torus|after \d+ s this launch has )",
                r"^railyard: launch-\d+ ended after",
                r"^Traceback \(most recent call last\)|more process\S* ha\S+ sent help message",
                r"^Set MCA parameter .orte_base_help|^=\s+(\w+ \d+ )?PID \d+ RUNNING AT",
                r"^=\s+(CLEANING UP REMAINING|YOU CAN IGNORE)|^(This typically refers to a problem|Please see the FAQ)",
                r"^\*\*\* (Process received signal|End of error message)|^\d+ total processes killed",
            ),
        ),
        # A notice that contains the words of an error.
        (
            Kind.NOTICE,
            (
                r"PMIX ERROR.* (gds_|dstore_)",
                r"\bignored\)?\.?$|\b(safely ignore|will be ignored|disable this warning|suppress this warning)\b",
                r"\bdeprecat|\bignoring\b",
                r"another transport will be used|are not used by default|will be disabled for this port",
                r"cannot find name for (group|user)|no job control in|cannot set terminal process group",
                r"spank: \S+: plugin file not found",
                r"Inappropriate ioctl for device|No value for \$TERM|no access to tty|setlocale|X11 forwarding",
                r"couldn't chdir to .* going to|Setting TMPDIR to|Unable to create TMPDIR|\.bashrc: ",
                r"^slurmstepd: .*(cgroup.*not mounted|x11)|hwloc\S* received invalid information|^\*( |$)",
            ),
        ),
        (
            Kind.SIGNAL,
            (
                r"oom.?kill|\bout.of.memory\b(?!:? retry)|caught signal (?!6\b|15\b)\d|\bsignal: (?!Abort|Term)[A-Z]",
                r"(noticed that|exited on|died from|terminated by|killed by)[^.]*\bsignal:? (?!6\b|15\b)\d",
                r"EXIT STRING: .*signal (?!6\b|15\b)\d",
                r"segmentation (fault|violation)|\bbus error\b|illegal instruction|floating.point exception",
                r"\bSIG(SEGV|BUS|ILL|FPE)\b",
            ),
        ),
        (
            Kind.CONSEQUENCE,
            (
                r"MPI_ABORT was invoked|application called MPI_Abort|MPI_ERRORS_ARE_FATAL|^\*\*\* +(and|on|reported)",
                r"An error occurred in MPI_Init|aborted before step|doom: rank|Local abort before MPI_INIT",
                r"exited (on|with|due)|\bsignal:? (6|15|Abort|Term)|core dumped|BAD TERMINATION|EXIT (CODE|STRING):",
                r"tasks? [\d,-]+: (exited|terminated|aborted|killed)|job step (aborted|creation)",
                r"\bstep \S+ on \S+ cancelled at(?!.* due to)|terminating (job step|stepid|task)|launch/slurm",
                r"^\[(proxy|mpiexec|hydserv)\S*@|^srun: (first task|force terminat)|_step_signal|MESSAGE_TASK_EXIT",
                r"broken pipe|^aborting job:?$|peer process has unexpectedly disconnected",
            ),
        ),
        (Kind.WORDS, (r"\b(OPAL|PMIX|ORTE|PRTE)[ _]ERROR",)),
        (Kind.FATAL, (r"\bfatal\b",)),
        # Notices of schedulers, module systems, shells and tools without a word for their level.
        (
            Kind.NOTICE,
            (
                r"^I have no name!|^\++ |^(real|user|sys)\s+\d|^(loading|unloading) \S+$|^Lmod is automatically",
                r"^(Inactive|Activating) Modules|Currently Loaded|reloaded with a version change|MODULEPATH",
                r"^(srun|salloc|sbatch): (job \S+ (queued|has been)|granted|pending|step created|nodes? .*ready|debug)",
                r"^cpu.?bind=|MCW rank \d+ (bound|is not bound)|\brank \d+ bound to\b|^Permanently added",
                r"^==(\d+|PROF)==|^[IWD]\d{4} \d\d:|MPI startup\(\)",
                r"^(mpiP|darshan|xalt|TAU|\[Score-P\])\b(?!.*\berror\b)",
                r"^Pass --enable-|^\(warning|^Picked up (_JAVA|JAVA)",
            ),
        ),
    )
)
#: Words for a line's level; the first one in a line decides. NCCL's WARN is its error.
LEVEL = re.compile(
    r"(?P<notice>\b(?:(?<!NCCL )WARN(?:ING)?|INFO|NOTICE|NOTE|DEBUG|DIAG|TRACE|VERBOSE|HINT)\b"
    r"|(?i:\b(?:warn(?:ing)?|notice|note|info|debug|hint)(?=[:>\]]| #\d)))"
    r"|(?P<cause>\b(?:ERROR|FATAL|CRITICAL|PANIC|ABORT)\b|(?i:\b(?:\w*error|fatal|critical|panic)(?=[:>\]]| #\d)))"
)
#: Words of a failure, in a line without a level.
FAILURE = re.compile(
    r"\b(?:errors?|fatal|fail(?:s|ed|ure)|abort(?:ed|ing)?|assert(?:ion)?|panic|cannot|can't|could ?n[o']t|"
    r"unable|invalid|illegal|undefined|unknown|unrecognized|unsupported|denied|refused|missing|wrong|"
    r"connection (?:closed|reset)|mismatch|exceed(?:s|ed)|exhausted|timed out|unreachable|lost|no such|"
    r"not (?:found|valid|enough|available|supported|allowed|permitted))\b",
    re.IGNORECASE,
)
#: Lines that need a later line to be understood, what that line has, and which such line it is: the first or the last.
HEADINGS = (
    (re.compile(r"(usage|error|syntax|lmod has detected the following error):\s*$", re.IGNORECASE), r"\S", 0),
    (re.compile(r"An error occurred in MPI_\w+"), r"\bMPI_ERR_", 0),
    (re.compile(r"error stack:$"), r"\w\(\d+\)\.*: *\w", -1),
)
#: What precedes a line: rank, stream and host as launchers print them.
TAG = re.compile(
    r"(\[\d+,\d+\](<std\w+>)?(\[[^\]]*\])?:?\s*|\d+: |\[\S+:\d+(:\d+)*\] |<std\w+>:? ?|\w+: (?=WARN|INFO))*"
)
RULE = re.compile(r"-{20,}\s*$")
NOTICED = re.compile(r"(mpirun|prterun)\S* noticed that ")
#: The longest notice that is shown beside a reason.
MOST_CHARACTERS = 80


def first(path: Path) -> str:
    """Return the line of a standard error that explains a failure; empty if there is none but notices.

    The notice that a signal ended a rank comes before all other lines, an error before other words, what the failure
    led to after them. A heading such as `usage:` is returned together with the line that completes it and the name of
    the file.
    """
    lines = [(kind, line) for kind, line in _classified(path) if kind < Kind.NOTICE]
    if not lines:
        return ""
    index = min(range(len(lines)), key=lambda number: lines[number][0])
    line, following = lines[index][1], [text for _, text in lines[index + 1 :]]
    for heading, completion, which in HEADINGS:
        if heading.search(line):
            end = next((number for number, text in enumerate(following) if heading.search(text)), None)
            later = [text for text in following[:end] if re.search(completion, text)]
            return f"{line} {later[which]} ({path.name} has all of it)" if later else line
    return line


def last(path: Path) -> str:
    """Return the last line that is neither a notice nor a frame: why a job script ended; empty if there is none."""
    return next((line for kind, line in reversed(_classified(path)) if kind < Kind.NOTICE), "")


def beside(path: Path) -> str:
    """Return the first notice of a standard error and the number of the others, in one line; empty if there is none."""
    notices = [line for kind, line in _classified(path) if kind is Kind.NOTICE]
    if not notices:
        return ""
    more = f" and {len(notices) - 1} more in {path.name}" if notices[1:] else ""
    return f"notice beside it: {notices[0][:MOST_CHARACTERS]}{more}"


def _classified(path: Path) -> list[tuple[Kind, str]]:
    """Return kind and text of each line of a file, and of each message between two rules."""
    text = path.read_text(errors="replace") if path.is_file() else ""
    parts: list[list[str]] = [[]]
    for line in text.splitlines():
        if RULE.match(line):
            parts.append([])
        else:
            parts[-1].append(line)
    inside = set(range(1, len(parts) - 1, 2))
    return [
        (kind, " ".join(NOTICED.sub("", line).split()).lstrip("= "))
        for number, part in enumerate(parts)
        for kind, line in (_message(part) if number in inside else _lines(part))
    ]


def _message(lines: list[str]) -> Iterator[tuple[Kind, str]]:
    """Yield a message between two rules: its first sentence, with the kind of all of it; a signal for itself."""
    own = [line for line in lines if line.strip()]
    if not own:
        return
    start = lines.index(own[0])
    end = next((number for number in range(start, len(lines)) if not lines[number].strip()), len(lines))
    paragraph = " ".join(line.strip() for line in lines[start:end])
    sentence = re.split(r"(?<=\.)\s", paragraph)[0]
    whole = " ".join(line.strip() for line in own)
    kind = next(
        (of_line for of_line in (_kind(own[0]), _kind(sentence)) if of_line != Kind.WORDS), _kind(whole)
    )
    if kind == Kind.CAUSE and _kind(whole) == Kind.NOTICE:
        kind = Kind.NOTICE
    yield kind, sentence
    if kind >= Kind.NOTICE:
        yield from ((Kind.SIGNAL, line) for line in own[1:] if _kind(line) == Kind.SIGNAL)


def _lines(lines: list[str]) -> Iterator[tuple[Kind, str]]:
    """Yield the lines outside of messages; one that is indented is a detail of the line before."""
    before = Kind.WORDS
    for line in lines:
        kind = _kind(line)
        if line[:1].isspace() and kind in (Kind.WORDS, Kind.CAUSE):
            kind = before if before >= Kind.NOTICE else Kind.DETAIL if kind == Kind.WORDS else Kind.WORDS
        else:
            before = kind
        yield kind, line


def _kind(line: str) -> Kind:
    text = line[match.end() :] if (match := TAG.match(line)) else line
    for kind, pattern in KINDS:
        if pattern.search(text):
            return kind
    if level := LEVEL.search(text):
        return Kind.NOTICE if level["notice"] else Kind.CAUSE
    return Kind.CAUSE if FAILURE.search(text) else Kind.WORDS
