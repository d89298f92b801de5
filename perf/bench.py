"""Run the short list of `make bench`, and hold it against the last states of this machine by the gate of `reframe -r`.

Models: a figure is the processor seconds of a command over those of a fixed program of Python that runs right before
and after it, so that a busy neighbour slows both; a cell's in the router is over that of a process which only forwards.
What is slower is measured once more, because one slow run is no alarm. The outcome of a clean checkout enters `HISTORY`
if nothing is slower, or with --accept; a page shows the history. `railyard.analysis.references.limits` compares with
the last ten states, and keeps the oldest three and the last thirty.
With --against it times the commands here and in another checkout instead, and judges nothing.
Leaves out: time that passes without a processor.
"""

from __future__ import annotations

import argparse
import os
import resource
import select
import shlex
import socket
import statistics
import subprocess
import time
from argparse import Namespace
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import partial
from html import escape
from itertools import product
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from support.mpis import mpis

from perf.vtorus import HALO, NAME, PROGRAMS, TOPOLOGY, console, railyard
from railyard.analysis.figures import drawing, svg
from railyard.analysis.references import judging, update
from railyard.analysis.text import DataTable
from railyard.base.checkout import BUILD, CHECKOUT
from railyard.records import provenance, references, units
from railyard.records.references import Entry, Past
from railyard.records.units import Fom
from railyard.torus.engines import router
from railyard.torus.plan.plan import Shape
from railyard.torus.virtual import counters
from railyard.torus.virtual.lifecycle import VirtualTorus

HISTORY, FOLDER = CHECKOUT / "perf" / "history.yaml", BUILD / "bench"
HEADING = "# Written by `make bench`; whoever lands a state commits it. Processor time over that of a fixed program.\n"
CHECK, COST = "bench", units.fom("cost_ratio", "ratio", "lower")
#: As many values as a reference needs, and the turns of two checkouts.
ROUNDS, TURNS = 6, 5
REFERENCE = "import json\nfor _ in range(60): json.loads(json.dumps({str(n): [n, str(n)] for n in range(5000)}))"
LOAD = (
    "import pathlib; from railyard.records.record import load; "
    "[*map(load, pathlib.Path('results/example').rglob('20*.json'))]"
)
SMOKE = "-C reframe.yml -c checks --system vtorus:netns --prefix build/bench -n ^halo_smoke$ -r"
#: Figure -> how often the command runs for one value, and the command.
COMMANDS = {
    "railyard-help": (8, "railyard --help"),
    "railyard-checks": (2, "railyard checks"),
    "reframe-list": (1, "reframe -C reframe.yml -c checks -l"),
    "doctor": (1, "railyard doctor"),
    "load-records": (1, f'python -c "{LOAD}"'),
    "strict-check": (1, "railyard results check --strict results/example"),
    "report": (1, f"railyard report --quiet -o {FOLDER}/report.html results/example"),
    "links-of-19200-ranks": (1, "railyard links titan --grid 24x25x32"),
    "optimise-512-ranks": (1, "railyard place gemini-24x1x24 --grid 16x32 --placement optimised:1"),
    "simulate-686-ranks": (1, "railyard torus simulate gemini-7x7x7 --grid 14x7x7 --placements custom"),
    "smoke-halo": (1, f"tools/measure {FOLDER}/results {SMOKE} -S archive={FOLDER}/results"),
}
#: Datagrams of the floor, of a cell's size, so far apart that the process sleeps between them.
DATAGRAMS, CELL, GAP_S = 4000, bytes(2500), 1e-4
Figures = dict[str, Callable[[], tuple[float, float]]]
Values = dict[Fom, list[float]]


def options(parser: argparse.ArgumentParser) -> None:
    """Add whether a slower state is the new level, and another checkout to compare with."""
    parser.add_argument("--accept", action="store_true", help="bench: take what is slower as the new level")
    against = "bench: time the commands here and in another checkout (make setup), by turns, five times; judge nothing"
    parser.add_argument("--against", type=Path, metavar="FOLDER", help=against)


def processor_s(runs: int, command: str, checkout: Path = CHECKOUT) -> float:
    """Return the processor seconds of a command with its children, the mean of some runs; status 1 is an answer."""
    program, *words = shlex.split(command)
    path = checkout / program if "/" in program else checkout / ".venv/bin" / program
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    for _ in range(runs):
        done = subprocess.run([path, *words], cwd=checkout, capture_output=True, text=True, check=False)
        if done.returncode not in (0, 1) or "Traceback" in done.stderr:
            raise SystemExit(f"bench: {command}: ended with status {done.returncode}: {done.stderr[-300:]}")
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime) / runs


def against(other: Path) -> dict[str, float]:
    """Print how long the commands take in two checkouts that take turns, in seconds by the clock; return the ratios."""
    ratios = {}
    for name, (runs, command) in COMMANDS.items():
        times: tuple[list[float], list[float]] = ([], [])
        try:
            for _, (checkout, values) in product(range(TURNS), zip((other, CHECKOUT), times, strict=True)):
                began = time.monotonic()
                processor_s(runs, command, checkout)
                values.append((time.monotonic() - began) / runs)
        except (OSError, SystemExit) as error:
            if checkout is CHECKOUT:
                raise
            # The other checkout has no such command.
            console.print(str(error), highlight=False)
            continue
        spans = [f"{statistics.median(took):.3g} s ({min(took):.3g} to {max(took):.3g})" for took in times]
        ratios[name] = statistics.median(times[1]) / statistics.median(times[0])
        console.print(f"{name}: before {spans[0]}, now {spans[1]}, ratio {ratios[name]:.2f}", highlight=False)
    if not ratios:
        raise SystemExit(f"bench: --against {other}: none of the commands runs there; a checkout after make setup does")
    return ratios


def compared(runs: int, command: str) -> tuple[float, float]:
    """Return the processor seconds of a command, and of the fixed program beside it."""
    fixed = partial(processor_s, 1, f'python -I -c "{REFERENCE}"')
    before_s, value_s, after_s = fixed(), processor_s(runs, command), fixed()
    return value_s, (before_s + after_s) / 2


def cell(running: VirtualTorus) -> tuple[float, float]:
    """Return the router's processor seconds for a cell that a NIC sends or receives, and the floor."""
    cells, used_s = _routed(running)
    railyard("torus", "mpirun", NAME, "-np", "64", str(PROGRAMS / "halo"), *HALO)
    cells_now, used_now_s = _routed(running)
    return (used_now_s - used_s) / (cells_now - cells), floor_s()


def _routed(running: VirtualTorus) -> tuple[int, float]:
    state = router.state(running.name, running.folder)
    if state is None:
        raise SystemExit("bench: the router does not run")
    links = counters.read(running.name, running.topology).links
    used_ns = int(Path(f"/proc/{state.process}/schedstat").read_text().split()[0])
    return sum(link.packets for link in links if link.name.startswith("H")), used_ns / 1e9


def floor_s() -> float:
    """Return the processor seconds for a datagram of a process that waits for one, reads it and passes it on."""
    first, second = (socket.socketpair(type=socket.SOCK_DGRAM) for _ in range(2))
    if not (child := os.fork()):
        poll = select.epoll()
        poll.register(first[1], select.EPOLLIN)
        for _ in range(DATAGRAMS):
            poll.poll()
            second[0].send(first[1].recv(len(CELL)))
        os._exit(0)
    for _ in range(DATAGRAMS):
        first[0].send(CELL)
        second[1].recv(len(CELL))
        time.sleep(GAP_S)
    used = os.wait4(child, 0)[2]
    for end in (*first, *second):
        end.close()
    return (used.ru_utime + used.ru_stime) / DATAGRAMS


def ratios(figures: Figures) -> Values:
    """Return each figure's ratio in each round; the rounds go through all figures."""
    values: Values = {COST.named(f"{name}/{COST}"): [] for name in figures}
    for number in range(1, ROUNDS + 1):
        for fom, (name, measured) in zip(values, figures.items(), strict=True):
            value_s, reference_s = measured()
            values[fom].append(value_s / reference_s)
            console.print(f"round {number}: {name} {value_s:.3g} s, {value_s / reference_s:.3g}", highlight=False)
    return values


def measure(options: Namespace) -> dict[str, Any]:
    """Measure, judge, keep and draw the figures; exit with 1 and a line for each that is slower."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    if options.against:
        return against(options.against.resolve())
    machine = provenance.machine()
    case = f"{machine['cpu']}, {machine['cpus']} CPUs"
    history = references.load(HISTORY)
    old = history.get(CHECK, {}).get(case, update.NOTHING)
    figures: Figures = {name: partial(compared, *command) for name, command in COMMANDS.items()}
    with ExitStack() as stack:
        if router.missing() or os.geteuid():
            figures.pop("smoke-halo", None)
        else:
            shape = Shape(network="router", rate_scale=5e-5, latency_scaled=True)
            running = stack.enter_context(mpis.torus(TOPOLOGY, NAME, shape))
            figures["router-cell"] = partial(cell, running)
        values = ratios(figures)
        judged, medians = _judged(case, values, old)
        if judged.names and not options.accept:
            console.print("slower; measured once more: " + " ".join(judged.names), highlight=False)
            slower = [name.partition("/")[0] for name in judged.names]
            values |= ratios({name: figures[name] for name in slower})
            judged, medians = _judged(case, values, old)
    commit = str(provenance.code()["git_commit"])
    past = Past(record=commit[:12], created=f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}", commit=commit, launches=ROUNDS)
    entry, _ = update.added(old, past, values, len(values), accept=options.accept)
    (FOLDER / "index.html").write_text(_page(case, entry, medians), encoding="utf-8")
    if is_clean() and all(state.commit != commit for state in old.history):
        cases = {**history.get(CHECK, {}), case: entry}
        HISTORY.write_text(references.text({CHECK: cases}).replace(references.HEADING, HEADING), encoding="utf-8")
    console.print(f"the history: {FOLDER / 'index.html'}", *judged.missing, sep="\n", highlight=False)
    if judged.worse and not options.accept:
        raise SystemExit("\n".join(f"slower: {line}" for line in judged.worse))
    return {str(name): median for name, median in medians.items()}


def _judged(case: str, values: Mapping[Fom, list[float]], old: Entry) -> tuple[judging.Judgement, Mapping[Fom, float]]:
    medians = {name: statistics.median(of_name) for name, of_name in values.items()}
    return judging.judged(CHECK, case, medians, {CHECK: {case: old}} if old.references else {}), medians


def is_clean() -> bool:
    """Return whether all but the history is as committed."""
    changed = ["git", "status", "--porcelain", "--", ".", f":!{HISTORY.relative_to(CHECKOUT)}"]
    return not subprocess.run(changed, cwd=CHECKOUT, capture_output=True, check=True).stdout


def _page(case: str, entry: Entry, medians: Mapping[Fom, float]) -> str:
    """Return a page with the figure of a machine's states, and the table behind it."""
    limits = update.limits_of(entry, len(entry.values)).of
    names = [name for name in medians if name in limits]
    columns = ("figure", "now", "level", "allowed")
    rows = [
        (name.partition("/")[0], *(f"{value:.3g}" for value in (medians[name], limits[name].level, limits[name].worst)))
        for name in names
    ]
    table = DataTable(columns=columns, rows=rows, numbers=frozenset(columns[1:]))

    def paint(figure: Figure) -> None:
        for number, name in enumerate(names, 1):
            axes = figure.add_subplot(-(-len(names) // 3), 3, number, xticks=[])
            axes.plot([point.median for point in entry.values[name]], "o-", color=svg.sentinel(0))
            axes.plot([len(entry.values[name]) - 1], [medians[name]], "x", color=svg.sentinel(1))
            axes.axhline(limits[name].worst, color=svg.INK, linestyle=":")
            axes.set_ylim(bottom=0)
            axes.set_title(name.partition("/")[0])

    title = (
        f"Processor time over that of a fixed program, state by state; cross: now, dotted: the most that passes. {case}"
    )
    size = 9.0
    shown = drawing.Drawing(
        name="history", title=title, description=title, paint=paint, data=table, width_in=size, height_in=size
    )
    states = (f"{past.created[:16]} {past.commit[:12]} {' '.join(past.accepted)}" for past in entry.history)
    text = escape("\n".join([*table.lines(), "", *states]))
    head = f"<!doctype html><meta charset=utf-8><title>make bench</title><p>{escape(title)}"
    return f"{head}\n{drawing.svg_file(shown)}\n<pre>{text}</pre>\n"
