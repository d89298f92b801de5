"""`make bench`: the figures that documents quote, as tables, and as JSON in build/bench.json.

    up          torus up gemini-4x4x4 against Mininet's 8x8 torus: as many switches and hosts, in the same run
    fidelity    TCP payload rate of every link against what its shaped wire allows, again with five faults; a launch
    bound       launches with a known reference beside 0, 1 and 2 busy processors: which the error bound lets pass
    same        A/A: one placement twice, beside 0 and 1 busy processors: how far apart the medians are
    ratios      seven ratios of placements and splits, emulated beside simulated
    networks    the same halo on the networks router and kernel: time, spread, processor time, error bound
    guard       launches that this machine can carry and launches that it cannot: what the guard says
    scale       up, down and memory of larger tori, two nodes a router, two rails, a fat tree
    docker      containers as nodes: up and down, links, launch (where an engine has the image)
    shapes      one message, and all 64 nodes at once, against the line, by MTU
    model       the link-load model at 131,072 ranks
    flies       the link-load model of 1,048,576 ranks on dragonflies and a fat tree, beside a walk of each message;
                1,000 ranks simulated on 1,056 routers
    flies-emulated  ratios of placements on a virtual dragonfly and fat tree beside their simulations
    fly-study   which nodes for a job on a dragonfly of 1,056 nodes, modelled and simulated
    rivals      the optimiser against orders, blocks, Scotch and KaHIP: torus, dragonfly, dragonfly+, fat tree
    large       the optimiser at 131,072 ranks
    predicted   the model's order of placements against that of measured halo times
    suite       halo's packing beside a plain copy
    osu         the benchmarks beside OSU at every size, on shared memory, TCP, and a torus (`--osu FOLDER`)
    concurrency two paths over one, a slow direction, the common clock: figures whose true value is known
    slurm       Slurm on 27 nodes up and down, and what a check's job there does beside launching
    topobw      injected faults that are named, false alarms in 100 clean runs, what counters add to a launch
    dead-links  dead cables without a detour that topobw names
    topobw-flies  the same on a virtual dragonfly of 72 nodes, 20 seeded faults and 50 clean runs
    injection   S3D's faces by injection on 96, 384 and 1,536 nodes, in the router's network alone
    alltoall    an Alltoall by message size, packet and buffer, in the router's network alone
    hot-spot    which jobs one misbehaving job hurts, by division of the nodes, in the router's network alone
    topobw-beside  sound links that topobw calls slow because of other jobs, in the router's network alone
    simulated   the papers' figures on the simulated torus: what each takes of this machine
    tender      evaluate five bids of 2,000 records each
    forgeries   100,000 random changes of single fields of a record: which the strict check accepts
    fuzz        10,000 hostile bundles, records, topologies and tender files each: tracebacks, time, memory
    rank-zero   what rank 0 needs for counters of 10,000 routers, and topobw on all of Titan; other ranks are made up
    soak        random kill -9 of up, down, fault and mpirun, and launches in a row: what is lost, what is left
    matrix      every rank order and binding under every launcher and MPI: proved from inside, refused, or absent
    matrix-torus  the same with 16 ranks on a virtual torus
    mutations   the launches of the matrix with one line or one variable changed: which are caught
    stacks      every NIC policy under every communication stack over two rails: shares of the NICs' bytes
    halo-mpis   the halo exchange under every MPI, on one torus, in random order
    machine     a job on a whole machine (`--nodes`, `--ranks-per-node`, `--nics`, `--launches`): time and memory of
                script, `granted`, record, strict check, report and compare; launches are made up
    archive     list and compare 100,000 records beside pandas, and the page of a campaign of 1,000

`python -m perf SECTION...` runs some of them. Times are of this machine and this moment; the ratios are what to quote.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from functools import partial
from typing import Any

from perf import pieces
from perf.jobs import machine, slurm
from perf.models import flies, fly_study, placements, rivals, simulated
from perf.mpis import concurrency, halo_mpis, matrix, osu, rank_zero, stacks, suite
from perf.packets import alltoall, hot_spot, injection, topobw_beside
from perf.records import archive, forgeries, fuzz, tenders
from perf.torus import (
    bound,
    dead_links,
    flies_emulated,
    guard,
    networks,
    ratios,
    same,
    scale,
    soak,
    topobw,
    topobw_flies,
    vtorus,
)
from perf.torus.vtorus import console
from railyard.base.checkout import CHECKOUT

OUTPUT = CHECKOUT / "build/bench.json"


def main() -> None:
    """Run the sections that were asked for, print their tables, keep their figures."""
    parser = argparse.ArgumentParser(
        prog="python -m perf", description="print the figures that documents quote"
    )
    osu.option(parser)
    soak.options(parser)
    pieces.options(parser, "bound, same, ratios, flies-emulated, topobw, dead-links, osu, concurrency: ")
    bound.options(parser)
    same.options(parser)
    machine.options(parser)
    parser.add_argument("section", nargs="*", help="what to measure; by default everything")
    arguments = parser.parse_args()
    sections: dict[str, Callable[[], Any]] = {
        "up": vtorus.bring_up,
        "fidelity": vtorus.fidelity,
        "bound": partial(bound.measure, console, arguments.minutes, arguments.network),
        "same": partial(same.measure, console, arguments.minutes, arguments.network, arguments.pairs),
        "ratios": partial(ratios.measure, console, arguments.minutes, arguments.network),
        "networks": partial(networks.measure, console),
        "guard": partial(guard.measure, console),
        "scale": partial(scale.sizes, console),
        "docker": vtorus.with_docker,
        "shapes": vtorus.shapes,
        "model": partial(placements.model, console),
        "flies": partial(flies.measure, console),
        "flies-emulated": partial(flies_emulated.measure, console, minutes=arguments.minutes),
        "fly-study": partial(fly_study.measure, console),
        "rivals": partial(rivals.measure, console),
        "large": partial(placements.large, console),
        "predicted": vtorus.predicted,
        "suite": suite.measure,
        "osu": partial(osu.measure, arguments.osu, minutes=arguments.minutes),
        "concurrency": partial(concurrency.measure, minutes=arguments.minutes),
        "slurm": partial(slurm.measure, console),
        "topobw": partial(topobw.measure, minutes=arguments.minutes),
        "dead-links": partial(dead_links.measure, minutes=arguments.minutes),
        "topobw-beside": partial(topobw_beside.measure, console),
        "topobw-flies": topobw_flies.measure,
        "alltoall": partial(alltoall.measure, console),
        "hot-spot": partial(hot_spot.measure, console),
        "injection": partial(injection.measure, console),
        "simulated": partial(simulated.measure, console),
        "rank-zero": partial(rank_zero.measure, console),
        "soak": partial(soak.measure, console, arguments.kills, arguments.launches),
        "matrix": partial(matrix.measure, console),
        "matrix-torus": partial(matrix.measure, console, matrix.ON_TORUS),
        "mutations": partial(matrix.mutate, console),
        "stacks": partial(stacks.measure, console),
        "halo-mpis": partial(halo_mpis.measure, console),
        "machine": partial(machine.measure, console, arguments),
        "archive": archive.report,
        "tender": tenders.measure,
        "forgeries": forgeries.measure,
        "fuzz": fuzz.measure,
    }
    if unknown := set(arguments.section) - set(sections):
        parser.error(f"no section {', '.join(sorted(unknown))}; there are {', '.join(sections)}")
    figures = {name: sections[name]() for name in arguments.section or sections}
    OUTPUT.write_text(json.dumps(figures, indent=1))
    console.print(f"wrote {OUTPUT.relative_to(CHECKOUT)}")


if __name__ == "__main__":
    main()
