"""Text and canonical form of documents drawn at random, against the plain rules that docs/formats.md names."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from railyard.records import json_io

NUMBERS = [
    *(0, 1, -7, 1 << 40, 0.5, -0.0, 1e-5, -3e-7, 1e16, 2.5e22, 0.00001234, 10.000012, 123.0000456, 1e-300, 0.1 + 0.2)
]
TEXTS = ["", "e-5", ",1e-5", ":0.0000", "c++", "a,1+", "é", '"', "library-default", "3e-", "\x7f", "a: b, c"]


def drawn(chance: random.Random, depth: int = 0) -> Any:
    kind = chance.random()
    if depth > 4 or kind < 0.25:
        return chance.choice([*NUMBERS, *TEXTS, None, True, False])
    if kind < 0.45:
        return [chance.choice(NUMBERS) for _ in range(chance.randrange(30))]
    if kind < 0.55:
        labels = {} if chance.random() < 0.7 else {"size": 8}
        samples = [chance.choice([*NUMBERS, *NUMBERS, "x"]) for _ in range(chance.randrange(9))]
        return [{"fom": chance.choice(TEXTS), "labels": labels, "samples": samples}] * chance.randrange(3)
    if kind < 0.75:
        return [drawn(chance, depth + 1) for _ in range(chance.randrange(4))]
    return {
        chance.choice("abcdefg") * chance.randrange(1, 4): drawn(chance, depth + 1) for _ in range(chance.randrange(6))
    }


def plain(value: Any, indent: str = "") -> str:
    """The rule in words: keys sorted, indented by one; scalars' lists, and flat parts that fit, on one line."""
    line = json.dumps(value, sort_keys=True)
    if not isinstance(value, dict | list) or not value:
        return line
    inner = list(value.values()) if isinstance(value, dict) else value
    is_flat = not any(isinstance(each, dict) for each in inner) and not any(
        isinstance(item, dict | list) for each in inner if isinstance(each, list) for item in each
    )
    is_scalars = isinstance(value, list) and not any(isinstance(each, dict | list) for each in inner)
    if is_scalars or (is_flat and len(indent) + len(line) <= json_io.WIDTH):
        return line
    deeper = indent + " "
    if isinstance(value, dict):
        items = [f"{json.dumps(key)}: {plain(value[key], deeper)}" for key in sorted(value)]
        begin, end = "{}"
    else:
        items, (begin, end) = [plain(each, deeper) for each in value], "[]"
    return begin + ",".join(f"\n{deeper}{item}" for item in items) + f"\n{indent}{end}"


@pytest.mark.parametrize("seed", range(80))
def test_documents_are_written_by_the_plain_rule(seed: int) -> None:
    document = {"a": drawn(random.Random(seed))}
    assert json_io.text(document) == plain(document) + "\n"
    assert json_io.canonical_bytes(document).decode() == json_io.canonical(document)
    assert json_io.loads_bytes(json_io.text(document).encode(), "drawn") == document


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("around", ["[{}]", "[1,{}]", '{{"a":{}}}', '{{"a":[[{}]]}}', '{{"a":-1,"e-":{}}}'])
def test_a_number_has_the_same_digits_in_every_place(number: float, around: str) -> None:
    document = json.loads(around.format(json.dumps(number)))
    document = document if isinstance(document, dict) else {"a": document}
    assert json_io.canonical_bytes(document).decode() == json_io.canonical(document)
