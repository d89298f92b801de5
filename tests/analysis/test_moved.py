"""Whether a fault followed a module that was moved: two outputs of topobw."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from support import rows

from railyard.cli import cli

ROUTERS = ["0,0,0", "1,0,0", "2,0,0", "3,0,0"]


def output(path: Path, bad: str) -> Path:
    """Write a ring of four routers, the links at one of which miss half their rate."""
    links = [(f"X+ {a}>{b}", a, b) for a, b in zip(ROUTERS, [*ROUTERS[1:], ROUTERS[0]], strict=True)]
    links += [(f"X- {b}>{a}", b, a) for _, a, b in links]
    series = [
        {"fom": "missing_percent", "labels": {"link": name}, "samples": [50.0 if bad in (a, b) else 0.2]}
        for name, a, b in links
    ]
    document = {
        "format": "railyard-benchmark/3",
        "benchmark": "topobw",
        "version": "1",
        "parameters": {},
        "mpi": {"library": "none", "standard": "none", "ranks": 1},
        "verified": True,
        "ranks": [{"rank": 0, "host": "n0"}],
        "series": series,
    }
    path.write_text(json.dumps(rows.output(document)))
    return path


def run(tmp_path: Path, before: str, after: str, *options: str) -> Result:
    files = [str(output(tmp_path / "before.json", before)), str(output(tmp_path / "after.json", after))]
    return CliRunner().invoke(cli, ["moved", *files, *options])


@pytest.mark.parametrize(
    ("after", "words"),
    [
        ("3,0,0", "the fault followed the module to (3,0,0), whose links miss 50.0 %"),
        ("1,0,0", "the fault stayed"),
        ("none", "the fault is gone from both places"),
    ],
)
def test_where_the_fault_went(tmp_path: Path, after: str, words: str) -> None:
    done = run(tmp_path, "1,0,0", after, "--swap", "1,0,0=3,0,0")
    first, second = done.output.splitlines()
    assert words in first and second.startswith("(3,0,0): sound before")


@pytest.mark.parametrize("swap", ["1,0,0", "1,0,0=9,0,0"])
def test_a_router_that_is_not_there_is_one_line(tmp_path: Path, swap: str) -> None:
    done = run(tmp_path, "1,0,0", "3,0,0", "--swap", swap)
    assert done.exit_code != 0 and "--swap" in str(done.exception)
