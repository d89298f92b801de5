"""Outputs of programs: recordings of right runs (tests/data/applications) and public ones, each with its parser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from railyard.applications import launch, mpip
from railyard.applications.cli import parser_of_check
from railyard.applications.reading import Parser, Reading
from support.commands import CHECKOUT

DATA = CHECKOUT / "tests/data/applications"
CHECKS = CHECKOUT / "checks/applications"
CASES = sorted((CHECKOUT / "tests/data/public/outputs").glob("*/case.yaml"))
SIZES = [4 << power for power in range(13)]
#: Message sizes of the recordings of OSU's programs, where they are not `SIZES`.
OSU_SIZES: dict[str, list[int]] = {
    **{f"osu_{name}": [1 << power for power in range(17)] for name in ("latency", "bw")},
    **{f"osu_{name}_latency": [1 << power for power in range(17)] for name in ("put", "get_acc")},
    **{f"osu_{name}": [] for name in ("barrier", "ibarrier", "init")},
}


def parser_of(program: str) -> Parser | None:
    """Return the parser of a program: that of a module, or the patterns of its check; None for another program."""
    if launch.is_application(program):
        return launch.parser(program, {"sizes_bytes": OSU_SIZES.get(program, SIZES)})
    check = CHECKS / f"{program}.py"
    return parser_of_check(check) if check.is_file() else None


#: Name of each recording of a right run (PROGRAM-RANKS.out) -> its program's parser.
RECORDED: dict[str, Parser] = {
    path.stem: parser
    for path in sorted(DATA.glob("*-[0-9]*.out"))
    if (parser := parser_of(path.stem.rpartition("-")[0]))
}


def text_of(name: str, ending: str = "out") -> str:
    path = DATA / f"{name}.{ending}"
    return path.read_text() if path.is_file() else ""


def load(path: Path) -> dict[str, Any]:
    case: dict[str, Any] = yaml.safe_load(path.read_text())
    return case


def parse(case: dict[str, Any], text: str, source: str = "output.txt") -> Reading:
    """Return what the case's reader makes of a text; mpiP's profile as a reading."""
    if case["reader"] != "mpip":
        return launch.parser(case["reader"], case.get("parameters", {}))(text, "", source)
    profile = mpip.parse(text, source)
    series, missing = list(profile.series), profile.not_measured
    return Reading(program="mpiP", version="", ranks=None, series=series, not_measured=missing)


def samples() -> dict[str, tuple[Parser, str, str]]:
    """Return name -> parser, standard output, file left, of each recording and each public output but refused ones."""
    texts = {name: (parser, text_of(name), text_of(name, "left")) for name, parser in RECORDED.items()}
    for path in CASES:
        case = load(path)
        if "error" in case:
            continue

        def parse_case(text: str, left: str, source: str, case: dict[str, Any] = case) -> Reading:
            return parse(case, left or text, source)

        text = (path.parent / "output.txt").read_text()
        a_file = text.startswith(("{", "@ mpiP"))
        texts[path.parent.name] = (parse_case, "" if a_file else text, text if a_file else "")
    return texts
