"""Make the options of `noise` from the parameters of a case, and relate its figures."""

from __future__ import annotations

from collections.abc import Iterator

from railyard.records.programs.base import Given, Kind, Program, Run, Word, outside, unlike


def options(given: Given) -> Iterator[Word]:
    """Yield the options in the order of the job's line."""
    yield from given.options("--quantum=quantum_s", "--count", "--repeats")


FIGURES = (
    *("quantum_us", "iteration_us", "allreduce_us", "delay_us", "amplification_percent"),
    *("mean_noise_percent", "worst_noise_percent", "longest_delay_us"),
)
#: Ranks up to which the noise of each is written.
DETAIL_RANKS = 1024


def contradictions(run: Run) -> Iterator[str]:
    """Yield what contradicts the case or other figures: series, samples, the delay, and the noise of the ranks."""
    yield from run.lacks((*FIGURES, *(["rank_noise_percent"] if len(run.ranks) <= DETAIL_RANKS else [])))
    yield from run.counts(run.parameters.get("repeats"), (*FIGURES, "rank_noise_percent"))
    for _, (quantum, iteration, allreduce, delay, amplification, mean, worst, _) in run.points(*FIGURES):
        zero = [0.0] * len(quantum)
        most = [max(0.0, a - b - c) for a, b, c in zip(iteration, allreduce, quantum, strict=False)]
        yield from outside("delay_us", delay, zero, most)
        noise_us = [max(1e-9, part * whole / 100) for part, whole in zip(mean, quantum, strict=False)]
        most = [100 * own / other for own, other in zip(delay, noise_us, strict=False)]
        yield from outside("amplification_percent", amplification, zero, most)
        if ranks := [samples for _, (samples,) in run.points("rank_noise_percent")]:
            by_repeat = list(zip(*ranks, strict=False))
            yield from unlike("mean_noise_percent", mean, [sum(one) / len(one) for one in by_repeat])
            yield from unlike("worst_noise_percent", worst, list(map(max, by_repeat)))


PROGRAM = Program(
    name="noise",
    noun="the fixed work",
    options=options,
    needs={"quantum_s": Kind.NUMBER, "count": Kind.INTEGER, "repeats": Kind.INTEGER},
    figures={**dict.fromkeys(FIGURES, ""), "rank_noise_percent": "rank host"},
    contradictions=contradictions,
)
