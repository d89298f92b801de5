"""What the tests share: one-line topologies, the command line, tori that are taken down whatever happens."""

from __future__ import annotations

import fcntl
import functools
import gc
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from support import forked, quick, sharing
from support.benchmark_runs import PretendedTorus
from support.commands import CHECKOUT, HUNG_S, TESTS, Run, environment, without_waits
from support.mpis.programs import NAMES, Mpi

from railyard.placements.orders import refine

# On a busy machine an example may take any time, which says nothing about the code.
settings.register_profile("railyard", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("railyard")

#: What the tests of a room need, unless a fixture, or a mark of their own, says more or less.
ROOMS = {"benchmarks": "mpi", "checks": "reframe", "containers": "apptainer", "torus": "torus"}
MODULES = {
    "analysis/test_page.py": "browser",
    "benchmarks/test_nics_of_a_launch.py": "torus",
    "jobs/test_stagedir.py": "mpi",
    "placements/collectives/test_schedules.py": "mpi",
    "placements/test_optimiser.py": "built",
    "records/test_full_disk.py": "torus",
    "torus/test_counters.py": "unit",
    "torus/test_docker.py": "docker",
    "torus/test_faults.py": "unit",
    "torus/test_fidelity.py": "unit",
    "torus/native/test_gate.py": "unit",
    "torus/test_locks.py": "unit",
    "torus/test_pace.py": "unit",
    "torus/native/test_packets.py": "mpi",
    "torus/native/test_router.py": "mpi",
    "torus/native/test_troubles.py": "mpi",
    "torus/test_simulated.py": "unit",
    "torus/slurm/test_slurm.py": "slurm",
}
#: What tests need that take these fixtures.
FIXTURES = {
    "boxed": "docker",
    "browser": "browser",
    "cluster": "slurm",
    "page": "browser",
    "pretend": "mpi",
    "pretend_hosts": "mpi",
    "reframe": "reframe",
    "sanitized": "mpi",
    "simulate": "simgrid",
    "small": "torus",
    "torus_name": "torus",
}
#: Runs of unit tests alone.
UNITS = ("unit", "quick")
NEEDS = ("built", "mpi", "torus", "reframe", "docker", "slurm", "apptainer", "simgrid", "browser")
#: A mark or a fixture of real tests in the text of a module.
REAL = re.compile(rf"mark\.({'|'.join(NEEDS)})\b|\b({'|'.join(FIXTURES)}): |usefixtures")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option of `make quick-list`."""
    parser.addoption("--slow-list", action="store_true", help="write tests/slow.txt from this run")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out modules of unit tests alone where those do not run: to load them would be half of a worker's start."""
    if config.getoption("markexpr") != "not unit" or not collection_path.match("test_*.py"):
        return None
    return has_units_alone(collection_path) or None


@functools.cache
def has_units_alone(module: Path) -> bool:
    """Return whether the text of a module names nothing that real tests need."""
    return needs_of_module(module) == "unit" and not REAL.search(module.read_text("utf-8"))


def pytest_configure(config: pytest.Config) -> None:
    """Hide the compiled optimiser from unit tests: one that needs it then fails in every clone, not in fresh ones.

    Several workers share the processors, so numpy starts no threads that spin on them.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if config.getoption("markexpr") in UNITS:
        refine.LIBRARY = CHECKOUT / "not-for-unit-tests.so"
    elif os.geteuid() == 0 and config.getoption("numprocesses", None):
        sharing.share_namespaces()
    elif os.geteuid() == 0 and hasattr(config, "workerinput"):
        sharing.launch_beside_other_workers()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test with what it needs: its own mark, its module's, its fixtures', or its room's; and quick ones."""
    for item in items:
        if not any(item.get_closest_marker(name) for name in (*NEEDS, "unit")):
            named = [FIXTURES[name] for name in getattr(item, "fixturenames", ()) if name in FIXTURES]
            room = needs_of_module(item.path)
            item.add_marker(room if room != "unit" or not named else named[0])
        if not item.get_closest_marker("unit") and has_units_alone(item.path):
            raise pytest.UsageError(f"{item.nodeid} is no unit test; REAL in tests/conftest.py matches nothing there")
        if item.get_closest_marker("unit") and quick.function_of(item.nodeid) not in quick.slow():
            item.add_marker("quick")
    items.sort(key=lambda item: sharing.by_length(item.nodeid))


@functools.cache
def needs_of_module(path: Path) -> str:
    """Return what the tests of a module need, unless they themselves need something else."""
    module = path.relative_to(TESTS)
    return MODULES.get(str(module), ROOMS.get(module.parts[0], "unit"))


def pytest_collection_finish() -> None:
    """Exempt the collected tests and their modules from garbage collection, which would visit them again and again."""
    gc.freeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Write the list of slow tests, or name the quick ones that took long in this run, which fails nothing."""
    reports = [one for kind in ("passed", "failed", "") for one in terminalreporter.stats.get(kind, [])]
    if config.getoption("slow_list"):
        quick.write(quick.SLOW, reports)
    elif config.getoption("markexpr") == "quick" and (over := quick.over_limit(reports)):
        terminalreporter.write_line(f"over {quick.LIMIT_S:g} s here (make quick-list): {', '.join(sorted(over))}")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> sharing.BySharedMachines | None:
    """Deal `--dist loadfile` by what tests share, which for some files is less than the file."""
    return sharing.BySharedMachines(config, log) if config.getoption("dist") == "loadfile" else None


@pytest.fixture(scope="session")
def railyard() -> Iterator[Run]:
    """Run `railyard ARGUMENTS...`; the result has its output and status.

    What it reports while it waits for another launch or torus command is left out: other tests run beside this one.
    Commands are forks of one process, which saves them the start (support.forked).
    """
    commands = forked.Commands()

    def run(*arguments: str, timeout_s: float = HUNG_S, **changes: str) -> subprocess.CompletedProcess[str]:
        # A second attempt at a void launch would count its bytes twice.
        variables = environment(**{"RAILYARD_ATTEMPTS": "1", **changes})
        done = commands.run([str(argument) for argument in arguments], variables, timeout_s)
        done.stderr = without_waits(done.stderr)
        return done

    yield run
    commands.close()


@pytest.fixture
def torus_name(railyard: Run, request: pytest.FixtureRequest) -> Iterator[str]:
    """A name for a torus of this test alone; what is up under it afterwards is taken down."""
    name = f"t{os.getpid()}-{abs(hash(request.node.name)) % 10000}"
    yield name
    railyard("torus", "down", name)


def up(railyard: Run, kind: str, *options: str) -> Iterator[str]:
    """Bring up a 2x2x2 torus, and take it down after the tests."""
    name = f"t{os.getpid()}-{kind}"
    done = railyard("torus", "up", "gemini-2x2x2", "--name", name, "--rate-scale", "0.001", *options)
    assert done.returncode == 0, done.stderr
    yield name
    railyard("torus", "down", name)


@pytest.fixture(scope="session")
def small(railyard: Run) -> Iterator[str]:
    """A 2x2x2 torus for tests that only look."""
    yield from up(railyard, "small")


@pytest.fixture(scope="session")
def small_kernel(railyard: Run) -> Iterator[str]:
    """The same with the kernel as the network: its routers are namespaces, its NICs count packets."""
    yield from up(railyard, "kernel", "--network", "kernel")


@pytest.fixture(scope="session")
def sanitized() -> Path:
    """Benchmarks with sanitizers, warnings as errors, and the fault that only test builds have; their folder.

    It is kept in build/, so that only what changed is compiled again.
    """
    build = CHECKOUT / "build/benchmarks-sanitized"
    compiler = "mpicc.openmpi" if shutil.which("mpicc.openmpi") else "mpicc"
    options = ["RAILYARD_SANITIZE", "RAILYARD_WERROR", "RAILYARD_TEST_FAULT"]
    configure: list[str | Path] = ["cmake", "-S", CHECKOUT, "-B", build, f"-DMPI_C_COMPILER={compiler}"]
    configure += ["-DCMAKE_BUILD_TYPE=Debug", *(f"-D{option}=ON" for option in options)]
    build.parent.mkdir(exist_ok=True)
    with build.with_suffix(".lock").open("w") as lock:  # every worker comes by here
        fcntl.flock(lock, fcntl.LOCK_EX)
        cache = build / "CMakeCache.txt"
        if cache.exists() and f"CMAKE_HOME_DIRECTORY:INTERNAL={CHECKOUT}\n" not in cache.read_text():
            shutil.rmtree(build)  # another version of the checkout, whose project was elsewhere
        configured, words = build / "configured-by", " ".join(map(str, configure))
        if not configured.exists() or configured.read_text() != words:  # once, not in each worker
            subprocess.run(configure, check=True, capture_output=True)
            configured.write_text(words)
        subprocess.run(["cmake", "--build", build, "-j2"], check=True, capture_output=True)
    return build / "bin"


@pytest.fixture(scope="session")
def pretend_hosts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library to preload, with which rank r of Open MPI runs on host n<r / TEST_RANKS_PER_NODE>."""
    library = tmp_path_factory.mktemp("preload") / "hostname.so"
    source = TESTS / "data/benchmarks_hostname.c"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    return library


@pytest.fixture
def pretend(pretend_hosts: Path, tmp_path: Path) -> Callable[[str], PretendedTorus]:
    """Makes a pretended torus of the text of a coordinates file."""

    def make(text: str) -> PretendedTorus:
        path = tmp_path / "coordinates"
        path.write_text(text)
        return PretendedTorus(library=pretend_hosts, coordinates=path)

    return make


@pytest.fixture(params=NAMES)
def mpi(request: pytest.FixtureRequest, tmp_path: Path) -> Mpi:
    """Return each of the MPIs in turn."""
    return Mpi(str(request.param), tmp_path)


@pytest.fixture
def openmpi(tmp_path: Path) -> Mpi:
    """Return Debian's Open MPI."""
    return Mpi("openmpi", tmp_path)
