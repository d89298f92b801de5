"""Measure the cost of a container: the same halo exchange natively and from railyard's own image, in one job.

The image is a fixture of the session: `containers/build-image benchmarks` builds it unless the file was
built from these sources. Any other check does the same with `-S software=native,image -S image=FILE.sif`.
"""

from __future__ import annotations

from pathlib import Path

import reframe as rfm
from reframe.core.builtins import fixture, run_after, variable

from checks.building import BuildHere
from checks.halo import HaloCheck
from railyard.base.checkout import CHECKOUT
from railyard.records.image_engines import apptainer


class railyard_image(BuildHere):
    """The image of railyard's benchmarks, built by this machine's own Apptainer."""

    valid_systems = ["+torus"]
    valid_prog_environs = ["+mpi"]
    failed_text = "no image: "
    executable = str(CHECKOUT / "containers/build-image")

    #: The file to build.
    #: :default: ``build/image/railyard.sif`` in the checkout
    file = variable(str, value=str(CHECKOUT / "build/image/railyard.sif"))

    @run_after("setup")
    def need_apptainer(self) -> None:
        if apptainer.program() is None:
            self.skip(apptainer.missing(Path(self.file)))
        self.executable_opts = ["benchmarks", self.file]


class OverheadCheck(HaloCheck):
    """Native and image in turn, in random order within each round; the figure of merit is the change of each pair."""

    descr = "Halo exchange natively and from railyard's image, in one job"
    built = fixture(railyard_image, scope="environment")
    software = ["native", "image"]
    placements = ["cart-create"]

    def _image_file(self) -> str:
        return self.image or self.built.file


@rfm.simple_test
class image_overhead(OverheadCheck):
    """Native and image in pairs, enough for a 95 % interval."""

    tags = {"image"}
    launches = 10


@rfm.simple_test
class image_smoke(OverheadCheck):
    """Smoke test: runs everything in seconds, with too few launches for a result."""

    tags = {"image"}
    launches = 1
    small = {"cells": 32, "repeats": 3}
