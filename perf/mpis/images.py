"""Every program of an image, on eight ranks of a virtual torus: which run and are verified, and what they print.

    python -m perf.mpis.images build/image/applications.sif
    python -m perf.mpis.images --launcher build/mpis/openmpi5/bin/mpirun build/image/applications-openmpi5.sif
    python -m perf.mpis.images --native build/environments/openmpi/view/bin --launcher mpirun.openmpi

The first figure of merit of each is printed, or why there is none. Programs are verified as in their checks
(railyard/applications), and a witness within each launch counts its ranks. As root, or as any user who may make
namespaces; with --here as any user at all, on this machine without a torus. IMAGE is a SIF file or an unpacked folder.
Sizes are those of the scale laptop.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from checks.applications import quicksilver, umt
from railyard.applications import launch, mpip
from railyard.applications.patterns import Patterns
from railyard.jobs.image_engines import apptainer
from railyard.records.json_io import Json

TORUS, RANKS = "perf-images", 8
#: Open MPI's settings without a torus: more ranks than processors, and ranks in user namespaces of their own, which
#: cannot copy from each other's memory. With its default, AMG under mpiP hung in MPI_Finalize.
HERE = {
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
}
LIMIT_S = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A program's words, the files that it reads, the pattern of the one that it leaves, and who reads its output."""

    words: str
    benchmark: str = ""
    inputs: Mapping[str, str] = field(default_factory=dict)
    leaves: str = ""
    output: Patterns | None = None
    profiled: bool = False

    @property
    def parameters(self) -> Mapping[str, Json]:
        """Return what the parsers must know of a launch."""
        sizes: list[Json] = [1 << k for k in range(2, 17)] if self.benchmark.startswith("osu_") else []
        return {"sizes_bytes": sizes, **({"profiled_by": launch.PROFILER} if self.profiled else {})}


def _quicksilver() -> str:
    edge = 2 * quicksilver.QuicksilverCheck.sizes["weak"]["laptop"]
    sides = [*((letter, edge) for letter in "XYZxyz"), *((letter, 2) for letter in "IJK")]
    words = [*sides, ("n", quicksilver.PARTICLES * edge**3), ("N", 10)]
    return " ".join(["qs -i", quicksilver.DECK, *(f"-{letter} {value}" for letter, value in words)])


AMG = "amg -problem 1 -n 8 8 8 -P 2 2 2"
MINIGHOST = "--ndim 12 --npx 2 --npy 2 --npz 2 --stencil 24 --comm_method 10 --num_vars 5 --num_tsteps 5"
PROGRAMS: Mapping[str, Program] = {
    "LULESH": Program(benchmark="lulesh", words="lulesh2.0 -s 5"),
    "AMG": Program(benchmark="amg", words=AMG),
    "miniFE": Program(
        benchmark="minife", words="miniFE.x nx=16 ny=16 nz=16 verify_solution=1", leaves="miniFE.*.yaml"
    ),
    "MiniGhost": Program(
        benchmark="minighost",
        words=f"miniGhost.x --scaling 2 {MINIGHOST} --error_tol 4",
        leaves="results.yaml",
    ),
    "Quicksilver": Program(
        benchmark="quicksilver",
        words=_quicksilver(),
        inputs={quicksilver.DECK: quicksilver.PROBLEM},
        output=quicksilver.QuicksilverCheck.output,
    ),
    "UMT": Program(
        benchmark="umt",
        words=f"SuOlsonTest {umt.MESH} 16 {umt.PRODUCT} {umt.ORDER} 2 2",
        inputs={umt.MESH: umt.mesh([2, 2, 2], 2)},
    ),
    "OSU": Program(benchmark="osu_allreduce", words="osu_allreduce -i 10 -x 2 -T mpi_float -m 4:65536 -c"),
    "mpiP (AMG)": Program(benchmark="amg", words=AMG, profiled=True),
    "railyard's own": Program(words="halo --grid 2x2x2 --cells 16 --repeats 3"),
}


def command(program: Program, inside: Sequence[str]) -> list[str]:
    """Return a rank's words: the witness is within the image, too."""
    if not program.benchmark:
        return [*inside, *program.words.split(), "--json", "launch.json"]
    witness = ["railyard-witness", "launch.witness"]
    if program.profiled:
        variables = [f"MPIP={mpip.OPTIONS}", "RAILYARD_PERSISTENT=launch.persistent"]
        witness = ["env", *variables, *witness, "--preload", "libmpiP.so"]
    threads = ["env", "OMP_NUM_THREADS=1"] if program.benchmark == "umt" else []
    return [*inside, *threads, *witness, *program.words.split()]


def run(program: Program, launcher: Sequence[str], inside: Sequence[str], folder: Path) -> str:
    """Launch a program; what it printed first, or why it is no result."""
    for name, text in program.inputs.items():
        (folder / name).write_text(text)
    words = [*launcher, "-n", str(RANKS), *command(program, inside)]
    with (folder / "launch.out").open("w") as out, (folder / "errors").open("w") as errors:
        try:
            done = subprocess.run(words, stdout=out, stderr=errors, cwd=folder, timeout=LIMIT_S, check=False)
        except subprocess.TimeoutExpired:
            return f"did not end in {LIMIT_S} s"
    if done.returncode:
        said = (folder / "errors").read_text().strip().splitlines() or ["no word"]
        return f"status {done.returncode}: {said[-1]}"
    if not program.benchmark:
        return _figure(json.loads((folder / "launch.json").read_text()))
    for pattern, ending in {program.leaves: "left", f"{program.words.split()[0]}.*.mpiP": "mpiP"}.items():
        for left in folder.glob(pattern) if pattern else ():
            left.rename(folder / f"launch.{ending}")
    fault = launch.read(
        folder,
        "launch",
        program.benchmark,
        parameters=program.parameters,
        ranks=RANKS,
        read_by=program.output.document() if program.output else None,
    )
    return fault or _figure(json.loads((folder / "launch.json").read_text()))


def _figure(document: Mapping[str, Json]) -> str:
    """Return the first figure of an output, and whether it is verified."""
    series = document["series"]
    assert isinstance(series, list) and isinstance(series[0], dict)
    samples = series[0]["samples"]
    assert isinstance(samples, list)
    return f"{'verified' if document['verified'] else 'NOT VERIFIED'}: {series[0]['fom']} {samples[0]}"


def main() -> None:
    """Print a line for each program of each image."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("images", nargs="*", type=Path, metavar="IMAGE")
    parser.add_argument("--native", type=Path, help="a folder of programs that are launched without an image")
    parser.add_argument(
        "--launcher", default="mpirun.openmpi", help="path of the MPI's launcher (default: mpirun.openmpi)"
    )
    parser.add_argument("--here", action="store_true", help="launch on this machine, without a torus")
    parser.add_argument("--only", default="", help="names of programs, a comma between")
    chosen = parser.parse_args()
    if chosen.native:
        os.environ["PATH"] = f"{chosen.native.absolute()}:{os.environ['PATH']}"
        library = str(chosen.native.parent.absolute() / "lib")
        os.environ["LD_LIBRARY_PATH"] = ":".join(
            filter(None, (library, os.environ.get("LD_LIBRARY_PATH", "")))
        )
    os.environ["PATH"] += f":{apptainer.OWN}"
    runs = [(str(file), ["apptainer", "--quiet", "exec", str(file.absolute())]) for file in chosen.images]
    runs += [(str(chosen.native), [])] if chosen.native else []
    if chosen.here:
        os.environ.update(HERE)
        launch_all(runs, [chosen.launcher], chosen.only)
        return
    up = ["railyard", "torus", "up", "gemini-2x2x2", "--name", TORUS, "--rate-scale", "0.001"]
    subprocess.run(up, check=True)
    try:
        launch_all(runs, ["railyard", "torus", "launch", TORUS, chosen.launcher], chosen.only)
    finally:
        subprocess.run(["railyard", "torus", "down", TORUS], check=False)


def launch_all(runs: Sequence[tuple[str, Sequence[str]]], launcher: Sequence[str], only: str) -> None:
    """Print a line for each program of each run, or for those of a list of titles."""
    for name, inside in runs:
        for title, program in PROGRAMS.items():
            if not only or title in only.split(","):
                with TemporaryDirectory(prefix="images-") as folder:
                    outcome = run(program, launcher, inside, Path(folder))
                print(f"{name}\t{title}\t{outcome}", flush=True)


if __name__ == "__main__":
    main()
