"""Test the gate on simulated histories: the share of false alarms, and how often it finds a change.

Models: variables whose records differ from run to run and whose launches differ within a record, all normal in the
logarithm. The run-to-run part is each variable's own, or one that all share. Each record goes through the code that
`railyard references update` calls. Leaves out: outliers, drift of the machine.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from railyard.analysis.references import limits, update
from railyard.records import units
from railyard.records.references import Entry, Past
from railyard.records.units import Fom

if TYPE_CHECKING:
    import numpy.typing as npt

LAUNCHES = 6
SEED = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """Standard deviations of launches within a record and from run to run, as shares of the value.

    `run_to_run` is each variable's own part, `common` that of all variables together. A run is on one of two kinds of
    machine that are the fraction `apart` from each other.
    """

    variables: int
    launch_noise: float
    run_to_run: float
    common: float = 0.0
    apart: float = 0.0

    def launches(
        self, chance: np.random.Generator, factors: npt.NDArray[np.float64], kind: int = 0
    ) -> dict[Fom, list[float]]:
        """Return a record: for each variable a time of each launch, whose level is multiplied by its factor."""
        runs = chance.normal(0, self.run_to_run, self.variables) + chance.normal(0, self.common)
        noise = chance.normal(0, self.launch_noise, (self.variables, LAUNCHES))
        times = 1000 * factors[:, None] * (1 + self.apart) ** kind * np.exp(runs.reshape(-1, 1) + noise)
        return {
            units.fom("a_us", "us", "lower").named(f"plain/v{number}_us"): row.tolist()
            for number, row in enumerate(times)
        }


@dataclass(slots=True)
class History:
    """A case (number 0) that grows record by record."""

    machine: Machine
    chance: np.random.Generator
    entries: dict[int, Entry] = field(default_factory=dict)
    records: int = 0

    @property
    def fewest(self) -> int:
        """Return how many good records the case has."""
        return self.entries.get(0, update.NOTHING).about.records

    def worse(self, factors: npt.NDArray[np.float64]) -> tuple[str, ...]:
        """Push one more record; return what is worse in it. A red run is not repeated, as `tools/smoke` does."""
        self.records += 1
        kind = int(self.chance.integers(2)) if self.machine.apart else 0
        past = Past(record="a", created=f"{self.records:06d}", commit="b", launches=LAUNCHES)
        times = self.machine.launches(self.chance, factors, kind)
        entry = self.entries.get(0, update.NOTHING)
        self.entries[0], worse = update.added(entry, past, times, self.machine.variables)
        return worse

    def copy(self) -> History:
        """Return a history that goes on from the same records."""
        return dataclasses.replace(self, entries=dict(self.entries))


def shares(machine: Machine, *, histories: int) -> dict[str, float]:
    """Return the mean of each of `TRIALS` over seeded histories that begin with ten good records."""
    chance = np.random.default_rng(SEED)
    results: dict[str, list[float]] = {name: [] for name in TRIALS}
    for _ in range(histories):
        history = History(machine, chance)
        while history.fewest < 10:
            history.worse(same(machine))
        for name, trial in TRIALS.items():
            results[name].append(trial(history.copy()))
    return {name: float(np.mean(values)) for name, values in results.items()}


def same(machine: Machine) -> npt.NDArray[np.float64]:
    """Return the factors of a push that changes nothing."""
    return np.ones(machine.variables)


def false_alarm(history: History) -> float:
    """Return 1 if any of 50 pushes that change nothing is found worse."""
    return float(any(history.worse(same(history.machine)) for _ in range(limits.RUNS)))


def finds(change: float) -> Callable[[History], float]:
    """Return a trial that makes all variables slower by the fraction `change` and returns the share detected."""

    def trial(history: History) -> float:
        return len(history.worse(same(history.machine) * (1 + change))) / history.machine.variables

    return trial


def finds_in_one(factors: Sequence[float]) -> Callable[[History], float]:
    """Return a trial: 1 if one variable, slower by one of these factors in each push, is found; else 0."""

    def trial(history: History) -> float:
        slower = same(history.machine)
        for factor in factors:
            slower[0] = factor
            if any(line.startswith("plain/v0_us") for line in history.worse(slower)):
                return 1.0
        return 0.0

    return trial


#: What the gate promises: a trial by name.
TRIALS: Mapping[str, Callable[[History], float]] = {
    "any false alarm in 50 pushes": false_alarm,
    "finds 10 % at once": finds(0.10),
    "finds 10 % of one variable within 5": finds_in_one([1.10] * 5),
    "finds three drifts of 3 %, 5 pushes each": finds_in_one([1.03 ** (1 + push // 5) for push in range(15)]),
    "finds steps of 1 % before the tenth": finds_in_one([1.01 ** (1 + push) for push in range(9)]),
}
