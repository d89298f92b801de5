"""A figure that fails is a line in its place on the page, and a model's tie has no interval."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from support import synthetic

from railyard.analysis.cases import cases
from railyard.analysis.figures import drawing, registry
from railyard.analysis.judge.judged import judge
from railyard.analysis.report import exports, page

#: A figure that could not be drawn.
FAILED = "not drawn: "
#: Two placements that tie, before one that is apart.
SPEED = {"plain": 1.0, "cart-create": 1.25, "custom": 1.0}


def test_a_tie_before_another_in_a_model_has_no_interval() -> None:
    case = synthetic.case(
        check="minighost_remap", benchmark="minighost", placements=list(SPEED), launches_per_combination=1
    )
    system = {"name": "linkload", "partition": "default", "environment": "openmpi"}

    def series(_: Any, placement: str, __: str) -> list[dict[str, Any]]:
        return [{"fom": "slowest_link_us", "labels": {}, "samples": [1000 * SPEED[placement]]}]

    read = [synthetic.job(case, series, origin="modelled", system=system)]
    text = " ".join(exports.text(judge(read), "text").split())
    assert "1.00 no interval custom plain" in text and "0.80 no interval cart-create plain" in text


@pytest.mark.parametrize("part", ["family", "paint"])
def test_a_figure_that_fails_is_one_line_in_its_place(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> Any:
        raise ValueError("zero-size\narray")

    (shown, *_) = registry.own_drawings(cases.group([synthetic.halo()])[0]) or [drawing.failed("halo", ValueError())]
    broken = dataclasses.replace(shown, name="parts", paint=fails)
    monkeypatch.setattr(registry.families()["halo"], "drawings", fails if part == "family" else lambda _: [broken])
    judged = judge([synthetic.halo()])
    name = "halo" if part == "family" else "parts"
    text = f"{name}: {FAILED}ValueError: zero-size array"
    assert text in page.html(judged) and "custom is lowest" in page.html(judged)
    assert any(text in content for _, content in exports.svg_files(judged))
