"""The same C sources on simulated MPI: SimGrid runs all ranks in one process, so nothing may be a mutable global."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from benchmark_runs import ROOT, block, document

pytestmark = pytest.mark.skipif(
    shutil.which("smpicc") is None or shutil.which("smpirun") is None,
    reason="SimGrid's smpicc and smpirun are not installed",
)
PLATFORM = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="torus" prefix="n" suffix="" radical="0-7" speed="1Gf" bw="1GBps" lat="1us"
           topology="TORUS" topo_parameters="2,2,2"/>
</platform>
"""
OPTIONS = {
    "halo": ["--cells", "8", "--variants", "manual,datatypes,copy"],  # SMPI has no neighbourhood collectives
    "hops": ["--coordinates", "coordinates", "--sizes", "64KiB"],
    "paths": ["--coordinates", "coordinates", "--sizes", "64KiB"],
    "rowcol": ["--coordinates", "coordinates", "--sizes", "1KiB"],
    "contention": ["--sizes", "1KiB"],
}


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the programs in bin/, a platform and its files."""
    folder = tmp_path_factory.mktemp("simulated")
    options = ["-DCMAKE_C_COMPILER=smpicc", "-DRAILYARD_HOST_FROM_MPI=ON", "-DRAILYARD_WERROR=ON"]
    configure = ["cmake", "-S", ROOT / "benchmarks", "-B", folder, *options]
    subprocess.run(configure, check=True, capture_output=True)
    subprocess.run(["cmake", "--build", folder, "-j2"], check=True, capture_output=True)
    (folder / "platform.xml").write_text(PLATFORM)
    (folder / "hosts").write_text("".join(f"n{i}\n" for i in range(8)))
    (folder / "coordinates").write_text(block(2, 2, 2))
    return folder


@pytest.mark.parametrize("program", OPTIONS)
def test_runs_deterministically_on_a_simulated_torus(program: str, simulated: Path) -> None:
    command = ["smpirun", "-np", "8", "-platform", "platform.xml", "-hostfile", "hosts"]
    command += [
        "--cfg=smpi/privatization:no",
        "--cfg=smpi/simulate-computation:no",
        "--log=root.thres:critical",
    ]
    command += [f"bin/{program}", *OPTIONS[program], "--repeats", "2", "--json"]
    for name in ("first.json", "again.json"):
        done = subprocess.run(
            [*command, name], cwd=simulated, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stderr
    first, again = (document(simulated / name) for name in ("first.json", "again.json"))
    assert first["mpi"]["ranks"] == 8 and first["verified"] is True
    assert {rank["host"] for rank in first["ranks"]} == {f"n{i}" for i in range(8)}
    timed = [s for s in first["series"] if s["fom"] not in ("pack_us", "unpack_us")]
    assert timed and timed == [s for s in again["series"] if s["fom"] not in ("pack_us", "unpack_us")]
