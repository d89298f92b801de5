"""Bases of images and locks for each MPI: what Apptainer is asked for, and bases without that MPI (by stubs)."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from support.commands import CHECKOUT, executable, ran

RECORDING = """#!/bin/sh
echo "$*" >>"$RECORDED"
for word; do case $word in *.new.*) cat "$RECORDED.sif" >"$word" ;; esac; done
"""
#: An image without any content: the header of a SIF file, whose objects would begin at its end.
EMPTY_SIF = b"#!/usr/bin/env run-singularity\n".ljust(32, b"\0") + b"SIF_MAGIC\0" + b"01\0" + b"02\0"
EMPTY_SIF = EMPTY_SIF.ljust(96, b"\0") + struct.pack("<4q", 128, 0, 128, 0)


def run(tmp_path: Path, *command: object, **changes: str) -> subprocess.CompletedProcess[str]:
    (tmp_path / "recorded.sif").write_bytes(EMPTY_SIF)
    path = f"{tmp_path / 'stubs'}:{os.environ['PATH']}"
    return ran(*command, env={"PATH": path, "RECORDED": str(tmp_path / "recorded"), **changes})


@pytest.mark.parametrize(
    ("mpi", "files"),
    [
        ("openmpi", ["build.sif", "run.sif"]),
        ("openmpi5", ["build-openmpi5.sif", "run-openmpi5.sif"]),
        ("mpich", ["build-mpich.sif", "run-mpich.sif"]),
    ],
)
def test_carried_bases_have_the_chosen_mpi_and_the_names_that_builds_look_for(
    mpi: str, files: list[str], tmp_path: Path
) -> None:
    """Before, bases for MPICH were of Open MPI, and no build found them."""
    executable(tmp_path / "stubs" / "apptainer", RECORDING)
    folder = tmp_path / "carried"
    done = run(tmp_path, CHECKOUT / "containers/build-image", "bases", folder, MPI=mpi, BASE="docker://debian:12-slim")
    assert done.returncode == 0, done.stderr
    assert sorted(file.name for file in folder.iterdir()) == files
    assert [word for word in (tmp_path / "recorded").read_text().split() if word.startswith("SET=")] == [
        f"SET=run-{mpi}",
        f"SET=spack-{mpi}",
    ]
    logs = [(CHECKOUT / f"build/{name}.log").read_text() for name in files]
    assert all("==> apptainer build" in log for log in logs), "a log names the step that runs"


@pytest.mark.parametrize(
    ("packages", "version", "words"),
    [
        ("run-openmpi5", "4.1.4-3", "this base has Open MPI 4, which run-openmpi5 is not for"),
        ("spack-openmpi", "5.0.7-1", "this base has Open MPI 5, which spack-openmpi is not for"),
        ("run-openmpi5", "5.0.7-1", ""),
        ("run-openmpi", "4.1.4-3", ""),
        ("run-mpich", "4.1.4-3", ""),
    ],
)
def test_a_base_with_another_open_mpi_is_refused_in_one_line(
    packages: str, version: str, words: str, tmp_path: Path
) -> None:
    """An image of Open MPI 5 on Debian 12 had Open MPI 4.1, and its specs said otherwise."""
    stubs = tmp_path / "stubs"
    executable(stubs / "dpkg-query", "#!/bin/sh\nexit 1\n")
    executable(stubs / "apt-get", RECORDING)
    executable(stubs / "rm", "#!/bin/sh\n")
    executable(stubs / "apt-cache", f"#!/bin/sh\nprintf 'openmpi-bin:\\n  Candidate: {version}\\n'\n")
    done = run(tmp_path, CHECKOUT / "containers/steps", "packages", packages)
    installed = "install" in (tmp_path / "recorded").read_text()
    assert (done.returncode != 0) == bool(words) and installed == (not words)
    assert words in done.stderr and len(done.stderr.splitlines()) == bool(words)


def test_a_lock_for_another_system_is_solved_in_an_image_of_it(tmp_path: Path) -> None:
    stubs, spack, image = tmp_path / "stubs", tmp_path / "spack", tmp_path / "build-openmpi5.sif"
    executable(stubs / "apptainer", RECORDING)
    executable(spack / "bin/spack", "#!/bin/sh\necho 0.23.1\n")
    image.touch()
    done = run(tmp_path, CHECKOUT / "containers/build-native", "--lock", spack, MPI="openmpi5", IN=str(image))
    assert done.returncode == 0, done.stderr
    words = (tmp_path / "recorded").read_text().split()
    assert words[-4:] == [str(image), "containers/build-native", "--lock", str(spack)]
    assert f"{CHECKOUT},{spack}" in words
    missing = run(tmp_path, CHECKOUT / "containers/build-native", "--lock", spack, MPI="openmpi5", IN="/no/image.sif")
    assert missing.returncode and "IN names no image: /no/image.sif is not there" in missing.stderr


def test_the_solver_for_an_image_is_fetched_outside_of_it_for_its_python(tmp_path: Path) -> None:
    """Before, pip ran in the image, which lacked the machine's certificates; Spack then built clingo, and failed."""
    stubs, spack, image = tmp_path / "stubs", tmp_path / "spack", tmp_path / "build.sif"
    answer = 'case "$*" in *version_info*) echo 9.99 ;; esac\n'
    executable(stubs / "apptainer", RECORDING + answer)
    executable(stubs / "python3", '#!/bin/sh\necho "$*" >>"$RECORDED"\n')
    executable(spack / "bin/spack", "#!/bin/sh\necho 0.23.1\n")
    image.touch()
    done = run(tmp_path, CHECKOUT / "containers/build-native", "--lock", spack, MPI="openmpi5", IN=str(image))
    assert done.returncode == 0, done.stderr
    (pip,) = [line for line in (tmp_path / "recorded").read_text().splitlines() if "-m pip" in line]
    assert "--only-binary :all: --python-version 9.99" in pip and f"--target {CHECKOUT}/build/tools/clingo-9.99" in pip


@pytest.mark.mpi
def test_carry_fills_the_folder_that_was_named_and_leaves_the_mirror_alone(tmp_path: Path) -> None:
    """Before, all of it went into the folder of sources, because two files of shell share variables."""
    stubs, spack, mirror = tmp_path / "stubs", tmp_path / "spack", tmp_path / "sources"
    mirror.mkdir()
    executable(spack / "bin/spack", "#!/bin/sh\necho 0.23.1\n")
    real = shutil.which("python3")
    executable(
        stubs / "python3",
        f'#!/bin/sh\n[ "$1 $2" = "-m pip" ] && {{ echo "$*" >>"$RECORDED"; exit; }}\nexec {real} "$@"\n',
    )
    folder = tmp_path / "carried"
    elsewhere = str(tmp_path / "environments")  # where no build of the checkout is waited for
    lock = CHECKOUT / "containers/spack-repo/locks/debian12-x86_64-openmpi.lock"  # this Spack solves nothing
    changes = {"MIRROR": str(mirror), "BASES": "no", "PACKAGES": "lulesh", "RAILYARD_ENVIRONMENTS": elsewhere}
    changes["LOCK"] = str(lock)
    done = run(tmp_path, CHECKOUT / "containers/carry", folder, spack, **changes)
    assert done.returncode == 0, done.stderr
    assert {"railyard.bundle", "spack", "mirror"} <= {file.name for file in folder.iterdir()}
    assert list(mirror.iterdir()) == []
    assert f"--dest {folder}/wheels" in (tmp_path / "recorded").read_text()
    assert (folder / "spack/bin/spack").is_file() and (folder / "spack/COMMIT").read_text() == "0.23.1\n"


@pytest.mark.parametrize(
    ("mpi", "here", "wrong"),
    [
        ("openmpi5", "4.1.4", "build-native: MPI=openmpi5: the MPI here is openmpi@4.1.4; load the module"),
        ("openmpi", "5.0.7", "build-native: MPI=openmpi: the MPI here is openmpi@5.0.7; load the module"),
        ("openmpi5", "5.0.7", ""),
        ("openmpi", "4.1.4", ""),
    ],
)
def test_programs_for_another_open_mpi_are_refused_and_no_lock_at_all_can_be_requested(
    mpi: str, here: str, wrong: str, tmp_path: Path
) -> None:
    """Before, MPI=openmpi5 built programs with Open MPI 4.1, and LOCK=none was taken for the name of a file."""
    stubs, spack = tmp_path / "stubs", tmp_path / "spack"
    for name in ("mpirun", "mpiexec", "mpicc", "mpicxx", "mpif77", "mpif90", "mpifort"):
        executable(stubs / f"{name}.openmpi", f"#!/bin/sh\necho 'mpirun (Open MPI) {here}'\n")
    executable(spack / "bin/spack", "#!/bin/sh\necho 0.23.1\n")
    changes = {"MPI": mpi, "LOCK": "none", "RAILYARD_ENVIRONMENTS": str(tmp_path / "environments")}
    done = run(tmp_path, CHECKOUT / "containers/build-native", "--dry-run", spack, **changes)
    assert done.returncode == bool(wrong) and wrong in done.stderr, done.stderr
    assert len(done.stderr.splitlines()) == 1 if wrong else f"MPI {mpi}, lock to be solved" in done.stdout
