"""Which points of a check's figures become ReFrame's performance variables, and that one which got worse is seen."""

from __future__ import annotations

from support import synthetic
from support.records import figures

from railyard.analysis.references import judging, update
from railyard.records import references, watched
from railyard.records.benchmark import Labels
from railyard.records.store import entries
from railyard.records.units import Fom

LATENCY, RATE = figures.fom("latency_us"), figures.fom("bandwidth_gbyte_s")
SIZES = [2**power for power in range(23)]


Values = dict[tuple[Fom, Labels], list[float]]


def sized(fom: Fom, factor: float = 1.0, **labels: str | int) -> Values:
    """A curve over message sizes, of two launches."""
    return {
        (fom, tuple(sorted({**labels, "size_bytes": size}.items()))): [factor * (1 + size), factor * (2 + size)]
        for size in SIZES
    }


def test_of_a_curve_its_ends_and_8_kib_are_watched() -> None:
    variables = watched.variables(sized(LATENCY))
    assert list(variables) == ["latency_us@1B", "latency_us@8192B", "latency_us@4194304B"]
    assert variables[LATENCY.named("latency_us@8192B")] == [8193.0, 8194.0]


def test_curves_of_other_words_are_apart_and_numbers_have_ends() -> None:
    values = {
        key: value
        for dimension in "XZ"
        for hops in (1, 2, 3, 6)
        for key, value in sized(LATENCY, dimension=dimension, hops=hops, test="pingpong").items()
        if dict(key[1])["size_bytes"] in (8, 65536)
    }
    assert sorted(watched.variables(values)) == [
        f"latency_us@{dimension},pingpong,hops={hops},{size}B"
        for dimension in "XZ"
        for hops in (1, 6)
        for size in (65536, 8)
    ]


def test_points_of_one_figure_may_have_other_numbers() -> None:
    """Where a number's name comes before a word's in one point and after it in another."""
    values: Values = {
        (LATENCY, (("hops", 2), ("test", "pingpong"))): [1.0],
        (LATENCY, (("test", "pingpong"), ("window", 4))): [2.0],
    }
    assert list(watched.variables(values)) == ["latency_us@pingpong,hops=2", "latency_us@pingpong,window=4"]


def test_many_links_have_a_mean_and_the_worst_of_each_class() -> None:
    """One slow link of 384 hardly moves a mean."""
    values: Values = {
        (RATE, (("class", kind), ("link", f"{kind}{k}"))): [rate, rate]
        for kind, rate in (("backplane", 9.0), ("cable", 4.0))
        for k in range(192)
    }
    values[RATE, (("class", "cable"), ("link", "cable7"))] = [1.0, 4.0]
    values[figures.fom("missing_percent"), (("class", "cable"), ("link", "cable7"))] = [75.0, 0.0]
    variables = watched.variables(values)
    assert variables[RATE.named("bandwidth_gbyte_s@cable,worst")] == [1.0, 4.0]
    assert list(variables) == [
        f"bandwidth_gbyte_s@{kind},{what}" for kind in ("backplane", "cable") for what in ("mean", "worst")
    ]


def test_at_most_16_points_of_figures_with_labels() -> None:
    values = {
        key: value
        for number in range(9)
        for ping in ("get", "put", "send")
        for key, value in sized(LATENCY.named(f"end{number}_us"), ping=ping).items()
    }
    variables = watched.variables(values)
    assert set(variables) == {f"end{number}_us@mean" for number in range(9)}
    assert watched.figure("plain@random:1/end3_us@mean") == "end3_us"


def test_a_point_that_got_worse_fails_and_is_named() -> None:
    record = synthetic.hops(launches=6)
    entry = entries.of_record(record)
    known = update.updated([entry], {}).references
    check, case = record.case.check, references.case_name(record)
    now = references.medians(entry)
    assert not judging.judged(check, case, now, known).worse
    name = next(name for name in now if "latency_us@" in name and "plain/" in name)
    (line,) = judging.judged(check, case, {**now, name: 2 * now[name]}, known).worse
    assert line.startswith(f"{name}: ")
