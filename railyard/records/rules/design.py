"""Check the design of the experiment: order of launches, seed, studies that a check belongs to."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping

from railyard.base import check_sources
from railyard.records import launch_order, studies
from railyard.records.record import COMPUTED, Record, combination_name
from railyard.records.rules.registry import ALIKE_JOBS, Fault, ended_well, rule


@rule("launch-order", once_for=ALIKE_JOBS)
def order(read: Record) -> Iterator[Fault]:
    """Launches come in the order that `case.seed` draws, every combination once in each round."""
    case = read.case
    drawn = launch_order.in_rounds(
        case.placements,
        case.nic_policies,
        case.software,
        rounds=min(case.launches_per_combination, len(read.launches) + 1),
        seed=case.seed,
    )
    wanted = list(drawn)
    if len(wanted) != len(read.launches):
        yield Fault("launches", f"{len(read.launches)} launches; the case needs {len(wanted)}")
        return
    for index, (launch, (repeat, *combination)) in enumerate(zip(read.launches, wanted, strict=True)):
        if (launch.repeat, *launch.combination) != (repeat, *combination):
            name = f"repeat {repeat} of {combination_name(*combination)}"
            yield Fault(f"launches[{index}]", f"seed {case.seed} draws {name} here")
            return


@rule("challenge")
def seed_of_challenge(read: Record) -> Iterator[Fault]:
    """`case.seed` is the one that the buyer's challenge and the check's name give."""
    wanted = launch_order.seed_of(read.case.challenge, read.case.check, read.case.seed)
    if read.case.seed != wanted:
        yield Fault("case.seed", f"{read.case.seed}; the challenge gives {wanted}")


@rule("studies")
def studies_of_check(read: Record) -> Iterator[Fault]:
    """A check's studies, whose minimums count, are all named; a name that is no study's is refused."""
    for name in sorted(studies_by_check().get(read.case.check, frozenset()) - set(read.case.studies)):
        yield Fault("case.studies", f"{read.case.check} belongs to the study {name}")
    for name in read.case.studies:
        if name not in studies.all_studies():
            yield Fault("case.studies", f"{name!r} is no study; known: {', '.join(studies.all_studies())}")


@functools.cache
def studies_by_check() -> Mapping[str, frozenset[str]]:
    """Return check -> the studies that it belongs to."""
    return {name: frozenset(check_sources.value(name, "studies") or ()) for name in check_sources.classes()}


@rule("computed-once")
def computed(read: Record) -> Iterator[Fault]:
    """What is computed and launched again gives the same figures, bit for bit."""
    if read.origin in COMPUTED:
        first: dict[object, object] = {}
        for field, launch in ended_well(read):
            shown = [(series.fom, dict(series.labels), series.samples) for series in launch.series]
            if first.setdefault(launch.combination, shown) != shown:
                yield Fault(f"{field}.series", "differs from another launch of the same computation")
