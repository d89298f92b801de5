"""The figures of topobw and sonar: what they say in words and numbers, and the protocols found in counted bytes."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure
from support.records import figures

from railyard.analysis.cases import cases, comparison, published, titles
from railyard.analysis.figures import drawing, registry, sonar, topobw
from railyard.base.errors import InputError
from railyard.records import record
from railyard.records.record import Record

SMALL = Path(__file__).parents[1] / "data/records/small.json"


def small(change: Callable[[dict[str, Any]], object] = bool) -> cases.Case:
    """Return the case of the small record, changed."""
    document = json.loads(SMALL.read_text())
    document.pop("id", None)
    change(document)
    (case,) = cases.group([record.from_content(document, "the test's record")])
    return case


def case_of(benchmark: str, series: list[dict[str, Any]], *, failed: str = "") -> cases.Case:
    """The small record's with one launch of another benchmark."""

    def change(content: dict[str, Any]) -> None:
        launch = content["launches"][0] | {"series": series, "not_measured": []}
        if failed:
            launch |= {"status": "failed", "exit_status": 5, "reason": failed}
            content |= {"status": "failed", "reason": f"1 of 1 launches failed: {failed}"}
        chosen = {"placements": [launch["placement"]], "nic_policies": [launch["nic_policy"]], "parameters": {}}
        content["case"] |= {"benchmark": benchmark, "launches_per_combination": 1, **chosen}
        content["launches"] = [launch]
        content["figures"] = figures.of_record(content)

    return small(change)


def link(name: str, rate: float, missing: float) -> list[dict[str, Any]]:
    labels = {"link": name, "dimension": name[0], "direction": name[1], "class": "cable", "sharers": 1}
    return [
        {"fom": "bandwidth_gbyte_s", "labels": labels, "samples": [0.9 * rate, rate]},
        {"fom": "missing_percent", "labels": labels, "samples": [missing]},
    ]


def test_a_failed_launch_has_its_links_shown() -> None:
    """A ring of 2 along X and one of 3 along Z; one link of Z has lost a third."""
    series = link("X+ 0,0,0>1,0,0", 9.0, 0) + link("X- 1,0,0>0,0,0", 9.2, 0)
    series += link("Z+ 0,0,0>0,0,1", 10.0, 33.3) + link("Z- 0,0,1>0,0,0", 15.0, 0)
    failed = "exit status 5; topobw: link Z+ 0,0,0>0,0,1"
    heat, rates = topobw.drawings(case_of("topobw", series, failed=failed))
    assert heat.statement.startswith("1 of 4 links carry less than they should: Z+ 0,0,0>0,0,1 (33.3 %")
    assert rates.data.rows[0] == ("X cable", "2", "9.000000", "9.100000", "9.200000")
    assert rates.data.rows[1][2:] == ("10.000000", "12.500000", "15.000000")
    svg = drawing.inline_svg(heat, "a")
    assert ">33<" in svg and "X of the sender" in svg and "Z of the sender" in svg


def test_no_links_no_figure() -> None:
    series = [{"fom": "bandwidth_gbyte_s", "labels": {"dimension": "X"}, "samples": [1.0]}]
    assert topobw.drawings(case_of("topobw", series)) == []


@pytest.mark.parametrize("coordinate", ["99999", "99999999", "9" * 150, "9" * 5000])
def test_a_link_that_no_machine_has_takes_no_more_room_than_another(coordinate: str) -> None:
    """A record may name any coordinate; an axis with a tick for each would take all memory."""
    try:
        series = link("X+ 0,0,0>1,0,0", 9.0, 0) + link(f"X+ {coordinate},0,0>0,0,0", 9.0, 5)
        case = case_of("topobw", series)
    except InputError:
        return  # refused in one line is as good
    heat, rates = topobw.drawings(case)
    assert rates.data.rows
    figure = Figure()
    heat.paint(figure)
    (axes,) = figure.axes
    assert len(axes.get_xticks()) <= topobw.TICKS_MAX + 1


@pytest.mark.parametrize("grid", [5, "4x4", None, {"x": 4}, [], [[4]], ["4"]])
def test_a_grid_of_another_type_ends_neither_published_numbers_nor_figures(grid: Any) -> None:
    case = small(lambda document: document["case"]["parameters"].update(grid=grid))
    assert "pena2013" in case.first.case.studies
    published.rows([(case, comparison.comparisons(case))])
    assert titles.title(case)
    registry.own_drawings(case)


def test_cases_of_one_title_are_told_apart_by_their_checks() -> None:
    """Three cases of the page were headed `amg on gemini-2x2x2`."""

    def of(check: str, grid: list[int]) -> Record:
        def change(document: dict[str, Any]) -> None:
            document["case"]["check"], document["case"]["parameters"]["grid"] = check, grid

        return small(change).first

    shown = cases.group([of("halo_one", [2, 2]), of("halo_two", [2, 2]), of("halo_two", [4, 1])])
    headings = {(case.first.case.check, titles.heading(case, shown)) for case in shown}
    same, other = (titles.title(case) for case in (shown[0], shown[-1]))
    assert same != other
    assert headings == {("halo_one", f"{same}, halo_one"), ("halo_two", f"{same}, halo_two"), ("halo_two", other)}


def test_efficiency_by_size() -> None:
    def point(fom: str, size: int, value: float, ping: str = "send") -> dict[str, Any]:
        labels = {"ping": ping, "payload": "random", "size_bytes": size}
        return {"fom": fom, "labels": labels, "samples": [value, value, 0.0]}

    series = [
        point(fom, size, value * size)
        for size in (64, 4096)
        for fom, value in (("source_sent_bytes", 1.5), ("source_received_bytes", 0.5))
    ]
    series += [point("efficiency_percent", 64, 21.0), point("efficiency_percent", 4096, 61.0)]
    series += [point("source_sent_bytes", size, 9.0 * size, "put") for size in (64, 4096)]  # no bytes received
    efficiency, counted = registry.own_drawings(case_of("sonar", series))
    assert efficiency.statement == (
        "The payload is this share of the bytes counted: send, random: 21.0 % at 64 B, 61.0 % at 4 KiB."
    )
    assert efficiency.data.rows == [("send, random", "64", "21"), ("send, random", "4096", "61")]
    curves = {"put, random sent", "send, random sent", "send, random received"}
    assert {row[0] for row in counted.data.rows} == curves
    assert counted.statement == (
        "The counters show these protocols by message size: "
        "send, random: 64 B to 4 KiB 2 bytes per byte and a header of 0."
    )
    assert "message size" in drawing.inline_svg(counted, "b")
    assert sonar.SENT in efficiency.foms


def test_routes_that_the_network_chose_are_a_fact_of_the_case() -> None:
    routes = {"choose": "ugal-local", "order": "restored", "seed": 3}
    usual, chosen = small(), small(lambda document: document["provenance"]["torus"].update(routes=routes))
    assert ("routes", "ugal-local, order restored, seed 3") in titles.facts(chosen)
    assert "routes" not in dict(titles.facts(usual))


SIZES = [1 << power for power in range(23)]


def cray(size: int) -> tuple[float, float]:
    """Bytes that a host sends and receives for a message, after the text of Pedretti et al., section V-D."""
    if size <= 16:
        return 96.0, 9.0
    if size <= 4096:
        return 96 + size * 1.5, 27 + size * 9 / 64
    if size <= 262144:  # the destination gets the data: 24 bytes of request and 81 of response for each 64
        return 192 + size * 81 / 64, 96 + size * 24 / 64
    return 700 + size * 1.5, 400 + size * 9 / 64


def test_the_four_protocols_of_pedretti_et_al_are_found_from_the_curve() -> None:
    sent, received = ({size: cray(size)[way] for size in SIZES} for way in (0, 1))
    found = sonar.find(sent, received)
    assert [(each.smallest, each.largest) for each in found] == [(1, 16), (32, 4096), (8192, 262144), (524288, 4194304)]
    assert [round(each.bytes_per_byte * 64) for each in found] == [0, 105, 105, 105]
    assert round(found[0].header_bytes) == 105


def test_one_line_with_noise_is_one_protocol() -> None:
    draw = random.Random(1)
    sent = {size: (64 + 1.1 * size) * draw.uniform(0.99, 1.01) for size in SIZES}
    (only,) = sonar.find(sent, {size: 0.05 * size + 60 for size in SIZES})
    assert 100 < only.header_bytes < 140 and 1.1 < only.bytes_per_byte < 1.2
    assert sonar.find({8: 100.0}, {}) == []
