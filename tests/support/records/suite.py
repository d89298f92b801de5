"""Read from the sources of the checks what each of them runs."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator, Mapping

from railyard.base import check_sources
from railyard.reference import checks


@functools.cache
def benchmarks_by_check() -> Mapping[str, set[str]]:
    """Return what each check runs: its own `benchmark` or parameter `test`, or that of its bases."""
    nodes = {node.name: node for _, node in checks.classes()}

    def runs(name: str) -> set[str]:
        own = set(_named(nodes[name])) if name in nodes else set()
        return own or set().union(*map(runs, check_sources.classes().get(name, ((), {}))[0]))

    return {one.name: runs(one.name) for one in checks.checks()}


def _named(node: ast.ClassDef) -> Iterator[str]:
    for line in node.body:
        if isinstance(line, ast.Assign) and ast.unparse(line.targets[0]) in {"benchmark", "test"}:
            constants = [part.value for part in ast.walk(line.value) if isinstance(part, ast.Constant)]
            yield from (value for value in constants if isinstance(value, str))
