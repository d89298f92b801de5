"""The one line that a user sees of bad input: a value is quoted, a problem in prose is not."""

from __future__ import annotations

import pickle

import pytest

from railyard.errors import InputError


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (
            InputError("t.yml", "extents", 0, "1 or more"),
            "t.yml: extents: 0 is not valid; expected 1 or more",
        ),
        (
            InputError("hosts", "", problem="no node", valid="one per line"),
            "hosts: no node; expected one per line",
        ),
        (InputError("r.json", "torus", None, "the torus"), "r.json: torus: no value; expected the torus"),
    ],
)
def test_the_line(error: InputError, line: str) -> None:
    assert str(error) == line
    assert str(pickle.loads(pickle.dumps(error))) == line, "as a process sends it to another"
