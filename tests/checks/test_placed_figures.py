"""Names and units of the performance variables of others, and the words of their launch lines."""

from __future__ import annotations

import functools
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from reframe.core.builtins import xfail
from support.topology.topologies import gemini

from railyard.jobs import launching
from railyard.jobs.job.submitted import Planned
from railyard.jobs.nodes.counted import ENERGY
from railyard.placed import figures
from railyard.placed.figures import Figure, fault, performance_variables, recorded, suffix, unknown, values, variant
from railyard.placed.mixin import in_own_size, reported
from railyard.placements import launchers
from railyard.placements.nics.lines import Verbatim
from railyard.placements.orders.allocation import allocate
from railyard.placements.orders.placement import place
from railyard.records import units
from railyard.records.record import Software


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("us", "us"),
        ("µs", "us"),
        ("t[usec]", "us"),
        ("s", "s"),
        ("seconds", "s"),
        ("MB/s", "mbyte_s"),
        ("Mb/s", "mbit_s"),
        ("Gbit/s", "gbit_s"),
        ("Mbytes/sec", "mbyte_s"),
        ("GiB/s", "gibyte_s"),
        ("Gflops/seconds", "gflop_s"),
        ("DOF/s", "dof_s"),
        ("Gbps", "gbit_s"),
        ("GTEPS", "gteps"),
        ("min", "minute"),
        ("ns/day", "ns_per_day"),
        ("Gib/s", "count"),
        ("mbps", "count"),
        ("errors/s", "count"),
        ("Msg/sec", "message_s"),
        ("%", "percent"),
        ("", "count"),
        ("furlongs", "count"),
    ],
)
def test_units_of_other_suites_are_registered_ones_or_counts(text: str, expected: str) -> None:
    assert suffix(text) == expected


@pytest.mark.parametrize(
    ("name", "unit", "fom", "better"),
    [
        ("latency", "us", "latency_us", "lower"),
        ("latency_us", "us", "latency_us", "lower"),
        ("time", "MB/s", "time_mbyte_s", "higher"),
        ("time_2_10", "s", "time_2_10_s", "lower"),
        ("8B latency", "us", "figure_8b_latency_us", "lower"),
        ("score", "furlongs", "score_count", "neither"),
        ("errors", "errors/s", "errors_count", "neither"),
    ],
)
def test_a_variable_has_a_name_that_a_record_can_have_and_the_direction_of_its_unit(
    name: str, unit: str, fom: str, better: str
) -> None:
    assert (recorded(name, unit), recorded(name, unit).better) == (fom, better)


def variables(values: Mapping[str, tuple[Callable[[], Any], str]]) -> list[Figure]:
    """Return the performance variables of a test: name -> its function and its unit."""
    here = SimpleNamespace(fullname="a:b", name="a")
    own = {name: SimpleNamespace(evaluate=function, unit=unit) for name, (function, unit) in values.items()}
    test = SimpleNamespace(perf_variables=own, current_partition=here, current_system=here, reference={})
    return performance_variables(test)


def test_a_variable_whose_unit_is_not_registered_is_named() -> None:
    """Before, `Gib/s` was silently read as eight times as fast."""
    own = variables({f"in {unit}": (float, unit) for unit in ("Gib/s", "Gbps", "", "count")})
    assert unknown(own) == ["in Gib/s: 'Gib/s'"]


def test_the_bounds_of_a_reference_decide_the_direction() -> None:
    """ReFrame keeps that of an expected failure as the second part of a pair, which was read as value and bound."""
    own, points = SimpleNamespace(fullname="a:b", name="a"), SimpleNamespace(evaluate=lambda: 1.0, unit="points")
    references = {"*:up": (1, -0.1, None, "points"), "*:down": (1, None, 0.1, "points"), "*:both": (1, -0.1, 0.1)}
    test = SimpleNamespace(
        perf_variables=dict.fromkeys(("up", "down", "both"), points),
        perf_patterns={"rate": 1.0},
        current_partition=own,
        current_system=own,
        reference=references | {"*:rate": xfail("bug 123", (50, -0.1, None, "points"))},
    )
    own_figures = {figure.name: figure for figure in performance_variables(test)}
    better = {"up": "higher", "down": "lower", "both": "neither", "rate": "higher"}
    assert {name: figure.fom.better for name, figure in own_figures.items()} == better
    assert own_figures["rate"].unit == "points"


def test_two_variables_whose_names_a_record_cannot_tell_apart_are_both_in_it(tmp_path: Path) -> None:
    """The second one replaced the first."""
    job = SimpleNamespace(_stdout="", _stderr="")
    launch = Planned(index=0, placement="plain", nic_policy="library-default", repeat=0, command="")
    given = {"8B latency": 1.0, "8b-latency": 2.0, "8b latency 2": 3.0}
    own = variables({name: (functools.partial(float, value), "us") for name, value in given.items()})
    taken = values(SimpleNamespace(job=job, stagedir=str(tmp_path)), launch, own)
    names = ["figure_8b_latency_us", "figure_8b_latency_2_us", "figure_8b_latency_2_2_us"]
    assert taken == dict(zip(names, (1.0, 2.0, 3.0), strict=True))


def test_parameters_of_a_test_and_of_its_fixtures_have_names_that_a_record_can_have() -> None:
    """ReFrame names those of a fixture by a dot, and a record with such a name was refused after the job."""
    name = "osu_check %benchmark_info=mpi.pt2pt.osu_bw %osu_binaries.build_type=cpu %Mode=a=b"
    expected = {"benchmark_info": "mpi.pt2pt.osu_bw", "osu_binaries_build_type": "cpu", "mode": "a=b"}
    assert variant(name) == expected and variant("hello") == {}
    assert variant(f"{name} %.repeat_no=1") == expected, "a repeated test is the same case"


def test_what_a_function_raises_for_a_launch_is_one_line_or_leaves_its_variable_out(tmp_path: Path) -> None:
    """A quotient by 0 and a plain `assert` ended in a traceback, and no record was made."""

    def refuse() -> bool:
        raise AssertionError("only 3 of 4\n ranks")

    job = SimpleNamespace(_stdout="", _stderr="")
    test = SimpleNamespace(job=job, stagedir=str(tmp_path), _rfm_sanity=refuse)
    launch = Planned(index=0, placement="plain", nic_policy="library-default", repeat=0, command="")
    assert fault(test, launch) == "sanity: only 3 of 4 ranks"
    own = variables({"rate": (lambda: 1 / 0, "MB/s"), "turn": (lambda: 2.0, "us")})
    assert values(test, launch, own) == {"turn_us": 2.0}


def test_energy_that_nodes_counted_is_no_performance_variable_of_the_test() -> None:
    """Every test on nodes with such counters ended in a KeyError, after its record was made."""
    turn = units.fom("turn_us", "us", "lower")
    launch = SimpleNamespace(
        is_result=True,
        placement="plain",
        nic_policy="library-default",
        software=Software.NATIVE,
        series=[SimpleNamespace(fom=turn, samples=(2.0,)), SimpleNamespace(fom=ENERGY, samples=(9.0,))],
    )
    case = SimpleNamespace(placements=("plain",), nic_policies=("library-default",))
    record: Any = SimpleNamespace(launches=[launch], case=case)
    rows = list(reported(record, {"turn_us": ("turn", "us")}, ["library-default"]))
    assert rows == [("turn", 2.0, "us"), ("plain/turn", 2.0, "us")]


def test_options_and_modifier_of_a_site_are_on_the_launch_line_as_they_were_written() -> None:
    placed = place("plain", allocate(gemini("2x2x2"), "contiguous"), (2, 2, 2))
    words: Any = {"modifier": ["perf", "stat -o $F"], "options": ["--mpi=pmix", '--network="$NET"']}
    rendered = launching.render(placed, "library-default", launchers.named("slurm"), ["mpi"], stem="plain", **words)
    line = rendered.command(["railyard-witness", "a file", Verbatim("./program < in.txt")])
    assert "perf stat -o $F srun " in line
    assert line.endswith("--mpi=pmix --network=\"$NET\" railyard-witness 'a file' ./program < in.txt")


def test_a_tests_own_commands_have_its_size_and_the_launches_the_jobs() -> None:
    """EESSI's check of the binding counted a process on every node of a torus, for a test of two."""
    shown = 'echo "$SLURM_NTASKS on $SLURM_JOB_NUM_NODES"'
    script = "\n".join([*in_own_size([shown], 3, 2), shown])
    job = {"SLURM_NTASKS": "16", "SLURM_NNODES": "8", "SLURM_JOB_NUM_NODES": "8"}
    done = subprocess.run(["/bin/bash", "-c", script], env=job, capture_output=True, text=True, check=True)
    assert done.stdout == "3 on 2\n16 on 8\n" and not done.stderr


# ---- the lines that ReFrame shows while it waits ----


@pytest.mark.parametrize(
    ("ended", "elapsed_s", "waited_s", "text"),
    [
        (0, 14.0, 0.4, "halo: 0 of 18 launches ended in 14 s"),
        (5, 41.0, 0.0, "halo: 5 of 18 launches ended in 41 s, about 107 s left"),
        (
            9,
            900.0,
            61.0,
            "halo: 9 of 18 launches ended in 15 min (61 s of it waiting for other launches on this machine), "
            "about 15 min left",
        ),
    ],
)
def test_the_line(ended: int, elapsed_s: float, waited_s: float, text: str) -> None:
    assert figures.line("halo", ended, 18, elapsed_s, waited_s=waited_s) == text


def test_a_line_per_interval_until_the_job_has_finished(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Programs beside the measured one are not counted, and a job that the scheduler ended is reported no further."""
    answers = iter([False, False, False])  # finished on the fourth question

    def finished(job: object) -> bool:
        del job
        (tmp_path / "launch-000.begun").touch()
        return next(answers, True)

    job = SimpleNamespace(jobid="7", scheduler=SimpleNamespace(finished=finished))
    (tmp_path / "mpi").mkdir()
    for name in ("launch-000.ended", "launch-000.noise.ended", "mpi/launch-000.ended"):
        (tmp_path / name).touch()
    thread = figures.watch("halo", job, tmp_path, 3, interval_s=0.01)
    thread.join(60)
    lines = capfd.readouterr().err.splitlines()
    assert lines[0].startswith("halo: 2 of 3 launches ended in ") and len(lines) == 3
