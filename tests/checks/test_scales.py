"""Sizes by scale: small where a virtual torus carries them, a machine's own elsewhere, and the user's before both."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from checks import base as scales
from checks.base import Scale
from railyard.base.errors import InputError
from railyard.records.programs import Given


class Base:
    small: ClassVar[dict[str, Any]] = {"window": 2, "repeats": 5}
    standard: ClassVar[dict[str, Any]] = {"window": 64, "repeats": 20}
    large: ClassVar[dict[str, Any]] = {"repeats": 100}


class Study(Base):
    small: ClassVar[dict[str, Any]] = {"window": 1}
    standard: ClassVar[dict[str, Any]] = {"sizes": [8]}


def test_the_origin_chooses_the_scale_and_a_word_of_the_user_comes_before_it() -> None:
    assert scales.chosen("c", "", "measured") is Scale.STANDARD
    assert {scales.chosen("c", "", origin) for origin in ("emulated", "simulated", "modelled")} == {Scale.SMALL}
    assert scales.chosen("c", "large", "emulated") is Scale.LARGE
    with pytest.raises(InputError, match="small, standard, large"):
        scales.chosen("c", "huge", "measured")


def test_a_class_replaces_what_it_names_and_large_begins_with_standard() -> None:
    assert scales.sizes(Study, Scale.SMALL) == {"window": 1, "repeats": 5}
    assert scales.sizes(Study, Scale.STANDARD) == {"window": 64, "repeats": 20, "sizes": [8]}
    assert scales.sizes(Study, Scale.LARGE) == {"window": 64, "repeats": 100, "sizes": [8]}


def test_what_was_set_by_hand_is_told_from_what_was_not() -> None:
    assert scales.is_set("repeats", 1) and not scales.is_set("repeats", 0)
    assert scales.is_set("sizes", [0]) and not scales.is_set("sizes", [])
    assert scales.is_set("launches", 2) and not scales.is_set("launches", 1)
    assert scales.is_set("warmups", 0) and not scales.is_set("warmups", -1)


def test_a_machine_gets_long_points_and_a_virtual_torus_the_shortest() -> None:
    small = list(Given(parameters={"scale": "small", "repeats": 3}).timing(least_s=0.6))
    assert small[small.index("--min-time-per-point") + 1] == "0.6"
    large = list(Given(parameters={"scale": "large", "repeats": 100}).timing(least_s=0.6))
    assert large[large.index("--min-time-per-point") + 1] == "2"
