"""A site's test that only compiles."""

import reframe as rfm


@rfm.simple_test
class ring_build(rfm.CompileOnlyRegressionTest):
    valid_systems = ["*"]
    valid_prog_environs = ["+mpi"]
    build_system = "SingleSource"
    sourcepath = "ring.c"
