"""Read from the sources of the checks what each of them runs."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator, Mapping

from railyard.reference import checks


@functools.cache
def benchmarks_by_check() -> Mapping[str, set[str]]:
    """Return what each check runs: its own `benchmark` or parameter `test`, or that of its bases."""
    classes: dict[str, ast.ClassDef] = {}
    for path in sorted(checks.FOLDER.rglob("*.py")):
        classes |= {n.name: n for n in ast.parse(path.read_text()).body if isinstance(n, ast.ClassDef)}

    def runs(name: str) -> set[str]:
        node = classes.get(name)
        if node is None:
            return set()
        own = set(_named(node))
        return own or set().union(*(runs(base.id) for base in node.bases if isinstance(base, ast.Name)))

    return {one.name: runs(one.name) for one in checks.checks()}


def _named(node: ast.ClassDef) -> Iterator[str]:
    for line in node.body:
        if isinstance(line, ast.Assign) and ast.unparse(line.targets[0]) in {"benchmark", "test"}:
            constants = [part.value for part in ast.walk(line.value) if isinstance(part, ast.Constant)]
            yield from (value for value in constants if isinstance(value, str))
