"""Write the tables of docs/placements.md from the objects (orders, bindings, launchers, NICs), and of docs/coverage.md.

    python -m railyard.reference --tables

A table is between two comment lines, `<!-- generated: NAME -->` and `<!-- end -->`. Its cells come from rendering
small placements and policies, so that the page cannot disagree with the code. A test compares both.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from railyard.base.checkout import CHECKOUT
from railyard.base.errors import InputError
from railyard.placements import launchers
from railyard.placements.hosts.gpus import common
from railyard.placements.hosts.node import BINDINGS, Binding
from railyard.placements.hosts.sources import sources
from railyard.placements.launchers import LAUNCHERS, Launcher, Rendered
from railyard.placements.linkload.patterns import patterns
from railyard.placements.nics.policies import ChosenPolicy, Host, parse, policies
from railyard.placements.nics.stacks import NicStack, stacks
from railyard.placements.orders.allocation import allocate
from railyard.placements.orders.choices import DEFAULT, choices
from railyard.placements.orders.placement import place
from railyard.placements.orders.rank_orders import orders
from railyard.placements.orders.word import Word
from railyard.placements.topology import catalog
from railyard.placements.topology.chosen import rules
from railyard.reference import coverage
from railyard.reference.markdown import code, table
from railyard.tender import completeness, metrics

PAGES = tuple(
    CHECKOUT / f"docs/{name}.md"
    for name in ("architecture", "cluster", "coverage", "howto/ci", "placements", "routes", "tender")
)
BLOCK = re.compile(r"(<!-- generated: (\S+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)
#: Four ranks on two nodes with a NUMA node for each rank: no launcher refuses a binding for their number.
TOPOLOGY, GRID, RANKS_PER_NODE = "dual-rail-small", (4,), 2
#: With the binding `launcher` a launch has fewer words than without one, and the table shows none of it.
SHOWN_BINDINGS = (Binding.NONE, Binding.CORE, Binding.NUMA)
#: Orders that are shown for 4x4 ranks on a row of four nodes, each with a remark of two lines.
EXAMPLE_TOPOLOGY, LETTERS = "gemini-4x4x4", "ABCD"
EXAMPLES: Mapping[str, tuple[str, str]] = {
    "plain": ("(column by", "column)"),
    "cart-create": ("(rank k in", "slot k)"),
    "blocks:2x2": ("(a box of", "the grid)"),
    "hilbert": ("(a curve", "through it)"),
    "random:1": ("(drawn from", "the seed)"),
}
#: Two NICs; the ranks 0 and 1 of a node are near to the first.
HOST = Host(nics=("NIC0", "NIC1"), nearest=(0, 0, 1, 1), sockets=2)
SHOWN = tuple(parse(name, 2) for name in ("round-robin", "nic-1", "local-nic", "stripe"))


def rewritten(text: str) -> str:
    """Return a page with its generated tables as the objects are now."""
    return BLOCK.sub(lambda match: f"{match[1]}{TABLES[match[2]]()}{match[4]}", text)


def write(pages: Sequence[Path] = PAGES) -> None:
    """Write the generated tables into the pages."""
    for page in pages:
        page.write_text(rewritten(page.read_text()))


def _does(name: str, does: str, registry: Mapping[str, Any]) -> str:
    """Return a table of the names of a registry and what they do, under two heads."""
    return table([name, does], [(code(word), one.does) for word, one in registry.items()])


def _parts() -> str:
    bindings = ", ".join(map(code, Binding))
    load = "programs that run beside it on other nodes of the job ([congestion](congestion.md)); checks add it"
    rows = [
        ("order", ", ".join(code(order.form) for order in orders().values()), ""),
        ("choice", ", ".join(code(choice.form) for choice in choices().values()), code(DEFAULT)),
        ("binding", bindings, code(Binding.NONE)),
        ("load", load, "none"),
    ]
    return table(["part", "words", "default"], rows)


def _example() -> str:
    """Return a grid of 4x4 ranks on a row of four nodes under some orders, a letter per rank at its place."""
    granted = allocate(catalog.load(EXAMPLE_TOPOLOGY), "contiguous", block=(4, 1, 1))
    columns = []
    for name, words in EXAMPLES.items():
        placed = place(name, granted, (4, 4), ranks_per_node=4)
        letters = [LETTERS[granted.indices.tolist().index(node)] for node in placed.indices.tolist()]
        columns.append([name, *words, *(" ".join(letters[k : k + 4]) for k in range(0, 16, 4))])
    lines = ("".join(text.ljust(14) for text in line).rstrip() for line in zip(*columns, strict=True))
    return "\n" + "".join(f"    {line}\n" for line in lines) + "\n"


def _named(word: Word) -> str:
    """Return a word with an argument that it needs."""
    return code(word.form if word.needs_argument else word.name)


def of_launchers() -> str:
    """Return what each launcher is passed, and the manual it is from."""
    rows = [
        (
            code(name),
            ", ".join(code(f"{launcher} + {feature}") for launcher, feature in one.selected_by) or "-",
            *(_launch(one, binding) for binding in SHOWN_BINDINGS),
            one.cannot or "",
            one.source,
        )
        for name, one in LAUNCHERS.items()
    ]
    heads = ("launcher", "ReFrame's launcher and feature", "without binding", "`core`", "`numa`", "cannot")
    return table([*heads, "source"], rows)


def _launch(launcher: Launcher, binding: Binding) -> str:
    """Return what a launcher is passed for four ranks; with a binding, only what differs from the launch without."""
    if binding not in launcher.bindings:
        return "-"
    own = _rendered(launcher, binding)
    settings, command = dict(own.environment), list(own.command)
    if binding != Binding.NONE:
        unbound = _rendered(launcher, Binding.NONE)
        settings = {n: value for n, value in settings.items() if unbound.environment.get(n) != value}
        command = _differing(command, unbound.command)
    return code(" ".join([*(f"{name}={value}" for name, value in settings.items()), *command]))


def _differing(words: Sequence[str], others: Sequence[str]) -> list[str]:
    """Return the words of a command that another lacks: those between the equal words at both ends."""
    first = common(words, others)
    first -= words[first - 1].startswith("-") and "=" not in words[first - 1]
    last = common(words[:first:-1], others[:first:-1])
    return list(words[first : len(words) - last])


def _rendered(launcher: Launcher, binding: Binding) -> Rendered:
    granted = allocate(catalog.load(TOPOLOGY), "contiguous")
    placed = place(f"cart-create/{binding}", granted, GRID, ranks_per_node=RANKS_PER_NODE)
    return launchers.render(launcher.name, placed, stem="F")


def _local_ranks() -> str:
    names: dict[str, list[str]] = {}
    for name, one in LAUNCHERS.items():
        names.setdefault(", ".join(map(code, one.local_rank)), []).append(code(name))
    rows = [(variables, ", ".join(own)) for variables, own in names.items() if variables]
    return table(["a rank's number on its node", "launchers"], rows)


def of_stacks() -> str:
    """Return what each stack sets for some policies, and the manual it is from."""
    rows = [
        (code(name), *(_set(stack, policy) for policy in SHOWN), _assigned(stack.always), stack.source)
        for name, stack in stacks().items()
    ]
    return table(["stack", *map(str, SHOWN), "always", "source"], rows)


def _set(stack: NicStack, policy: ChosenPolicy) -> str:
    """Return the variables that a stack needs for a policy, without those of every policy."""
    try:
        settings = stack.settings(policy, HOST)
    except InputError:
        return "-"
    words = _assigned({name: value for name, value in settings.environment.items() if name not in stack.always})
    if not settings.by_local_rank:
        return words
    columns = zip(*(variables.values() for variables in settings.by_local_rank), strict=True)
    texts = ("/".join(values if len(set(values)) > 1 else values[:1]) for values in columns)
    by_rank = (f"{name}={text}" for name, text in zip(settings.by_local_rank[0], texts, strict=True))
    return " ".join(filter(None, ["wrapper:", *map(code, by_rank), words]))


def _assigned(variables: Mapping[str, str]) -> str:
    return " ".join(code(f"{name}={value}") for name, value in variables.items())


def _rooms() -> str:
    """Return the rooms in the order of their imports, each with the first line of its package."""
    order = re.findall(r"^    (\S+(?: <- \S+)+)$", (CHECKOUT / "docs/architecture.md").read_text(), re.MULTILINE)
    rooms = [room for line in order for room in line.split(" <- ") if (CHECKOUT / room / "__init__.py").is_file()]
    lines = [(CHECKOUT / room / "__init__.py").read_text().partition("\n")[0].strip('"') for room in rooms]
    return table(["room", "what it does"], [(code(f"{room}/"), line) for room, line in zip(rooms, lines, strict=True)])


def _action_inputs() -> str:
    """Return the inputs of railyard's GitHub action, from its file."""
    inputs = yaml.safe_load((CHECKOUT / "action.yml").read_text())["inputs"]
    rows = [(code(name), " ".join(one["description"].split()), code(one["default"])) for name, one in inputs.items()]
    return table(["input", "meaning", "default"], rows)


def _tender_rules() -> str:
    rules = (*completeness.RULES, *completeness.ACROSS)
    rows = [(code(rule.__name__.replace("_", "-")), (rule.__doc__ or "").strip()) for rule in rules]
    return table(["rule", "what it demands"], rows)


def _route_rules() -> str:
    orders = {name: rule.order + ", or flowlet TIME" * rule.has_flowlets for name, rule in rules.RULES.items()}
    rows = [(code(name), rule.does, orders[name]) for name, rule in rules.RULES.items()]
    return table(["`choose`", "a router takes", "`order`"], rows)


TABLES: Mapping[str, Callable[[], str]] = {
    "parts": _parts,
    "orders-example": _example,
    "orders": lambda: table(
        ["order", "what it does", "after"], [(_named(order), order.does, order.after) for order in orders().values()]
    ),
    "choices": lambda: table(
        ["choice", "the granted nodes that a smaller job takes"],
        [(_named(choice), choice.does) for choice in choices().values()],
    ),
    "bindings": lambda: table(
        ["binding", "what a rank is bound to"], [(code(name), text) for name, text in BINDINGS.items()]
    ),
    "policies": lambda: _does("policy", "local rank k sends through", policies()),
    "local-ranks": _local_ranks,
    "rooms": _rooms,
    "ci-inputs": _action_inputs,
    "tender-metrics": lambda: table(
        ["`metric`", "score", "what it means", "source"],
        [(code(name), one.formula, one.meaning, one.source) for name, one in metrics.FORMULAS.items()],
    ),
    "tender-rules": _tender_rules,
    "coordinate-sources": lambda: _does("source", "what it is", sources()),
    "route-rules": _route_rules,
    "patterns": lambda: _does("pattern", "messages", patterns()),
    **coverage.TABLES,
}
