"""Grade the evidence of a result: imported, ran, placed, repeated, signed; and name the command of the next level.

    0 imported  a number and its origin
    1 ran       and command, exit status, machine, software
    2 placed    and where every rank ran, and the bytes of the NICs
    3 repeated  and launches enough for an interval, in a job that is named, none of them void
    4 signed    and a bag with a signature, made by `railyard tender pack --sign`

Models: a level needs those below it. Leaves out: the strict check, which is for records of level 3 and 4 and demands
more, and signatures, which a record cannot contain (`railyard.records.store.bag`).
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping
from enum import IntEnum

from railyard.records.json_io import Json
from railyard.records.record import COMPUTED

#: Format of a result of another tool (`railyard.records.store.imported`).
IMPORTED = "railyard-import/1"
#: The least number of launches per combination: fewer give no 95 % interval of the median.
LAUNCHES = 6


class Level(IntEnum):
    """How much a result shows besides its number."""

    IMPORTED, RAN, PLACED, REPEATED, SIGNED = range(5)

    @property
    def text(self) -> str:
        """Return number and word, such as `2 placed`."""
        return f"{self:d} {self.name.lower()}"


def of(document: Mapping[str, Json]) -> tuple[Level, str]:
    """Return the level of a record, or of an imported result, and what it lacks for the next: text, then a command."""
    if document.get("format") == IMPORTED:
        level = Level(document["level"])
        lacks = ", ".join(document["lacks"]) or "evidence of ranks and NICs"
        return level, f"{lacks}; run the program with railyard: docs/programs.md"
    case, system = document["case"], document["system"]
    run = f"reframe -C reframe.yml -c checks -R -n {case['check']} --system {system['name']}:{system['partition']} -r"
    results = [
        launch
        for launch in document["launches"]
        if launch["status"] == "ok" and (launch.get("guard") or {}).get("verdict") != "void"
    ]
    if not results:
        return Level.RAN, f"no launch is a result; run: {run}"
    if any(launch["placement_verdict"] != "obeyed" for launch in results):
        return Level.RAN, f"ranks of a launch did not report where they ran; run: {run}"
    if document["origin"] not in COMPUTED and any(launch.get("nics") is None for launch in results):
        return Level.RAN, "no NIC's bytes were counted; run: railyard doctor"
    if lacking := _repeated(document, results):
        return Level.PLACED, f"{lacking}; run: {run} -S launches={LAUNCHES}"
    return Level.REPEATED, "a signature; run: railyard tender pack RECORD -o BAG --bidder NAME --sign KEY"


def sentence(levels: Iterable[int]) -> str:
    """Return a warning for results of several levels that are judged together; empty for those of one level."""
    there = sorted(set(levels))
    if len(there) < 2:
        return ""
    return f"Results of different levels of evidence are mixed: {', '.join(Level(one).text for one in there)}."


def _repeated(document: Mapping[str, Json], results: Iterable[Mapping[str, Json]]) -> str:
    """Return what a record lacks to count as repeated; empty if it lacks nothing."""
    if document["origin"] in COMPUTED:
        return ""
    case = document["case"]
    counted = Counter((one["placement"], one["nic_policy"], one.get("software", "native")) for one in results)
    software = case.get("software", ["native"])
    combinations = itertools.product(case["placements"], case["nic_policies"], software)
    least = min(counted[combination] for combination in combinations)
    if least < LAUNCHES:
        return f"{least} results of a combination instead of {LAUNCHES}"
    if any((one.get("guard") or {}).get("verdict") != "ok" for one in results) and document["origin"] == "emulated":
        return "no noise floor, because the guard could not tell"
    return "" if document.get("run") else "no job is named, so that the noise between jobs is not known"
