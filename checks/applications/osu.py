"""OSU Micro-Benchmarks under placements and NIC policies: the whole curves, the data validated at every size."""

from __future__ import annotations

import reframe as rfm
from reframe.core.builtins import parameter, run_after, variable

from checks.application import ApplicationCheck
from checks.base import POSTER
from railyard.applications.programs import osu

WINDOWS = ("osu_bw", "osu_bibw", "osu_mbw_mr", "osu_bw_persistent", "osu_bibw_persistent")
POINT_TO_POINT = ("osu_latency", "osu_latency_mt", "osu_latency_persistent", *WINDOWS, *sorted(osu.ONE_SIDED))
#: Collectives that compute. OSU's own type is MPI_CHAR, and it awaits sums that wrap round; Open MPI's vector code
#: saturates them (open-mpi/ompi#8045), so that right data would be reported as wrong.
SUMS = ("osu_allreduce", "osu_iallreduce", "osu_allreduce_persistent", "osu_reduce", "osu_reduce_scatter")


class OsuCheck(ApplicationCheck):
    """One of OSU's programs, at message sizes that are powers of two."""

    descr = "OSU Micro-Benchmarks"
    tags = {"osu"}
    package = "osu-micro-benchmarks"
    placements = ["plain", "cart-create", "random"]

    #: Smallest and largest message in bytes, powers of two; 0 for a program without messages.
    #: :default: the largest by `scale`
    smallest = variable(int, value=1)
    largest = variable(int, value=0)

    #: Timed and untimed iterations of each size.
    #: :default: by `scale`
    iterations = variable(int, value=0)
    warmups = variable(int, value=-1)

    #: Messages in flight for bandwidth; OSU's own default is 64.
    #: :default: by `scale`
    window = variable(int, value=0)

    #: Memory of the messages: cuda, rocm or managed, as OSU's option -d takes it; empty for the host's. OSU must be
    #: built for it.
    device = variable(str, value="")

    #: How one rank's access to another's memory ends, as OSU's option -s takes it: lock, flush, flush_local, lock_all,
    #: pscw or fence. The memory is allocated by MPI. Empty for OSU's own choice of both.
    synchronization = variable(str, value="")

    #: Threads of each rank that communicate, of osu_latency_mt.
    mpi_threads = variable(int, value=2)

    small = {"largest": 1 << 16, "iterations": 10, "warmups": 2, "window": 8}
    standard = {"largest": 1 << 22, "iterations": 1000, "warmups": 100, "window": 64}
    large = {"iterations": 10000, "warmups": 1000}

    @run_after("init")
    def choose_program(self) -> None:
        self.program = self.benchmark = self.test

    @run_after("setup")
    def choose_options(self) -> None:
        self.parameters = {**self.parameters, "sizes_bytes": self.message_sizes}
        if self.test == "osu_init":  # which has no options
            return
        self.parameters["iterations"] = self.iterations
        self.options = ["-i", str(self.iterations), "-x", str(self.warmups)]
        if self.device:
            self.parameters["device"] = self.device
            self.options += ["-d", self.device]
        if self.test in WINDOWS:
            self.parameters["window"] = self.window
            self.options += ["-W", str(self.window)]
        if self.test in SUMS:
            self.options += ["-T", "mpi_float"]
        if self.test == "osu_latency_mt":
            self.parameters["mpi_threads"] = self.mpi_threads
            self.options += ["-t", f"{self.mpi_threads}:{self.mpi_threads}"]
        if self.synchronization:
            self.parameters["synchronization"] = self.synchronization
            self.options += ["-w", "allocate", "-s", self.synchronization]
        if self.message_sizes:
            self.options += ["-m", f"{self.message_sizes[0]}:{self.message_sizes[-1]}"]
            self.options += [] if self.test in osu.ONE_SIDED else ["-c"]
        if self.device and self.test in POINT_TO_POINT:
            self.options += ["D", "D"]  # both ranks use device memory; collectives need no such argument

    @property
    def message_sizes(self) -> list[int]:
        """Return the message sizes of the program, in bytes."""
        sizes, size = [], self.smallest
        while 0 < size <= self.largest and self.test not in osu.WITHOUT_SIZES:
            sizes.append(size)
            size *= 2
        return sizes


class OsuPairs(OsuCheck):
    """Two ranks, on neighbouring and on distant nodes."""

    #: Program of the OSU Micro-Benchmarks that runs.
    test = parameter(["osu_latency", "osu_bw", "osu_bibw"])
    grid = [2]
    placements = ["plain", "plain@scattered", "plain@random"]


class OsuCollectives(OsuCheck):
    """OSU's programs on all ranks. Sizes are those of one rank's block, or of the vector (at least 4 bytes)."""

    #: Program of the OSU Micro-Benchmarks that runs.
    test = parameter(["osu_mbw_mr", "osu_alltoall", "osu_allgather", "osu_allreduce", "osu_bcast", "osu_barrier"])
    smallest = 4
    small = {"largest": 1 << 14}
    standard = {"largest": 1 << 20}
    placements = ["plain", "cart-create", "custom"]


@rfm.simple_test
class osu_pairs(OsuPairs):
    """Latency, bandwidth and bidirectional bandwidth of one pair."""


@rfm.simple_test
class osu_all(OsuCollectives):
    """Transfers of all pairs at the same time, and collectives, on all ranks."""


@rfm.simple_test
class osu_one_sided(OsuPairs):
    """One rank's access to the memory of another: put, get, get and accumulate."""

    #: Program of the OSU Micro-Benchmarks that runs.
    test = parameter(["osu_get_acc_latency", "osu_get_latency", "osu_put_latency"])


@rfm.simple_test
class osu_passive(OsuPairs):
    """Access without the other rank's part: each put, get or accumulate in a lock of its own."""

    #: Program of the OSU Micro-Benchmarks that runs.
    test = parameter(["osu_put_latency", "osu_get_latency", "osu_acc_latency"])
    synchronization = "lock"


@rfm.simple_test
class osu_persistent(OsuPairs):
    """Latency and bandwidth of one pair by persistent requests."""

    #: Program of the OSU Micro-Benchmarks that runs.
    test = parameter(["osu_latency_persistent", "osu_bw_persistent", "osu_bibw_persistent"])


@rfm.simple_test
class osu_persistent_all(OsuCollectives):
    """Persistent collectives. OSU builds them for an MPI that has those of MPI 4."""

    #: Program of the OSU Micro-Benchmarks that runs.
    test = parameter(["osu_allreduce_persistent", "osu_alltoall_persistent", "osu_barrier_persistent"])


@rfm.simple_test
class osu_rooted(OsuCollectives):
    """Collectives with a root, and reduce-scatter, which gives every rank a part of the sum."""

    #: Program of the OSU Micro-Benchmarks that runs.
    test = parameter(["osu_reduce", "osu_gather", "osu_scatter", "osu_reduce_scatter"])


@rfm.simple_test
class osu_neighbours(OsuCollectives):
    """Collectives between the neighbours of a rank, which are those of a ring (OSU's own choice)."""

    #: Program of the OSU Micro-Benchmarks that runs.
    test = parameter(["osu_neighbor_alltoall", "osu_neighbor_allgather"])


@rfm.simple_test
class osu_nonblocking(OsuCollectives):
    """Collectives that go on while a rank computes: time of both, of the communication alone, and their overlap."""

    #: Program of the OSU Micro-Benchmarks that runs.
    test = parameter(["osu_ibarrier", "osu_iallreduce", "osu_ialltoall"])


@rfm.simple_test
class osu_threads(OsuPairs):
    """Latency of one pair whose threads communicate at once, under MPI_THREAD_MULTIPLE."""

    #: Program of the OSU Micro-Benchmarks that runs.
    test = parameter(["osu_latency_mt"])


@rfm.simple_test
class osu_start(OsuCollectives):
    """Time that MPI_Init takes on all ranks."""

    #: Program of the OSU Micro-Benchmarks that runs.
    test = parameter(["osu_init"])


@rfm.simple_test
class osu_all_multirail(OsuCollectives):
    """Collectives of LLNL's multirail poster under its NIC policies, two ranks per node."""

    #: Program of the OSU Micro-Benchmarks that runs.
    test = parameter(["osu_allreduce", "osu_barrier", "osu_bcast"])
    studies = ["llnl-multirail"]
    torus = "dual-rail-small"
    allocation = "contiguous"
    placements = ["cart-create@scattered"]
    nics = POSTER
    grid = [2, 2, 2]
    ranks_per_node = 2
