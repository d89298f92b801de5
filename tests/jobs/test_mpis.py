"""One job that launches a program under several MPIs: its script, and which MPIs it takes."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from support.commands import executable

from railyard.base.errors import InputError
from railyard.jobs import mpis
from railyard.jobs.mpis import INSTALLED, Mpi


def present(name: str, program: str = "true") -> Mpi:
    """An MPI of that name, whose launcher is a program of every machine."""
    one = next(mpi for mpi in INSTALLED if mpi.environment_name == name)
    return replace(one, program=program, environment={"WHOSE": name})


def test_each_round_launches_every_mpi_once_in_its_own_folder_and_with_its_own_variables(
    tmp_path: Path,
) -> None:
    """The script is run: each line writes what it sees. Rounds have different orders, so drift affects all alike."""
    compared = [present("openmpi4"), present("openmpi5"), present("mpich5")]
    names = [mpi.environment_name for mpi in compared]
    for mpi in compared:
        mpis.write_launcher(tmp_path / mpi.environment_name, mpi)
    lines = {name: [[f'echo {k} $WHOSE "${{PWD##*/}}" >> ../seen'] for k in range(6)] for name in names}
    subprocess.run(["sh", "-c", "\n".join(mpis.script(lines, compared, seed=1))], cwd=tmp_path, check=True)
    seen = [line.split() for line in (tmp_path / "seen").read_text().splitlines()]
    assert all(whose == folder for _, whose, folder in seen)
    rounds = [seen[k : k + 3] for k in range(0, 18, 3)]
    assert [{number for number, *_ in one} for one in rounds] == [{str(k)} for k in range(6)]
    assert all({whose for _, whose, _ in one} == set(names) for one in rounds)
    assert len({tuple(whose for _, whose, _ in one) for one in rounds}) > 1


def test_a_launchs_mpirun_is_that_of_its_mpi_on_the_jobs_torus(tmp_path: Path) -> None:
    mpi = present("openmpi5")
    mpis.write_launcher(tmp_path, mpi)
    executable(tmp_path / "railyard", '#!/bin/sh\necho "$@"\n')
    done = subprocess.run(
        [str(tmp_path / "bin/mpirun"), "-np", "8", "halo"],
        env={"PATH": f"{tmp_path}:/usr/bin:/bin", "RAILYARD_TORUS": "job7"},
        capture_output=True,
        text=True,
        check=True,
    )
    words = done.stdout.split()
    assert words[:3] == ["torus", "launch", "job7"] and words[3].endswith("/true")
    assert words[4:] == ["--", "-np", "8", "halo"]


def test_mpis_are_chosen_by_name_and_what_is_not_here_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    absent = replace(present("mpich5"), program="/nowhere/mpiexec")
    monkeypatch.setattr(mpis, "INSTALLED", (absent, present("mpich4")))
    here, why = mpis.chosen("halo_mpis", [])
    assert here == [] and why == ["no mpiexec of mpich 5; run: make mpis"]
    with pytest.raises(InputError, match="halo_mpis: mpis: 'lam' is not valid; expected mpich5, mpich4"):
        mpis.chosen("halo_mpis", ["lam"])
