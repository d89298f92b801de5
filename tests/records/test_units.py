"""Units: what programs print is known, a figure is what its maker declares, and no name decides who wins."""

from __future__ import annotations

import copy
import pickle
from collections import Counter

import pytest

from railyard.analysis.cases import judgement, scoreboard
from railyard.analysis.cases.judgement import Evidence, Series
from railyard.base.checkout import CHECKOUT
from railyard.base.errors import InputError
from railyard.records import record, units
from railyard.records.units import Better

#: Program -> a unit as it prints it -> the registered unit.
PRINTED = {
    "SPEC MPI, OMP, HPC, CPU": {"Seconds": "s", "Ratio": "ratio", "kJ": "kjoule", "W": "watt"},
    "HPL": {"Gflops": "gflop_s", "Tflops": "tflop_s"},
    "HPL-MxP": {"GFLOPS": "gflop_s", "PFLOPS": "pflop_s", "EFLOPS": "eflop_s"},
    "HPCG": {"GFLOP/s": "gflop_s", "GB/s": "gbyte_s", "sec": "s"},
    "HPCC": {"GUP/s": "gupdate_s", "usec": "us", "GB/s": "gbyte_s", "Tflop/s": "tflop_s"},
    "STREAM": {"MB/s": "mbyte_s", "microseconds": "us"},
    "Graph500": {"TEPS": "teps", "GTEPS": "gteps", "s": "s"},
    "IO500, IOR, mdtest": {
        "GiB/s": "gibyte_s",
        "MiB/s": "mibyte_s",
        "kIOPS": "kiops",
        "ops/sec": "iops",
        "seconds": "s",
    },
    "OSU": {"us": "us", "MB/s": "mbyte_s", "Messages/s": "message_s", "%": "percent"},
    "nccl-tests": {"us": "us", "GB/s": "gbyte_s", "B": "bytes", "elements": "count", "#wrong": "count"},
    "GPCNeT": {"usec": "us", "MiB/s/rank": "mibyte_s", "X": "ratio"},
    "perftest, iperf": {"Gb/sec": "gbit_s", "Gbits/sec": "gbit_s", "Mpps": "mpacket_s", "usec": "us"},
    "CORAL-2: Kripke": {"unknowns/(second/iteration)": "unknown_s", "(seconds/iteration)/unknowns": "s_per_unknown"},
    "CORAL-2: Laghos": {"megadofs x time steps / second": "mdof_step_s"},
    "CORAL-2: LAMMPS": {
        "ns/day": "ns_per_day",
        "hours/ns": "hour_per_ns",
        "tau/day": "tau_per_day",
        "timesteps/s": "step_s",
        "katom-step/s": "katom_step_s",
        "Matom-step/s": "matom_step_s",
    },
    "CORAL-2: Nekbone": {"MFlops": "mflop_s"},
    "CORAL-2: PENNANT, QMCPACK, SW4, Pynamic": {"secs": "s", "sec": "s", "s": "s"},
    "CORAL-2: Quicksilver": {"segments/s": "segment_s"},
    "CORAL-2: VPIC, HACC": {"particles/s": "particle_s", "particles/sec": "particle_s"},
    "CORAL-2: deep learning": {"images/sec": "image_s", "samples/s": "sample_s", "tokens/s": "token_s"},
    "LULESH": {"z/s": "zone_s", "us/z/c": "us_per_zone_cycle", "s": "s"},
    "miniFE, MiniGhost, HPCCG": {"Mflops": "mflop_s", "GFLOPS": "gflop_s", "MFLOPS": "mflop_s"},
    "SNAP, UMT, XSBench": {"1/ns": "per_ns", "unknowns/s": "unknown_s", "Lookups/s": "lookup_s"},
    "climate models": {"SYPD": "sypd", "simulated_years/day": "sypd"},
    "lattice codes": {"MLUPS": "mlup_s", "GLUPS": "glup_s", "MLUP/s": "mlup_s", "Mcells/s": "mcell_s"},
}


@pytest.mark.parametrize("program", PRINTED)
def test_every_unit_that_a_program_prints_is_registered(program: str) -> None:
    assert {text: unit and unit.name for text in PRINTED[program] for unit in [units.find(text)]} == PRINTED[program]


def test_the_example_of_lulesh_is_read_in_thousands_of_zones() -> None:
    """Before, its record said 78 zones per second; 8 x 125 zones x 231 cycles took 2.96 s."""
    file = CHECKOUT / "results/example/vcluster/2026-11-21-260d241cf4ea.json"
    taken = record.load(file).launches[0].series
    series: dict[str, float] = {one.fom: one.samples[0] for one in taken}
    (rate,) = [one.fom for one in taken if one.fom.startswith("fom_")]
    assert (str(rate), rate.unit.text) == ("fom_kzone_s", "kzones/s")
    assert 1000 * series[rate] * series["elapsed_s"] == pytest.approx(8 * 125 * 231, rel=0.01)


def test_no_spelling_has_two_units() -> None:
    """Where kB means 1000 bytes to one program and 1024 to another, neither may be guessed."""
    owners = Counter(spelling for unit in units.UNITS for spelling in {unit.name, unit.text, *unit.spellings})
    assert [spelling for spelling, count in owners.items() if count > 1] == []


def test_a_figure_is_what_was_declared_whatever_its_name_is() -> None:
    rate = units.fom("hpl_time_s", "Tflop/s", "higher")
    assert (rate.unit.text, rate.better, rate) == ("Tflop/s", Better.HIGHER, "hpl_time_s")
    assert rate == units.fom("hpl_time_s", "tflop_s", "higher") != units.fom("hpl_time_s", "s", "lower")
    for copied in (copy.deepcopy(rate), pickle.loads(pickle.dumps(rate))):
        assert copied == rate and copied.unit is rate.unit


@pytest.mark.parametrize(
    ("name", "unit", "better", "words"),
    [
        ("hpl", "Tflop/h", "higher", "hpl: unit: 'Tflop/h' is not valid.*expected a unit of .* such as Tflop/s"),
        ("hpl", "", "higher", "hpl: unit: ''"),
        ("hpl", "Tflop/s", "more", "hpl: better: 'more' is not valid; expected lower, higher, neither"),
        ("HPL rate", "Tflop/s", "higher", "'HPL rate' is not valid; expected a name of small letters"),
    ],
)
def test_what_cannot_be_declared_is_refused_in_one_line(name: str, unit: str, better: str, words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        units.fom(name, unit, better)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["hpl_tflop_s", "stream_mbyte_s", "atoms_per_us", "grind_rate_s"])
def test_the_larger_rate_wins_a_score_whatever_its_name_ends_in(name: str) -> None:
    rate = units.fom(name, "Tflop/s", "higher")
    evidence = {"side": Evidence(values=[8.0] * 6), "base": Evidence(values=[4.0] * 6)}
    series = Series(fom=rate, labels=(), evidence=evidence, deterministic=False)
    better = (scoreboard.ratio(one, "side", ("x",)) for one in judgement.compare([series], "base"))
    scored = scoreboard.scores({"side": filter(None, better)})["side"]
    assert scored is not None and scored.value == pytest.approx(2.0)


@pytest.mark.parametrize("sample", [float("nan"), float("inf"), -1.0])
def test_samples_must_be_finite_and_in_range(sample: float) -> None:
    with pytest.raises(InputError, match=r"series\[0\]\.samples\[1\]"):
        units.check_samples(units.fom("a", "us", "lower"), [1.0, sample], "f", "series[0]")
