"""Configure ReFrame for a made-up site: two clusters that want an account, a launcher of its own, two MPIs, modules.

The folder SITE has the site's programs, and CHECKOUT is railyard's.
"""

import os

from reframe.core.backends import register_launcher
from reframe.core.launchers.mpi import SrunLauncher

SITE, CHECKOUT = os.environ["SITE"], os.environ["CHECKOUT"]


@register_launcher("site_run")
class SiteLauncher(SrunLauncher):
    """The site's wrapper of srun."""

    def command(self, job):  # type: ignore[no-untyped-def]
        return [f"{SITE}/site-run", f"--ntasks={job.num_tasks}"]


def partition(name, environs, *constraint, launcher="srun", **extras):  # type: ignore[no-untyped-def]
    return {
        "name": name,
        "scheduler": "squeue",
        "launcher": launcher,
        "access": ["--account=proj", *constraint],
        "environs": environs,
        "max_jobs": 1,
        "features": ["torus"],
        "extras": {"origin": "measured", "nodes": 4, **extras},
        "prepare_cmds": [
            f'export PATH="{CHECKOUT}/.venv/bin:$PATH"',
            'module() { export LOADEDMODULES="$LOADEDMODULES${LOADEDMODULES:+:}$2"; }',
        ],
    }


def environment(mpi):  # type: ignore[no-untyped-def]
    return {
        "name": f"site-{mpi}",
        "features": ["mpi", mpi],
        "modules": [f"{mpi}/site"],
        "env_vars": [["PATH", f'"{CHECKOUT}/build/benchmarks-{mpi}/bin:$PATH"']],
    }


BOTH = ["site-openmpi", "site-mpich"]
cpu, gpu = partition("cpu", BOTH), partition("gpu", BOTH[:1])
batch = partition("batch", BOTH, "-C hbm", launcher="site_run", launch="srun")
site_configuration = {
    "systems": [
        {"name": name, "hostnames": [f"^{name}$"], "modules_system": "lmod", "partitions": partitions}
        for name, partitions in {"alpha": [cpu, gpu], "beta": [batch]}.items()
    ],
    "environments": [environment("openmpi"), environment("mpich")],
    "modes": [{"name": "quick", "options": ["--tag=smoke", "--maintainer=railyard"]}],
    "general": [{"purge_environment": False, "use_login_shell": False, "check_search_recursive": True}],
}
