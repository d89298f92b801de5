"""Describe topologies, units, counter groups and the rules of the strict check, from their registries and files.

`railyard.reference.tables` writes the other registries (rank orders, NIC policies, stacks, launchers) into
docs/placements.md.
"""

from __future__ import annotations

import re
from pathlib import Path

from railyard.base.checkout import CHECKOUT, TOPOLOGIES
from railyard.placements.topology import catalog
from railyard.records import rules, units
from railyard.reference import tables
from railyard.reference.markdown import code, escaped, table

GROUPS = CHECKOUT / "benchmarks" / "counters" / "groups"
#: A line of a counter group: kind, name, unit and source.
COUNTER = re.compile(r"^(COUNTER|OPTIONAL|METRIC)\s+(\S+)\s+(\S+)\s+(.*)$", re.MULTILINE)
HEAD = """# Launchers, topologies, units, counters and rules

[Placements](../placements.md) has rank orders, bindings, NIC policies and what a stack can express.

## Stacks

Two NICs and four ranks, of which the first two are near NIC0. `A=x/y` after `wrapper:` are the values of the local
ranks:

"""
LAUNCHERS = """
## Launchers

Four ranks on two nodes; F begins the names of the files. With a binding only the difference is shown:

"""
UNITS = """
## Units

A figure of merit declares one of these, by its name or as programs print it.

"""


def page() -> str:
    """Return the page: one section per registry."""
    topologies = [(code(name), escaped(_topology(name))) for name in catalog.known()]
    spellings = [(code(u.name), _unit(u), ", ".join(map(code, u.spellings))) for u in units.UNITS]
    return "".join(
        [
            HEAD,
            tables.TABLES["stacks"](),
            LAUNCHERS,
            tables.TABLES["launchers"](),
            "\n## Topologies\n\n",
            table(["name", "what it is"], topologies),
            UNITS,
            table(["unit", "shown as", "as programs print it"], spellings),
            "\n## Counter groups\n",
            *map(_group, sorted(GROUPS.glob("*.txt"))),
            "\n## Rules of the strict check\n\n",
            table(["rule", "what it demands"], [(code(rule.name), rule.text) for rule in rules.RULES]),
        ]
    )


def _topology(name: str) -> str:
    """Return the description of a topology, or else the first line of its file."""
    text = (TOPOLOGIES / f"{name}.yml").read_text()
    match = re.search(r"^description: *(.+)$", text, re.MULTILINE)
    return match[1].strip("'\" ") if match else text.partition("\n")[0].lstrip("# ")


def _unit(unit: units.Unit) -> str:
    return f"{unit.text} ({unit.exact})" if unit.exact else unit.text


def _group(path: Path) -> str:
    """Return the summary of a counter group, which every group's file has, and its counters."""
    text = path.read_text()
    (summary,) = re.findall(r"^SUMMARY\s+(.+)$", text, re.MULTILINE)
    rows = [(code(m[2]), m[1].lower(), m[3], code(m[4].strip())) for m in COUNTER.finditer(text)]
    return f"\n### {path.stem}\n\n{escaped(summary)}\n\n" + table(["name", "kind", "unit", "source"], rows)
