"""The wheel reads: it is built, put beside the packages that it declares and no others, and reads the example."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

import pytest
from support.commands import BIN, CHECKOUT
from support.sites.packages import link

EXAMPLE = CHECKOUT / "results/example"
#: Commands that run something, or write into a checkout.
NOT_READING = {"ci", "doctor", "model", "references", "sim", "torus"}


class Installed(NamedTuple):
    """The wheel in an environment of its own: its folder of packages, and another folder to work in."""

    packages: Path
    work: Path

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run railyard with no package but those of the folder: -S leaves out the virtual environment's."""
        command = [sys.executable, "-S", "-c", "from railyard.cli import main; main()", *words]
        env = {"PYTHONPATH": str(self.packages), "PATH": "/usr/bin:/bin", "HOME": str(self.work)}
        return subprocess.run(command, capture_output=True, text=True, cwd=self.work, env=env, check=False)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """Build the wheel of the tracked files, unpack it, and link the packages that it declares beside it."""
    folder = tmp_path_factory.mktemp("wheel")
    source, packages = folder / "source", folder / "packages"
    source.mkdir()
    tracked = "git ls-files -z railyard placements checks benchmarks results/schema results/studies"
    tracked += " results/presets setup.py pyproject.toml README.md LICENSE"
    copied = f"{tracked} | tar -c --null -T - | tar -x -C {source}"
    subprocess.run(copied, shell=True, cwd=CHECKOUT, check=True)
    command = [str(BIN / "python"), "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--no-index", "-q"]
    subprocess.run([*command, "-w", str(folder), str(source)], check=True, capture_output=True)
    (wheel,) = folder.glob("railyard-*-py3-none-any.whl")
    zipfile.ZipFile(wheel).extractall(packages)
    own = metadata.PathDistribution(next(packages.glob("*.dist-info")))
    link(own.requires or [], packages)
    work = folder / "work"
    work.mkdir()
    return Installed(packages, work)


@pytest.mark.unit
def test_the_wheel_takes_one_name_and_has_no_checks(installed: Installed) -> None:
    """`analysis` of another package on the path must not be ours, and nothing of ReFrame is needed to read."""
    own = {path.name for path in installed.packages.iterdir() if not path.is_symlink()}
    assert own == {"railyard", next(name for name in own if name.endswith(".dist-info"))}
    assert not (installed.packages / "reframe").exists() and not (installed.packages / "polars").exists()
    for name in ("analysis", "placements", "checks"):
        (installed.packages / f"{name}.py").write_text("raise SystemExit('not railyard')\n")
    shown = installed.run("--help").stdout
    assert "tender" in shown and not any(f"\n  {command} " in shown for command in NOT_READING), shown
    assert installed.run("torus").stderr.endswith("Error: No such command 'torus'.\n")


@pytest.mark.unit
def test_the_wheel_reads_the_example_as_the_checkout_does(installed: Installed) -> None:
    """Records, report, comparison and tender, with the verdict of the strict check."""
    check = ("results", "check", "--strict", str(EXAMPLE))
    checked = installed.run(*check)
    here = subprocess.run([str(BIN / "railyard"), *check], capture_output=True, text=True, check=False)
    assert "6 records checked, 4 refused" in here.stdout, "those of the first formats lack what rules need"
    assert checked.stdout == here.stdout, checked.stderr
    report = installed.run("report", str(EXAMPLE / "vcluster-degraded"), "--output", "report.html")
    assert report.returncode == 0 and (installed.work / "report.html").stat().st_size > 100_000, report.stderr
    compared = installed.run("compare", "system=vcluster", "system=vcluster-degraded", "--archive", str(EXAMPLE))
    assert compared.returncode == 0 and "vcluster" in compared.stdout, compared.stdout + compared.stderr
    presets = installed.run("tender", "preset", "nnss")
    assert presets.returncode == 0 and "osu_latency" in presets.stdout, presets.stdout + presets.stderr
    listed = installed.run("results", "list")
    assert "Traceback" not in listed.stderr, listed.stderr
