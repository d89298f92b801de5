"""`railyard doctor` and the templates: what they print is a configuration that ReFrame accepts."""

from __future__ import annotations

import dataclasses
import json
import platform
import re
from pathlib import Path
from typing import Any

import pytest
from support.commands import CHECKOUT, Run, program
from support.reframe import reframe_of

from railyard.base.errors import RunError
from railyard.base.sysfs import Device
from railyard.doctor import cli, inventory
from railyard.doctor import findings as doctor
from railyard.doctor.inventory import Machine, Mpi, Partition, Scheduler
from railyard.records.image_engines import apptainer

NO_TOOLS = dict.fromkeys(inventory.TOOLS, "")
OPENMPI = Mpi(name="openmpi", version="5.0.3", compiler="mpicc")
CLUSTER = Machine(
    hostname="login1",
    cpus=64,
    numa_nodes=2,
    scheduler=Scheduler(
        name="slurm",
        version="23.11.4",
        partitions=(Partition(name="compute", nodes=512), Partition(name="debug", nodes=4)),
        pmi=("pmix", "pmi2"),
    ),
    mpis=(OPENMPI,),
    interfaces=(
        Device(name="mlx5_0:1", fabric="infiniband", numa=0),
        Device(name="mlx5_1:1", fabric="infiniband", numa=1),
    ),
    tools=NO_TOOLS | {"spack": "0.23.0"},
)
BARE = Machine(
    hostname="pc",
    cpus=8,
    numa_nodes=1,
    scheduler=Scheduler(name="local"),
    mpis=(),
    interfaces=(Device(name="enp1s0", fabric="ethernet", numa=-1),),
    tools=NO_TOOLS,
)


def shown(config: Path, system: str) -> dict[str, Any]:
    """The configuration as ReFrame has it."""
    files = ["-C", str(CHECKOUT / "reframe.yml"), "-C", str(config)]
    done = reframe_of(*files, "--system", system, "--show-config")
    assert done.returncode == 0, done.stdout + done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.mpi
def test_doctor_says_what_is_here_and_ends_with_a_fragment_that_reframe_accepts(railyard: Run, tmp_path: Path) -> None:
    done = railyard("doctor", COLUMNS="200")
    assert done.returncode == 0, done.stderr
    assert re.search(r"MPI\s+│ yes │ openmpi \d+\.\d+", done.stdout)
    assert re.search(r"virtual torus\s+│ yes", done.stdout)
    fragment = railyard("doctor", "--fragment").stdout
    assert done.stdout.rstrip().endswith(fragment.rstrip())
    (tmp_path / "mine.yml").write_text(fragment)
    name = platform.node().partition(".")[0].lower()
    (system,) = shown(tmp_path / "mine.yml", name)["systems"]
    assert system["name"] == name and system["partitions"][0]["features"] == ["torus"]
    assert "openmpi-here" in system["partitions"][0]["environs"]
    document = json.loads(railyard("doctor", "--json").stdout)
    assert document["machine"]["cpus"] >= 1
    assert all(f["enables"] for f in document["findings"])


def test_ethernet_cards_are_a_jobs_only_if_a_compute_node_has_them() -> None:
    assert "nics:" not in doctor.fragment(dataclasses.replace(BARE, mpis=(OPENMPI,)))
    text = doctor.fragment(dataclasses.replace(BARE, mpis=(OPENMPI,), nics_of_a_node=True))
    assert "nics: [enp1s0]" in text and "features: [mpi, openmpi, openmpi-tcp]" in text


def test_each_missing_part_says_what_it_would_enable() -> None:
    missing = {f.part: f.enables for f in doctor.findings(BARE) if not f.there}
    assert {"scheduler", "MPI", "Spack", "Apptainer"} <= missing.keys()
    assert all(missing.values())
    assert {f.part for f in doctor.findings(CLUSTER) if f.there} >= {"scheduler", "MPI", "NICs", "Spack"}


@pytest.mark.parametrize("path", sorted((CHECKOUT / "config").glob("*.yml")), ids=lambda p: p.stem)
def test_reframe_accepts_every_template(path: Path) -> None:
    name = re.search(r"^  - name: (\S+)", path.read_text(), re.M)
    assert name is not None
    config = shown(path, name[1])
    (system,) = config["systems"]
    assert system["partitions"][0]["extras"]["origin"] == "measured"
    own = {e["name"] for e in config["environments"]}
    assert set(system["partitions"][0]["environs"]) <= own


@pytest.mark.parametrize("only", ["apptainer", "own", "singularity"])
def test_doctor_and_checks_find_the_same_apptainer(only: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One function decides. SingularityCE was reported as Apptainer, and every check with an image was skipped."""
    folder = tmp_path / ("own" if only == "own" else "path")
    script = program(folder, "singularity" if only == "singularity" else "apptainer", f"echo {only} version 1.4.5")
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setattr(apptainer, "OWN", tmp_path / "own")
    here = dataclasses.replace(CLUSTER, tools={name: find() for name, find in inventory.TOOLS.items()})
    (row,) = (finding for finding in doctor.findings(here) if finding.part == "Apptainer")
    assert row.there == (only != "singularity") == (not apptainer.missing(script))
    if only == "singularity":
        assert row.found == "singularity version 1.4.5, which checks do not use"
        assert "no apptainer on the PATH (singularity is not used)" in apptainer.missing(script)


@pytest.mark.parametrize(
    "answer", ["", "hello", "[]", '{"interfaces": []}', '{"interfaces": [{"x": 1}], "node": {"host": "n", "gpus": []}}']
)
def test_a_step_that_describes_no_node_is_one_line(
    answer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path, "srun", f"echo '{answer}'")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RunError, match="the step printed no description of a node") as caught:
        cli.asked_on_a_node(CLUSTER)
    assert len(str(caught.value).splitlines()) == 1
