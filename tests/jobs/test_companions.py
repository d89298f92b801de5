"""A victim beside other programs, played by shell scripts: who starts when, who is ended, and what voids a launch."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from support.commands import BIN, HUNG_S, environment, in_checkout, refused
from support.waiting import wait_until

#: Says that its load is there, and ends when the victim has.
GOOD = "touch {ready}; while [ ! -e launch-000.stop ]; do sleep 0.02; done; echo bye"


def command(script: str, name: str = "") -> str:
    return shlex.join(["sh", "-c", script.format(ready=f"launch-000.{name}.ready")])


def start(folder: Path, companions: dict[str, str], victim: str, option: str = "congestor") -> subprocess.Popen[str]:
    words = [f"--{option}={name}={command(script, name)}" for name, script in companions.items()]
    return subprocess.Popen(
        [BIN / "railyard", "launch-roles", "launch-000", *words, "--", "sh", "-c", victim],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(RAILYARD_TORUS="", RAILYARD_EVIDENCE="launch-000.evidence"),
    )


def ended(process: subprocess.Popen[str], folder: Path) -> tuple[int, str, str, dict[str, Any]]:
    out, err = process.communicate(timeout=HUNG_S)
    said = json.loads((folder / "launch-000.roles").read_text())
    return process.returncode, out, err, said


def processes(folder: Path) -> list[int]:
    """Return the processes that work in a folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if (path / "cwd").resolve() == folder and (path / "cmdline").read_bytes():
                found.append(int(path.name))
        except OSError:
            continue
    return found


def test_the_victim_runs_while_every_load_is_there(tmp_path: Path) -> None:
    late = "sleep 0.3; " + GOOD
    look = "ls launch-000.one.ready launch-000.two.ready && test ! -e launch-000.stop"
    status, out, err, said = ended(start(tmp_path, {"one": GOOD, "two": late}, look), tmp_path)
    assert (status, err, said["reasons"]) == (0, "", [])
    assert "launch-000.one.ready" in out and "bye" not in out
    assert (tmp_path / "launch-000.two.out").read_text() == "bye\n"
    assert [each["exit_status"] for each in said["roles"]] == [0, 0]
    assert all(each["ready_s"] <= said["victim"]["begun_s"] for each in said["roles"])
    assert all(each["ended_s"] >= said["victim"]["ended_s"] for each in said["roles"])


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("exit 3", "congestor bad ended with status 3"),
        ("touch {ready}; kill -9 $$", "congestor bad ended with status 137"),
        ("touch {ready}; sleep 0.3; exit 0", "congestor bad ended with status 0"),
    ],
)
def test_a_congestor_that_ends_early_voids_the_launch_in_one_line(tmp_path: Path, script: str, words: str) -> None:
    status, _, err, said = ended(start(tmp_path, {"good": GOOD, "bad": script}, "sleep 30"), tmp_path)
    assert status == 75
    assert err.startswith(f"railyard: void: {words}") and err.count("\n") == 1
    assert said["reasons"] == [err.strip().removeprefix("railyard: ")]
    wait_until(lambda: not processes(tmp_path), "every program to end")


def test_a_program_is_started_again_until_the_victim_has_ended(tmp_path: Path) -> None:
    status, _, _, said = ended(start(tmp_path, {"any": "sleep 0.05"}, "sleep 0.8", "program"), tmp_path)
    assert status == 0
    assert said["roles"][0]["starts"] > 2
    wait_until(lambda: not processes(tmp_path), "every program to end")


@pytest.mark.parametrize(("victim", "status"), [("true", 4), ("exit 9", 9)])
def test_all_copies_are_waited_for_and_the_first_failure_counts(tmp_path: Path, victim: str, status: int) -> None:
    copies = {"copy-1": "sleep 0.4; touch done", "copy-2": "exit 4"}
    code, _, _, said = ended(start(tmp_path, copies, victim, "copy"), tmp_path)
    assert (code, said["reasons"]) == (status, [])
    assert (tmp_path / "done").exists()
    assert [each["exit_status"] for each in said["roles"]] == [0, 4]


def test_a_time_limit_ends_everybody(tmp_path: Path) -> None:
    process = start(tmp_path, {"one": GOOD}, "exec sleep 300")
    wait_until(lambda: (tmp_path / "launch-000.one.ready").exists() and len(processes(tmp_path)) > 2, "both to run")
    time.sleep(0.2)
    process.send_signal(signal.SIGTERM)
    status, _, _, said = ended(process, tmp_path)
    assert status == 75 and said["reasons"] == ["void: the launch was ended from outside"]
    wait_until(lambda: not processes(tmp_path), "every program to end")


def test_nobody_outlives_a_killed_launch(tmp_path: Path) -> None:
    """A congestor that went on would load the launches after it, for which no record has it."""
    process = start(tmp_path, {"one": "touch {ready}; exec sleep 300"}, "exec sleep 300")
    wait_until(lambda: len(processes(tmp_path)) > 2, "both to run")
    process.kill()
    process.communicate(timeout=HUNG_S)
    wait_until(lambda: not processes(tmp_path), "every program to end")


def test_a_congestor_that_does_not_stop_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from railyard.jobs import companions

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RAILYARD_TORUS", "")
    monkeypatch.setattr(companions, "STOP_S", 0.1)
    deaf = command("touch {ready}; exec sleep 300", "deaf")
    found = companions.read(tmp_path, "launch-000", [("congestor", f"deaf={deaf}")], ["true"])
    assert companions.run(lambda: found) == companions.VOID_STATUS
    assert found.reasons == ["void: congestor deaf ended with status 143"]


@pytest.mark.parametrize("text", ["incast", "=true", "incast="])
def test_a_companion_without_name_or_command_is_refused(tmp_path: Path, text: str) -> None:
    words = ("launch-roles", "launch-000", f"--copy={text}", "--", "true")
    refused(in_checkout((BIN / "railyard", *words), tmp_path), "expected NAME=COMMAND")
