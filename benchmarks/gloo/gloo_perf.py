#!/usr/bin/env python3
"""Time one collective of PyTorch's Gloo, with the options and the table of nccl-tests.

    mpirun ... railyard-witness FILE python3 gloo_perf all_reduce -b 4K -e 256K -f 2 -n 5

MPI starts the ranks, names the place where they meet, and is what railyard-witness looks at. The collectives are
Gloo's, so GLOO_SOCKET_IFNAME decides on the NICs. A time is the mean over ranks, as in nccl-tests. Data are verified
after the timed part. Leaves out: memory of GPUs, and out-of-place collectives where Gloo has none.
"""

from __future__ import annotations

import argparse
import ctypes
import ctypes.util
import math
import os
import socket
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

FLOAT_BYTES = 4
LIMIT = timedelta(minutes=10)
ADDRESS_BYTES = 64
#: Handles of MPI_COMM_WORLD and MPI_BYTE: symbols of Open MPI, or numbers of MPICH's family.
OPEN_MPI = ("ompi_mpi_comm_world", "ompi_mpi_byte")
MPICH = (0x44000000, 0x4C00010D)


class Mpi:
    """The few functions of MPI that bring the ranks together."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL(None)
        if not hasattr(self.library, "MPI_Init"):  # not under railyard-witness, which has loaded it
            name = ctypes.util.find_library("mpi")
            self.library = ctypes.CDLL(name, mode=ctypes.RTLD_GLOBAL)
        self.library.MPI_Init(None, None)
        if hasattr(self.library, OPEN_MPI[0]):
            self.world, self.byte = (
                ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(self.library, name))) for name in OPEN_MPI
            )
        else:
            self.world, self.byte = (ctypes.c_int(number) for number in MPICH)
        self.rank, self.ranks = self._number("MPI_Comm_rank"), self._number("MPI_Comm_size")

    def _number(self, function: str) -> int:
        number = ctypes.c_int()
        self.library[function](self.world, ctypes.byref(number))
        return number.value

    def sent_by_first(self, text: str) -> str:
        """Return the text that rank 0 passed, on every rank."""
        buffer = ctypes.create_string_buffer(text.encode(), ADDRESS_BYTES)
        self.library.MPI_Bcast(buffer, ADDRESS_BYTES, self.byte, 0, self.world)
        return buffer.value.decode()


def bytes_of(text: str) -> int:
    """Return a size of nccl-tests' options, such as 64K."""
    units = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
    return int(text[:-1]) * units[text[-1]] if text[-1:] in units else int(text)


def options() -> argparse.Namespace:
    """Return the options of the command line, which are those of nccl-tests."""
    parser = argparse.ArgumentParser(description="Time one collective of PyTorch's Gloo.")
    parser.add_argument("operation", choices=["all_reduce", "all_gather", "alltoall", "broadcast"])
    parser.add_argument("-b", dest="smallest", type=bytes_of, default="32K", help="smallest size; default 32K")
    parser.add_argument("-e", dest="largest", type=bytes_of, default="32M", help="largest size; default 32M")
    parser.add_argument("-f", dest="factor", type=int, default=2, help="factor between sizes; default 2")
    parser.add_argument("-n", dest="repeats", type=int, default=20, help="timed collectives; default 20")
    parser.add_argument("-w", dest="warmups", type=int, default=1, help="untimed collectives; default 1")
    return parser.parse_args()


class Gloo:
    """The ranks of a run, met through MPI, with PyTorch's collectives between them."""

    def __init__(self) -> None:
        self.mpi = Mpi()
        import torch  # after MPI's start, when railyard-witness counts threads
        from torch import distributed

        torch.set_num_threads(1)
        self.torch, self.collectives, self.rank, self.ranks = (torch, distributed, self.mpi.rank, self.mpi.ranks)
        store = self._store()
        distributed.init_process_group("gloo", store=store, rank=self.rank, world_size=self.ranks, timeout=LIMIT)

    def _store(self) -> Any:
        """Return the store through which the ranks meet; rank 0 holds it at a free port."""
        make, own = self.collectives.TCPStore, socket.gethostname()
        first = None if self.rank else make(own, 0, self.ranks, True, LIMIT, False)
        address = f"{socket.gethostbyname(own)} {first.port}" if first else ""
        host, port = self.mpi.sent_by_first(address).split()
        return first or make(host, int(port), self.ranks, False, LIMIT, False)

    def total(self, value: float) -> Any:
        """Return the sum of a number over all ranks."""
        total = self.torch.tensor([value], dtype=self.torch.float64)
        self.collectives.all_reduce(total)
        return type(value)(total.item())

    def end(self) -> None:
        """Leave together."""
        self.collectives.barrier()
        self.collectives.destroy_process_group()
        self.mpi.library.MPI_Finalize()


def main() -> None:
    """Run all sizes and print nccl-tests' table from rank 0."""
    given, gloo = options(), Gloo()
    hosts: list[Any] = [None] * gloo.ranks
    gloo.collectives.all_gather_object(hosts, (socket.gethostname(), os.getpid()))
    show(gloo, *head(given.operation, gloo.torch.__version__, hosts))
    rates, wrong, size = [], 0, given.smallest
    while size <= given.largest:
        count = max(1, size // FLOAT_BYTES // gloo.ranks) * gloo.ranks
        call, check = collective(gloo, given.operation, count)
        elapsed_s = mean_time_s(gloo, call, given)
        bad = gloo.total(check())
        rate = count * FLOAT_BYTES / elapsed_s * 1e-9
        rates.append(rate * bus_share(given.operation, gloo.ranks))
        figures = f"{elapsed_s * 1e6:.6g} {rate:.6g} {rates[-1]:.6g} {bad}"
        show(gloo, f"{count * FLOAT_BYTES:12} {count:12} {kind(given.operation)}  N/A N/A N/A N/A  {figures}")
        wrong, size = wrong + bad, size * given.factor
    show(gloo, f"# Out of bounds values : {wrong} {'FAILED' if wrong else 'OK'}")
    show(gloo, f"# Avg bus bandwidth    : {math.fsum(rates) / len(rates):g}")
    gloo.end()
    raise SystemExit(1 if wrong else 0)


def show(gloo: Gloo, *lines: str) -> None:
    """Print lines from rank 0."""
    if gloo.rank == 0:
        print("\n".join(lines), flush=True)


def collective(gloo: Gloo, operation: str, count: int) -> tuple[Callable[[], None], Callable[[], int]]:
    """Return one call of the collective, and a function that calls it on known data and counts wrong elements."""
    torch, rank, ranks = gloo.torch, gloo.rank, gloo.ranks
    own, all_of = torch.zeros(count), torch.zeros(count)
    of_each = torch.arange(ranks).repeat_interleave(count // ranks).float()
    mine = torch.full((count,), float(rank))
    call, sent, received, wanted = {
        "all_reduce": (
            lambda: gloo.collectives.all_reduce(own),
            mine + 1,
            own,
            torch.full((count,), ranks * (ranks + 1) / 2),
        ),
        "broadcast": (lambda: gloo.collectives.broadcast(own, 0), mine, own, torch.zeros(count)),
        "all_gather": (
            lambda: gloo.collectives.all_gather(list(all_of.chunk(ranks)), own[: count // ranks]),
            mine,
            all_of,
            of_each,
        ),
        "alltoall": (
            lambda: gloo.collectives.all_to_all_single(all_of, own),
            rank * ranks + of_each,
            all_of,
            of_each * ranks + rank,
        ),
    }[operation]

    def check() -> int:
        own.copy_(sent)
        all_of.fill_(-1.0)
        call()
        return int((received != wanted).sum())

    return call, check


def mean_time_s(gloo: Gloo, call: Callable[[], None], given: argparse.Namespace) -> float:
    """Return the seconds of one call, the mean over ranks."""
    for _ in range(given.warmups):
        call()
    gloo.collectives.barrier()
    begin_s = time.perf_counter()
    for _ in range(given.repeats):
        call()
    mean_s: float = gloo.total((time.perf_counter() - begin_s) / given.repeats) / gloo.ranks
    return mean_s


def bus_share(operation: str, ranks: int) -> float:
    """Return bus bandwidth over algorithm bandwidth (nccl-tests, doc/PERFORMANCE.md)."""
    return {"all_reduce": 2 * (ranks - 1) / ranks, "broadcast": 1.0}.get(operation, (ranks - 1) / ranks)


def kind(operation: str) -> str:
    """Return a row's type, operation and root."""
    return f"float {'sum' if operation == 'all_reduce' else 'none'} {0 if operation == 'broadcast' else -1}"


def head(operation: str, version: str, hosts: Sequence[tuple[str, int]]) -> list[str]:
    """Return the lines before the rows."""
    place = "time   algbw   busbw #wrong"
    ranks = (f"#  Rank {rank:2} Group  0 Pid {pid} on {host} device  0 [cpu]" for rank, (host, pid) in enumerate(hosts))
    return [
        f"# gloo-tests version {version}",
        f"# Collective test starting: {operation}_perf",
        *ranks,
        f"#       size         count      type   redop    root     {place}     {place}",
    ]


if __name__ == "__main__":
    main()
