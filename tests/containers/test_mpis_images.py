"""Images under newer MPIs on a virtual torus: the image's own MPI, or the launcher's MPI in its place.

An image has the program, the libraries that it loads, and the MPI that it was built with. Hybrid: the image's own MPI
talks to the launcher. Bind: the launcher's MPI takes the place of the image's, also in an image of Debian's MPICH 4,
whose ABI MPICH 5 and Intel MPI have. The halo reports which MPI library its ranks loaded. Skipped where Apptainer or
the MPIs (`make mpis`) are absent.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.mpis import mpis
from support.mpis.installed import INSTALLED, MPIS, Mpi

from railyard.base.checkout import BUILD, CHECKOUT
from railyard.jobs import image
from railyard.placements import launchers
from railyard.placements.orders.allocation import allocate
from railyard.placements.orders.placement import place
from railyard.placements.topology import catalog
from railyard.records.image_engines import apptainer
from railyard.torus.plan.plan import Shape

if os.geteuid() != 0:
    pytest.skip("makes network namespaces as root; run as root", allow_module_level=True)
if apptainer.program() is None:
    pytest.skip("no apptainer on the PATH; run: make apptainer", allow_module_level=True)
TOPOLOGY, GRID = catalog.load("gemini-2x2x2"), (2, 2, 2)
#: Where an image has its MPI.
INSIDE = "opt/mpi"
OUTPUT = "halo.json"
OPTIONS = ("--grid", "2x2x2", "--cells", "16", "--repeats", "3", "--json", OUTPUT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """The halo of a build in an image of that build, started by an MPI: with the image's MPI, or that MPI bound."""

    mpi: Mpi
    build: str
    model: str

    @property
    def halo(self) -> Path:
        """Return the program."""
        return BUILD / f"benchmarks-{self.build}/bin/halo"


#: An image's own Open MPI 5, and MPICH 5 and Intel MPI in an image of MPICH 4.
ROWS = [
    Row(mpi=mpi, build=build, model=model)
    for name, build, model in (
        ("openmpi 5", "openmpi5", "hybrid"),
        ("mpich 5", "mpich", "bind"),
        ("intel 2021", "mpich", "bind"),
    )
    for mpi in INSTALLED
    if mpi.name == name
]


def make_image(row: Row, folder: Path) -> None:
    """Build the image of a row's build in a folder."""
    build = row.build
    file = folder / f"{build}.sif"
    with tempfile.TemporaryDirectory(dir=BUILD, prefix="image-") as temporary:
        tree = Path(temporary, "tree")
        _copy(row.halo, tree / "usr/local/bin/halo")
        for tool in ("sh", "env", "timeout"):
            _copy(Path(shutil.which(tool) or tool), tree / "bin" / tool)
        own = MPIS / build / "lib"
        if own.is_dir():
            shutil.copytree(own, tree / INSIDE / "lib", ignore=shutil.ignore_patterns("python*"), symlinks=True)
            for part in ("share", "etc"):
                if (MPIS / build / part).is_dir():
                    shutil.copytree(MPIS / build / part, tree / INSIDE / part, symlinks=True)
        needing = [*(tree / "usr/local/bin").iterdir(), *(tree / "bin").iterdir(), *_bindable(build)]
        for library in _libraries(needing):
            if not library.is_relative_to(MPIS):
                _copy(library, tree / str(library).lstrip("/"))
        components = Path("/usr/lib/x86_64-linux-gnu/ucx")
        if build == "mpich" and components.is_dir():
            shutil.copytree(components, tree / str(components).lstrip("/"))
        (tree / "opt/host-mpi").mkdir(parents=True)
        for name in ("passwd", "group"):
            _copy(Path("/etc", name), tree / "etc" / name)
        definition = Path(temporary, "of.def")
        family = "Open MPI 5" if build.startswith("openmpi") else "MPICH"
        text = f"Bootstrap: localimage\nFrom: {tree}\n%labels\n    railyard.mpi {family}\n"
        if (tree / INSIDE).is_dir():  # what the launcher's environment names of its own MPI does not hold inside
            text += f"%environment\n    export LD_LIBRARY_PATH=/{INSIDE}/lib\n    export OPAL_PREFIX=/{INSIDE}\n"
        definition.write_text(text)
        build_words: list[str | Path] = [
            CHECKOUT / "tools/with-all-capabilities",
            str(apptainer.program()),
            "--quiet",
            "build",
            "--force",
        ]
        subprocess.run([*build_words, file, definition], check=True, stdout=subprocess.DEVNULL)


def _bindable(build: str) -> list[Path]:
    """Return the libraries of other MPIs that may take the place of an image's: what these need must be in it, too."""
    folders = [MPIS / name / "lib" for name in ("mpich5", "impi")] if build == "mpich" else []
    return [path for folder in folders for path in sorted(folder.rglob("*.so*")) if path.is_file()]


def _libraries(files: Sequence[Path]) -> list[Path]:
    done = subprocess.run(["ldd", *files], capture_output=True, text=True, check=False)
    return sorted({Path(found) for found in re.findall(r"(?:=> |^\s+)(/\S+)", done.stdout, re.MULTILINE)})


def _copy(source: Path, place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, place)


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Images with the halo alone, of the builds that are here."""
    folder = tmp_path_factory.mktemp("images")
    for row in {row.build: row for row in ROWS if not row.mpi.absent()}.values():
        if row.halo.exists():
            make_image(row, folder)
    return folder


@pytest.fixture(scope="module")
def torus_name() -> Iterator[str]:
    """Eight nodes."""
    name = f"t{os.getpid()}-images"
    with mpis.torus(TOPOLOGY, name, Shape(rate_scale=0.003)):
        yield name


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.mpi.name} {row.build} {row.model}")
def test_the_halo_runs_from_an_image_under_the_launchers_mpi(
    row: Row, images: Path, torus_name: str, tmp_path: Path
) -> None:
    """The ranks report the library that they loaded; under the bind model it is the launcher's."""
    if why := row.mpi.absent():
        pytest.skip(why)
    if not (images / f"{row.build}.sif").exists():
        pytest.skip(f"no benchmarks of {row.build}; run: make mpich")
    placed = place("cart-create", allocate(TOPOLOGY, "contiguous"), GRID)
    rendered = launchers.render(row.mpi.launcher, placed, stem="placed")
    prefix = str(MPIS / ("impi" if row.mpi.launcher == "intel-mpi" else row.mpi.build))
    carried = image.carried(images / f"{row.build}.sif", prefix if row.model == "bind" else "", [])
    words = [str(apptainer.program()), *carried.command[1:], "halo", *OPTIONS]
    launch = mpis.Launch(rendered=rendered, program=words, folder=tmp_path / "launch")
    mpis.start(row.mpi, [launch], torus_name)
    document = launch.document(row.mpi, OUTPUT)
    assert not isinstance(document, str), document
