"""Describe every ReFrame check and variable of `checks/`, from the sources; what a check needs, from its class.

What a check needs is that of the class as ReFrame loads it, with the values that decorators and bases give, without
what `-S` and hooks of one run change. A variable is documented by the comment lines that begin with `#:` directly
before it. A class that sets a new default for a variable of its base class needs no comment of its own. The variables
of every check are the fields of `JobSpec`.
"""

from __future__ import annotations

import ast
import importlib
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from railyard.base import check_sources
from railyard.base.checkout import CHECKOUT
from railyard.placements.topology import catalog
from railyard.reference.markdown import code, escaped, table

FOLDER = CHECKOUT / "checks"
#: The class whose fields are the variables of every check, and the name of these checks' base class.
SPEC, EVERY = CHECKOUT / "railyard/jobs/job/spec.py", "PlacedCheck"
HEAD = """# Checks and variables

A check is run by its name, `reframe -n halo_3d`, or by a tag, `-t smoke`. A variable is set by `-S NAME=VALUE` for all
checks or by `-S CHECK.NAME=VALUE` for one.

"""
NODES = """On a virtual torus, by default. `all` is all nodes of the topology or of the job, 64 of a virtual torus. With
`varies` the topology or a parameter decides. `railyard checks` adds the minutes that each took here.

"""
DECLARATIONS = frozenset({"variable", "parameter"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """One variable or parameter as declared: `default` is its source text, `text` is empty without a comment."""

    name: str
    of: str
    text: str
    default: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One check that ReFrame can run."""

    name: str
    file: Path
    text: str


def page() -> str:
    """Return the table of checks, then one table of variables per class that declares some."""
    rows = []
    for one in checks():
        needed = of(one)
        text = f"{one.text}; needs {needed.what}" if needed.what else one.text
        rows.append((code(one.name), needed.nodes, escaped(text), ", ".join(needed.tags)))
    parts = [HEAD, "## Checks\n\n", NODES, table(["check", "nodes", "what it measures, and needs", "tags"], rows)]
    declared = variables()
    for owner in dict.fromkeys(one.of for one in declared):
        own = [
            (
                code(one.name),
                escaped(one.text) or "as in the base class",
                one.default if "`" in one.default else code(one.default),
            )
            for one in declared
            if one.of == owner
        ]
        heads = ("variable", "meaning", "default, or the values of a parameter")
        parts += [f"\n## Variables of {owner}\n\n", table(heads, own)]
    return "".join(parts)


def checks() -> list[Check]:
    """Return every class that ReFrame runs, in alphabetical order."""
    every = []
    for path, node in classes():
        texts = {name: values["__doc__"] for name, values in check_sources.variants(node)}
        if "rfm.simple_test" in map(ast.unparse, node.decorator_list):
            texts[node.name] = ast.get_docstring(node) or ""
        for name, text in texts.items():
            # The first line, which differs between checks, then `descr`, which may be inherited.
            parts = [text.partition("\n")[0].removesuffix("."), check_sources.value(name, "descr")]
            every.append(Check(name=name, file=path, text=". ".join(dict.fromkeys(filter(None, parts)))))
    return sorted(every, key=lambda one: one.name)


def variables() -> list[Variable]:
    """Return every declared variable and parameter, class by class, those of the common base class first."""
    declared = [*_fields()]
    for path, node in sorted(classes(), key=lambda pair: pair[0].name != "base.py"):
        lines = path.read_text().splitlines()
        declared += [entry for statement in node.body if (entry := _variable(statement, node.name, lines))]
    return declared


def classes() -> Iterator[tuple[Path, ast.ClassDef]]:
    """Yield every class of the folder of checks, with its file."""
    return ((path, node) for path, nodes in check_sources.files() for node in nodes if isinstance(node, ast.ClassDef))


def _fields() -> Iterator[Variable]:
    text = SPEC.read_text()
    (of,) = (one for one in ast.parse(text).body if isinstance(one, ast.ClassDef))
    for statement in of.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            words, default = _comment(text.splitlines(), statement.lineno - 1)
            if words:
                value = "" if statement.value is None else _source(statement.value)
                yield Variable(name=statement.target.id, of=EVERY, text=words, default=default or value)


def _source(value: ast.expr) -> str:
    """Return the source of a field's default as its variable has it: a list for a tuple."""
    if isinstance(value, ast.Tuple):
        return ast.unparse(ast.List(elts=value.elts, ctx=ast.Load()))
    if isinstance(value, ast.Call):  # of dataclasses.field
        return next((ast.unparse(one.value) for one in value.keywords if one.arg == "default"), "{}")
    return ast.unparse(value)


def _variable(statement: ast.stmt, of: str, lines: Sequence[str]) -> Variable | None:
    if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Call):
        return None
    function = ast.unparse(statement.value.func)
    if function not in DECLARATIONS:
        return None
    text, default = _comment(lines, statement.lineno - 1)
    given = [one.value for one in statement.value.keywords if one.arg == "value"]
    if function == "parameter":
        given = statement.value.args[:1]
    default = default or "; ".join(map(ast.unparse, given))
    return Variable(name=ast.unparse(statement.targets[0]), of=of, text=text, default=default)


def _comment(lines: Sequence[str], end: int) -> tuple[str, str]:
    """Return description and default of the comment block that ends before a line."""
    while end > 0 and re.match(r"    \w+ = variable\(", lines[end - 1]):
        end -= 1  # several variables in a row share one comment
    begin = end
    while begin > 0 and lines[begin - 1].lstrip().startswith("#:"):
        begin -= 1
    whole = " ".join(line.strip().removeprefix("#:").strip() for line in lines[begin:end]).replace("``", "`")
    description, _, default = whole.partition(":default:")
    return description.partition(":type:")[0].strip(), default.strip()


#: A system that a check requires, as ReFrame writes it, and its name for people.
SYSTEMS = {
    "%origin=emulated": "a virtual torus",
    "%origin=measured": "a cluster",
    "+simulated": "SimGrid",
    "+modelled": "the model",
}
#: The nodes of checks that take all that they get, and of those where topology or parameter decide.
ALL, VARIES = "all", "varies"
_SMOKE = "gemini-2x2x2"


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """`nodes` is a number, `ALL` or `VARIES`; `what` is empty for a check that any machine runs.

    `launches` is the number of all launches of all its variants, by default.
    """

    nodes: str
    what: str
    tags: tuple[str, ...]
    launches: int = 1


def of(declared: Check) -> Needs:
    """Return the needs of a check; needs ReFrame."""
    module = ".".join(declared.file.relative_to(CHECKOUT).with_suffix("").parts)
    check = getattr(importlib.import_module(module), declared.name)
    launches = int(check.num_variants)
    if hasattr(check, "placements"):
        rounds = int(check.launches) * max(1, len(getattr(check, "software", ())))
        launches *= rounds * len(check.placements) * len(check.nics)
    systems = [str(one) for one in check.valid_systems]
    kinds = [text for form, text in SYSTEMS.items() if any(form in one for one in systems)]
    what = [
        str(getattr(check, "package", "")),
        "" if "+torus" in systems else " or ".join(kinds),
        "an image" if "image" in map(str, getattr(check, "software", [])) else "",
        *(one for one in getattr(check, "needs", []) if one == "NIC counters"),
    ]
    tags = tuple(sorted(check.tags))
    return Needs(nodes=_nodes(check), what=", ".join(filter(None, what)), tags=tags, launches=launches)


def _nodes(check: Any) -> str:
    if not hasattr(check, "grid"):  # no check of placements
        return ALL
    grid, per_node = list(check.grid), int(check.ranks_per_node)
    application = importlib.import_module("checks.application")
    if not grid and issubclass(check, application.ApplicationCheck):
        cube, per_node = application.MACHINES[str(check.scale)]
        grid = list(cube)
    if grid:
        return f"{-(-math.prod(grid) // per_node):,}"
    if set(check.param_space.params) & {"side", "nodes"} or check.allocation == "axes":
        return VARIES
    if check.cube:
        return f"{math.prod(check.cube):,}"
    name = str(check.torus) or (_SMOKE if "smoke" in check.tags else "")
    if not name:
        return str(check.nodes or ALL)
    topology = catalog.load(name)
    per_router = len(topology.nodes) // max(1, len(topology.coordinates))
    return f"{math.prod(check.block) * per_router if check.block else len(topology.nodes):,}"
