"""Gloo of PyTorch on two rails: right and wrong settings told apart by the bytes of the NICs."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from support.reframe import into, reading, records, reframe_in
from support.reframe import settings as words

from railyard.records.record import Launch

PYTHON = os.environ.get("RAILYARD_PYTORCH", "/usr/bin/python3")
KNOWN = "import importlib.util, sys; sys.exit(importlib.util.find_spec('torch') is None)"
HAS_PYTORCH = bool(shutil.which(PYTHON)) and not subprocess.run([PYTHON, "-c", KNOWN], check=False).returncode
pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="makes network namespaces as root; run as root"),
    pytest.mark.skipif(
        not HAS_PYTORCH, reason="no PyTorch in /usr/bin/python3: RAILYARD_PYTORCH names a Python that has it"
    ),
]


def launches(tmp_path: Path, nics: str, settings: str) -> dict[str, Launch]:
    """Return one launch for each NIC policy, of four ranks on two nodes of two rails."""
    fewer = words(grid="2,2", largest=65536, iterations=20, python=PYTHON, nics=nics, nic_settings=settings)
    chosen = [*reading("-n", "ccl_gloo"), "-n", "ccl_gloo.*all_reduce", *fewer, *into(tmp_path)]
    done = reframe_in(tmp_path)("-r", *chosen, RAILYARD_RATE_SCALE="0.00025")
    made = records(tmp_path)
    assert len(made) == 1, done.stdout
    return {launch.nic_policy: launch for launch in made[0].launches}


def test_settings_of_railyard_are_obeyed(tmp_path: Path) -> None:
    right = launches(tmp_path, "nic-0,nic-1,stripe", "")
    assert {policy: launch.nic_verdict for policy, launch in right.items()} == dict.fromkeys(right, "obeyed")
    assert len(right) == 3


def test_an_interface_that_the_policy_does_not_have_is_named(tmp_path: Path) -> None:
    stated = launches(tmp_path, "nic-0,nic-1,stripe", "GLOO_SOCKET_IFNAME=nic0")
    assert stated["nic-0"].nic_verdict == "obeyed"
    for policy, needs in (("nic-1", "nic1"), ("stripe", "nic0,nic1")):
        assert stated[policy].nic_verdict == "not-obeyed"
        words = f"GLOO_SOCKET_IFNAME=nic0 is wrong; {policy} needs GLOO_SOCKET_IFNAME={needs}"
        assert words in stated[policy].reason


def test_a_variable_of_another_library_is_named(tmp_path: Path) -> None:
    stated = launches(tmp_path, "nic-1,library-default", "NCCL_SOCKET_IFNAME=nic1")
    assert stated["library-default"].nic_verdict == "cannot-tell"
    assert stated["nic-1"].nic_verdict == "not-obeyed"
    assert "NCCL_SOCKET_IFNAME is no variable by which gloo chooses NICs" in stated["nic-1"].reason
