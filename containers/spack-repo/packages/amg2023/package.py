"""Spack's own recipe of AMG2023 with a pinned commit, and a program name that is not AMG's of 2013."""

from pathlib import Path

from spack.package import *

try:
    from spack_repo.builtin.packages.amg2023.package import Amg2023 as Builtin
except ImportError:  # Spack before 1.0
    from spack.pkg.builtin.amg2023 import Amg2023 as Builtin


class Amg2023(Builtin):
    """Algebraic multigrid by hypre: the benchmark of CORAL-2's successors; its program is `amg2023`."""

    version("2025.10.20", commit="6b1514a26022acb04c7fe73bded6c8f8335946ab")

    @run_after("install")
    def name_program(self):
        Path(self.prefix.bin.amg).rename(self.prefix.bin.amg2023)
