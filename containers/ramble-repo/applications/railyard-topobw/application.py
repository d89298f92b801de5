"""Ramble's definition of railyard's test of every link: its verdict, and the lowest and highest rate of a dimension."""

from ramble.appkit import *


class RailyardTopobw(ExecutableApplication):
    """Rate of every link between neighbouring routers, and a verdict on each (railyard)"""

    name = "railyard-topobw"
    tags("synthetic-benchmarks", "network-point-to-point", "mpi")

    software_spec("railyard-benchmarks", pkg_spec="railyard-benchmarks", package_manager="spack*")

    executable("links", "topobw --coordinates {coordinates} --size {size} --routes off", use_mpi=True)
    workload("all-links", executables=["links"])
    workload_variable(
        "coordinates", default="coordinates.txt", description="file of `railyard coordinates`", workloads=["all-links"]
    )
    workload_variable("size", default="1MiB", description="bytes of a message", workloads=["all-links"])

    figure_of_merit("verdict", units="", group_name="verdict", fom_regex=r"^verdict: (?P<verdict>[^;]+)")
    figure_of_merit_context("dimension", regex=r"^(?P<name>[A-Z])\s+links ", output_format="dimension {name}")
    for rate in ("min", "max", "avg"):
        figure_of_merit(
            rate,
            units="GB/s",
            group_name="rate",
            contexts=["dimension"],
            fom_regex=rf"^[A-Z]\s+links .*\b{rate} (?P<rate>[0-9.e+-]+)",
        )
    success_criteria("judged", mode="string", match=r"^verdict: (rates )?sound", file="{log_file}")
