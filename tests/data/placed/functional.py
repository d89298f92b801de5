"""A functional test of a site: a sanity function alone, in a file that puts its own folder first for imports."""

import sys

sys.path.insert(0, "/nowhere")

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import sanity_function

import railyard


@rfm.simple_test
class placed_functional(rfm.RegressionTest, railyard.Placed):
    valid_systems = ["*"]
    valid_prog_environs = ["+mpi"]
    build_system = "SingleSource"
    sourcepath = "ring.c"
    num_tasks = 2
    num_tasks_per_node = 1
    executable_opts = ["3"]
    launches = 1
    placements = ["plain"]
    nics = ["library-default"]

    @sanity_function
    def right_data(self):  # type: ignore[no-untyped-def]
        return sn.assert_found(r"^ring of 2: Pass", self.stdout)
