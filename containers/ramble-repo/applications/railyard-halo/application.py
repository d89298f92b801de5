"""Ramble's definition of railyard's halo exchange: figures in the words and units of `halo`'s own table."""

from ramble.appkit import *


class RailyardHalo(ExecutableApplication):
    """Nearest-neighbour exchange on a periodic process grid (railyard)"""

    name = "railyard-halo"
    tags("synthetic-benchmarks", "network-point-to-point", "mpi")

    software_spec("railyard-benchmarks", pkg_spec="railyard-benchmarks", package_manager="spack*")

    executable("exchange", "halo --grid {grid} --cells {cells} --variants {variants} --repeats {repeats}", use_mpi=True)
    workload("faces", executables=["exchange"])
    workload_group("all", workloads=["faces"])
    workload_variable(
        "grid", default="{n_ranks}x1", description="AxB[xC] with as many positions as ranks", workload_group="all"
    )
    workload_variable("cells", default="128", description="cells of a rank in each dimension", workload_group="all")
    workload_variable("variants", default="manual", description="ways to exchange the faces", workload_group="all")
    workload_variable("repeats", default="20", description="timed iterations", workload_group="all")

    for fom, unit in (("iteration_us", "us"), ("exchange_us", "us"), ("wait_us", "us"), ("bandwidth_gbyte_s", "GB/s")):
        figure_of_merit(
            fom, units=unit, group_name="median", fom_regex=rf"^{fom}\s+\S+\s+\d+\s+(?P<median>[0-9.e+-]+)\s"
        )
    success_criteria("verified", mode="string", match=r"every ghost cell verified", file="{log_file}")
