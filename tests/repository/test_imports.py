"""Imports go one way: no circle between modules, and none against the order of rooms in docs/architecture.md."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from support.commands import CHECKOUT

TOPS = ("railyard", "checks", "perf")
ARCHITECTURE = CHECKOUT / "docs" / "architecture.md"


@cache
def modules() -> Mapping[str, Path]:
    """Return the Python modules of the project by name; a package has the name of its folder."""
    return {
        ".".join(path.relative_to(CHECKOUT).with_suffix("").parts).removesuffix(".__init__"): path
        for top in TOPS
        for path in sorted((CHECKOUT / top).rglob("*.py"))
    }


#: Rooms in which an import under TYPE_CHECKING counts as any other. Elsewhere it names a type and imports nothing at
#: run time: a class that is split over several files may name itself there.
STRICT = ("railyard.placements.",)


@cache
def graph() -> Mapping[str, frozenset[str]]:
    """Return the modules that each module imports, inside functions, too."""
    return {
        name: frozenset(_imports(ast.parse(path.read_text()), typed=name.startswith(STRICT))) - {name}
        for name, path in modules().items()
    }


def _imports(tree: ast.AST, *, typed: bool) -> Iterator[str]:
    for node in ast.iter_child_nodes(tree):
        if not typed and isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names if each.name in modules())
        elif isinstance(node, ast.ImportFrom) and node.module in modules():
            inside = [f"{node.module}.{each.name}" for each in node.names]
            yield from (name if name in modules() else str(node.module) for name in inside)
        yield from _imports(node, typed=typed)


def orders() -> list[list[str]]:
    """Return the orders of rooms that the document draws: `a <- b <- c`, where each imports those to its left alone."""
    lines = re.findall(r"^    (\S+(?: <- \S+)+)$", ARCHITECTURE.read_text(), re.MULTILINE)
    return [line.replace("/", ".").split(" <- ") for line in lines]


def room(module: str, rooms: Sequence[str]) -> str | None:
    """Return the room that a module is in, the innermost that fits; None for one of another part of the house."""
    fitting = [name for name in rooms if module == name or module.startswith(f"{name}.")]
    return max(fitting, key=len, default=None)


def test_no_circle_between_modules() -> None:
    try:
        TopologicalSorter(graph()).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def test_the_document_orders_every_room() -> None:
    whole, *inside = orders()
    folders = {f"railyard.{path.name}" for path in (CHECKOUT / "railyard").iterdir() if any(path.glob("*.py"))}
    assert set(TOPS) | folders == set(whole)
    for top in ("railyard.placements", "railyard.analysis", "railyard.torus"):
        (order,) = [each for each in inside if each[0].startswith(f"{top}.")]
        folder = CHECKOUT / top.replace(".", "/")
        folders = {f"{top}.{path.name}" for path in folder.iterdir() if any(path.glob("*.py"))}
        assert folders == set(order)


@pytest.mark.parametrize("order", orders(), ids=lambda order: order[0])
def test_no_import_goes_against_the_order_of_rooms(order: Sequence[str]) -> None:
    against = [
        f"{importer} imports {imported}"
        for importer, imports in graph().items()
        for imported in imports
        if (ours := room(importer, order)) and (theirs := room(imported, order))
        if order.index(theirs) > order.index(ours)
    ]
    assert against == []


def test_c_sources_include_nothing_from_the_rooms_below_theirs() -> None:
    """`lib/` uses no program and no counters; a program uses `lib/`, the counters and itself."""
    benchmarks = CHECKOUT / "benchmarks"
    order = re.findall(r"^\| `([\w/]+)/` \|", (benchmarks / "README.md").read_text(), re.MULTILINE)
    sources = sorted(benchmarks.rglob("*.[ch]"))
    folders = {path.parent.relative_to(benchmarks).as_posix() for path in sources}
    assert {name for name in folders if "/" in name} < set(order)
    shared = [name for name in order if not name.startswith("topobw/")]

    def is_open(folder: str, included: str) -> bool:
        if folder in order and included in order:
            return order.index(included) <= order.index(folder)
        return included in shared or folder.split("/")[0] == included.split("/")[0] != "lib"

    against = [
        f"{path.relative_to(benchmarks)} includes {included}"
        for path in sources
        for included in re.findall(r'^#include "(\S+)/', path.read_text(), re.MULTILINE)
        if not is_open(path.parent.relative_to(benchmarks).as_posix(), included)
    ]
    assert not against


def test_no_folder_has_more_than_twenty_sources() -> None:
    tops = (*TOPS, "benchmarks", "tests", "tools", "containers")
    suffixes = (".py", ".c", ".h", ".cpp", ".hpp", ".sh")
    folders = Counter(
        path.parent.relative_to(CHECKOUT).as_posix()
        for top in tops
        for path in (CHECKOUT / top).rglob("*.*")
        if path.suffix in suffixes
    )
    assert not {name: count for name, count in folders.items() if count > 20}
