"""The page of every check's record, alone and together: no figure fails, and one that does is a line in its place."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
from support import reframe, synthetic

from railyard.analysis.cases import cases
from railyard.analysis.figures import drawing, registry
from railyard.analysis.judge.judged import judge
from railyard.analysis.report import exports, page
from railyard.analysis.report.exports import Format
from railyard.records.record import Record

#: A figure that could not be drawn.
FAILED = "not drawn: "
#: Two placements that tie, before one that is apart.
SPEED = {"plain": 1.0, "cart-create": 1.25, "custom": 1.0}


def assert_whole(read: list[Record]) -> None:
    """Assert that the page and the screen are written, and that every figure is drawn."""
    judged = judge(read)
    assert all(launch.is_result for record in read for launch in record.launches)
    assert FAILED not in page.html(judged)
    assert exports.text(judged, Format.TEXT)


def test_a_tie_before_another_in_a_model_has_no_interval() -> None:
    case = synthetic.case(
        check="minighost_remap",
        benchmark="minighost",
        placements=list(SPEED),
        launches_per_combination=1,
    )
    system = {"name": "linkload", "partition": "default", "environment": "openmpi"}

    def series(_: Any, placement: str, __: str) -> list[dict[str, Any]]:
        return [{"fom": "slowest_link_us", "labels": {}, "samples": [1000 * SPEED[placement]]}]

    read = [synthetic.job(case, series, origin="modelled", system=system)]
    text = " ".join(exports.text(judge(read), Format.TEXT).split())
    assert "1.00 no interval custom plain" in text and "0.80 no interval cart-create plain" in text


@pytest.mark.parametrize("part", ["family", "paint"])
def test_a_figure_that_fails_is_one_line_in_its_place(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> Any:
        raise ValueError("zero-size\narray")

    (shown, *_) = registry.own_drawings(cases.group([synthetic.halo()])[0]) or [
        drawing.failed("halo", ValueError())
    ]
    broken = dataclasses.replace(shown, name="parts", paint=fails)
    monkeypatch.setattr(
        registry.families()["halo"], "drawings", fails if part == "family" else lambda _: [broken]
    )
    judged = judge([synthetic.halo()])
    name = "halo" if part == "family" else "parts"
    text = f"{name}: {FAILED}ValueError: zero-size array"
    assert text in page.html(judged) and "custom is lowest" in page.html(judged)
    assert any(text in content for _, content in exports.svg_files(judged))


@pytest.mark.reframe
def test_records_of_the_papers_own_checks_have_pages(tmp_path: Path) -> None:
    """Small blocks of a large machine, where no cable between cells has load, and ties before another placement."""
    named = ["halo_paper_2d%side=2", "halo_paper_3d%side=3"]
    named += [f"minighost_scaling%rank_count={ranks}" for ranks in (1024, 2048)]
    files = [f"{reframe.CHECKS}/{name}.py" for name in ("halo", "applications/minighost_model")]
    words = ["--system", "linkload", "-c", *" -c ".join(files).split(), "-n", "|".join(named), "-r"]
    reframe.assert_passed(reframe.reframe_in(tmp_path)(*words, *reframe.into(tmp_path)))
    read = reframe.records(tmp_path)
    assert len(read) == len(named)
    for record in read:
        assert_whole([record])
    assert_whole(read)
