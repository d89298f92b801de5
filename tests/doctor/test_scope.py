"""`containers/host-mpi scope`: the configuration that Spack reads, for MPIs of the PATH and of a Cray's module."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
import yaml
from support.commands import program, ran

from railyard.base.checkout import CHECKOUT

WRAPPERS = ("mpicc", "mpicxx", "mpif77", "mpif90", "mpifort")


def install(folder: Path, *, version: str = "") -> Path:
    """Compiler wrappers, and with a version the words that mpirun prints of it."""
    (folder / "bin").mkdir(parents=True)
    for name in (*WRAPPERS, *(["mpirun", "mpiexec"] if version else [])):
        program(folder / "bin", name, f"echo '{version}'")
    return folder


def host_mpi(folder: Path, family: str) -> subprocess.CompletedProcess[str]:
    """Write the scope of an MPI that the PATH or a module has."""
    return ran(CHECKOUT / "containers/host-mpi", "scope", folder, family)


def external(folder: Path, name: str) -> dict[str, str]:
    """The one external of a package in the scope."""
    packages = yaml.safe_load((folder / "packages.yaml").read_text())["packages"]
    assert packages["mpi"] == {"require": name} and packages[name]["buildable"] is False
    (found,) = packages[name]["externals"]
    return dict(found)


@pytest.mark.parametrize(
    ("words", "external_is"),
    [
        ("mpirun.openmpi (OpenRTE) 4.1.4", "openmpi@4.1.4"),
        ("mpirun (Open MPI) 5.0.7", "openmpi@5.0.7"),
        ("    Version:                                 4.0.2", "mpich@4.0.2"),
    ],
)
def test_the_mpi_on_the_path_becomes_an_external(
    *, words: str, external_is: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Debian's `mpirun` calls itself mpirun.openmpi, which was not understood before."""
    family = external_is.partition("@")[0]
    site = install(tmp_path / "site", version=words)
    for name in (*WRAPPERS, "mpirun", "mpiexec"):  # before a wrapper of this machine
        (site / "bin" / f"{name}.{family}").symlink_to(name)
    monkeypatch.setenv("PATH", f"{site}/bin:{os.environ['PATH']}")
    assert host_mpi(tmp_path / "scope", family).returncode == 0
    found = external(tmp_path / "scope", family)
    assert found == {"spec": external_is, "prefix": f"{tmp_path}/scope/prefix"}
    assert (tmp_path / "scope/prefix/bin/mpicc").resolve() == site / "bin/mpicc"


def test_cray_mpich_is_where_its_module_is_and_needs_no_mpirun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CRAY_MPICH_DIR", raising=False)
    monkeypatch.setenv("CRAY_MPICH_VERSION", "8.1.28")
    refused = host_mpi(tmp_path / "scope", "cray-mpich")
    assert refused.returncode == 1 and refused.stderr.endswith("run: module load cray-mpich\n")
    assert not (tmp_path / "scope").exists()
    monkeypatch.setenv("CRAY_MPICH_DIR", str(install(tmp_path / "ofi/gnu/9.1")))
    assert host_mpi(tmp_path / "scope", "cray-mpich").returncode == 0
    found = external(tmp_path / "scope", "cray-mpich")
    assert found == {"spec": "cray-mpich@8.1.28", "prefix": f"{tmp_path}/ofi/gnu/9.1"}
