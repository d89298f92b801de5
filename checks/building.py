"""Build the applications by Spack: an image or native programs, once per environment, before the checks that run them.

A check of an application has this as a fixture of the environment's scope; `-S build=image|native|none` chooses. It
does nothing where nothing is to be built. The builds themselves are containers/build-image applications and
containers/build-native. Both lock: of two sessions at once the second waits, and finds everything made.
"""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Any

import reframe as rfm
import reframe.utility.sanity as sn
import reframe.utility.typecheck as typ
from reframe.core.backends import getlauncher
from reframe.core.builtins import run_after, run_before, sanity_function, variable
from reframe.core.logging import getlogger

from railyard.applications import building
from railyard.applications.building import Build, Wish
from railyard.base.checkout import BUILD, CHECKOUT
from railyard.placed.mixin import plainly


def _words(kind: Build) -> list[str]:
    """Return the command that builds a kind, which runs in another folder than the checkout."""
    program, *arguments = building.COMMANDS[kind].split()
    return [str(CHECKOUT / program), *arguments]


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
        self.mpi = building.mpi_of(self.current_environ.features)
        self.spack = building.spack(self.current_partition.extras.get("spack", ""), os.environ)
        wish = Wish(
            build=self.build,
            image=self.image,
            software=self.software,
            programs_there=bool(self.programs) or building.view(self.mpi).is_dir(),
            image_there=building.image_file(self.mpi).is_file(),
        )
        kinds = (Build.NATIVE, Build.IMAGE) if self.mpi else ()
        self.wanted = [kind for kind in kinds if wish.needs(kind, self.spack)]
        commands = [[*_words(kind), *([str(self.spack)] if self.spack else [])] for kind in self.wanted]
        self.executable = " && ".join(map(shlex.join, commands)) or "true"
        paths = {name: shlex.quote(path) for name, path in building.whole_paths(os.environ).items()}
        self.env_vars = {"MPI": self.mpi, **paths} if self.wanted else {}

    @run_before("run")
    def name_logs(self) -> None:
        """Print where the progress of each build is."""
        if self.wanted and not self.is_dry_run():
            where = f"Spack {self.spack}" if self.spack else "no Spack"
            for kind in self.wanted:
                getlogger().info(f"[ BUILD    ] {kind} for {self.mpi} by {where}; progress: {self.log(kind)}")

    def log(self, kind: Build) -> Path:
        """Return the path of a build's log."""
        if kind is Build.NATIVE:
            return building.ENVIRONMENTS.absolute() / f"{self.mpi}.log"
        return BUILD / f"{building.image_file(self.mpi).name}.log"
