"""The rules of public procurements, a check for each rule that records can answer (docs/congestion.md, docs/tender.md).

`reframe -t ats5` (n10, nnss, jupiter, coral2) runs what applies to the machine. Of every other rule it prints a skip
line with the reason: it needs people, more nodes, or a program that no check runs. The rules are data in
results/presets, each with its public source. Sizes, nodes and ranks are those of the rule on every machine. On slow
links the iterations are few, and a rule that forbids the options for that is rehearsed rather than answered.
"""

from __future__ import annotations

import dataclasses

import reframe as rfm
from reframe.core.builtins import parameter, run_after

from checks.applications.osu import OsuCheck
from railyard.applications.programs import osu
from railyard.jobs.job import request
from railyard.jobs.job.spec import JobSpec
from railyard.jobs.partition import Partition
from railyard.placements.topology import catalog
from railyard.tender import presets

#: Every rule by `preset: name of the rule`.
RULES = {f"{preset}: {rule.name}": rule for preset in presets.names() for rule in presets.load(preset).rules}
LARGE = 1 << 16


@rfm.simple_test
class procurement(OsuCheck):
    """One rule of one procurement: OSU's program at the size, on the nodes and with the ranks that the rule names."""

    descr = "A rule of a public procurement"
    tags = {"procurement"}
    #: The procurement, and the name of its rule.
    rule = parameter(list(RULES), loggable=True)
    torus = "dual-rail-small"
    placements = ["plain"]
    small = {"largest": 0, "iterations": 10, "warmups": 2, "window": 8}
    standard = {"largest": 0, "iterations": 1000, "warmups": 100, "window": 64}
    large = {"largest": 0, "iterations": 10000, "warmups": 1000}

    @property
    def preset(self) -> str:
        return str(self.rule).partition(": ")[0]

    @property
    def stated(self) -> presets.Rule:
        """Return the rule as its file has it."""
        return RULES[str(self.rule)]

    @property
    def test(self) -> str:
        """Return OSU's program; any of them for a rule that is skipped."""
        program = self.stated.test.program if self.stated.test else ""
        return program if program in osu.PROGRAMS else next(iter(osu.PROGRAMS))

    @run_after("init")
    def tag_procurement(self) -> None:
        self.tags |= {self.preset}
        self.descr = f"{self.rule}: {self.stated.text}"

    def _fitted(self, spec: JobSpec, where: Partition) -> JobSpec:
        """Skip what does not apply here, with the reason; otherwise take the rule's nodes and ranks."""
        per_node = 1
        if getattr(self.stated.test, "ranks_per_node", None) == presets.PER_NIC:
            # As many as the partition names NICs, or the network's rails.
            named = self.torus if where.origin != "measured" else where.topology
            per_node = len(where.devices or ()) or (catalog.load(named).rails if named else 1)
        spec = dataclasses.replace(spec, ranks_per_node=per_node, grid=(per_node * 2,))
        available = len(request.allocation(spec, where).indices)
        if reason := presets.why_not(self.stated, available):
            self.skip(f"{self.rule}: {reason}")
        if self.stated.test and self.stated.test.program not in osu.PROGRAMS:
            self.skip(f"{self.rule}: the checks of {self.stated.test.program} have the tag {self.preset}, too")
        nodes = available if getattr(self.stated.test, "nodes", None) == presets.SYSTEM else 2
        ranks = nodes * per_node
        grid = (ranks - 1 + ranks % 2 if getattr(self.stated.test, "odd_ranks", None) else ranks,)
        return super()._fitted(dataclasses.replace(spec, grid=grid), where)

    @run_after("setup")
    def leave_out_what_is_forbidden(self) -> None:
        """Run with OSU's own iterations where the rule demands it and the machine is real."""
        forbidden = self.stated.test.forbidden_options if self.stated.test else ()
        if self.prepared.where.origin == "measured" and forbidden:
            self.options = _without(self.options, forbidden)
        elif self.message_sizes and self.message_sizes[-1] > LARGE and self.prepared.where.origin != "measured":
            self.options = [*_without(self.options, ("-i", "-x")), "-i", "2", "-x", "1"]
            self.parameters = {**self.parameters, "iterations": 2}

    @property
    def message_sizes(self) -> list[int]:
        """Return the rule's size, as a list; of several readings of the rule the largest."""
        return sorted(self.stated.test.sizes_bytes)[-1:] if self.stated.test else []


def _without(options: list[str], forbidden: tuple[str, ...]) -> list[str]:
    """Return options without the forbidden ones and their values."""
    lines: list[str] = []
    words = iter(options)
    for word in words:
        if word in forbidden:
            next(words)
        else:
            lines.append(word)
    return lines
