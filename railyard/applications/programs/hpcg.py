"""Read HPCG: Gflop/s of preconditioned conjugate gradients, by the report that the program writes.

Models: the file `HPCG-Benchmark_3.1_*.txt` (`Section::name=value`) or `.yaml` of version 3.0, left in the folder of the
launch or printed. Verified is that the program calls the result valid. The raw rate must be operations over time, and
the rating at most that. Leaves out: the parts of the kernels, and whether the run was long enough for a list.
"""

from __future__ import annotations

import re

from railyard.applications.reading import NUMBER, Output, Reading, disagreement, single
from railyard.records import units

RATING = units.fom("rating_gflop_s", "GFLOP/s", "higher")
RAW = units.fom("raw_gflop_s", "GFLOP/s", "higher")
TIME = units.fom("time_s", "s", "lower")
VALID = "HPCG result is VALID with a GFLOP/s rating of"


def parse(text: str, left: str, source: str) -> Reading:
    """Return a run's reading; raises InputError for a report that is cut off or not a number."""
    output = Output(source=source, text=left or text)
    output = Output(source=source, text=_flat(output.text))
    invalid = output.lines(r"Final Summary::HPCG result is[= ]INVALID.*")
    version = output.token("version", r"(?:\S+ )?version=V?(\S+)")
    ranks = output.whole("Distributed Processes", r"Machine Summary::Distributed Processes=(\d+)")
    if invalid:
        return Reading(program="HPCG", version=version, ranks=ranks, series=[], fault="HPCG: the result is INVALID")
    rating = output.number("rating", rf"Final Summary::{re.escape(VALID)}={NUMBER}")
    time = output.number("Total", rf"Benchmark Time Summary::Total={NUMBER}")
    operations = output.number("operations", rf"Floating Point Operations Summary::Total={NUMBER}")
    raw = output.number("Raw Total", rf"GFLOP/s Summary::Raw Total={NUMBER}")
    fault = "" if rating <= raw else f"HPCG: the rating {rating} is above the raw rate {raw}"
    if not fault and time > 0:
        fault = disagreement("HPCG: Raw Total", raw, operations / time * 1e-9, operations, time)
    series = [single(RATING, rating), single(RAW, raw), single(TIME, time)]
    return Reading(program="HPCG", version=version, ranks=ranks, series=series, fault=fault)


def _flat(text: str) -> str:
    """Return a report of 3.0, with indented members under a section, in the form of 3.1: `Section::name=value`."""
    section, lines = "", list[str]()
    for line in text.split("\n"):
        member = re.fullmatch(r"(\s*)([^\s=:][^=:]*):(?!:)(.*)", line)
        if not member:
            lines.append(line)
        elif not member[1] and not member[3].strip():
            section = member[2].strip("_ ")
        else:
            name = f"{section}::{member[2]}" if member[1] and section else member[2]
            lines.append(f"{name}={member[3].strip()}")
    return "\n".join(lines)
