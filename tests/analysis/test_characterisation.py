"""The charts of profiled applications: what is drawn of known profiles, on the page and as files."""

from __future__ import annotations

from typing import Any

from support import synthetic

from railyard.analysis.cases import cases
from railyard.analysis.figures import applications, registry
from railyard.analysis.judge.judged import judge
from railyard.analysis.report import exports, page
from railyard.records.record import Record


def point(fom: str, value: float, **labels: str | int) -> dict[str, Any]:
    return {"fom": fom, "labels": labels, "samples": [value]}


def profiled(benchmark: str, between: float, together: float, persistent: int | None = None) -> Record:
    """One job of one launch: shares of time, sizes of messages, a histogram; persistent sends if they were counted."""
    series = [
        point("fom_kzone_s", 1000.0),
        point("mpi_time_percent", between + together),
        point("mpi_time_percent", between, **{"class": "point-to-point"}),
        point("mpi_time_percent", together, **{"class": "collective"}),
        point("message_bytes", 512.0, **{"class": "point-to-point"}),
        point("message_bytes", 8.0, **{"class": "collective"}),
        point("messages_count", 100, **{"class": "collective"}),
        point("sent_percent", 25.0, size_bytes=511),
        point("sent_percent", 75.0, size_bytes=1023),
        point("collective_time_percent", 40.0, size_bytes=15),
    ]
    if persistent is not None:
        series.append(point("persistent_messages_count", persistent))
    if persistent:
        series.append(point("persistent_message_bytes", 65536.0))
        series.append(point("persistent_messages_percent", 100.0, size_bytes=131071))
    asked = {"placements": ["cart-create"], "launches_per_combination": 1, "extents": [2, 1, 1]}
    made = synthetic.case(benchmark=benchmark, check=f"{benchmark}_profile", studies=["llnl-multirail"], **asked)
    return synthetic.job(made, lambda *_: series)


def test_the_posters_two_charts_have_a_bar_for_each_application() -> None:
    grouped = cases.group([profiled("lulesh", 30.0, 10.0), profiled("amg", 5.0, 45.0)])
    shares, sizes = applications.drawings_of_cases(grouped)
    assert shares.title == "Share of the time spent in MPI (emulated)"
    assert sizes.title == "Mean size of a message (emulated)"
    assert shares.data.rows == [
        ("amg", "point-to-point", "5"),
        ("amg", "collective", "45"),
        ("lulesh", "point-to-point", "30"),
        ("lulesh", "collective", "10"),
    ]
    assert ("lulesh", "point-to-point", "512") in sizes.data.rows
    assert "lulesh point-to-point 30 %, collective 10 %" in shares.description


def test_applications_of_one_name_are_told_apart() -> None:
    other = synthetic.case(benchmark="lulesh", placements=["custom"], launches_per_combination=1, extents=[2, 2, 1])
    again = synthetic.job(other, lambda *_: [point("mpi_time_percent", 7.0, **{"class": "collective"})])
    grouped = cases.group([profiled("lulesh", 30.0, 10.0), again])
    assert list(applications.profiled(grouped)) == ["lulesh (case 1)", "lulesh (case 2)"]


def test_a_profiled_case_has_its_histogram_and_keeps_its_own_figure_of_merit() -> None:
    (case,) = cases.group([profiled("lulesh", 30.0, 10.0)])
    (own,) = registry.own_drawings(case)
    assert own.statement == (
        "Messages of at most 1 KiB have 75.0 % of the bytes sent from point to point; messages of at most 16 B have "
        "40.0 % of the time in MPI, in collectives (persistent sends were not counted)."
    )
    assert "fom_kzone_s" not in own.foms and "mpi_time_percent" in own.foms


def test_a_case_has_a_histogram_of_its_persistent_sends_and_no_other_figure_of_them() -> None:
    (case,) = cases.group([profiled("umt", 30.0, 10.0, 1200)])
    (own,) = registry.own_drawings(case)
    assert own.statement.endswith(
        "messages of at most 128 KiB have 100.0 % of the persistent sends, by number "
        "(included: 1,200 persistent sends of 65,536 bytes on average)."
    )
    assert ("of the persistent sends, by number", "131071", "100") in own.data.rows
    named = {"persistent_messages_count", "persistent_message_bytes", "persistent_messages_percent"}
    assert named <= own.foms
    (none,) = cases.group([profiled("umt", 30.0, 10.0, 0)])
    (own,) = registry.own_drawings(none)
    assert own.statement.endswith("(included: no persistent sends).")


def test_the_page_and_the_folder_of_figures_show_them_and_which_persistent_sends_they_include() -> None:
    judged = judge([profiled("umt", 30, 10, 1200), profiled("lulesh", 30, 10, 0), profiled("amg", 5, 45)])
    note = (
        "Messages from point to point include persistent sends: umt has 1,200 of 65,536 bytes on average; "
        "there are none in lulesh. Persistent sends were not counted, and are missing here: amg."
    )
    text = page.html(judged)
    assert '<h2 id="applications">Applications</h2>' in text and "Share of the time spent in MPI" in text
    assert note in text
    files = dict(exports.svg_files(judged))
    shares, sizes = "applications-shares-emulated.svg", "applications-sizes-emulated.svg"
    assert list(files)[:2] == [shares, sizes]
    assert note in files[sizes], "a file has no page around it"
    assert "persistent" not in files[shares]
    assert ">40 %<" in files[shares] and ">512 B<" in files[sizes], "the bars have their values"
    plain = synthetic.case(placements=["plain"], launches_per_combination=1)
    none = synthetic.job(plain, lambda *_: [point("iteration_us", 5.0)])
    assert applications.drawings_of_cases(cases.group([none])) == []
