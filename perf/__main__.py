"""Run sections of the bench: print their tables, and write their figures to build/bench.json.

Times are of this machine at this moment. Quote ratios.
"""

from __future__ import annotations

import argparse
import json
from argparse import Namespace
from collections.abc import Callable
from typing import Any

from support import whole_machine
from support.mpis import matrix, stacks

from perf import (
    archive,
    bound,
    forgeries,
    fuzz,
    osu,
    pieces,
    placements,
    rivals,
    same,
    scale,
    statistics,
    tender,
    topobw,
    vtorus,
)
from perf.gates import action, admit, runs, simulated
from perf.network import flows, placed, routes
from perf.vtorus import console
from railyard.base.checkout import BUILD, CHECKOUT

OUTPUT = BUILD / "bench.json"
#: What each section measures, and how it is started.
SECTIONS: dict[str, tuple[str, Callable[[Namespace], Any]]] = {
    "up": ("up and down of gemini-4x4x4, beside Mininet's 8x8 torus", lambda _: vtorus.bring_up()),
    "fidelity": ("payload rate of every link, also with five faults; a launch", lambda _: vtorus.fidelity()),
    "bound": (
        "which launches the error estimate passes, beside 0 to 2 busy processors",
        lambda options: bound.measure(console, options.minutes, options.network),
    ),
    "same": (
        "one placement twice (A/A): how far apart the medians are",
        lambda options: same.measure(console, options.minutes, options.network, options.pairs),
    ),
    "scale": ("up, down and memory of larger networks", lambda _: scale.sizes(console)),
    "docker": ("containers as nodes: up, down, links, a launch", lambda _: vtorus.with_docker()),
    "shapes": ("one message, and 64 nodes at once, against the line rate by MTU", lambda _: vtorus.shapes()),
    "model": ("the link-load model of 131,072 ranks", lambda _: placements.model(console)),
    "large": ("the optimiser for 131,072 ranks", lambda _: placements.large(console)),
    "predicted": ("the model's order of placements, and that of halo times", lambda _: vtorus.predicted()),
    "osu": (
        "the benchmarks beside OSU at every size",
        lambda options: osu.measure(
            options.osu, options.rounds, options.minutes, options.place, only=options.only
        ),
    ),
    "routes": (
        "load and latency of chosen routes in the router's network alone",
        lambda _: routes.measure(console),
    ),
    "placed-routes": (
        "placements under chosen routes in the router's network alone: does placement still matter",
        lambda _: placed.measure(console),
    ),
    "flows": (
        "when flows of a permutation and an incast end in the router's network alone",
        lambda _: flows.measure(console),
    ),
    "topobw": (
        "injected faults that topobw names, and false alarms without one",
        lambda options: topobw.measure(options.clean, options.minutes, options.draw),
    ),
    "matrix": (
        "every rank order and binding under every MPI, without a torus",
        lambda _: matrix.measure(console),
    ),
    "matrix-torus": (
        "the same with 16 ranks on a virtual torus",
        lambda _: matrix.measure(console, matrix.ON_TORUS),
    ),
    "mutations": (
        "launches of the matrix with one change: how many are detected",
        lambda _: matrix.mutate(console),
    ),
    "stacks": (
        "every NIC policy under every stack: shares of the NICs' bytes",
        lambda _: stacks.measure(console),
    ),
    "machine": (
        "every step of a job on a whole machine, whose launches are made up",
        lambda options: whole_machine.measure(console, options),
    ),
    "archive": (
        "list, compare and report over 100,000 records",
        lambda options: archive.measure(options.count or archive.COUNT),
    ),
    "action": (
        "the printed workflow of a stranger's program in a clean root: green, red, accepted",
        lambda options: action.measure(console, options.root),
    ),
    "gate": (
        "false alarms of the gate of references, and what it finds, over made-up histories",
        lambda _: simulated.measure(console),
    ),
    "gate-runs": (
        "every benchmark and OSU at first, unchanged, and degraded: what the gate reports",
        lambda options: runs.measure(console, options.check, options.osu),
    ),
    "statistics": (
        "error rates, power and coverage of what reports conclude, over values drawn with fixed seeds",
        lambda options: statistics.measure(
            console, statistics.Draws(count=options.count or statistics.DRAWS, seed=options.seed)
        ),
    ),
    "forgeries": (
        "100,000 random changes of a record: which the strict check accepts",
        lambda options: forgeries.measure(options.count or forgeries.COUNT),
    ),
    "tender": (
        "five bids of 2,000 records each, new and judged before",
        lambda options: tender.measure(options.count or tender.RECORDS),
    ),
    "fit-rivals": (
        "`optimised` against Scotch, KaHIP, TreeMatch and named orders on matrices of 64 ranks, by the model",
        lambda options: rivals.measure(console, options.matrices),
    ),
    "admit": (
        "launches that name slow nodes and cables, beside all pairs and a growing ring, simulated",
        lambda _: admit.measure(console),
    ),
    "fuzz": (
        "10,000 hostile inputs of each kind: tracebacks, time, memory",
        lambda options: fuzz.measure(options.count or fuzz.COUNT),
    ),
}


def main() -> None:
    """Run the named sections, all without a name."""
    parser = argparse.ArgumentParser(
        prog="python -m perf",
        description="print the figures that documents quote",
        epilog="sections:\n" + "".join(f"  {name:14}{does}\n" for name, (does, _) in SECTIONS.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("section", nargs="*", metavar="SECTION", help="default: all")
    parser.add_argument(
        "--count",
        type=int,
        metavar="N",
        help="archive, forgeries, fuzz, statistics, tender: records, changes, inputs of each kind, draws",
    )
    parser.add_argument(
        "--seed", type=int, default=statistics.SEED, metavar="N", help="statistics: the seed of the draws"
    )
    pieces.options(parser, "bound, same, osu, topobw: ")
    for add_options in (
        action.options,
        runs.options,
        bound.options,
        same.options,
        osu.options,
        rivals.options,
        topobw.options,
        whole_machine.options,
    ):
        add_options(parser)
    options = parser.parse_args()
    for name in options.section:
        if name not in SECTIONS:
            parser.error(f"no section {name!r}; expected some of {', '.join(SECTIONS)}")
    figures = {name: SECTIONS[name][1](options) for name in options.section or SECTIONS}
    OUTPUT.write_text(json.dumps(figures, indent=1))
    console.print(f"wrote {OUTPUT.relative_to(CHECKOUT)}")


if __name__ == "__main__":
    main()
