"""Decide what is built for the applications of a ReFrame session, by which Spack, and where the programs then are.

Models: the words of `-S build=...`, the places where containers/build-native and containers/build-spack-image put what
they make, and the Spack that a site names. Leaves out the builds themselves, which are those two commands.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from railyard.base.checkout import BUILD, CHECKOUT
from railyard.base.errors import InputError
from railyard.records.record import Software

#: Where containers/build-native puts its environments.
ENVIRONMENTS = Path(os.environ.get("RAILYARD_ENVIRONMENTS", BUILD / "environments"))
#: Features of a ReFrame environment, each the name of an MPI that the builds know.
MPIS = ("openmpi5", "mpich", "openmpi")
#: Features whose programs are built as those of another MPI, of the same ABI.
BUILT_AS = {"cray-mpich": "mpich"}
#: Folders below the checkout where a Spack is looked for, after the site's own words.
OWN_SPACKS = ("build/carried/spack", "build/tools/spack")


class Build(StrEnum):
    """What `-S build=...` asks for."""

    IMAGE = "image"
    NATIVE = "native"
    NONE = "none"


#: The command of each kind.
COMMANDS: Mapping[Build, Path] = {
    Build.IMAGE: CHECKOUT / "containers/build-spack-image",
    Build.NATIVE: CHECKOUT / "containers/build-native",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What a session asks of its builds: its `-S` variables, and what is there already.

    `image` is the image that was named, `software` whose programs are to run, `programs_there` whether native programs
    were named or built, `image_there` whether the image of the session's MPI was built.
    """

    build: str
    image: str = ""
    software: Sequence[str] = ()
    programs_there: bool = False
    image_there: bool = False

    def needs(self, kind: Build, spack: Path | None) -> bool:
        """Return whether a build of that kind is to run; InputError for a word that is none.

        Asked for by name it always runs, and fails where there is no Spack. Otherwise it runs where the programs are
        missing and there is a Spack.
        """
        if self.build and self.build not in set(Build):
            raise InputError("build", "", self.build, ", ".join(Build))
        if self.build == Build.NONE or (kind is Build.IMAGE and self.image):
            return False
        return self.build == kind or (self._lacks(kind) and spack is not None)

    def _lacks(self, kind: Build) -> bool:
        runs_image = bool(self.image) or self.build == Build.IMAGE
        usual = Software.IMAGE if runs_image else Software.NATIVE
        runs = self.software or [usual]
        if kind is Build.IMAGE:
            return Software.IMAGE in runs and not self.image_there
        return Software.NATIVE in runs and not self.programs_there


def mpi_of(features: Sequence[str]) -> str:
    """The MPI of a ReFrame environment, as the builds name it; empty for one that they do not know."""
    named = [BUILT_AS.get(name, name) for name in features]
    return next((name for name in MPIS if name in named), "")


def view(mpi: str) -> Path:
    """Return where the last native build for an MPI put its programs."""
    return ENVIRONMENTS / (mpi or MPIS[-1]) / "view"


def image_file(mpi: str) -> Path:
    """Return where the image with an MPI is built."""
    suffix = "" if mpi in {"", "openmpi"} else f"-{mpi}"
    return BUILD / f"image/applications{suffix}.sif"


def spack(named: str, environ: Mapping[str, str]) -> Path | None:
    """The checkout of Spack: of the partition's `extras: spack`, SPACK_ROOT, the checkout's own, or the PATH."""
    for folder in (named, environ.get("SPACK_ROOT", "")):
        if folder:
            return Path(folder).expanduser()
    for each in OWN_SPACKS:
        if (CHECKOUT / each / "bin/spack").is_file():
            return CHECKOUT / each
    program = shutil.which("spack", path=environ.get("PATH"))
    return Path(program).resolve().parent.parent if program else None


def how(kind: Build, mpi: str) -> str:
    """The words of a skip line: the command that builds what is missing."""
    which = "" if mpi in {"", "openmpi"} else f"MPI={mpi} "
    return f"`make spack`, then `{which}containers/{COMMANDS[kind].name}` or reframe with -S build={kind}"


def labels(folder: Path) -> dict[str, str]:
    """What a native build says of itself, by the names of an image's labels; empty for programs of another origin."""
    file = folder.parent / "labels"
    lines = file.read_text().splitlines() if file.is_file() else []
    return {name: words for name, _, words in (line.partition(" ") for line in lines)}
