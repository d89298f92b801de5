"""Build the applications by Spack: an image or native programs, once per environment, before the checks that run them.

A check of an application has this as a fixture of the environment's scope; `-S build=image|native|none` chooses. It
does nothing where nothing is to be built. The builds themselves are containers/build-image applications and
containers/build-native. Both lock: of two sessions at once the second waits, and finds everything made. Models: the
words of `-S build=...`, the places where the two commands put what they make, and the Spack that a site names.
"""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import reframe as rfm
import reframe.utility.sanity as sn
import reframe.utility.typecheck as typ
from reframe.core.backends import getlauncher
from reframe.core.builtins import run_after, run_before, sanity_function, variable
from reframe.core.logging import getlogger

from railyard.base import sysfs
from railyard.base.checkout import BUILD, CHECKOUT
from railyard.base.errors import InputError
from railyard.placed.mixin import plainly
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
#: The command that builds programs of each kind, from the checkout.
COMMANDS: Mapping[Software, str] = {
    Software.IMAGE: "containers/build-image applications",
    Software.NATIVE: "containers/build-native",
}
#: The value of `-S build=...` with which nothing is built; the others are the kinds.
NOTHING = "none"


def kinds_to_build(
    build: str, spack: Path | None, *, image: str = "", software: Sequence[str] = (), there: Collection[Software] = ()
) -> list[Software]:
    """Return what a session builds, by its `-S` variables; InputError for an unknown value of `build`.

    `image` is the image that was named, and `software` whose programs are to run. `there` has NATIVE if native programs
    were named or built, and IMAGE if the image of the session's MPI was built. A build that `build` names always runs,
    and fails without a Spack. Otherwise it runs if the programs are missing and there is a Spack.
    """
    if build not in {"", NOTHING, *COMMANDS}:
        raise InputError("build", "", build, ", ".join([*COMMANDS, NOTHING]))
    if build == NOTHING:
        return []
    usual = Software.IMAGE if image or build == Software.IMAGE else Software.NATIVE
    kinds = [Software.NATIVE] if image else [Software.NATIVE, Software.IMAGE]
    missing = [kind for kind in kinds if spack and kind in (software or [usual]) and kind not in there]
    return [kind for kind in kinds if kind == build or kind in missing]


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


def labels(folder: Path) -> dict[str, str]:
    """Return the labels of a native build, named as an image's; empty for programs of another origin."""
    lines = sysfs.text(folder.parent / "labels").splitlines()
    return {name: words for name, _, words in (line.partition(" ") for line in lines)}


def last_error(test: Any) -> str:
    """Return the last line of a job's standard error."""
    lines = Path(test.stagedir, str(test.stderr)).read_text().strip().splitlines() or ["no error message"]
    return lines[-1]


class BuildHere(rfm.RunOnlyRegressionTest):
    """A command that builds something on this machine, without launcher and without any virtual torus."""

    sourcesdir = None
    local = True
    #: Words before the last error message of a build that failed.
    failed_text = ""

    @run_before("run")
    def stay_on_this_machine(self) -> None:
        """Run the job without launcher and without a virtual torus, which reframe.yml would start."""
        self.job.launcher = getlauncher("local")()
        Path(self.stagedir, "without-torus").touch()

    @sanity_function
    def it_is_made(self) -> Any:
        """Fail with the last line of a failed build: the package, the first error, and the log."""
        if self.is_dry_run():
            return True
        return sn.assert_eq(self.job.exitcode, 0, msg=f"{self.failed_text}{last_error(self)}")


class applications_build(BuildHere):
    """Builds by Spack on this machine: native programs and an image, or nothing."""

    #: What to build: image, native or none; empty for what is missing, where a Spack is configured.
    build = variable(str, value="")

    #: The variables of the checks; a program or image that they name is not built.
    image = variable(str, value="")
    programs = variable(str, value=os.environ.get("RAILYARD_PROGRAMS", ""))
    software = variable(typ.List[str], value=[])

    @run_after("setup")
    @plainly()
    def decide(self) -> None:
        """Choose the build's command, or a command that does nothing."""
        self.mpi = mpi_of(self.current_environ.features)
        self.spack = spack(self.current_partition.extras.get("spack", ""), os.environ)
        there = [Software.NATIVE] if self.programs or view(self.mpi).is_dir() else []
        there += [Software.IMAGE] if image_file(self.mpi).is_file() else []
        wishes = {"image": self.image, "software": self.software, "there": there}
        self.wanted = kinds_to_build(self.build, self.spack, **wishes) if self.mpi else []
        words = {kind: [*COMMANDS[kind].split(), *([str(self.spack)] if self.spack else [])] for kind in self.wanted}
        # A command runs in another folder than the checkout.
        commands = [[str(CHECKOUT / program), *arguments] for program, *arguments in words.values()]
        self.executable = " && ".join(map(shlex.join, commands)) or "true"
        paths = {name: shlex.quote(path) for name, path in whole_paths(os.environ).items()}
        self.env_vars = {"MPI": self.mpi, **paths} if self.wanted else {}

    @run_before("run")
    def name_logs(self) -> None:
        """Print where the progress of each build is."""
        if self.wanted and not self.is_dry_run():
            where = f"Spack {self.spack}" if self.spack else "no Spack"
            for kind in self.wanted:
                getlogger().info(f"[ BUILD    ] {kind} for {self.mpi} by {where}; progress: {self.log(kind)}")

    def log(self, kind: Software) -> Path:
        """Return the path of a build's log."""
        if kind is Software.NATIVE:
            return ENVIRONMENTS.absolute() / f"{self.mpi}.log"
        return BUILD / f"{image_file(self.mpi).name}.log"
