"""OSU, LULESH and the halo under newer MPIs on a virtual torus: natively, and from images of those MPIs.

An image has programs, the libraries that they load, and the MPI that they were built with. Hybrid: the image's own MPI
talks to the launcher. Bind: the launcher's MPI takes the place of the image's, also in an image of Debian's MPICH 4,
whose ABI MPICH 5 and Intel MPI have. Every launch has 8 ranks on 8 nodes. The programs' own verification decides, and
the halo reports which MPI library its ranks really loaded.

    python -m perf.mpis.apps_mpis --programs FOLDER

FOLDER has a folder for each build (mpich, mpich5, openmpi5) with osu_allreduce, osu_bw and lulesh2.0. Leaves out how
these are built: an application's own Makefile with that MPI's compiler.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from perf.mpis import mpis
from placements import launchers
from placements.orders.allocation import allocate
from placements.orders.placement import place
from placements.topology import catalog
from railyard.applications import launch as applications
from railyard.base.checkout import BUILD, CHECKOUT
from railyard.base.errors import InputError
from railyard.jobs import image
from railyard.jobs.image_engines import apptainer
from railyard.jobs.mpis import INSTALLED, MPIS, Mpi
from railyard.torus.plan.plan import Shape

NAME, TOPOLOGY, GRID = "bench-apps", "gemini-2x2x2", (2, 2, 2)
RATE_SCALE = 0.003
IMAGES = BUILD / "image/mpis"
#: Where an image has its MPI.
INSIDE = "opt/mpi"
OUTPUT = "halo.json"
SIZES = [2**power for power in range(2, 11)]
PROGRAMS: dict[str, Sequence[str]] = {
    "halo": ("--grid", "2x2x2", "--cells", "16", "--repeats", "3", "--json", OUTPUT),
    "osu_allreduce": ("-m", "4:1024", "-i", "20", "-x", "2", "-c", "-T", "mpi_float"),
    "osu_bw": ("-m", "4:1024", "-i", "5", "-x", "1", "-c"),
    "lulesh2.0": ("-s", "5", "-i", "10"),
}
#: Ranks of a program that takes two alone.
PAIR = frozenset({"osu_bw"})
console = Console(width=120)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """Programs of a build, started by an MPI: natively, from an image of the build, or there with the MPI bound."""

    mpi: Mpi
    build: str
    model: str

    @property
    def text(self) -> tuple[str, str, str]:
        """Return the launcher's MPI, the build, and the model."""
        return (self.mpi.name, self.build, self.model)


def rows() -> list[Row]:
    """Return the combinations that are launched."""
    mpi = {one.name: one for one in INSTALLED}
    of = [
        ("openmpi 5", "openmpi5", ("native", "hybrid", "bind")),
        ("mpich 5", "mpich5", ("native", "hybrid", "bind")),
        ("mpich 5", "mpich", ("bind",)),
        ("intel 2021", "mpich5", ("native",)),
        ("intel 2021", "mpich", ("bind",)),
    ]
    return [Row(mpi=mpi[name], build=build, model=model) for name, build, models in of for model in models]


def program(build: str, name: str, programs: Path) -> Path:
    """Return a program of a build."""
    return BUILD / f"benchmarks-{build}/bin/halo" if name == "halo" else programs / build / name


def make_image(build: str, programs: Path, folder: Path = IMAGES, names: Iterable[str] = PROGRAMS) -> Path:
    """Build the image of some of a build's programs in a folder; return its file."""
    file = folder / f"{build}.sif"
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=BUILD, prefix="image-") as temporary:
        tree = Path(temporary, "tree")
        for name in names:
            _copy(program(build, name, programs), tree / "usr/local/bin" / name)
        for tool in ("sh", "env", "timeout"):
            found = shutil.which(tool)
            _copy(Path(found or tool), tree / "bin" / tool)
        own = MPIS / build / "lib"
        if own.is_dir():
            shutil.copytree(
                own, tree / INSIDE / "lib", ignore=shutil.ignore_patterns("python*"), symlinks=True
            )
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
        definition.write_text(_definition(build, tree))
        command = [
            str(CHECKOUT / "tools/with-all-capabilities"),
            str(apptainer.program()),
            "--quiet",
            "build",
            "--force",
        ]
        subprocess.run([*command, str(file), str(definition)], check=True, stdout=subprocess.DEVNULL)
    return file


def _definition(build: str, tree: Path) -> str:
    """Return an image's definition; what the launcher's environment names of its own MPI does not hold inside."""
    family = "Open MPI 5" if build.startswith("openmpi") else "MPICH"
    inside = f"    export LD_LIBRARY_PATH=/{INSIDE}/lib\n    export OPAL_PREFIX=/{INSIDE}\n"
    environment = f"%environment\n{inside}" if (tree / INSIDE).is_dir() else ""
    return f"Bootstrap: localimage\nFrom: {tree}\n%labels\n    railyard.mpi {family}\n{environment}"


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


def launched(row: Row, name: str, programs: Path, folder: Path, *, images: Path = IMAGES) -> mpis.Launch:
    """Return the launch of a program in a folder."""
    grid = (2,) if name in PAIR else GRID
    placed = place("cart-create", allocate(catalog.load(TOPOLOGY), "contiguous"), grid)
    rendered = launchers.render(row.mpi.launcher, placed, stem="placed")
    if row.model == "native":
        words = [str(program(row.build, name, programs))]
    else:
        prefix = str(MPIS / ("impi" if row.mpi.launcher == "intel-mpi" else row.mpi.build))
        carried = image.carried(images / f"{row.build}.sif", prefix if row.model == "bind" else "", [])
        words = [*carried.command, name]
        words[0] = str(apptainer.program())
    return mpis.Launch(rendered=rendered, program=[*words, *PROGRAMS[name]], folder=folder)


def verdict(row: Row, name: str, launch: mpis.Launch) -> str:
    """Return `ok` with a figure, or what is wrong."""
    if name == "halo":
        document = launch.document(row.mpi, OUTPUT)
        return document if isinstance(document, str) else f"ok: {row.mpi.library}"
    ended = launch.ended()
    if ended.status:
        return f"ended with {ended.status}: {ended.words}"
    parameters = {"sizes_bytes": SIZES}
    try:
        reading = applications.parser(name.removesuffix("2.0"), parameters)(ended.out, "", name)
    except InputError as error:
        return str(error)
    if reading.fault:
        return reading.fault
    first = reading.series[0]
    return f"ok: {first.fom} {first.samples[0]:.4g}"


def measure(programs: Path) -> dict[str, str]:
    """Print the table; return each cell."""
    of = [row for row in rows() if not row.mpi.absent()]
    for build in dict.fromkeys(row.build for row in of if row.model != "native"):
        console.print(f"{make_image(build, programs)}", markup=False)
    cells: dict[str, str] = {}
    table = Table("launcher", "built with", "model", *PROGRAMS, title="8 ranks on 8 nodes of a virtual torus")
    with (
        mpis.torus(catalog.load(TOPOLOGY), NAME, Shape(rate_scale=RATE_SCALE)),
        tempfile.TemporaryDirectory(dir=BUILD, prefix="apps-") as folder,
    ):
        for number, row in enumerate(of):
            launches = {
                name: launched(row, name, programs, Path(folder, f"{number}-{name}")) for name in PROGRAMS
            }
            mpis.start(row.mpi, list(launches.values()), NAME)
            found = {name: verdict(row, name, launch) for name, launch in launches.items()}
            cells |= {" ".join((*row.text, name)): words for name, words in found.items()}
            console.print(" ".join(row.text), found)
            table.add_row(
                *row.text, *("ok" if words.startswith("ok") else "WRONG" for words in found.values())
            )
    console.print(table)
    return cells


def main() -> None:
    """Run every combination."""
    parser = argparse.ArgumentParser(
        prog="python -m perf.mpis.apps_mpis", description="applications under several MPIs"
    )
    parser.add_argument("--programs", type=Path, required=True, help="folder with a folder for each build")
    measure(parser.parse_args().programs.resolve())


if __name__ == "__main__":
    main()
