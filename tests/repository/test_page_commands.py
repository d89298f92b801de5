"""The commands of every page work as they are printed: their words are known, and what takes seconds is run.

`NOT_RUN` lists what is not run, with the reason. Tori are on the default network, with another name than on the page.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from support import pages
from support.commands import CHECKOUT, environment, program, ran
from support.pages import Line

from railyard.cli import cli
from railyard.reference import checks
from railyard.tender import presets
from railyard.torus.virtual import lifecycle

#: What is not run, by a pattern that a line has, and why. The words of these lines are checked all the same.
NOT_RUN = {
    r"railyard fit |matrix (?!make)|traffic\.csv|RAILYARD_REORDER=": "needs a captured matrix: test_capture.py",
    r"collectives (answer|guidelines)|DYNAMIC_RULES": "needs jobs: tests/placements/collectives",
    r"railyard map |^srun ": "needs dumps of nodes with GPUs: tests/placements/maps",
    r"RAILYARD_COLLECTIVES=|-m perf ": "needs a program of the reader's, or takes many minutes",
    r"railyard admit ": "needs a job, or takes a minute: tests/admit",
    r"(^|sudo |=\S+ )(make|git|cmake)( |$)": "installs, builds or fetches; `make test` and CI begin with it",
    r"(^|sudo |\" |=\S+ )(tools|containers)/|^docker |docker$|^unshare ": "needs an engine, or builds an image",
    r"reframe .*-r\b|reframe \.\.\.": "a job takes minutes; tests/checks, tests/ci and tests/torus run such jobs",
    r"--engine docker|torus \w+ apps\b": "needs Docker: tests/torus/test_docker.py",
    r"--slurm$|--per-switch|^sbatch --wait|^jq |torus \w+ c\b": "needs Slurm: tests/torus/slurm/test_slurm.py",
    r"--hosts |torus \w+ big\b": "needs machines: tests/torus/native/test_machines.py and slurm/test_inside.py",
    r"build/mpis/": "needs `make mpis`: tests/torus/test_mpis_torus.py",
    r"topobw|-np 72|up dragonfly-72|-np 64 halo": "64 ranks load all links for a minute: tests/benchmarks, tests/torus",
    r"\bsim\b|results/simtorus|smpi": "needs SimGrid: tests/torus/test_simulated.py",
    r"^(mpirun|env) ": "without a torus: tests/benchmarks; or a program that railyard does not bring",
    r"\btitan\b": "131,072 ranks take ten seconds: tests/placements",
    r"railyard ci git(hub|lab)": "needs a remote on GitHub: tests/ci",
    r"\bdoctor\b": "inspects a machine of the reader's: tests/doctor",
    r"\btender (?!preset)|\bsite \w+\.bag": "needs bags and keys of bidders: tests/tender",
    r"\breport (-o|results/vtorus)|compare (check=\w+,)?placement|date=|why RECORD": "reads the reader's archive",
    r"results import": "needs files of other tools: tests/table",
    r"results list|--strict": "reads the reader's archive",
    r"placement-cost( system=NAME|$)": "reads the archive of the reader's cluster: tests/torus/slurm",
    r"references (update|show)": "needs records of a committed version: tests/analysis",
    r"report results/example": "writes a page for ten seconds: tests/analysis and tests/records",
    r"\bmoved\b|results/NAME|counted\.json": "needs outputs of the reader's own",
    r"\b(FILES?|PATHS|RECORDS|ID|CHECK|KEY=VALUE|A B)\b": "a synopsis",
    r"-m pytest|workflow\.py": "tests in a test; tests/ci; tests/repository",
}
#: What is in the folder where the commands run: links to what a checkout has.
CHECKED_OUT = ("build", "checks", "docs", "placements", "reframe.yml", "results/example", "tests", ".venv")
TORUS = re.compile(r"(?P<before>\btorus (?P<verb>(?!up|list|simulate)\w+) |--name )(?P<name>[a-z][\w-]*)")


def reason(line: Line) -> str:
    """Return why a line is not run; empty where it is."""
    return next((why for pattern, why in NOT_RUN.items() if re.search(pattern, line.text)), "")


LINES = [line for page in pages.pages() for line in pages.lines(page)]
COMMANDS = [(line, words) for line in LINES for words in line.commands()]


def with_program(name: str) -> list[tuple[Line, list[str]]]:
    """Return the commands of a program, nested ones included: those behind `torus exec NAME HOST --`."""
    found = []
    for line, words in COMMANDS:
        behind = words[words.index("--") + 1 :] if "exec" in words and "--" in words else []
        found += [(line, part) for part in (words, behind) if part and Path(part[0]).name == name]
    return found


def test_pages_have_commands_and_each_reason_not_to_run_one_is_used() -> None:
    assert len(LINES) > 200 and {"README.md", "docs/torus.md", "docs/tutorial.md"} <= set(pages.pages())
    unused = [pattern for pattern in NOT_RUN if not any(re.search(pattern, line.text) for line in LINES)]
    assert unused == []


@pytest.mark.parametrize("document", pages.pages())
def test_every_option_of_railyard_on_a_page_exists(document: str) -> None:
    wrong = [
        f"{document}:{line.number}: {error.format_message()}"
        for line, words in with_program("railyard")
        if line.page == document and (error := refused([word for word in words[1:] if word != "..."]))
    ]
    assert wrong == []


def refused(words: list[str]) -> click.UsageError | None:
    """Return what `railyard WORDS...` has against its words; not that a file of the reader's is not there."""
    command: click.Command | None = cli
    context = click.Context(cli, info_name="railyard")
    try:
        while isinstance(command, click.Group):
            context = click.Context(command, info_name=context.info_name, parent=context)
            _, command, words = command.resolve_command(context, words)
        assert command is not None
        command.make_context(command.name, words, parent=context)
    except click.UsageError as error:
        return None if "does not exist" in error.format_message() else error
    return None


CHECKS = [check.name for check in checks.checks()]
TAGGED = re.compile(r"^    (?:tags|studies) = .*|^SHORT = .*", re.MULTILINE)
TAGS = set(presets.names()) | {
    tag
    for file in (CHECKOUT / "checks").rglob("*.py")
    for line in TAGGED.findall(file.read_text())
    for tag in re.findall(r'"([\w-]+)"', line)
}
VARIABLES = {variable.name for variable in checks.variables()} | {"valid_prog_environs"}
#: Of ReFrame 4.10, as far as pages use them.
REFRAME = {"-C", "-c", "-n", "-t", "-S", "-p", "--system", "--repeat"}
REFRAME_ALONE = {"-r", "-l", "..."}


def test_every_check_tag_and_variable_of_reframe_on_a_page_exists() -> None:
    wrong = []
    for line, words in with_program("reframe"):
        rest = iter(words[1:])
        for word in rest:
            value = next(rest, "") if word in REFRAME else ""
            if word not in REFRAME | REFRAME_ALONE or (value and not is_known(word, value)):
                wrong.append(f"{line.page}:{line.number}: {word} {value}")
    assert wrong == []


def is_known(option: str, value: str) -> bool:
    """Return whether the value of an option of ReFrame names something that there is."""
    match option:
        case "-n":
            pattern, _, parameter = value.partition("%")
            return any(re.search(pattern, name) for name in CHECKS) and (
                not parameter or parameter.partition("=")[0] in VARIABLES
            )
        case "-t":
            return any(re.search(value, tag) for tag in TAGS)
        case "-S":
            return value.partition("=")[0].rpartition(".")[2] in VARIABLES
        case "-c":
            return (CHECKOUT / value).exists()
    return True


def test_every_target_of_make_and_every_script_on_a_page_exists() -> None:
    targets = set(re.findall(r"^([\w-]+):", (CHECKOUT / "Makefile").read_text(), re.MULTILINE))
    wrong = [
        f"{line.page}:{line.number}: {word}"
        for line, words in with_program("make")
        if "-C" not in words
        for word in words[1:]
        if "=" not in word and word not in targets
    ]
    wrong += [
        f"{line.page}:{line.number}: {word}"
        for line, words in COMMANDS
        if (word := words[0]).startswith(("tools/", "containers/")) and not os.access(CHECKOUT / word, os.X_OK)
    ]
    assert wrong == []


# What is run. ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder that looks like a checkout, with records, where what commands write is nobody's."""
    for name in CHECKED_OUT:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).symlink_to(CHECKOUT / name)
    shutil.copytree(CHECKOUT / "results/example/vcluster", tmp_path / "results/vtorus")
    (tmp_path / ".github/workflows").mkdir(parents=True)
    program(tmp_path / "bin", "my_mpi_program", "")
    yield tmp_path
    for name in set(lifecycle.names()):
        if name.startswith(f"p{os.getpid()}-"):
            run(f"railyard torus down {name}", tmp_path)


def run(text: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a line of a page by a shell."""
    variables = environment()
    variables["PATH"] = f"{folder}/bin:{variables['PATH']}:{CHECKOUT}/build/benchmarks-openmpi/bin"
    return ran("bash", "-euo", "pipefail", "-c", text, cwd=folder, env=variables)


def on_the_default(line: Line, folder: Path) -> str:
    """Return a line with the name of a torus of this test, which the page's words have brought up or not."""
    match = TORUS.search(line.text)
    if match is None:
        return line.text
    name = f"p{os.getpid()}-{match['name']}"
    is_up = name in lifecycle.names()
    if (match["before"] == "--name ") == is_up:
        words = f"down {name}" if is_up else f"up gemini-4x4x4 --name {name}"
        done = run(f"railyard torus {words}", folder)
        assert done.returncode == 0, done.stderr
    return TORUS.sub(rf"\g<before>{name}", line.text)


def to_run() -> dict[str, list[Line]]:
    """Return the lines of each page that are run; what makes no difference to a torus is run once."""
    by_page: dict[str, list[Line]] = {}
    seen = set()
    for line in LINES:
        text = line.text.removeprefix(".venv/bin/")
        if not reason(line) and text not in seen:
            by_page.setdefault(line.page, []).append(line)
            seen |= set() if "torus" in text else {text}
    return by_page


@pytest.mark.torus
@pytest.mark.skipif(os.geteuid() != 0, reason="makes network namespaces as root; run as root")
@pytest.mark.parametrize("document", to_run())
def test_what_a_page_prints_is_run_and_works(document: str, folder: Path) -> None:
    for line in to_run()[document]:
        done = run(on_the_default(line, folder), folder)
        assert done.returncode == 0, f"{document}:{line.number}: {line.text}\n{done.stdout}{done.stderr}"
        assert "Traceback" not in done.stderr, f"{document}:{line.number}: {done.stderr}"
