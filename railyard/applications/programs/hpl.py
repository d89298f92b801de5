"""Read HPL (High-Performance Linpack, also in NVIDIA's, AMD's and Intel's builds): Gflop/s of every test.

Models: standard output, or the file that HPL.dat names. Verified is that every test passed its residual check, none was
skipped, and the output goes on to its end. The rate must be (2/3 N^3 + 3/2 N^2) / time. Leaves out: progress lines.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from railyard.applications import reading
from railyard.applications.reading import NUMBER, Output, Reading, disagreement
from railyard.records import units
from railyard.records.benchmark import Label, Series

RATE = units.fom("solve_gflop_s", "Gflops", "higher")
TIME = units.fom("time_s", "s", "lower")
ROW = rf"(W[A-Z]\S+) +(\d{{1,9}}) +(\d{{1,9}}) +(\d{{1,9}}) +(\d{{1,9}}) +{NUMBER} +{NUMBER}(?: +\(.*\))?"
CHECK = rf"\|\|Ax-b\|\|_oo ?/ ?.*= *{NUMBER} \.+ (PASSED|FAILED)"


def parse(text: str, left: str, source: str) -> Reading:
    """Return a run's reading; raises InputError for output that is cut off or not a number."""
    output = Output(source=source, text=left or text)
    version = output.token("title", r"HPLinpack (\S+) .*")
    tests = output.whole("tests", r"Finished +(\d+) tests with the following results:")
    failed = output.whole("failed tests", r" +(\d+) tests completed and failed residual checks,")
    skipped = output.whole("skipped tests", r" +(\d+) tests skipped because of illegal input values\.")
    output.token("end", r"(End of Tests\.)")
    rows = output.lines(ROW)
    passed = [line[2] for line in output.lines(CHECK)]
    wrong = failed + skipped or "FAILED" in passed or len(rows) != tests or not rows
    fault = f"HPL: {failed} of {tests} tests failed, {skipped} were skipped, {len(rows)} are in the table"
    if not wrong:
        fault = "" if len(passed) >= tests else "HPL: a test has no residual check"
        for row in rows:
            order, time = float(row[2]), float(row[6])
            operations = 2 / 3 * order**3 + 3 / 2 * order**2
            if not fault and time > 0:
                fault = disagreement(f"HPL: Gflops of N={row[2]}", row[7], operations / time * 1e-9, row[6])
    grids = {int(row[4]) * int(row[5]) for row in rows}
    return Reading(
        program="HPL",
        version=version,
        ranks=grids.pop() if len(grids) == 1 else None,
        series=[] if fault else _series(source, rows),
        fault=fault,
    )


def _series(source: str, rows: Sequence[re.Match[str]]) -> list[Series]:
    """Return rate and time by problem; tests of one problem are its samples."""
    samples: dict[tuple[str, ...], list[tuple[float, float]]] = {}
    for row in rows:
        time, rate = (reading.finite(row[column], source, name) for column, name in ((6, "Time"), (7, "Gflops")))
        samples.setdefault(row.group(1, 2, 3, 4, 5), []).append((rate, time))
    series = []
    for problem, values in samples.items():
        numbers = dict(zip(("n", "nb", "p", "q"), map(int, problem[1:]), strict=True))
        labels: dict[str, Label] = {"variant": problem[0], **numbers}
        for column, fom in enumerate((RATE, TIME)):
            series.append(Series(fom=fom, labels=labels, samples=tuple(value[column] for value in values)))
    return series
