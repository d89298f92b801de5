"""Read the rules of public procurements from results/presets; each rule names the public document that it comes from.

Models: a preset is a list of rules. A rule that records can answer names a program, message sizes, nodes and ranks. Any
other contains the reason why people have to judge it. Leaves out: what a program must achieve, which the buyer decides.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

from railyard.applications.launch import is_application
from railyard.base import yaml_io
from railyard.base.checkout import RESULTS
from railyard.base.decoded import decoded
from railyard.base.errors import InputError
from railyard.records import json_io, text_rules
from railyard.tender.judged import Judged, Ran

SCHEMA = "preset-v1.json"
FOLDER = RESULTS / "presets"
#: Words of a rule in place of a number: all nodes of the system, one rank for each NIC.
SYSTEM, PER_NIC = "system", "nic"


@dataclass(frozen=True, slots=True, kw_only=True)
class Test:
    """The conditions of a record that answers a rule; `sizes_bytes` are readings of one size: 25 MB, 25 MiB."""

    program: str
    sizes_bytes: tuple[int, ...] = ()
    nodes: int | str | None = None
    ranks_per_node: int | str | None = None
    odd_ranks: bool = False
    forbidden_options: tuple[str, ...] = ()

    def problem(self, records: Sequence[Judged], system_nodes: int | None) -> str:
        """Return why no record answers the rule, in one line, empty if one does."""
        records_of_program = [read for read in records if read.benchmark == self.program]
        if not records_of_program:
            return f"no record of {self.program}"
        problems = [self._of_record(read, system_nodes) for read in records_of_program]
        return "" if "" in problems else problems[0]

    def _of_record(self, read: Judged, system_nodes: int | None) -> str:
        nodes, per_node = read.nodes, read.ranks_per_node
        wanted = system_nodes if self.nodes == SYSTEM else self.nodes
        if self.nodes == SYSTEM and system_nodes is None:
            return "the bid does not say how many nodes its system has"
        if wanted is not None and nodes != wanted:
            return f"{self.program} on {nodes} nodes; {wanted} are required"
        ranks = read.nics if self.ranks_per_node == PER_NIC else self.ranks_per_node
        launches = [launch for launch in read.launches if launch.is_result]
        if ranks is not None and per_node != ranks and not self.odd_ranks:
            return f"{self.program} with {per_node} ranks per node; {ranks} are required"
        return next(filter(None, (self._of_launch(launch) for launch in launches)), "" if launches else "no result")

    def _of_launch(self, launch: Ran) -> str:
        if self.odd_ranks and launch.ranks % 2 == 0:
            return f"{self.program} with {launch.ranks} ranks; an odd number is required"
        used = set(launch.command.split()) & set(self.forbidden_options)
        if used:
            return f"{self.program} with the option {min(used)}, which is not allowed"
        sizes = {dict(labels).get("size_bytes") for _, labels in launch.values}
        if self.sizes_bytes and not sizes & set(self.sizes_bytes):
            return f"{self.program} without the size of {self.sizes_bytes[-1]} bytes"
        return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule: railyard's summary `text`, its public source, and a test or the reason why there is none."""

    name: str
    text: str
    source: str
    test: Test | None = None
    by_hand: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """A procurement's rules, and the metric and tiers that apply if the tender file names none."""

    name: str
    title: str
    rules: tuple[Rule, ...]
    metric: str = ""
    tiers: tuple[str, ...] = ()


def why_not(rule: Rule, nodes: int | None) -> str:
    """Return why no record from a machine of so many nodes (None: not known) answers a rule; empty where one can."""
    if rule.test is None:
        return rule.by_hand
    wanted = rule.test.nodes
    if isinstance(wanted, int) and nodes is not None and wanted > nodes:
        return f"it needs {wanted} nodes; the machine has {nodes}"
    if rule.test.odd_ranks and nodes == 1:
        return "it needs an odd number of ranks over more than one node"
    program, checkout = rule.test.program, RESULTS.parent
    own = (checkout / "benchmarks" / program).is_dir() or any((checkout / "checks").rglob(f"{program}.py"))
    return "" if own or is_application(program) else f"no check runs {program}"


def names() -> list[str]:
    """Return the names of all presets."""
    return sorted(path.stem for path in FOLDER.glob("*.yml"))


@functools.cache
def load(name: str) -> Preset:
    """Return the preset of a name; raises InputError for a name that has no file."""
    if name not in names():
        raise InputError("presets", "", name, f"one of {', '.join(names())}")
    path = FOLDER / f"{name}.yml"
    document = yaml_io.read(path)
    json_io.validate(document, SCHEMA, str(path))
    text_rules.check(document, str(path))
    return decoded(Preset, {key: value for key, value in document.items() if key != "format"}, str(path), name=name)
