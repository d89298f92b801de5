"""The one line that a user sees of bad input: a value is quoted, a problem in prose is not."""

from __future__ import annotations

import pickle

import pytest
from support.commands import CHECKOUT, environment, ran

from railyard.base.errors import InputError


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (InputError("t.yml", "extents", 0, "1 or more"), "t.yml: extents: 0 is not valid; expected 1 or more"),
        (InputError("hosts", "", problem="no node", valid="one per line"), "hosts: no node; expected one per line"),
        (InputError("r.json", "torus", None, "the torus"), "r.json: torus: no value; expected the torus"),
        (InputError("o", "", "9" * 5000, "a number"), f"o: '{'9' * 200}'... is not valid; expected a number"),
        (
            InputError("o", "", "x", ", ".join(f"partition{n}" for n in range(100))),
            f"o: 'x' is not valid; expected {', '.join(f'partition{n}' for n in range(77))}, ... (23 more)",
        ),
        (
            InputError("b\x1b[2J", "a\u202e\udcff", problem="no \x07", valid="a\nline"),
            "b\\x1b[2J: a\\u202e\\udcff: no \\x07; expected a\\nline",
        ),
    ],
)
def test_the_line(error: InputError, line: str) -> None:
    assert str(error) == line
    assert str(pickle.loads(pickle.dumps(error))) == line, "as a process sends it to another"


@pytest.mark.parametrize(
    ("line", "error"),
    [
        (
            "railyard topology gemini-2x2x2 >/dev/full",
            "input or output: No space left on device; run: df -h /run /tmp .",
        ),
        ("railyard --help >/dev/full", "input or output: No space left on device; run: df -h /run /tmp ."),
        ("railyard --help >&-", "the standard output is closed; expected a file, a pipe or a terminal"),
        (
            "ulimit -n 5; railyard report -q -o build/page.html results/example",
            "input or output: Too many open files; run: ulimit -n 1024",
        ),
        (
            "ulimit -v 60000; railyard results check results/example",
            "no memory is left for this command; its limits: ulimit -a",
        ),
    ],
)
def test_what_the_machine_refuses_is_one_line_too(line: str, error: str) -> None:
    done = ran("bash", "-c", line, cwd=CHECKOUT, env=environment())
    assert done.returncode in {1, 2} and done.stderr == f"railyard: error: {error}\n"
