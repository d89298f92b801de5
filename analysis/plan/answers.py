"""Answer how many launches and jobs find a difference, as a table and as JSON.

Models: the power of the rank test (`analysis.plan.power`) for one noise. Leaves out: where the noise comes from.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from analysis.plan import power
from analysis.plan.noise import Noise
from analysis.stats.jobs import FEWEST
from analysis.text.datatable import DataTable
from analysis.text.numbers import percent
from railyard.records.json_io import Json

#: The probabilities of finding the difference, of which the answers are the columns.
WANTED = (0.8, 0.95)
FORMAT = "railyard-plan/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The answers for one noise, each for the probabilities of `WANTED`; None where no number is enough.

    `launches` per combination and `jobs` per side find the difference; `within` and `between` are the smallest shares
    that today's launches, and `sides` jobs per side, find.
    """

    noise: Noise
    launches: Sequence[int | None]
    jobs: Sequence[int | None]
    within: Sequence[float | None]
    between: Sequence[float | None]
    sides: int


def planned(noise: Noise, change: float) -> Plan:
    """Return the answers for one noise; those on jobs are empty where the spread between jobs is unknown."""
    of_combinations: dict[str, Any] = {"tests": max(1, noise.combinations - 1), "floor": noise.floor}
    sides = max(noise.jobs, FEWEST)
    of_jobs = (
        None
        if noise.between is None
        else math.hypot(noise.between, noise.within * power.of_medians(noise.launches))
    )
    return Plan(
        noise=noise,
        launches=[power.enough(noise.within, change, wanted, **of_combinations) for wanted in WANTED],
        jobs=[]
        if of_jobs is None
        else [power.enough(of_jobs, change, wanted, floor=noise.floor) for wanted in WANTED],
        within=[
            power.detectable(noise.launches, noise.within, wanted, **of_combinations) for wanted in WANTED
        ],
        between=[]
        if of_jobs is None
        else [power.detectable(sides, of_jobs, wanted, floor=noise.floor) for wanted in WANTED],
        sides=sides,
    )


def head(check: str, noise: Noise) -> str:
    """Return what was measured, and its noise."""
    between = (
        f"unknown between jobs{': the archive has 1 job' if noise.jobs else ''} (--between gives it)"
        if noise.between is None
        else f"{percent(100 * noise.between, signed=False)} between {f'{noise.jobs} ' if noise.jobs else ''}jobs"
    )
    within = percent(100 * noise.within, signed=False)
    return f"{noise.what or check}: noise {within} between launches, {between}"


def table(plan: Plan, change: float) -> DataTable:
    """Return the answers as rows."""
    size, noise = percent(100 * change, signed=False), plan.noise
    launches = f"{noise.launches} launch{'' if noise.launches == 1 else 'es'}"
    rows = [
        (
            f"launches of each of {noise.combinations} combinations that find {size}",
            *map(_count, plan.launches),
        ),
        (f"difference that {launches} find between combinations", *map(_share, plan.within)),
    ]
    if plan.jobs:
        rows += [
            (f"jobs per side, of {launches}, that find {size}", *map(_count, plan.jobs)),
            (f"difference that {plan.sides} jobs per side find", *map(_share, plan.between)),
        ]
    columns = ("", *(f"in {wanted:.0%} of cases".replace("%", " %") for wanted in WANTED))
    return DataTable(columns=columns, rows=rows, numbers=frozenset(columns[1:]))


def _count(number: int | None) -> str:
    return f"more than {power.MOST}" if number is None else str(number)


def _share(share: float | None) -> str:
    return "none" if share is None else percent(100 * share, signed=False)


def document(check: str, change: float, plans: Sequence[Plan]) -> dict[str, Json]:
    """Return the answers as one JSON document; shares are in percent."""

    def percents(shares: Sequence[float | None]) -> list[float | None]:
        return [None if share is None else round(100 * share, 4) for share in shares]

    return {
        "format": FORMAT,
        "check": check,
        "find_percent": 100 * change,
        "probabilities": list(WANTED),
        "plans": [
            {
                "what": plan.noise.what,
                "noise_percent": percents([plan.noise.within])[0],
                "between_percent": percents([plan.noise.between])[0],
                "jobs_measured": plan.noise.jobs,
                "combinations": plan.noise.combinations,
                "launches_measured": plan.noise.launches,
                "launches": list(plan.launches),
                "jobs": list(plan.jobs),
                "launches_find_percent": percents(plan.within),
                "jobs_per_side": plan.sides,
                "jobs_find_percent": percents(plan.between),
            }
            for plan in plans
        ],
    }
