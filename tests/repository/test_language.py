"""Python code is in the words of the field: names of locals, docstrings and comments."""

from __future__ import annotations

import ast
import re
import tokenize
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest
from support.commands import CHECKOUT

PRODUCT = ("railyard", "checks", "perf", "tools")

#: Names of locals and parameters that describe what happened to a thing and not what it is. Name the thing:
#: `rows`, not `found`; `node`, not `each`; `policy_name`, not `asked`. Fields of records are left alone.
VAGUE = {
    *("apart", "around", "asked", "begun", "beside", "carries", "each", "ended", "found", "got", "hears"),
    *("kept", "known", "made", "meant", "met", "said", "stands", "told"),
}

#: Words that only the authors used so, and "two nodes a router" where "two nodes per router" is meant.
PRIVATE = re.compile(
    r"\b(say|says|said|tells?|told|hears?|heard|stands?(?! out|-in)|meant|asks?|asked|met|anew)\b"
    r"|\b(nodes?|ranks?|packets|bytes|messages|launches|lines?|seconds|zones|cells|links|NICs|samples) "
    r"an? (router|node|second|line|rank|link|job|launch|file|dimension|socket)\b"
)


@cache
def sources() -> Mapping[Path, ast.Module]:
    """Return the Python files of the product, each with its syntax tree."""
    paths = (path for top in PRODUCT for path in sorted((CHECKOUT / top).rglob("*.py")))
    return {path: ast.parse(path.read_text()) for path in paths}


def names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield line and name of each parameter and each variable that is bound outside a class body."""
    fields = {
        target
        for body in ast.walk(tree)
        if isinstance(body, ast.ClassDef)
        for statement in body.body
        if isinstance(statement, ast.Assign | ast.AnnAssign)
        for target in ast.walk(statement)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node not in fields:
            yield node.lineno, node.id


def indices(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield line and name of each variable of a loop or comprehension."""
    for node in ast.walk(tree):
        if isinstance(node, ast.For | ast.comprehension):
            yield from ((x.lineno, x.id) for x in ast.walk(node.target) if isinstance(x, ast.Name))


def prose(path: Path, tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield line and text of each docstring and comment, without what is in backticks."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            yield getattr(node, "lineno", 1), _unquoted(ast.get_docstring(node) or "")
    with path.open("rb") as lines:
        for token in tokenize.tokenize(lines.readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], _unquoted(token.string)


def _unquoted(text: str) -> str:
    return re.sub(r"`[^`]*`|\"[^\"]*\"", "", " ".join(text.split()))


def test_locals_and_parameters_are_named_for_the_thing() -> None:
    vague = [
        f"{path.relative_to(CHECKOUT)}:{line}: {name}"
        for path, tree in sources().items()
        for line, name in [
            *(pair for pair in names(tree) if pair[1] in VAGUE),
            *(pair for pair in indices(tree) if pair[1] == "place"),
        ]
    ]
    assert vague == []


def test_docstrings_and_comments_use_the_words_of_the_field() -> None:
    private = [
        f"{path.relative_to(CHECKOUT)}:{line}: {match[0]}"
        for path, tree in sources().items()
        for line, text in prose(path, tree)
        for match in PRIVATE.finditer(text)
    ]
    assert private == []


@pytest.mark.parametrize(
    ("code", "refused"),
    [
        ("def f(said): pass", {"said"}),
        ("def f():\n    if (found := 1): pass", {"found"}),
        ("for each in (): pass", {"each"}),
        ("class Record:\n    kept: int = 1", set()),
        ("[1 for node in ()]", set()),
    ],
)
def test_the_names_that_are_refused(code: str, refused: set[str]) -> None:
    assert {name for _, name in names(ast.parse(code))} & VAGUE == refused


#: What a warning may have without its values: names, numbers and paths have the rest of 120 characters.
WARNING_CHARACTERS = 80


def test_a_warning_is_one_short_line() -> None:
    """What, how long, what to type; the rest is on the page that the line names."""
    long = [
        f"{path.relative_to(CHECKOUT)}:{call.lineno}"
        for path, tree in sources().items()
        if path.is_relative_to(CHECKOUT / "railyard") or path.is_relative_to(CHECKOUT / "checks")
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and call.args and is_warning(call)
        if literal_characters(call.args[0]) > WARNING_CHARACTERS
    ]
    assert long == []


def is_warning(call: ast.Call) -> bool:
    to = {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords}
    function = ast.unparse(call.func)
    return (
        function.endswith(".warning")
        or to.get("file") == "sys.stderr"
        or (function, to.get("err")) == ("click.echo", "True")
    )


def literal_characters(node: ast.AST) -> int:
    return sum(
        len(part.value) for part in ast.walk(node) if isinstance(part, ast.Constant) and isinstance(part.value, str)
    )
