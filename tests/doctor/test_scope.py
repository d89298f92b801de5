"""`railyard doctor --spack-scope`: the scope that Spack takes, for MPIs of the PATH and of a Cray's module."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import yaml
from support.commands import executable

from railyard.base.checkout import CHECKOUT
from railyard.base.errors import InputError, RunError
from railyard.doctor import scope
from railyard.doctor.inventory import Mpi

WRAPPERS = ("mpicc", "mpicxx", "mpif77", "mpif90", "mpifort")


def install(folder: Path, *, version: str = "") -> Path:
    """Compiler wrappers, and with a version the words that mpirun prints of it."""
    (folder / "bin").mkdir(parents=True)
    for name in (*WRAPPERS, *(["mpirun", "mpiexec"] if version else [])):
        program = folder / "bin" / name
        executable(program, f"#!/bin/sh\necho '{version}'\n")
    return folder


def external(folder: Path, name: str) -> dict[str, str]:
    """The one external of a package in the scope."""
    packages = yaml.safe_load((folder / "packages.yaml").read_text())["packages"]
    assert packages["mpi"] == {"require": name} and packages[name]["buildable"] is False
    (found,) = packages[name]["externals"]
    return dict(found)


@pytest.mark.parametrize(
    ("mpi", "words", "external_is"),
    [
        ("openmpi", "mpirun.openmpi (OpenRTE) 4.1.4", "openmpi@4.1.4"),
        ("openmpi5", "mpirun (Open MPI) 5.0.7", "openmpi@5.0.7"),
        ("mpich", "    Version:                                 4.0.2", "mpich@4.0.2"),
    ],
)
def test_the_mpi_on_the_path_becomes_an_external(
    *, mpi: str, words: str, external_is: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Debian's `mpirun` calls itself mpirun.openmpi, which was not understood before."""
    family, _, version = external_is.partition("@")
    site = install(tmp_path / "site", version=words)
    for name in (*WRAPPERS, "mpirun", "mpiexec"):  # before a wrapper of this machine
        (site / "bin" / f"{name}.{family}").symlink_to(name)
    monkeypatch.setenv("PATH", f"{site}/bin:{os.environ['PATH']}")
    said = scope.write(tmp_path / "scope", [Mpi(name=mpi, version=version, compiler="mpicc")])
    assert said.endswith(f"run: SCOPE={tmp_path}/scope MPI={mpi} containers/build-native")
    monkeypatch.chdir(tmp_path)
    command = scope.write(Path("scope"), [Mpi(name=mpi, version=version, compiler="mpicc")]).split()[-1]
    assert (tmp_path / command).resolve() == CHECKOUT / "containers/build-native"
    found = external(tmp_path / "scope", family)
    assert found == {"spec": external_is, "prefix": f"{tmp_path}/scope/prefix"}
    assert (tmp_path / "scope/prefix/bin/mpicc").resolve() == site / "bin/mpicc"


def test_cray_mpich_is_where_its_module_is_and_needs_no_mpirun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cray = [Mpi(name="cray-mpich", version="8.1.28", compiler="cc")]
    monkeypatch.delenv("CRAY_MPICH_DIR", raising=False)
    monkeypatch.setenv("CRAY_MPICH_VERSION", "8.1.28")
    with pytest.raises(RunError, match=r"run: module load cray-mpich$"):
        scope.write(tmp_path / "scope", cray)
    assert not (tmp_path / "scope").exists()
    monkeypatch.setenv("CRAY_MPICH_DIR", str(install(tmp_path / "ofi/gnu/9.1")))
    assert "MPI=mpich containers/build-native" in scope.write(tmp_path / "scope", cray)
    found = external(tmp_path / "scope", "cray-mpich")
    assert found == {"spec": "cray-mpich@8.1.28", "prefix": f"{tmp_path}/ofi/gnu/9.1"}


def test_an_mpi_that_the_builds_do_not_know_is_named(tmp_path: Path) -> None:
    intel = Mpi(name="intel-mpi", version="2021.14", compiler="mpicc")
    with pytest.raises(
        InputError, match=r"--spack-scope: intel-mpi 2021.14 is here; expected one of openmpi"
    ):
        scope.write(tmp_path / "scope", [intel])
    with pytest.raises(InputError, match="no MPI is here"):
        scope.write(tmp_path / "scope", [])
