"""What `railyard` prints of names that others chose: no command of a CI service's log, no control of a terminal."""

from __future__ import annotations

import pytest
from support.commands import Run

from railyard.base.plain_output import plain_output

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("::error title=a::b: 4 records", "\\::error title=a::b: 4 records"),
        ("  ::add-mask::x", "  \\::add-mask::x"),
        ("one\n::stop-commands::two", "one\n\\::stop-commands::two"),
        ("one\r::error::two", "one\\r::error::two"),
        ("one\x85::error\u2028::error\x1b[2J", "one\\x85::error\\u2028::error\\x1b[2J"),
        ("a ##[error]b", "a #\\#[error]b"),
        ("host::1, é, tab\there", "host::1, é, tab\there"),
    ],
)
def test_a_name_is_text(text: str, shown: str, capfd: pytest.CaptureFixture[str]) -> None:
    with plain_output():
        print(text)
    print("::debug::after")
    assert capfd.readouterr().out == f"{shown}\n::debug::after\n"


def test_a_file_s_name_is_no_command(railyard: Run) -> None:
    done = railyard("results", "check", "::error title=a::b")
    assert done.returncode != 0
    assert not any(line.lstrip().startswith("::") for line in (done.stdout + done.stderr).splitlines())
