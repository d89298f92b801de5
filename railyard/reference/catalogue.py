"""Describe stacks, launchers, topologies, units, counter groups and the rules of the strict check, from their sources.

`railyard.reference.tables` writes the other registries, such as rank orders, into the pages about them.
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
PAGE = """# Launchers, topologies, units, counters and rules

[Placements](../placements.md) has rank orders, bindings, NIC policies and what a stack can express.

## Stacks

Two NICs and four ranks, of which the first two are near NIC0. `A=x/y` after `wrapper:` are the values of the local
ranks:

{stacks}
## Launchers

Four ranks on two nodes; F begins the names of the files. With a binding only the difference is shown:

{launchers}
## Topologies

{topologies}
## Units

A figure of merit declares one of these, by its name or as programs print it.

{units}
## Counter groups
{groups}
## Rules of the strict check

{rules}"""


def page() -> str:
    """Return the page: one section per registry."""
    topologies = [(code(name), escaped(_topology(name))) for name in catalog.known()]
    shown = ((one, f"{one.text} ({one.exact})" if one.exact else one.text) for one in units.UNITS)
    spellings = [(code(one.name), text, ", ".join(map(code, one.spellings))) for one, text in shown]
    return PAGE.format(
        stacks=tables.of_stacks(),
        launchers=tables.of_launchers(),
        topologies=table(["name", "what it is"], topologies),
        units=table(["unit", "shown as", "as programs print it"], spellings),
        groups="".join(map(_group, sorted(GROUPS.glob("*.txt")))),
        rules=table(["rule", "what it demands"], [(code(rule.name), rule.text) for rule in rules.RULES]),
    )


def _topology(name: str) -> str:
    """Return the description of a topology, or else the first line of its file."""
    text = (TOPOLOGIES / f"{name}.yml").read_text()
    match = re.search(r"^description: *(.+)$", text, re.MULTILINE)
    return match[1].strip("'\" ") if match else text.partition("\n")[0].lstrip("# ")


def _group(path: Path) -> str:
    """Return the summary of a counter group, which every group's file has, and its counters."""
    text = path.read_text()
    (summary,) = re.findall(r"^SUMMARY\s+(.+)$", text, re.MULTILINE)
    rows = [(code(m[2]), m[1].lower(), m[3], code(m[4].strip())) for m in COUNTER.finditer(text)]
    return f"\n### {path.stem}\n\n{escaped(summary)}\n\n" + table(["name", "kind", "unit", "source"], rows)
