"""Tests as sites write them, of both of ReFrame's forms, with `railyard.Placed` as the only change."""

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import performance_function, run_after, run_before, sanity_function

import railyard


class site_ring(rfm.RegressionTest):
    """A site's own: it builds, names tasks, adds an option to its launcher, and reads what the program prints."""

    valid_systems = ["*"]
    valid_prog_environs = ["+mpi"]
    build_system = "SingleSource"
    sourcepath = "ring.c"
    num_tasks = 4
    num_tasks_per_node = 1
    executable_opts = ["3"]
    reference = {"*": {"rate": (1e-6, -0.5, None, "MB/s")}}

    @run_after("setup")
    def add_options(self):  # type: ignore[no-untyped-def]
        self.job.launcher.options += ["--mca", "mpi_show_mca_params_file", '"$PWD/shown"']

    @sanity_function
    def right_data(self):  # type: ignore[no-untyped-def]
        return sn.assert_found(rf"^ring of {self.num_tasks}: Pass", self.stdout)

    @performance_function("MB/s")
    def rate(self):  # type: ignore[no-untyped-def]
        return sn.extractsingle(r"^(\S+) MB/s", self.stdout, 1, float)

    @performance_function("us")
    def turn(self):  # type: ignore[no-untyped-def]
        return sn.extractsingle(r"^turn (\S+) us", "rate.txt", 1, float)


@rfm.simple_test
class placed_ring(site_ring, railyard.Placed):
    launches = 1
    nics = ["library-default", "nic-0"]


@rfm.simple_test
class placed_patterns(rfm.RunOnlyRegressionTest, railyard.Placed):
    """The older form: patterns that hooks set, a shell's words in the options, no tasks per node."""

    valid_systems = ["*"]
    valid_prog_environs = ["+mpi"]
    sourcesdir = None
    num_tasks = 2
    executable = "ring-of-a-site"
    executable_opts = ['"$TURNS"']
    env_vars = {"TURNS": 2}
    launches = 1
    placements = ["plain", "plain@random:1"]

    @run_before("sanity")
    def set_sanity_patterns(self):  # type: ignore[no-untyped-def]
        self.sanity_patterns = sn.assert_found("Pass", self.stdout)

    @run_before("performance")
    def set_perf_patterns(self):  # type: ignore[no-untyped-def]
        self.perf_patterns = {"rate": sn.extractsingle(r"^(\S+) MB/s", self.stdout, 1, float)}
