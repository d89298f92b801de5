"""Members of a kind, each found in its folder: the tests of the placements name every one of them."""

from __future__ import annotations

import ast
import re
from functools import cache

import pytest
from support.commands import CHECKOUT

from railyard.placements.hosts.sources import sources
from railyard.placements.launchers import LAUNCHERS
from railyard.placements.linkload.patterns import patterns
from railyard.placements.nics.policies import policies
from railyard.placements.nics.stacks import stacks
from railyard.placements.orders.choices import choices
from railyard.placements.orders.rank_orders import orders

MEMBERS = {
    "launcher": LAUNCHERS,
    "rank order": orders(),
    "node choice": choices(),
    "NIC policy": policies(),
    "NIC stack": stacks(),
    "source of coordinates": sources(),
    "traffic pattern": patterns(),
}


@cache
def texts() -> str:
    """Return every string of the tests but their docstrings."""
    strings = []
    for path in sorted((CHECKOUT / "tests").rglob("*.py")):
        tree = ast.parse(path.read_text())
        prose = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        constants = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and node not in prose)
        strings += [node.value for node in constants if isinstance(node.value, str)]
    return "\n".join(strings)


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind, members in MEMBERS.items() for name in members]
)
def test_every_member_has_a_test(kind: str, name: str) -> None:
    assert re.search(rf"(?<![\w-]){name.removesuffix('K')}(?![a-z-])", texts()), (
        f"no test names the {kind} {name}"
    )
