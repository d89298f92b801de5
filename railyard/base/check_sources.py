"""Read what the classes of the checks assign, from their source files, without importing them.

Models: names, lists, numbers and mappings of constants, in a class or in its bases. Leaves out: values that a hook of a
check computes.
"""

from __future__ import annotations

import ast
import functools
import itertools
import operator
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from railyard.base.checkout import CHECKOUT

_OPERATORS: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.LShift: operator.lshift,
    ast.Mult: operator.mul,
    ast.Add: operator.add,
}
Values = Mapping[str, Any]


def value(check: str, name: str) -> Any:
    """Return what a check, or the nearest of its bases, assigns to a name; None if none does."""
    return next((values[name] for values in chain(check) if name in values), None)


def chain(check: str) -> Iterator[Values]:
    """Yield the assignments of a class and of its bases, nearest first; nothing for a class of no check here."""
    bases, values = classes().get(check, ((), {}))
    yield values
    for base in bases:
        yield from chain(base)


@functools.cache
def classes() -> Mapping[str, tuple[tuple[str, ...], Values]]:
    """Return class -> its bases and its assignments, of all files of the checks."""
    values_of_class: dict[str, tuple[tuple[str, ...], Values]] = {}
    for node in itertools.chain.from_iterable(nodes for _, nodes in files()):
        if isinstance(node, ast.ClassDef):
            bases = tuple(base.id for base in node.bases if isinstance(base, ast.Name))
            values_of_class[node.name] = bases, dict(_assigned(node))
            values_of_class |= {name: ((node.name,), values) for name, values in variants(node)}
    return values_of_class


def files() -> Iterator[tuple[Path, list[ast.stmt]]]:
    """Yield each file of the checks with its statements."""
    for path in sorted((CHECKOUT / "checks").rglob("*.py")):
        yield path, ast.parse(path.read_text(encoding="utf-8")).body


def variants(node: ast.ClassDef) -> Iterator[tuple[str, Values]]:
    """Yield the checks that the decorator `variants` of mini-applications makes of a class, and what each assigns."""
    for call in node.decorator_list:
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "variants":
            poster = [name for word in call.keywords for name in _plain(word.value)]
            for name in (*map(_plain, call.args), *poster):
                study = {"studies": ["llnl-multirail"]} if name in poster else {}
                yield f"{dict(_assigned(node))['benchmark']}_{name}", {**_variants()[name], **study}


@functools.cache
def _variants() -> Mapping[str, Values]:
    (table,) = (
        node.value
        for node in ast.parse((CHECKOUT / "checks/application.py").read_text(encoding="utf-8")).body
        if isinstance(node, ast.AnnAssign) and node.value and ast.unparse(node.target) == "VARIANTS"
    )
    return dict(_plain(table))


def _assigned(node: ast.ClassDef) -> Iterator[tuple[str, Any]]:
    for line in node.body:
        if not isinstance(line, ast.Assign):
            continue
        given = line.value
        if isinstance(given, ast.Call) and getattr(given.func, "id", "") == "variable":
            given = next((word.value for word in given.keywords if word.arg == "value"), given)
        for target in line.targets:
            if isinstance(target, ast.Name):
                yield target.id, _plain(given)


def _plain(node: ast.expr) -> Any:
    """Return the value of an expression of constants; None for any other, and for the parts of a mapping or a list."""
    match node:
        case ast.Constant(value=constant):
            return constant
        case ast.List(elts=items):
            values = [_plain(item) for item in items]
            return None if None in values else values
        case ast.Dict(keys=keys, values=values):
            return {
                key.value: _plain(item) for key, item in zip(keys, values, strict=True) if isinstance(key, ast.Constant)
            }
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _OPERATORS:
            one, other = _plain(left), _plain(right)
            return _OPERATORS[type(sign)](one, other) if isinstance(one, int) and isinstance(other, int) else None
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
            return -number
    return None
