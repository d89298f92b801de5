"""Checks of railyard on which a site sets ReFrame's own variables."""

import reframe as rfm
from reframe.core.builtins import run_after, run_before

from checks.halo import HaloCheck

#: RegressionMixin before ReFrame 4.9.
Plugin = getattr(rfm, "RegressionTestPlugin", rfm.RegressionMixin)


class SiteMixin(Plugin):
    """A site's check of the binding, at the end of the stage, as EESSI's is."""

    @run_before("run", always_last=True)
    def check_binding(self):  # type: ignore[no-untyped-def]
        self.prerun_cmds += [f"{self.job.launcher.run_command(self.job)} show-binding"]


class Small(HaloCheck):
    placements = ["plain"]
    torus = "gemini-2x2x2"
    launches = 2


@rfm.simple_test
class obeyed(Small):
    num_tasks_per_node = 2

    @run_after("setup")
    def add_options(self):  # type: ignore[no-untyped-def]
        self.job.launcher.options += ["--mca", "mpi_yield_when_idle", "1"]
        self.job.launcher.modifier = "perf stat"
        self.job.launcher.modifier_options = ["-o", "counted.txt"]


@rfm.simple_test
class named_tasks(Small):
    num_tasks = 32


@rfm.simple_test
class in_a_container(Small):
    @run_after("setup")
    def choose_image(self):  # type: ignore[no-untyped-def]
        self.container_platform = "Singularity"
        self.container_platform.image = "docker://site/image"


@rfm.simple_test
class seen_too_late(Small, SiteMixin):
    """The site's hook runs after that of `Placed`, which is no longer the last base."""
