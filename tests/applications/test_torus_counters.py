"""What a virtual torus counted becomes bytes and stalls by class of link, with the most of any router."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from railyard.applications import torus_counters
from railyard.base.errors import InputError
from railyard.torus.virtual.counters import CounterReading, LinkCounter


def link(source: str, target: str, dimension: str, direction: str, **counted: Any) -> LinkCounter:
    fixed = {"coordinate": (0, 0, 0), "rail": 0, "link_class": "cable", "rate_mbit_s": 1.0, "packets": 1}
    zeros = dict.fromkeys(("bytes", "drops", "throttled", "backlog_bytes", "backlog_packets"), 0)
    stalls = {"input_stall_ns": 0, "output_stall_ns": 0}
    name = f"{dimension}{direction} {source}>{target}"
    ends = {"name": name, "source": source, "target": target, "dimension": dimension, "direction": direction}
    return LinkCounter(**{**fixed, **zeros, **stalls, **ends, **counted})


def reading(*links: LinkCounter) -> CounterReading:
    return CounterReading(torus="a", topology="0", taken="later", since="before", links=links, lost=())


TWO_ROUTERS = (
    link("n0", "r0", "H", "+", bytes=300, input_stall_ns=8000),
    link("n1", "r1", "H", "+", bytes=100),
    link("r0", "n0", "H", "-", output_stall_ns=2000),
    link("r1", "n1", "H", "-"),
    link("r0", "r1", "X", "+", input_stall_ns=6000, output_stall_ns=4000),
    link("r1", "r0", "X", "-", input_stall_ns=1000),
)


def test_stalls_belong_to_the_router_where_packets_arrive_or_that_they_leave() -> None:
    found = {
        (str(each.fom), each.labels.get("links")): each.samples[0]
        for each in torus_counters.series(reading(*TWO_ROUTERS))
    }
    assert found["injected_bytes", None] == 200 and found["most_injected_bytes", None] == 300
    assert found["mean_input_stall_us", "host"] == 4 and found["most_input_stall_us", "host"] == 8
    assert found["most_output_stall_us", "host"] == 2
    assert found["most_input_stall_us", "X"] == 6 and found["mean_input_stall_us", "X"] == 3.5
    assert found["most_output_stall_us", "X"] == 4 and found["mean_output_stall_us", "X"] == 2
    assert not any(links == "Y" for _, links in found)


def test_a_torus_that_counts_no_stalls_is_refused_in_one_line() -> None:
    with pytest.raises(InputError, match=r"input_stall_ns: not counted.*--network router"):
        torus_counters.series(reading(link("n0", "r0", "H", "+", input_stall_ns=None)))


def test_a_file_that_is_cut_off_or_missing_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "launch-000.counted"
    with pytest.raises(InputError, match=r"launch-000\.counted"):
        torus_counters.read(path)
    path.write_text(json.dumps(reading(*TWO_ROUTERS).to_dict())[:-20])
    with pytest.raises(InputError, match=r"launch-000\.counted"):
        torus_counters.read(path)
    path.write_text(json.dumps(reading(*TWO_ROUTERS).to_dict()))
    assert torus_counters.read(path) == torus_counters.series(reading(*TWO_ROUTERS))
