"""The canary: a pair that stands out among the pairs of its proximity is named, near and far pairs are told apart."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from support.records import figures

from checks import canary
from railyard.records.benchmark import Series
from railyard.records.record import Origin

AT = {"a": (0, 0, 0), "b": (0, 0, 0), "c": (1, 0, 0), "d": (1, 0, 0), "e": (2, 0, 0), "f": (2, 0, 0)}
PAIRS = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "e"), ("e", "f"), ("f", "a")]


def record(origin: Origin = Origin.MEASURED, **slow: float) -> Any:
    """A ring over three switches: near pairs have 10 GB/s and 1 us, far ones half and 3 us; `ab=4` is 4 times worse."""
    series = []
    for one, other in PAIRS:
        worse = slow.get(one + other, 1.0)
        near = AT[one] == AT[other]
        for fom, value, size in (
            ("pair_latency_us", (1.0 if near else 3.0) * worse, 8),
            ("pair_bandwidth_gbyte_s", (10.0 if near else 5.0) / worse, 1 << 20),
        ):
            series.append(
                Series(
                    fom=figures.fom(fom), labels={"from": one, "to": other, "size_bytes": size}, samples=(value,) * 3
                )
            )
    launch = SimpleNamespace(is_result=True, spans=None, series=series)
    nodes = [{"name": name, "coordinate": list(at)} for name, at in AT.items()]
    return SimpleNamespace(case=SimpleNamespace(allocation={"nodes": nodes}), launches=[launch], origin=origin)


def test_near_pairs_are_told_from_far_ones_and_none_stands_out() -> None:
    found = {(str(each.fom), each.name): each for each in canary.judge(record())}
    assert found["pair_latency_us", "same switch"].median == 1.0
    assert found["pair_latency_us", "other switch"].median == 3.0
    assert found["pair_bandwidth_gbyte_s", "other switch"].pairs == 3
    assert canary.fault(record()) == ""


@pytest.mark.parametrize(("pair", "proximity"), [("cd", "same switch"), ("de", "other switch")])
def test_a_pair_that_stands_out_is_named_with_its_relation(pair: str, proximity: str) -> None:
    words = canary.fault(record(Origin.MEASURED, **{pair: 2.5}))
    assert f"{proximity}: median" in words and f"{pair[0]} to {pair[1]}" in words and "2 times worse" in words


def test_small_messages_fail_no_virtual_torus_and_bulk_does() -> None:
    only_latency = record(Origin.EMULATED, cd=2.5)
    for series in list(only_latency.launches[0].series):
        if series.fom != "pair_latency_us" and series.labels["from"] == "c":
            only_latency.launches[0].series.remove(series)
    assert canary.fault(only_latency) == ""
    assert "bandwidth" in canary.fault(record(Origin.EMULATED, cd=2.5))
