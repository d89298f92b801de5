"""Protocols found in counted bytes, and outliers by NIC policy."""

from __future__ import annotations

import random

from railyard.analysis.cases import spread
from railyard.analysis.figures import sonar

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


def test_no_common_size_is_no_protocol() -> None:
    assert sonar.find({8: 100.0}, {}) == []


def test_an_outlier_lies_beyond_tukeys_fence() -> None:
    assert spread.count_outliers([1.0, 1.01, 0.99, 1.02, 1.0, 3.0]) == 1
    assert spread.count_outliers([1.0, 1.1, 0.9, 1.2, 1.0, 1.05]) == 0


def test_a_wider_spread_has_a_small_p() -> None:
    narrow = [1.0 + 0.001 * k for k in range(12)]
    wide = [1.0 + 0.3 * k for k in range(12)]
    assert spread.p_of_spreads(wide, narrow) < 0.01 < spread.p_of_spreads(narrow, narrow)
