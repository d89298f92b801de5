"""Images under newer MPIs on a virtual torus: the image's own MPI, or the launcher's MPI in its place.

Skipped where Apptainer or the MPIs (`make mpis`) are absent.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.mpis import images as images_of
from support.mpis import mpis
from support.mpis.images import Row

from railyard.placements.topology import catalog
from railyard.records.image_engines import apptainer
from railyard.torus.plan.plan import Shape

if os.geteuid() != 0:
    pytest.skip("makes network namespaces as root; run as root", allow_module_level=True)
if apptainer.program() is None:
    pytest.skip("no apptainer on the PATH; run: make apptainer", allow_module_level=True)
ROWS = images_of.rows()


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Images with the halo alone, of the builds that are here."""
    folder = tmp_path_factory.mktemp("images")
    for row in {row.build: row for row in ROWS if not row.mpi.absent()}.values():
        if row.halo.exists():
            images_of.make_image(row, folder)
    return folder


@pytest.fixture(scope="module")
def torus_name() -> Iterator[str]:
    """Eight nodes."""
    name = f"t{os.getpid()}-images"
    with mpis.torus(catalog.load(images_of.TOPOLOGY), name, Shape(rate_scale=images_of.RATE_SCALE)):
        yield name


@pytest.mark.parametrize("row", ROWS, ids=lambda row: " ".join(row.text))
def test_the_halo_runs_from_an_image_under_the_launchers_mpi(
    row: Row, images: Path, torus_name: str, tmp_path: Path
) -> None:
    """The ranks report the library that they loaded; under the bind model it is the launcher's."""
    if why := row.mpi.absent():
        pytest.skip(why)
    if not (images / f"{row.build}.sif").exists():
        pytest.skip(f"no benchmarks of {row.build}; run: make mpich")
    launch = images_of.launched(row, tmp_path / "launch", images=images)
    mpis.start(row.mpi, [launch], torus_name)
    assert images_of.verdict(row, launch) == f"ok: {mpis.LIBRARIES[row.mpi.name]}"
