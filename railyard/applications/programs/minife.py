"""Read miniFE: Mflop/s of conjugate gradients on a finite-element mesh.

Models: standard output and the YAML file of `miniFE.x verify_solution=1`. Verified is the program's own comparison with
the analytic solution near the middle of the cube (within 0.06); every rank with the largest error prints it.
The rate must be the operations over the time. Leaves out: the rates of single kernels, and programs built to time
kernels alone.
"""

from __future__ import annotations

from railyard.applications.reading import NUMBER, Output, Reading, disagreement, single
from railyard.records import units

RATE = units.fom("cg_mflop_s", "Mflops", "higher")
TIME = units.fom("cg_s", "s", "lower")
PROGRAM = units.fom("program_s", "s", "lower")
MATCHES = r"solution matches analytic solution to within \S+ or better\."


def parse(text: str, left: str, source: str) -> Reading:
    """Return a run's reading; raises InputError for output that is cut off or not a number."""
    output, wrote = Output(source=source, text=text), Output(source=f"{source}, YAML", text=left)
    norm = output.number("Final Resid Norm", rf"Final Resid Norm: {NUMBER}")
    ranks = wrote.whole("number of processors", r"  number of processors: (\d+)")
    iterations = wrote.whole("Iterations", r"  Iterations: (\d+)")
    rate = wrote.number("Total CG Mflops", rf"    Total CG Mflops: {NUMBER}")
    time_s = wrote.number("Total CG Time", rf"    Total CG Time: {NUMBER}")
    operations = wrote.number("Total CG Flops", rf"    Total CG Flops: {NUMBER}")
    program = wrote.number("Total Program Time", rf"Total Program Time: {NUMBER}")
    fault = "" if output.lines(MATCHES) else "miniFE: the solution was not verified: run it with verify_solution=1"
    if wrong := output.lines(rf"max absolute error is {NUMBER}:"):
        fault = f"miniFE: the largest error against the analytic solution is {wrong[0].group(1)}, to be at most 0.06"
    if not fault and time_s:
        fault = disagreement("miniFE: Total CG Mflops", rate, operations / time_s * 1e-6, operations, time_s)
    return Reading(
        program="miniFE",
        version=wrote.token("miniFE version", r"Mini-Application Version: (\S+)"),
        ranks=ranks,
        series=[single(RATE, rate), single(TIME, time_s), single(PROGRAM, program)],
        fault=fault,
        parameters={"iterations": iterations, "final_residual_norm": float(norm)},
    )
