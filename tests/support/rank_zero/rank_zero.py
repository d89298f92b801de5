"""What rank 0 needs on machines that are not at hand: its own code runs, the other ranks are made up.

    counters   the report of the counters library for 10,000 routers of seven links (Pedretti et al., CUG'13: 6 MB for a
               hypothetical system of 10,000 Geminis)
    topobw     a run on all 200 cabinets of Titan, 9,600 routers and 19,200 nodes, with two bad routers (Ezell, CUG'13,
               section III.F): plan, verdict, blame and both reports

`rank_zero.c` takes MPI's place in both.

Leaves out every message, and what MPI itself needs.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from railyard.base.checkout import BUILD, CHECKOUT
from railyard.placements.launchers import files
from railyard.placements.topology import catalog

HERE = Path(__file__).parent
BENCHMARKS = CHECKOUT / "benchmarks"
LIBRARIES = BUILD / "benchmarks-openmpi"
FLAGS = ("-std=c11", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion")
#: Payload over the bytes on a link (Ezell, CUG'13, Figure 6).
FACTOR = 0.6355
LEADERS = 10_000
BAD_ROUTERS = ("3,4,5", "17,9,20")


#: Where the programs are compiled, once per run of the tests; removed when Python ends.
BUILT = tempfile.TemporaryDirectory(prefix="railyard-rank-zero-")


@cache
def build(program: str) -> Path:
    """Compile one of the programs with topobw's own sources, its start and its tree of messages excepted."""
    made = Path(BUILT.name) / program
    folder = BENCHMARKS / program.removesuffix("_rank_zero")
    own = folder.rglob("*.c") if folder.name == "topobw" else []
    without = {"topobw.c", "run.c", "relay.c"}  # the driver includes run.c
    sources = [str(path) for path in own if path.name not in without]
    named = ['-DRAILYARD_VERSION="made up"', f"-I{BENCHMARKS}"]
    libraries = [str(LIBRARIES / f"lib{name}.a") for name in ("railyard-counters", "railyard")]
    command = ["mpicc.openmpi", *FLAGS, *named, "-o", str(made), str(HERE / f"{program}.c")]
    command += [str(HERE / "rank_zero.c"), *sources, *libraries, "-lm", "-ldl"]
    subprocess.run(command, check=True)
    return made


def counters(leaders: int = LEADERS) -> dict[str, Any]:
    """Return the bytes and seconds that the counters library's report of so many routers takes."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        group = BENCHMARKS / "counters/groups/gemini.txt"
        program = build("counters_rank_zero")
        return _run(program, str(group), str(leaders), str(folder / "text"), str(folder / "json"))


def topobw(
    topology: str = "titan",
    bad_routers: Sequence[str] = BAD_ROUTERS,
    *,
    seed: int = 1,
    tolerance_percent: float = 15,
    left: Mapping[str, float] | None = None,
    slots: int | None = None,
) -> dict[str, Any]:
    """Return what rank 0 of topobw makes of a machine whose bad routers (X,Y,Z) nobody names to it.

    `left` is the share of each link, by name, that other jobs leave. With `slots` only so many nodes of each router
    take part.
    """
    machine = catalog.load(topology)
    nodes = [node for node in machine.nodes if slots is None or node.slot < slots]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "coordinates").write_text(files.coordinates(machine, nodes))
        (folder / "links").write_text(files.links(machine))
        read = [str(folder / name) for name in ("coordinates", "links")]
        written = [str(folder / name) for name in ("text", "json")]
        program = build("topobw_rank_zero")
        numbers = (str(len(nodes)), str(FACTOR), str(seed), str(tolerance_percent))
        shares = folder / "shares"
        shares.write_text("".join(f"{share:.6f} {name}\n" for name, share in (left or {}).items()))
        return _run(program, *read, *numbers, *written, *bad_routers, f"@{shares}")


def _run(program: Path, *words: str) -> dict[str, Any]:
    done = subprocess.run([program, *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{program.name}: {done.stderr or done.stdout}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found
