"""A network with faults, for the variant `faults` of a mini-application: what Ezell, CUG'13, names as future work.

Each check runs one program in one scenario; the report compares the scenarios case by case. The faults are put on the
virtual torus before the first launch, and the record names them. Leaves out: faults that appear while a program runs.
"""

from __future__ import annotations

from typing import Any

from reframe.core.builtins import parameter, run_after

from railyard.placed.mixin import PLUGIN

#: Scenario -> faults, as arguments of `railyard torus fault`. `cabinet` is Ezell's auto-throttled cabinet: each node of
#: the plane X = 0 sends at a quarter of its rate.
SCENARIOS = {
    "sound": [],
    "lane": ["'X+ 0,0,0>1,0,0' --lanes-lost 1"],
    "link": ["'X+ 0,0,0>1,0,0' --down"],
    "cabinet": [f"n0-{y}-{z} --injection 25" for y in range(2) for z in range(2)],
}

#: The shortest ring in which a second path leads to a neighbouring router.
DETOUR_ROUTERS = 3


class FaultyNetwork(PLUGIN):
    """A network with the faults of one scenario."""

    parameters: Any
    preparations: Any
    prepared: Any
    skip: Any

    #: The scenario: sound, lane (one of three lanes lost), link (a cable down), cabinet (its nodes throttled).
    scenario = parameter(list(SCENARIOS))

    @run_after("setup")
    def break_the_network(self) -> None:
        """Put the scenario's faults on the torus of the job; skip a link down if no other path exists."""
        extent = self.prepared.topology.extents[0]
        if self.scenario == "link" and extent < DETOUR_ROUTERS:
            self.skip(
                f"no way leads around a link in a ring of {extent} routers; take a topology of "
                f"{DETOUR_ROUTERS} or more along X (RAILYARD_TOPOLOGY)"
            )
        self.parameters = {**self.parameters, "scenario": self.scenario}
        self.preparations = [
            *self.preparations,
            *(f'railyard torus fault "$RAILYARD_TORUS" {words} || exit 1' for words in SCENARIOS[self.scenario]),
        ]
