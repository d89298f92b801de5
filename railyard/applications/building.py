"""Decide what is built for the applications of a ReFrame session, by which Spack, and where the programs then are.

Models: the words of `-S build=...`, the places where containers/build-native and containers/build-image put what they
make, and the Spack that a site names. Leaves out the builds themselves, which are those two commands.
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

#: Where containers/build-native puts its environments; may be relative to where ReFrame was started.
ENVIRONMENTS = Path(os.environ.get("RAILYARD_ENVIRONMENTS", BUILD / "environments"))
#: Features of a ReFrame environment, each the name of an MPI that the builds know.
MPIS = ("openmpi5", "mpich", "openmpi")
#: Features whose programs are built as those of another MPI, of the same ABI.
BUILT_AS = {"cray-mpich": "mpich"}
#: Folders of the checkout in which Spack is looked for, if the site's configuration names none.
OWN_SPACKS = ("build/carried/spack", "build/tools/spack")
#: Variables of the builds that name a file or a folder.
PATHS = ("BASE", "BUILD_BASE", "LOCK", "MIRROR", "RAILYARD_ENVIRONMENTS", "SCOPE")


class Build(StrEnum):
    """The values of `-S build=...`: which build runs first."""

    IMAGE = "image"
    NATIVE = "native"
    NONE = "none"


#: The command that builds each kind, from the checkout.
COMMANDS: Mapping[Build, str] = {
    Build.IMAGE: "containers/build-image applications",
    Build.NATIVE: "containers/build-native",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """The `-S` variables of a session that decide its builds, and which programs exist already.

    `image` is the image that was named, `software` whose programs are to run, `programs_there` whether native programs
    were named or built, `image_there` whether the image of the session's MPI was built.
    """

    build: str
    image: str = ""
    software: Sequence[str] = ()
    programs_there: bool = False
    image_there: bool = False

    def needs(self, kind: Build, spack: Path | None) -> bool:
        """Return whether a build of this kind is to run; InputError for an unknown value of `build`.

        A build that `build` names always runs, and fails without a Spack. Otherwise it runs if the programs are missing
        and there is a Spack.
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
    """Return the builds' name of an environment's MPI, from its features; empty for an MPI that they do not know."""
    named = [BUILT_AS.get(name, name) for name in features]
    return next((name for name in MPIS if name in named), "")


def view(mpi: str) -> Path:
    """Return where the last native build for an MPI put its programs."""
    return ENVIRONMENTS.absolute() / (mpi or MPIS[-1]) / "view"


def image_file(mpi: str) -> Path:
    """Return where the image with an MPI is built."""
    suffix = "" if mpi in {"", "openmpi"} else f"-{mpi}"
    return BUILD / f"image/applications{suffix}.sif"


def spack(named: str, environ: Mapping[str, str]) -> Path | None:
    """Return Spack's folder: that of `extras: spack`, SPACK_ROOT, the checkout's own, or the PATH's."""
    for folder in (named, environ.get("SPACK_ROOT", "")):
        if folder:
            return Path(folder).expanduser().absolute()
    for name in OWN_SPACKS:
        if (CHECKOUT / name / "bin/spack").is_file():
            return CHECKOUT / name
    program = shutil.which("spack", path=environ.get("PATH"))
    return Path(program).resolve().parent.parent if program else None


def whole_paths(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the relative paths among the builds' variables as whole ones, because a build runs in another folder.

    Not to be called while a module is imported: ReFrame then is in the module's folder, not where it was started.
    """
    named = {name: path for name in PATHS if (path := environ.get(name)) and path != "none" and "://" not in path}
    return {name: str(Path(path).absolute()) for name, path in named.items() if path[0] != "/"}


def how(kind: Build, mpi: str) -> str:
    """Return the command that builds what is missing, for the reason of a skipped check."""
    which = "" if mpi in {"", "openmpi"} else f"MPI={mpi} "
    return f"`make spack`, then `{which}{COMMANDS[kind]}` or reframe with -S build={kind}"


def labels(folder: Path) -> dict[str, str]:
    """Return the labels of a native build, named as an image's; empty for programs of another origin."""
    file = folder.parent / "labels"
    lines = file.read_text().splitlines() if file.is_file() else []
    return {name: words for name, _, words in (line.partition(" ") for line in lines)}
