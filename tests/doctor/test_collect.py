"""`railyard doctor --collect`: texts of a machine without the names of its hosts, which readers read as before."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from railyard.cli import cli
from railyard.doctor import collect
from railyard.placements.hosts import sources

TOPOLOGY = """\
SwitchName=leaf0 Level=0 LinkSpeed=1 Nodes=secret[01-02]
SwitchName=leaf1 Level=0 LinkSpeed=1 Nodes=secret[03-04],fat7.site.gov
SwitchName=top Level=1 LinkSpeed=1 Nodes=secret[01-04],fat7.site.gov Switches=leaf[0-1]
"""


def test_names_are_replaced_and_numbers_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tools, hosts, folder = tmp_path / "bin", tmp_path / "hosts", tmp_path / "report"
    tools.mkdir()
    (tools / "scontrol").write_text(f'#!/bin/sh\n[ "$2" = topology ] && cat <<EOF\n{TOPOLOGY}EOF\n')
    (tools / "scontrol").chmod(0o755)
    hosts.write_text("secret01.site.gov\nsecret02.site.gov\n")
    monkeypatch.setenv("PATH", str(tools), prepend=":")
    monkeypatch.setenv("PBS_NODEFILE", str(hosts))
    monkeypatch.setenv("SLURM_JOB_NODELIST", "secret[01-02]")
    done = CliRunner().invoke(cli, ["doctor", "--collect", str(folder)])
    assert done.exit_code == 0, done.output
    text = "".join(path.read_text() for path in folder.iterdir())
    assert not re.search(r"secret|fat7|site\.gov", text) and "PBS_NODEFILE.txt" in done.output
    original = tmp_path / "original.txt"
    original.write_text(TOPOLOGY)
    before, after = (sources.read(path).coordinates for path in (original, folder / "scontrol-topology.txt"))
    assert list(before.values()) == list(after.values()) and len(after) == 5
    assert [name[-1] for name in before if name.startswith("secret")] == ["1", "2", "3", "4"]


def test_a_folder_with_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("")
    done = CliRunner().invoke(cli, ["doctor", "--collect", str(tmp_path)])
    assert done.exit_code and "not an empty folder" in str(done.exception)


def test_sysfs_is_written_as_a_case_has_it(tmp_path: Path) -> None:
    device = tmp_path / "devices/pci0000:00/0000:00:03.0"
    (device / "net/eth0").mkdir(parents=True)
    (device / "net/eth0/operstate").write_text("up\n")
    (tmp_path / "class/net").mkdir(parents=True)
    (tmp_path / "class/net/eth0").symlink_to(device / "net/eth0")
    (device / "net/eth0/device").symlink_to(device)
    tree = yaml.safe_load(collect.sysfs(tmp_path))["tree"]
    assert tree["class/net/eth0/operstate"] == "up"
    assert tree["class/net/eth0/device"] == "-> devices/pci0000:00/0000:00:03.0"
