"""Skip the tests that make network namespaces where they run as somebody other than root."""

from __future__ import annotations

import os

import pytest


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test of the mark `torus` unless root runs it."""
    if os.geteuid() != 0 and item.get_closest_marker("torus"):
        pytest.skip("makes network namespaces as root; run as root")
