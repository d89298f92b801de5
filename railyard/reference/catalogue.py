"""Describe placements, NIC policies, topologies, launchers, units and counter groups, from their registries.

The registries name and describe what exists. `railyard.reference.tables` renders the long tables, and writes the short
ones into docs/placements.md. A name that no page has is undocumented.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from railyard.base.checkout import CHECKOUT, TOPOLOGIES
from railyard.placements.hosts.binding import Binding
from railyard.placements.launchers import LAUNCHERS
from railyard.placements.nics.policies import policies
from railyard.placements.nics.stacks import stacks
from railyard.placements.orders.choices import choices
from railyard.placements.orders.rank_orders import orders
from railyard.placements.topology import catalog
from railyard.records import units
from railyard.reference import tables
from railyard.reference.markdown import code, escaped, table

PAGES = tuple(CHECKOUT / "docs" / name for name in ("placements.md", "topologies.md"))
GROUPS = CHECKOUT / "benchmarks" / "counters" / "groups"
COUNTER = re.compile(r"^(COUNTER|OPTIONAL|METRIC)\s+(\S+)\s+(\S+)\s+(.*)$", re.MULTILINE)


def page() -> str:
    """Return the page: one section per registry."""
    return "\n".join(
        [
            "# Placements, policies, topologies, counters and units\n",
            "## Rank orders\n\nA placement is written `ORDER[:ARGUMENT][@CHOICE[:SEED]][/BINDING]`.\n",
            table(["order", "what it does"], [(code(order.form), order.does) for order in orders().values()]),
            f"The choice is one of {_list(list(choices()))}. The binding is one of {_list(Binding)}.\n",
            "## NIC policies\n",
            table(
                ["policy", "what it does"],
                [(code(name), policy.does) for name, policy in policies().items()],
            ),
            "A stack can express these policies:\n",
            table(
                ["stack", "policies"],
                [(code(name), _list(list(map(str, stack.policies())))) for name, stack in stacks().items()],
            ),
            "Two NICs and four ranks, of which the first two are near NIC0. `A=x/y` after `wrapper:` are the values\n"
            "of the local ranks:\n",
            tables.TABLES["stacks"](),
            "## Launchers\n",
            table(["launcher", "selected by ReFrame's launcher and a feature", "bindings"], _launchers()),
            "Four ranks on two nodes; F begins the names of the files. With a binding only the difference is shown:\n",
            tables.TABLES["launchers"](),
            "## Topologies\n",
            table(
                ["name", "what it is"], [(code(name), escaped(_topology(name))) for name in catalog.known()]
            ),
            "## Units\n\nA figure of merit declares one of these, by its name or as programs print it.\n",
            table(
                ["unit", "shown as", "as programs print it"],
                [(code(u.name), _unit(u), ", ".join(map(code, u.spellings))) for u in units.UNITS],
            ),
            "## Counter groups\n",
            *(_group(path) for path in _groups()),
        ]
    )


def undocumented() -> list[str]:
    """Return the names without a description in docs/placements.md, and counter groups without a summary."""
    names = [
        *orders(),
        *policies(),
        *choices(),
        *Binding,
        *stacks(),
        *LAUNCHERS,
    ]
    text = _text()
    return [
        *(str(name) for name in names if f"`{name}" not in text),
        *(path.stem for path in _groups() if not _summary(path)),
    ]


def _text() -> str:
    return "\n".join(page.read_text() for page in PAGES if page.exists())


def _launchers() -> list[tuple[str, str, str]]:
    return [
        (
            code(name),
            ", ".join(code(f"{launcher} + {feature}") for launcher, feature in one.selected_by) or "-",
            _list(sorted(one.bindings)),
        )
        for name, one in LAUNCHERS.items()
    ]


def _topology(name: str) -> str:
    text = (TOPOLOGIES / f"{name}.yml").read_text()
    match = re.search(r"^description: *(.+)$", text, re.MULTILINE)
    return match[1].strip("'\" ") if match else text.partition("\n")[0].lstrip("# ")


def _unit(unit: units.Unit) -> str:
    return f"{unit.text} ({unit.exact})" if unit.exact else unit.text


def _groups() -> list[Path]:
    return sorted(GROUPS.glob("*.txt"))


def _summary(path: Path) -> str:
    match = re.search(r"^SUMMARY\s+(.+)$", path.read_text(), re.MULTILINE)
    return match[1] if match else ""


def _group(path: Path) -> str:
    rows = [(code(m[2]), m[1].lower(), m[3], code(m[4].strip())) for m in COUNTER.finditer(path.read_text())]
    return f"### {path.stem}\n\n{escaped(_summary(path))}\n\n" + table(
        ["name", "kind", "unit", "source"], rows
    )


def _list(names: Sequence[str] | type[Binding]) -> str:
    return ", ".join(code(str(name)) for name in names) or "-"
