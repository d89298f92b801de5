"""Check whether a bid is complete. Each rule is a function that yields the faults of a bid; all are applied.

The docstring of a rule is its text in the output of `railyard tender`.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from railyard.records import versions
from railyard.records.benchmark import point
from railyard.records.rules.registry import Fault
from railyard.records.units import Better
from railyard.tender import bids
from railyard.tender.bids import Read
from railyard.tender.judged import Judged
from railyard.tender.presets import Rule
from railyard.tender.request import OF_A_SYSTEM, OF_TWO_SYSTEMS, Case, Tender

Check = Callable[[Tender, Read], Iterator[Fault]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruled:
    """One rule and its faults in a bid."""

    name: str
    text: str
    faults: Sequence[Fault]


def check(tender: Tender, bid: Read) -> list[Ruled]:
    """Return every rule with its faults; the bid is complete if none has any."""
    return [
        Ruled(
            name=rule.__name__.replace("_", "-"),
            text=(rule.__doc__ or "").strip(),
            faults=list(rule(tender, bid)),
        )
        for rule in RULES
    ]


def by_hand(tender: Tender) -> Iterator[tuple[str, Rule]]:
    """Yield the rules of the tender's presets that people have to judge, with the preset's name."""
    for preset in tender.presets:
        yield from ((preset.name, rule) for rule in preset.rules if rule.by_hand)


def values_of(case: Case, records: Sequence[Judged]) -> list[float]:
    """Return the figure of merit of every launch that answers a case, whichever record it is in."""
    answering = [record for record in records if case.is_met_by(record)]
    key = case.fom, point(case.labels)
    launches = bids.values(answering, case.placement, case.nic_policy)
    return [launch.values[key] for launch in launches if key in launch.values]


def readable(tender: Tender, bid: Read) -> Iterator[Fault]:
    """The bag or bundle is whole, and every file in it is a valid record."""
    yield from bid.broken
    if not bid.broken and not bid.records:
        yield Fault(field="records", text="none")


def signature(tender: Tender, bid: Read) -> Iterator[Fault]:
    """The bid is signed where the tender demands it, and no signature is wrong."""
    if bid.signed.problem or (tender.signed and not bid.signed.key):
        yield Fault(field="signature", text=bid.signed.text)


def evidence(tender: Tender, bid: Read) -> Iterator[Fault]:
    """Every record passes the strict check."""
    yield from bid.faults


def record_format(tender: Tender, bid: Read) -> Iterator[Fault]:
    """Every record is of version 1.3 or younger, which has what the checker works out."""
    for read in bid.records:
        if read.schema in versions.WITHOUT_DIGEST:
            yield Fault(field=f"record {read.id}: schema", text=read.schema)


def challenge(tender: Tender, bid: Read) -> Iterator[Fault]:
    """Every record answers the tender's challenge, so that it was made for this tender."""
    for read in bid.records:
        if read.challenge != tender.challenge:
            text = f"{read.challenge or 'none'}; the tender's is {tender.challenge}"
            yield Fault(field=f"record {read.id}: case.challenge", text=text)


def origin(tender: Tender, bid: Read) -> Iterator[Fault]:
    """Every record has an origin that the tender accepts, and all are of one system."""
    for read in bid.records:
        if read.origin not in tender.origins:
            text = f"{read.origin}; accepted: {', '.join(tender.origins)}"
            yield Fault(field=f"record {read.id}: origin", text=text)
    systems = sorted({read.system for read in bid.records})
    if len(systems) > 1:
        yield Fault(field="records", text=f"of {len(systems)} systems: {', '.join(systems)}")


def sessions(tender: Tender, bid: Read) -> Iterator[Fault]:
    """Every session's records are there from the first on: none between them was left out."""
    by_session: dict[str, list[Judged]] = {}
    for read in bid.records:
        if read.session is not None:
            by_session.setdefault(read.session, []).append(read)
    for session, records in by_session.items():
        previous = None
        for number, read in enumerate(sorted(records, key=lambda record: record.number)):
            if (read.number, read.previous) != (number, previous):
                yield Fault(field=f"session {session}", text=f"the record before {read.id} is missing")
                break
            previous = read.sha256


def launches_once(tender: Tender, bid: Read) -> Iterator[Fault]:
    """No job and no launch is in the bid twice."""
    jobs: dict[str, str] = {}
    seen: dict[str, str] = {}
    for read in bid.records:
        if jobs.setdefault(read.job, read.id) != read.id:
            yield Fault(field=f"record {read.id}: run.job", text=f"the job of record {jobs[read.job]}")
        for launch in read.launches:
            if launch.samples and seen.setdefault(launch.samples, read.id) != read.id:
                yield Fault(
                    field=f"record {read.id}: launches[{launch.place}]",
                    text=f"is in record {seen[launch.samples]}",
                )


def cases(tender: Tender, bid: Read) -> Iterator[Fault]:
    """Every case of the tender has enough results with its figure of merit."""
    for case in tender.cases:
        answering = [read for read in bid.records if case.is_met_by(read)]
        sizes = sorted({read.nodes for read in answering})
        if len(sizes) > 1:
            text = f"on {', '.join(map(str, sizes))} nodes; expected one number of nodes"
            yield Fault(field=f"case {case.name}", text=text)
        count = len(values_of(case, bid.records))
        if not answering:
            yield Fault(field=f"case {case.name}", text=f"no record of {case.check} on {case.nodes} nodes")
        elif count < case.launches:
            what = f"{case.fom} under {case.placement} + {case.nic_policy}"
            yield Fault(
                field=f"case {case.name}", text=f"{count} results with {what}; {case.launches} are needed"
            )


def tier(tender: Tender, bid: Read) -> Iterator[Fault]:
    """The bid's tier is accepted, and one other than baseline attaches its changes."""
    if bid.bid.tier not in tender.tiers:
        yield Fault(field="tier", text=f"{bid.bid.tier!r}; accepted: {', '.join(tender.tiers)}")
    if bid.bid.tier != "baseline" and not bid.bid.attachments:
        yield Fault(field="tier", text=f"{bid.bid.tier} without an attachment that shows what was changed")


def limits(tender: Tender, bid: Read) -> Iterator[Fault]:
    """The median of every case is within the tender's limit."""
    for case in tender.cases:
        values = values_of(case, bid.records)
        if case.limit is None or not values:
            continue
        median = statistics.median(values)
        if is_worse(case, median, case.limit):
            yield Fault(field=f"case {case.name}", text=f"median {median:.6g}; the limit is {case.limit:.6g}")


def system_nodes(tender: Tender, bid: Read) -> Iterator[Fault]:
    """The bid states how many nodes its system has where the metric counts them, and no case needs more."""
    if tender.metric in OF_A_SYSTEM and bid.bid.nodes is None:
        yield Fault(field="nodes", text=f"not said; {tender.metric} counts the nodes of the system")
    for case in tender.cases if bid.bid.nodes is not None else ():
        used = nodes_of(case, bid.records)
        if used is not None and used > (bid.bid.nodes or 0):
            yield Fault(
                field=f"case {case.name}", text=f"on {used} nodes; the offered system has {bid.bid.nodes}"
            )


def speedups(tender: Tender, bid: Read) -> Iterator[Fault]:
    """No case is slower than its reference where the metric is SSI or SSNI, which demand it."""
    for case in tender.cases if tender.metric in OF_TWO_SYSTEMS else ():
        values = scored_values(tender, case, bid)
        if values and is_worse(case, statistics.median(values), case.reference):
            text = f"{statistics.median(values):.6g}; the reference is {case.reference:.6g}"
            yield Fault(field=f"case {case.name}", text=text)


def pledges(tender: Tender, bid: Read) -> Iterator[Fault]:
    """Every pledge is of a case of the tender; what is measured reaches it, unless the tender scores pledges."""
    by_name = {case.name: case for case in tender.cases}
    for name, pledged in bid.bid.pledges.items():
        if name not in by_name:
            yield Fault(field="pledges", text=f"{name!r} is no case of the tender")
            continue
        values = values_of(by_name[name], bid.records)
        if (
            tender.scored == "measured"
            and values
            and is_worse(by_name[name], statistics.median(values), pledged)
        ):
            text = f"median {statistics.median(values):.6g}; the pledge is {pledged:.6g}"
            yield Fault(field=f"case {name}", text=text)


def presets(tender: Tender, bid: Read) -> Iterator[Fault]:
    """Every test that the tender's presets require is answered by a record of the bid."""
    for preset in tender.presets:
        for rule in preset.rules:
            problem = rule.test.problem(bid.records, bid.bid.nodes) if rule.test else ""
            if problem:
                yield Fault(field=f"{preset.name}, {rule.name}", text=f"{problem} ({rule.source})")


def is_worse(case: Case, value: float, than: float) -> bool:
    """Return whether a value of a case's figure of merit is worse than another."""
    return value > than if case.better is Better.LOWER else value < than


def scored_values(tender: Tender, case: Case, bid: Read) -> list[float]:
    """Return the values of a case that the evaluation uses: every launch's figure, or only the pledge."""
    pledged = bid.bid.pledges.get(case.name)
    if tender.scored == "pledged" and pledged is not None:
        return [pledged]
    return values_of(case, bid.records)


def nodes_of(case: Case, records: Sequence[Judged]) -> int | None:
    """Return how many nodes a bid used for a case; None if no record answers it."""
    return next((read.nodes for read in records if case.is_met_by(read)), None)


RULES: Sequence[Check] = (
    readable,
    signature,
    evidence,
    record_format,
    challenge,
    origin,
    sessions,
    launches_once,
    cases,
    tier,
    limits,
    system_nodes,
    speedups,
    pledges,
    presets,
)
