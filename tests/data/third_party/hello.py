"""What a site's own check looks like: it knows no torus; ReFrame launches it with the partition's mpirun."""

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import sanity_function


@rfm.simple_test
class hello(rfm.RunOnlyRegressionTest):
    """Two ranks on two nodes say where they are."""

    valid_systems = ["*"]
    valid_prog_environs = ["+mpi"]
    num_tasks = 2
    num_tasks_per_node = 1
    executable = "hostname"

    @sanity_function
    def on_two_nodes(self):  # type: ignore[no-untyped-def]
        return sn.assert_eq(sn.count(sn.findall(r"^n\d+-\d+-\d+$", self.stdout)), 2)
