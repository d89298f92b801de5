"""Spack's recipe of the railyard command that reads, built from the last commit of the checkout around this file."""

from contextlib import suppress
from pathlib import Path

from spack.package import *

with suppress(ImportError):  # Spack 1.x has the build systems with its recipes
    from spack_repo.builtin.build_systems.python import PythonPackage


class Railyard(PythonPackage):
    """Records, reports, comparisons and tenders of interconnect benchmarks; the benchmarks are a variant."""

    git = Path(__file__).resolve().parents[4].as_uri()

    license("BSD-3-Clause")

    version("main", branch="main")

    variant("benchmarks", default=False, description="The MPI benchmarks, too")

    depends_on("python@3.11:", type=("build", "run"))
    depends_on("py-setuptools@77:", type="build")
    with default_args(type=("build", "run")):
        depends_on("py-click@8.1:")
        depends_on("py-jinja2@3.1:")
        depends_on("py-jsonschema@4:")
        depends_on("py-markupsafe@2:")
        depends_on("py-matplotlib@3.9:")
        depends_on("py-numpy@2:")
        depends_on("py-msgspec@0.20:")
        depends_on("py-orjson@3.10:")
        depends_on("py-pyyaml@6:")
        depends_on("py-rich@13:")
        depends_on("py-scipy@1.14:")
    depends_on("railyard-benchmarks", type="run", when="+benchmarks")
