"""Run sections of the bench, which print their tables.

Times are of this machine at this moment. Quote ratios.
"""

from __future__ import annotations

import argparse
from argparse import Namespace
from collections.abc import Callable
from typing import Any

from support import whole_machine
from support.mpis import algorithms, matrix, stacks

from perf import bench, forgeries, fuzz, rivals, same, statistics, topobw
from perf.vtorus import console

#: What each section measures, and how it is started.
SECTIONS: dict[str, tuple[str, Callable[[Namespace], Any]]] = {
    "bench": ("what a person waits for, against the last states of this machine: at most 10 minutes", bench.measure),
    "same": ("one placement twice (A/A) beside a busy core, and with steal: answers, and how far apart", same.measure),
    "topobw": ("injected faults that topobw names, and false alarms without one", topobw.measure),
    "fit-rivals": ("`optimised` against its bounds, the named orders, Scotch, KaHIP, TreeMatch", rivals.measure),
    "matrix": ("every rank order and binding under every MPI, without a torus", lambda _: matrix.measure(console)),
    "matrix-torus": ("the same with 16 ranks on a virtual torus", lambda _: matrix.measure(console, matrix.ON_TORUS)),
    "stacks": ("every NIC policy under every stack: shares of the NICs' bytes", lambda _: stacks.measure(console)),
    "collectives": (
        "eight algorithms under every MPI on two networks: bytes of links, and the proof",
        lambda _: algorithms.measure(console),
    ),
    "machine": (
        "every step of a job on a whole machine, whose launches are made up",
        lambda options: whole_machine.measure(console, options),
    ),
    "statistics": ("error rates, power and coverage of what reports conclude", statistics.measure),
    "forgeries": ("100,000 random changes of a record: which the strict check accepts", forgeries.measure),
    "fuzz": ("10,000 hostile inputs of each kind: tracebacks, time, memory", fuzz.measure),
}


def main() -> None:
    """Run the named sections, the short list of `make bench` without a name."""
    parser = argparse.ArgumentParser(
        prog="python -m perf",
        description="print the figures that documents quote",
        epilog="sections:\n" + "".join(f"  {name:14}{does}\n" for name, (does, _) in SECTIONS.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("section", nargs="*", metavar="SECTION", help="default: bench")
    counted = "forgeries, fuzz, statistics: changes, inputs of each kind, draws"
    parser.add_argument("--count", type=int, metavar="N", help=counted)
    minutes = "same, topobw: stop after so many; call again to go on  [default: no limit]"
    parser.add_argument("--minutes", type=float, metavar="MINUTES", help=minutes)
    for section in (bench, rivals, whole_machine):
        section.options(parser)
    options = parser.parse_args()
    for name in options.section:
        if name not in SECTIONS:
            parser.error(f"no section {name!r}; expected some of {', '.join(SECTIONS)}")
    for name in options.section or ["bench"]:
        SECTIONS[name][1](options)


if __name__ == "__main__":
    main()
