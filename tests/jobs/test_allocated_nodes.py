"""The nodes that a scheduler granted: their names, order and places; how every node of a job describes itself."""

from __future__ import annotations

import json
import platform
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support.commands import BIN, executable

from railyard.jobs import placing
from railyard.jobs.job.spec import JobSpec
from railyard.jobs.job.submitted import Site, Submitted
from railyard.jobs.nodes import allocated_nodes
from railyard.placements import launchers

WHERE = "node,x,y,z\nnid001,0,0,0\nnid002,0,0,1\nnid003,0,1,0\nnid004,0,1,1\n"
GRANTED = ["nid001", "nid002", "nid003", "nid004"]


def job(folder: Path, **changes: Any) -> Submitted:
    """What `allocation` and `place_what_can` read of a job."""
    (folder / "where.csv").write_text(WHERE)
    fields: dict[str, Any] = {
        "topology": "gemini-2x2x2",
        "coordinates": str(folder / "where.csv"),
        "devices": None,
        "launcher": "openmpi4",
    }
    spec = JobSpec(name="halo", benchmark="halo", placements=("plain", "scheduler"), grid=(4,), allocation="contiguous")
    site = Site(fullname="site:cpu", scheduler="slurm", origin="measured", **{**fields, **changes})
    return Submitted(spec=spec, site=site, reframe={}, stderr="")


@pytest.mark.parametrize("domain", ["", ".hsn.site.org"])
def test_coordinates_are_found_with_and_without_a_domain(tmp_path: Path, domain: str) -> None:
    """PBS_NODEFILE and many hosts have full names, a site's table short ones."""
    granted = [f"{name}{domain}" for name in GRANTED]
    found = allocated_nodes.allocation(job(tmp_path), granted)
    assert found.without == ""
    assert {node.name: node.coordinate for node in found.allocation.nodes} == dict(
        zip(granted, [(0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 1, 1)], strict=True)
    )


def test_a_source_that_does_not_fit_ends_no_job(tmp_path: Path) -> None:
    read = job(tmp_path)
    (tmp_path / "where.csv").write_text(WHERE.replace("nid004,0,1,1", "nid004,7,7,7"))
    found = allocated_nodes.allocation(read, GRANTED)
    assert "no coordinates" in found.without and "7,7,7" in found.without
    placed = placing.plan(read, found).placed
    assert set(placed.hosts) == {"plain", "scheduler"} and not placed.cannot


def test_nodes_are_in_the_order_in_which_a_step_numbers_them() -> None:
    """Slurm's list of a job's nodes is sorted by name; its steps follow the order of slurm.conf."""
    described = {name: {"node_id": str(3 - k)} for k, name in enumerate(GRANTED)}
    assert allocated_nodes.as_numbered(GRANTED, described) == GRANTED[::-1]
    del described["nid002"]
    assert allocated_nodes.as_numbered(GRANTED, described) == GRANTED, "not every node has a number"
    assert allocated_nodes.as_numbered(GRANTED, {}) == GRANTED


# ---- the step in which every node describes itself ----

HOSTS = ["n1", "n2", "n3"]
#: What a launcher does with `COMMAND ... railyard node-info --into FOLDER`, for the hosts in its file.
STUB = """\
#!/bin/sh
for last; do :; done
echo "$0 $*" > "$last/command"
for host in $(cat where.* | sed 's/[: ].*//' | sort -u); do
    echo '{"host": "'"$host"'.site.org", "cores": [{"numa": 0, "cpus": [0]}]}' > "$last/$host.json"
done
"""


def stub(folder: Path, name: str, monkeypatch: pytest.MonkeyPatch, text: str = STUB) -> None:
    """Have a program of that name on the PATH do what the text says."""
    executable(folder / name, text)
    monkeypatch.setenv("PATH", str(folder), prepend=":")


@pytest.fixture
def stage(tmp_path: Path) -> Path:
    (tmp_path / "stage").mkdir()
    return tmp_path / "stage"


@pytest.mark.parametrize(
    ("launcher", "program"),
    [("pals", "mpiexec"), ("openmpi4", "mpirun"), ("mpich", "mpiexec"), ("intel-mpi", "mpiexec"), ("flux", "flux")],
)
def test_without_slurm_the_jobs_own_launcher_starts_the_step(
    *, tmp_path: Path, stage: Path, monkeypatch: pytest.MonkeyPatch, launcher: str, program: str
) -> None:
    stub(tmp_path, program, monkeypatch)
    described = allocated_nodes.describe(stage, HOSTS, job(tmp_path, launcher=launcher).site)
    assert set(described) == set(HOSTS) and described["n2"]["host"] == "n2.site.org"
    said = (stage / allocated_nodes.DESCRIPTIONS / "command").read_text()
    assert "railyard node-info --into" in said


def test_every_launcher_of_real_machines_can_start_the_step(tmp_path: Path) -> None:
    for name in launchers.LAUNCHERS.keys() - {"smpi", "linkload", "slurm", "cray-mpich", "ibrun"}:
        rendered = allocated_nodes.by_launcher(HOSTS, job(tmp_path, launcher=name).site)
        text = " ".join([*rendered.command, *rendered.files.values()])
        assert all(host in text for host in HOSTS), name


def test_a_step_that_fails_is_one_line_and_this_node_stands_for_all(
    tmp_path: Path, stage: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stub(tmp_path, "mpiexec", monkeypatch, "#!/bin/sh\necho 'no daemon\nthere' >&2\nexit 3\n")
    described = allocated_nodes.describe(stage, HOSTS, job(tmp_path, launcher="pals").site)
    assert list(described) == ["n1"] and described["n1"]["host"] == platform.node()
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("railyard: only this node is described: no daemon")


def test_a_description_that_is_cut_off_counts_as_none(stage: Path) -> None:
    folder = stage / allocated_nodes.DESCRIPTIONS
    folder.mkdir()
    (folder / "n1.json").write_text('{"host": "n1"}')
    (folder / "n2.json").write_text('{"host": "n2", "co')
    assert set(allocated_nodes.collected(stage, HOSTS)) == {"n1"}


def test_a_node_is_known_by_the_schedulers_name_of_it() -> None:
    """Slurm's NodeName need not be the host's name (NodeHostname, nodes in a cloud)."""
    said = [{"host": f"ip-10-0-0-{k}", "node_name": f"cpu-{k}"} for k in (1, 2)]
    described = allocated_nodes.by_name(said, ["cpu-1", "cpu-2", "cpu-3"])
    assert {name: one["host"] for name, one in described.items()} == {"cpu-1": "ip-10-0-0-1", "cpu-2": "ip-10-0-0-2"}


def test_a_node_writes_its_own_file(stage: Path) -> None:
    subprocess.run([BIN / "railyard", "node-info", "--into", stage], check=True)
    (path,) = stage.iterdir()
    assert path.name == f"{platform.node()}.json"
    assert json.loads(path.read_text())["host"] == platform.node()
