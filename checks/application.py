"""Define what the checks of third-party programs share: find the program, choose its sizes, read its output.

Such a program does not write railyard's JSON, and does not report where its ranks ran. `railyard-witness` reports that
from within each launch, a parser of `railyard.applications` reads the output, and both become benchmark output. Leaves
out: the programs' own options (one module each) and how they are built (docs/applications.md).
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import reframe as rfm
import reframe.utility.typecheck as typ
from reframe.core.builtins import fixture, run_after, run_before, variable
from reframe.core.meta import make_test

from checks import building
from checks.applications.faults import FaultyNetwork
from checks.base import POSTER, PlacedCheck, Scale, chosen
from checks.building import applications_build
from railyard.applications import mpip, torus_counters
from railyard.applications.launch import PROFILER, need_parser
from railyard.applications.patterns import Patterns
from railyard.base.checkout import CHECKOUT
from railyard.base.errors import InputError, RunError
from railyard.jobs import image as images
from railyard.jobs.job.submitted import Planned
from railyard.jobs.partition import Partition
from railyard.placed.mixin import plainly
from railyard.placements.hosts.node import Binding
from railyard.placements.orders import spec
from railyard.records.record import Software

#: Subfolders in which programs are searched: of a Spack view, of OSU's installation, of OSU's build folder.
PLACES = ("", "bin", "lib", "libexec/osu-micro-benchmarks/mpi/*", "c/mpi/*/*")
DIGITS = 12
DECOMPOSITIONS = ("cube", "plane", "chain")
#: Sizes of machines that the sizes of a program are chosen for: the grid of ranks (Z, Y, X, because these programs
#: count X fastest), and the ranks per node.
MACHINES: Mapping[str, tuple[tuple[int, int, int], int]] = {
    "laptop": ((2, 2, 2), 1),
    "ci": ((3, 3, 3), 1),
    "node": ((4, 4, 4), 64),
    "rack": ((8, 8, 8), 64),
}
#: The scales of other checks.
ALIASES: Mapping[str, str] = {"small": "laptop", "standard": "node", "large": "rack"}
#: For each scale of ranks, the scale of message sizes on a real machine.
MESSAGES: Mapping[str, str] = {"node": "standard", "rack": "large"}


#: The NIC policies of LLNL's poster: eight ranks, two per node, on nodes with two NICs.
_POLICIES = {
    "torus": "dual-rail-small",
    "allocation": "contiguous",
    "placements": ["cart-create@scattered"],
    "nics": POSTER,
    "ranks_per_node": 2,
}
#: What a variant of a mini-application sets; `railyard.base.check_sources` reads this table, too.
VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "weak": {"__doc__": "Weak scaling: the work per rank is fixed."},
    "strong": {"__doc__": "Strong scaling: the work of all ranks together is fixed.", "scaling": "strong"},
    "multirail": {"__doc__": "NIC policies of LLNL's multirail poster, two ranks per node.", **_POLICIES},
    "profile": {
        "__doc__": "Share of time in MPI and sizes of messages, by mpiP.",
        "placements": ["cart-create"],
        "launches": 1,
        "profile": True,
    },
    "mpi_time": {
        "__doc__": "Time in MPI under the NIC policies of LLNL's multirail poster, by mpiP in every launch.",
        **_POLICIES,
        "profile": True,
    },
    "hybrid": {
        "__doc__": "MPI with OpenMP: two threads per rank, for a program that is built with OpenMP.",
        "placements": ["cart-create"],
        "threads": 2,
    },
    "faults": {
        "__doc__": "On a sound network, and with each of three faults.",
        "studies": ["ezell2013"],
        "valid_systems": ["+torus %origin=emulated"],
        "placements": ["cart-create"],
    },
}


class ApplicationCheck(PlacedCheck):
    """A third-party program under several placements and NIC policies."""

    needs = ["programs of another MPI"]
    grid: Any
    parameters: Any

    #: Patterns that read the program's output; None for a program with a module in railyard/applications/programs.
    output: Patterns | None = None

    #: The program's file name.
    #: :default: required
    program = variable(str)

    #: The package of `spack.yaml` that has the program; empty for a program that it does not have.
    package = variable(str, value="")

    #: What is built first: image, native or none; empty for what is missing, where a Spack is configured.
    build = variable(str, value="")

    built = fixture(applications_build, scope="environment")

    #: Folders with the programs (prefixes, or their `bin`), separated by colons; empty for what containers/build-native
    #: built, then the PATH.
    #: :default: the environment's ``RAILYARD_PROGRAMS``, or ``''``
    programs = variable(str, value=os.environ.get("RAILYARD_PROGRAMS", ""))

    #: Pattern of the one file that a launch leaves in the working folder; empty for a program that leaves none.
    leaves = variable(str, value="")

    #: Files that the program reads, by name: written into the folder in which the launches run.
    inputs = variable(typ.Dict[str, str], value={})

    #: Ranks and sizes for which machine: laptop, ci, node, rack (8, 27, 64, 512 ranks). The words small, standard and
    #: large of other checks mean laptop, node and rack.
    scale = "laptop"

    #: Profile the launches by mpiP, and count what they send by persistent requests, which mpiP does not.
    profile = variable(typ.Bool, value=False)

    #: Keep what the virtual torus counts during each launch: bytes and stalls of its routers, by class of link.
    counted = variable(typ.Bool, value=False)

    #: Spack's variant of a build of the program without OpenMP.
    without_openmp = "~openmp"

    #: OpenMP threads of each rank, 0 for a program that is built or started without OpenMP.
    threads = variable(int, value=0)

    @run_after("init")
    def choose_machine(self) -> None:
        """Set grid and ranks per node to those of the scale, unless the check sets them."""
        self.scale = ALIASES.get(self.scale, self.scale)
        if self.grid or self.scale not in MACHINES:
            return
        cube, self.ranks_per_node = MACHINES[self.scale]
        self.grid = decomposed(getattr(self, "decomposition", "cube"), cube)
        if self.ranks_per_node == 1 and not self.torus:
            self.block = list(cube)

    def _scale(self, where: Partition) -> Scale:
        """Return the scale of message sizes: by the number of ranks, or for few ranks by the partition's origin."""
        return chosen(self.name, MESSAGES.get(self.scale, ""), where.origin)

    def _image_file(self) -> str:
        """Return the image that was named, or the one that is built, if launches run from it."""
        wanted = self.build == Software.IMAGE or Software.IMAGE in self.software
        return self.image or (str(building.image_file(self._mpi())) if wanted else "")

    def _mpi(self) -> str:
        return building.mpi_of(self.current_environ.features)

    @run_after("setup")
    @plainly()
    def refuse_what_cannot_be_measured(self) -> None:
        """Raise InputError for a binding of all threads of a rank to one core, and for output without a parser."""
        if self.output is None:
            need_parser(self.benchmark)
        bound = [name for name in self.placements if spec.parse(name).binding is Binding.CORE]
        if self.threads > 1 and bound:
            problem = f"{bound[0]} with {self.threads} threads per rank"
            valid = "a placement without /core, or threads=1"
            raise InputError(self.name, "placements", problem=problem, valid=valid)

    def _read_by(self) -> dict[str, Any] | None:
        return self.output.document() if self.output else None

    @run_after("setup")
    @plainly()
    def find_program(self) -> None:
        """Skip if the program is not installed; fail if a folder or an image was named for it.

        A program that railyard cannot build is skipped in both cases, because the folder may be for other checks of a
        tag.
        """
        if self.scale not in MACHINES:
            raise InputError(self.name, "scale", self.scale, ", ".join(MACHINES))
        self.paths: dict[str, Path] = {}
        if self.prepared.carried:
            packages = [self.package, *(["mpip"] if self.profile else [])] if self.package else []
            images.need_packages(self.prepared.carried, packages)
            if not self.package and images.SOURCES_LABEL in self.prepared.carried.labels:
                file = self.prepared.carried.provenance["file"]
                self.skip(f"{file} has no {self.program}: railyard does not build it; -S image names one that has it")
        if Software.NATIVE not in self.software:
            return
        wanted = [self.program, *(["libmpiP.so"] if self.profile else [])]
        paths = {name: find(name, self.programs, self._mpi()) for name in wanted}
        if missing := [name for name, path in paths.items() if path is None]:
            absent = f"no {missing[0]} in {self.programs}, which -S programs names"
            if self.programs and self.package:
                raise RunError(absent)
            if self.programs:
                self.skip(f"{absent}; railyard does not build it")
            self.skip(lacking(missing[0], self._mpi(), is_built=bool(self.package)))
        self.paths = {name: path for name, path in paths.items() if path is not None}

    @run_after("setup")
    @plainly()
    def say_which_build(self) -> None:
        """Add the program's build to the parameters, so that launches of different builds are not pooled."""
        labels = self.prepared.carried.labels if self.prepared.carried else {}
        native, inside = dict[str, str](), dict[str, str]()
        if self.paths:
            program = self.paths[self.program]
            native = {"program_sha256": hashlib.sha256(program.read_bytes()).hexdigest()[:DIGITS]}
            if spec := spack_spec(program):
                native |= built_from(labels_of(program), spec.partition("@")[0]) | {"spack_spec": spec}
        if spec := labels.get(f"{images.SPEC_LABEL}{self.package}", ""):
            version, _, digest = spec.partition("/")
            inside = built_from(labels, self.package) | {"spack_spec": f"{self.package}@{version}/{digest[:DIGITS]}"}
        if inside and inside["spack_spec"] != native.get("spack_spec", inside["spack_spec"]):
            # Native program and image both compare the container alone.
            how = "as in the image (containers/build-native, with the image's lock, builds it)"
            raise InputError(self.name, "native program", native["spack_spec"], f"{inside['spack_spec']}, {how}")
        self.parameters = {
            **self.parameters,
            "scale": self.scale,
            **inside,
            **native,
            **({"profiled_by": PROFILER} if self.profile else {}),
            **({"counted_by": torus_counters.COUNTED_BY} if self.counted else {}),
            **({"threads_per_rank": self.threads} if self.threads else {}),
            **({"omp_wait_policy": "passive"} if self._waits_passively() else {}),
        }

    @run_after("setup")
    def need_openmp(self) -> None:
        """Skip if Spack built the program without OpenMP and its ranks need several threads.

        A program that Spack did not build is judged after it has run, by its witness.
        """
        if self.threads < 2:
            return
        native = labels_of(self.paths[self.program]) if self.paths else {}
        for labels in (native, self.prepared.carried.labels if self.prepared.carried else {}):
            if self.without_openmp in labels.get(f"railyard.variants.{self.package}", "").split():
                need = f"{self.threads} threads per rank need it: -S programs=FOLDER names one that has it"
                self.skip(
                    f"Spack built {self.program} without OpenMP ({self.package} {self.without_openmp}), and {need}"
                )

    def _waits_passively(self) -> bool:
        """Return whether a rank's threads must not spin: ranks of a virtual torus share this machine's processors."""
        return self.threads > 1 and self.prepared.where.origin == "emulated"

    @run_before("run")
    def write_inputs(self) -> None:
        """Put the program's input files into the stage folder, which an image sees, too."""
        for name, text in self.inputs.items():
            Path(self.stagedir, name).write_text(text)

    def _program(self, index: int, whose: Software) -> list[str]:
        """Return what each rank runs: the witness and the program, which an image has on its own PATH."""
        inside = self.prepared.carried is not None and whose is Software.IMAGE
        words = [self.program if inside else self._from_the_job(self.program), *self.options]
        profiler = "libmpiP.so" if inside or not self.profile else self._from_the_job("libmpiP.so")
        witness = ["railyard-witness", f"launch-{index:03d}.witness"]
        if self.profile:
            counted = f"RAILYARD_PERSISTENT=launch-{index:03d}.persistent"
            witness = ["env", f"MPIP={mpip.OPTIONS}", counted, *witness, "--preload", profiler]
        if self.threads:
            waits = ["OMP_WAIT_POLICY=passive"] if self._waits_passively() else []
            witness = ["env", f"OMP_NUM_THREADS={self.threads}", *waits, *witness]
        return [*(self.prepared.carried.command if inside and self.prepared.carried else ()), *witness, *words]

    def _from_the_job(self, name: str) -> str:
        """Return a path, relative if it is in the checkout, so that a record contains no folder of the user."""
        path, folder = self.paths[name], Path(self.stagedir)
        if path.is_relative_to(CHECKOUT) and folder.is_relative_to(CHECKOUT):
            return os.path.relpath(path, folder)
        return str(path)

    def _lines(self, launch: Planned, *, only_if_placed: bool) -> list[str]:
        """Return the launch's lines, with files that the program names itself moved to the launch's names."""
        patterns = {self.leaves: "left"} if self.leaves else {}
        patterns |= {f"{self.program}.*.mpiP": "mpiP"} if self.profile else {}
        # If the launch was started twice, the newest file is used.
        moves = [
            f'mv -f "$(ls -t {pattern} 2>/dev/null | head -n 1)" {launch.stem}.{ending} 2>/dev/null; rm -f {pattern}'
            for pattern, ending in patterns.items()
        ]
        lines = [*super()._lines(launch, only_if_placed=only_if_placed), *moves]
        read = 'railyard torus counters "$RAILYARD_TORUS" --json'
        before, counted = f"{launch.stem}.before", f"{launch.stem}.counted"
        return [f"{read} > {before}", *lines, f"{read} --since {before} > {counted}"] if self.counted else lines


class MiniAppCheck(ApplicationCheck):
    """A mini-application of the CORAL suite, whose sizes scale."""

    tags = {"coral"}

    #: How the sizes of the scales relate: weak (work of a rank fixed), strong (work of all ranks fixed). The scales
    #: laptop and ci share theirs, for slow links, and so do node and rack, for real machines.
    scaling = variable(str, value="weak")

    #: The problem's size by scaling and scale, in the program's own unit. It is not a ReFrame variable, because
    #: `-S sizes=1024,4096` sets lists of message sizes of other checks.
    sizes: Mapping[str, Mapping[str, int]] = {}

    #: The program's arguments, with {size}, {ranks}, {x}, {y} and {z} (ranks along the axes of the grid, z slowest)
    #: where the numbers go; empty where the check makes `options` itself.
    arguments = variable(str, value="")

    #: How the program divides its ranks: cube, plane (two dimensions) or chain (one). Placements are computed from it.
    decomposition = variable(str, value="cube")

    @run_after("setup")
    @plainly()
    def choose_size(self) -> None:
        if self.decomposition not in DECOMPOSITIONS:
            raise InputError(self.name, "decomposition", self.decomposition, ", ".join(DECOMPOSITIONS))
        if self.scaling not in self.sizes:
            raise InputError(self.name, "scaling", self.scaling, ", ".join(self.sizes))
        if self.scale not in self.sizes[self.scaling]:
            valid = f"{', '.join(self.sizes[self.scaling])}, as `sizes` of the check has them"
            raise InputError(self.name, "scale", self.scale, valid)
        self.size = self.sizes[self.scaling][self.scale]
        self.parameters = {**self.parameters, "scaling": self.scaling, "size": self.size}
        if self.arguments:
            grid: list[int] = self.grid
            z, y, x = [1] * (3 - len(grid)) + grid
            filled = self.arguments.format(size=self.size, ranks=math.prod(grid), x=x, y=y, z=z)
            self.options = filled.split()


def decomposed(decomposition: str, cube: tuple[int, int, int]) -> list[int]:
    """Return the grid of a program that divides as many ranks as the cube has into a cube, plane or chain."""
    z, y, x = cube
    return {"plane": [z * y, x], "chain": [z * y * x]}.get(decomposition, [z, y, x])


def variants(*names: str, poster: Sequence[str] = ()) -> Callable[[type[MiniAppCheck]], type[MiniAppCheck]]:
    """Register a check `BENCHMARK_NAME` below the decorated class for each of these names of `VARIANTS`.

    Those in `poster` are of the study of LLNL's poster.
    """

    def decorate(check: type[MiniAppCheck]) -> type[MiniAppCheck]:
        for name in (*names, *poster):
            chosen = {**VARIANTS[name], **({"studies": ["llnl-multirail"]} if name in poster else {})}
            if "nics" in chosen:
                chosen["grid"] = decomposed(check.decomposition, (2, 2, 2))
            bases = (FaultyNetwork, check) if name == "faults" else (check,)
            variant = make_test(f"{check.benchmark}_{name}", bases, chosen, module=check.__module__)
            setattr(sys.modules[check.__module__], variant.__name__, rfm.simple_test(variant))
        return check

    return decorate


def find(name: str, folders: str, mpi: str = "") -> Path | None:
    """Return the first program of that name in `folders` (A:B), or else in the native build or on the PATH."""
    for root in folders.split(":") if folders else [str(building.view(mpi))]:
        for subfolder in PLACES:
            files = sorted(Path(root).glob(f"{subfolder}/{name}" if subfolder else name))
            if files:
                return files[0].absolute()
    on_path = None if folders else shutil.which(name)
    return Path(on_path).absolute() if on_path else None


def lacking(name: str, mpi: str, *, is_built: bool) -> str:
    """Return in one line that a program is missing, and the command that builds it if a package of spack.yaml does."""
    if not is_built:
        return f"no {name} on the PATH, and railyard does not build it: -S programs=FOLDER names a folder that has it"
    where, which = os.path.relpath(building.view(mpi), CHECKOUT), "" if mpi in {"", "openmpi"} else f"MPI={mpi} "
    how = f"`make spack`, then `{which}{building.COMMANDS[Software.NATIVE]}` or reframe with -S build=native"
    return f"no {name} in {where} or on the PATH: {how}; -S programs=FOLDER names a folder"


def labels_of(program: Path) -> dict[str, str]:
    """Return the labels of the native build that contains a program; empty for a program of another origin."""
    view = next((folder for folder in program.parents if folder.name == "view"), program.parent)
    return building.labels(view)


def built_from(labels: Mapping[str, str], package: str) -> dict[str, str]:
    """Return source, compiler and target of a package, from the labels of its build."""
    names = {
        "spack_source": f"railyard.source.{package}",
        "spack_compiler": "railyard.compiler",
        "spack_target": "railyard.target",
    }
    return {name: labels[label] for name, label in names.items() if label in labels}


def spack_spec(program: Path) -> str:
    """Return name, version and hash of a program's Spack package; empty for a program that Spack did not build."""
    for folder in program.resolve().parents:
        file = folder / ".spack/spec.json"
        if file.is_file():
            node = json.loads(file.read_text())["spec"]["nodes"][0]
            return f"{node['name']}@{node['version']}/{node['hash'][:DIGITS]}"
    return ""
