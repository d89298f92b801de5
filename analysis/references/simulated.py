"""Test the gate on simulated histories: the share of false alarms, and how often it finds a change.

Models: variables whose records differ from run to run and whose launches differ within a record, all normal in the
logarithm. The run-to-run part is each variable's own, or one that all share. Each record goes through the code that
`railyard references update` calls. Leaves out: outliers, drift of the machine.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from analysis.references import limits, update
from railyard.records import units
from railyard.records.references import Entry, Past
from railyard.records.units import Fom

if TYPE_CHECKING:
    import numpy.typing as npt

LAUNCHES = 6
SEED = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """Standard deviations of launches within a record and from run to run, as shares of the value."""

    variables: int
    launch_noise: float
    run_to_run: float
    is_shared: bool = False

    def launches(
        self, chance: np.random.Generator, factors: npt.NDArray[np.float64]
    ) -> dict[Fom, list[float]]:
        """Return a record: for each variable a time of each launch, whose level is multiplied by its factor."""
        runs = chance.normal(0, self.run_to_run, 1 if self.is_shared else self.variables)
        noise = chance.normal(0, self.launch_noise, (self.variables, LAUNCHES))
        times = 1000 * factors[:, None] * np.exp(runs.reshape(-1, 1) + noise)
        return {
            units.fom("a_us", "us", "lower").named(f"plain/v{number}_us"): row.tolist()
            for number, row in enumerate(times)
        }


@dataclass(slots=True)
class History:
    """A case that grows record by record."""

    machine: Machine
    chance: np.random.Generator
    entry: Entry = update.NOTHING
    records: int = 0

    def worse(self, factors: npt.NDArray[np.float64]) -> tuple[str, ...]:
        """Push one more record; return what is worse."""
        self.records += 1
        past = Past(record="", created=f"{self.records:06d}", commit="", launches=LAUNCHES)
        times = self.machine.launches(self.chance, factors)
        self.entry, worse = update.added(self.entry, past, times, self.machine.variables)
        return worse


def shares(machine: Machine, *, histories: int, records: int = 10) -> dict[str, float]:
    """Return the mean of each of `TRIALS` over seeded histories that begin with so many good records."""
    chance = np.random.default_rng(SEED)
    results: dict[str, list[float]] = {name: [] for name in TRIALS}
    for _ in range(histories):
        history = History(machine, chance)
        while history.entry.about.records < records:
            history.worse(same(machine))
        for name, trial in TRIALS.items():
            results[name].append(trial(dataclasses.replace(history)))
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


def finds_steps(step: float, pushes: int) -> Callable[[History], float]:
    """Return a trial that makes one variable slower by the fraction `step` in each push.

    The trial returns 1 if that is detected within this number of pushes, else 0.
    """

    def trial(history: History) -> float:
        factors = same(history.machine)
        for _ in range(pushes):
            factors[0] *= 1 + step
            if any(line.startswith("plain/v0_us") for line in history.worse(factors)):
                return 1.0
        return 0.0

    return trial


#: What the gate promises: a trial by name.
TRIALS: Mapping[str, Callable[[History], float]] = {
    "any false alarm in 50 pushes": false_alarm,
    "finds 10 %": finds(0.10),
    "finds steps of 1 % before the tenth": finds_steps(0.01, 9),
}
