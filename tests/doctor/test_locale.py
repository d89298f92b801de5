"""A user's language changes no value: decimal commas, another encoding, and tools that answer in it."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from support.commands import BIN, CHECKOUT

from railyard.base import programs
from railyard.doctor import inventory

GERMAN = Path("/usr/share/i18n/locales/de_DE")


@pytest.fixture
def german(tmp_path: Path) -> dict[str, str]:
    """Return the environment of a locale with a decimal comma that encodes in Latin-1."""
    if not GERMAN.exists() or not shutil.which("localedef"):
        pytest.skip("needs localedef and the sources of locales (Debian's package locales)")
    folder = tmp_path / "locales"
    folder.mkdir()
    subprocess.run(["localedef", "-i", "de_DE", "-f", "ISO-8859-1", folder / "de_DE"], check=True)
    return {**os.environ, "LOCPATH": str(folder), "LC_ALL": "de_DE", "LANGUAGE": "de"}


@pytest.mark.parametrize(
    "command",
    [
        ["application", "try", "lulesh", "--output", "tests/data/applications/lulesh-8.out"],
        ["coordinates", "tests/data/public/slurm-islands/topology.conf"],
    ],
    ids=lambda command: command[0],
)
def test_what_is_read_is_the_same_in_another_language(command: list[str], german: dict[str, str]) -> None:
    shown = [
        subprocess.run([BIN / "railyard", *command], cwd=CHECKOUT, env=env, capture_output=True, check=True).stdout
        for env in (german, {**os.environ, "LC_ALL": "C.UTF-8"})
    ]
    assert shown[0] == shown[1] != b""


def test_tools_answer_in_english_and_odd_bytes_break_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, german: dict[str, str]
) -> None:
    tool = tmp_path / "sinfo"
    tool.write_bytes(
        b'#!/bin/sh\n[ "$LC_ALL" = C ] && echo "batch* 4" || echo "Stapel* vier"\nprintf "gr\\374n 2\\n"\n'
    )
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("LC_ALL", german["LC_ALL"])
    monkeypatch.setenv("LOCPATH", german["LOCPATH"])
    assert programs.run(["sinfo"]).stdout == "batch* 4\ngr\ufffdn 2\n"
    assert [(one.name, one.nodes) for one in inventory.scheduler().partitions] == [("batch", 4), ("gr\ufffdn", 2)]
