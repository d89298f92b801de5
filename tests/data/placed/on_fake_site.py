"""A check of railyard to which a site adds the options of its launcher, as every site does by a hook."""

import reframe as rfm
from reframe.core.builtins import run_after

from checks.halo import HaloCheck

PMI = {"site-openmpi": "pmix", "site-mpich": "pmi2"}


@rfm.simple_test
class site_halo(HaloCheck):
    placements = ["plain", "random:1", "plain/launcher"]
    launches = 1
    tags = {"smoke"}

    @run_after("setup")
    def add_options(self):  # type: ignore[no-untyped-def]
        self.job.launcher.options += [f"--mpi={PMI[self.current_environ.name]}"]
