"""Check whether a bid is complete. Each rule is a function that yields the faults of a bid; all are applied.

The docstring of a rule is its text in the output of `railyard tender`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from railyard.base.errors import as_seen
from railyard.records import json_io, text_rules
from railyard.records.record import Origin
from railyard.records.rules.registry import Fault
from railyard.records.rules.times import CLOCKS_S, SECOND_S, seconds
from railyard.tender import agreement, copies, measured
from railyard.tender.bids import Read
from railyard.tender.judged import Judged
from railyard.tender.measured import Measured, Meets
from railyard.tender.presets import Rule
from railyard.tender.request import OF_A_SYSTEM, OF_A_TORUS, OF_TWO_SYSTEMS, Case, Tender


@dataclass(frozen=True, slots=True)
class Note:
    """What a reader should know of a bid without its being a fault; if `is_open`, the buyer has to decide it."""

    field: str
    text: str
    is_open: bool = False


Check = Callable[[Tender, Read], Iterator[Fault | Note]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruled:
    """One rule, and its faults and notes in a bid."""

    name: str
    text: str
    faults: Sequence[Fault]
    notes: Sequence[Note] = ()


def check(tender: Tender, bid: Read, others: Sequence[Read] = ()) -> list[Ruled]:
    """Return every rule with its faults; the bid is complete if none has any. `others` are the other bids."""
    items_of: dict[Callable[..., object], list[Fault | Note]] = {rule: list(rule(tender, bid)) for rule in RULES}
    items_of |= {rule: list(rule(tender, bid, others)) for rule in ACROSS if others}
    return [
        Ruled(
            name=rule.__name__.replace("_", "-"),
            text=(rule.__doc__ or "").strip(),
            faults=[item for item in items if isinstance(item, Fault)],
            notes=[item for item in items if isinstance(item, Note)],
        )
        for rule, items in items_of.items()
    ]


def by_hand(tender: Tender) -> Iterator[tuple[str, Rule]]:
    """Yield the rules of the tender's presets that people have to judge, with the preset's name."""
    for preset in tender.presets:
        yield from ((preset.name, rule) for rule in preset.rules if rule.by_hand)


def readable(tender: Tender, bid: Read) -> Iterator[Fault | Note]:
    """The bag is whole, and every file in it is a valid record."""
    yield from bid.broken
    if not bid.broken and not bid.records:
        yield Fault("records", "none")


def signature(tender: Tender, bid: Read) -> Iterator[Fault | Note]:
    """The bid is signed where the tender demands it, by a key that the buyer's list, if there is one, accepts."""
    if bid.signed.problem or (tender.signed and not bid.signed.key):
        yield Fault("signature", bid.signed.text)
    elif bid.signed.key and not bid.signed.by:
        text = "without a list of allowed signers nobody knows whose key this is; run: --allowed-signers FILE"
        yield Note("signature", text)


def bidder(tender: Tender, bid: Read) -> Iterator[Fault | Note]:
    """The bidder's name has letters of one script in each word, and is the one whose key the tender names."""
    name = bid.bid.bidder
    if strange := text_rules.mixed_scripts(name):
        yield Fault("bidder", f"{as_seen(name)} has letters that look like others: {strange}")
    wanted = tender.bidders.get(name)
    if tender.bidders and wanted is None:
        yield Fault("bidder", f"{as_seen(name)} is none of {', '.join(tender.bidders)}")
    elif wanted is not None and not bid.signed.is_by(wanted):
        yield Fault("bidder", f"{as_seen(name)} is signed by {bid.signed.by or 'nobody known'}; expected {wanted}")
    elif bid.signed.by:
        yield Note("bidder", f"{as_seen(name)} is signed by {bid.signed.by}")


def evidence(tender: Tender, bid: Read) -> Iterator[Fault | Note]:
    """Every record passes the strict check; launchers and options of a site's own are those that the tender names."""
    for fault in bid.faults:
        if fault.options and fault.options in getattr(tender, fault.named_in):
            yield Note(fault.field, fault.text)
        else:
            yield fault


def challenge(tender: Tender, bid: Read) -> Iterator[Fault | Note]:
    """Every record answers the tender's challenge, so that it was made for this tender."""
    for read in bid.records:
        if read.challenge != tender.challenge:
            text = f"{read.challenge or 'none'}; the tender's is {tender.challenge}"
            yield Fault(f"record {read.id}: case.challenge", text)


def origin(tender: Tender, bid: Read) -> Iterator[Fault | Note]:
    """Every record has an origin that the tender accepts, and all are of one system."""
    for read in bid.records:
        if read.origin not in tender.origins:
            yield Fault(f"record {read.id}: origin", f"{read.origin}; accepted: {', '.join(tender.origins)}")
    systems = sorted({read.system for read in bid.records})
    if len(systems) > 1:
        yield Fault("records", f"of {len(systems)} systems: {', '.join(systems)}")


def sessions(tender: Tender, bid: Read) -> Iterator[Fault | Note]:
    """Every session's records are there from its first one, and none between them was left out."""
    by_session: dict[str, list[Judged]] = {}
    for read in bid.records:
        if read.session is not None:
            by_session.setdefault(read.session, []).append(read)
    for session, records in by_session.items():
        previous = None
        for number, read in enumerate(sorted(records, key=lambda record: record.number)):
            if (read.number, read.previous) != (number, previous):
                yield Fault(f"session {session}", f"a job was left out: the one before record {read.id}")
                break
            previous = read.sha256


def first_jobs(tender: Tender, bid: Read) -> Iterator[Fault | Note]:
    """Where the tender names jobs, all jobs of a case are of one session, and the first ones count."""
    for case in tender.cases:
        answering = measured.answering(case, bid.records)
        count = len({read.session for read in answering})
        if case.jobs is not None and count > 1:
            text = f"jobs of {count} sessions; expected one; run: reframe ... --repeat={case.jobs}"
            yield Fault(f"case {case.name}", text)
        elif case.jobs is not None and len(answering) > case.jobs:
            text = f"the first {case.jobs} of {len(answering)} jobs count"
            yield Note(f"case {case.name}", text)


def launches_once(tender: Tender, bid: Read) -> Iterator[Fault | Note]:
    """No job, launch or series is in the bid twice, neither scaled nor in another order."""
    jobs: dict[str, str] = {}
    for read in bid.records:
        if jobs.setdefault(read.job, read.id) != read.id:
            yield Fault(f"record {read.id}: run.job", f"the job of record {jobs[read.job]}")
    for copy in copies.within(bid.records):
        text = f"copied within the bid: {_launches(copy.original_launch)} of record {copy.original.id}"
        yield Fault(f"record {copy.read.id}: {_launches(copy.launch)}", text)


def _launches(number: int) -> str:
    return "launches" if number == copies.ALL else f"launches[{number}]"


def one_machine(tender: Tender, bid: Read) -> Iterator[Fault | Note]:
    """All jobs ran on one machine with one software, but for what the tender's `may_differ` names."""
    for name, field, text in agreement.differences(bid.records):
        if name in tender.may_differ:
            yield Note(field, text)
        else:
            advice = f"; expected no difference, or `may_differ: [{name}]` in the tender" if name else ""
            yield Fault(field, f"{text}{advice}")


def one_clock(tender: Tender, bid: Read) -> Iterator[Fault | Note]:
    """Measured jobs of one boot have one clock, and no two ran at the same time on the same nodes."""
    measured_on = [read for read in bid.records if read.origin is Origin.MEASURED]
    clocks: dict[str, Judged] = {}
    for read in measured_on:
        first = clocks.setdefault(read.boot, read) if read.boot and read.up_s is not None else read
        apart_s = 0.0 if read.up_s is None or first.up_s is None else read.up_s - first.up_s
        if abs(apart_s) > CLOCKS_S:
            text = f"{apart_s:+.0f} s against record {first.id} of the same boot"
            yield Fault(f"record {read.id}: begun_monotonic_s", text)
    for one, other in itertools.pairwise(sorted(measured_on, key=lambda read: (read.allocation, read.started))):
        is_same = one.allocation == other.allocation and one.allocation != ""
        if is_same and (early_s := one.ended_s - seconds(other.started)) > SECOND_S:
            text = f"{other.started}: {early_s:.0f} s before record {one.id} of the same nodes ended"
            yield Fault(f"record {other.id}: started", text)


def parameters(tender: Tender, bid: Read) -> Iterator[Fault | Note]:
    """Every record of a case's check has the parameters that the tender names, and else the defaults of the check."""
    first_of_each = {read.work: read for read in reversed(bid.records)}
    for read in reversed(first_of_each.values()):
        wanted = [case for case in tender.cases if case.check == read.check]
        if not wanted or any(case.is_met_by(read) for case in wanted):
            continue
        differences = min((list(case.differences(read)) for case in wanted), key=len)
        yield from (Fault(f"record {read.id}", text) for text in differences)


def cases(tender: Tender, bid: Read) -> Iterator[Fault | Note]:
    """Every case of the tender has enough results and jobs with its figure of merit, all measured alike."""
    for case in tender.cases:
        answering = measured.answering(case, bid.records)
        if len(works := {read.work: read for read in answering}) > 1:
            one, other = itertools.islice(works.values(), 2)
            text = f"records {one.id} and {other.id} are not one case: {_unlike(one, other)}"
            yield Fault(f"case {case.name}", text)
        results = measured.of_case(case, answering)
        launches, jobs = (results.launches, len(results.by_job)) if results else (0, 0)
        what = f"{case.fom} under {case.placement} + {case.nic_policy}"
        if not answering:
            yield Fault(f"case {case.name}", f"no record of {case.check} on {case.nodes} nodes")
        elif launches < case.launches:
            yield Fault(f"case {case.name}", f"{launches} results with {what}; {case.launches} are needed")
        elif jobs < (case.jobs or 1):
            yield Fault(f"case {case.name}", f"{jobs} jobs with {what}; {case.jobs} are needed")
        else:
            first = answering[0]
            unnamed = ", ".join(f"{name} {value}" for name, value in case.unnamed(first).items()) or "nothing"
            text = f"{launches} results of {jobs} jobs on {first.nodes} of {first.granted} nodes"
            yield Note(f"case {case.name}", f"{text}; not named by the tender: {unnamed}")


def _unlike(one: Judged, other: Judged) -> str:
    """Return the first difference between two records that answer a case."""
    first, second = ({**read.setting, **read.parameters} for read in (one, other))
    for name in sorted(first.keys() | second.keys()):
        if first.get(name) != second.get(name):
            return f"{name} {first.get(name)} and {second.get(name)}"
    for name in ("nodes", "environment", "commit"):
        if getattr(one, name) != getattr(other, name):
            return f"{name} {getattr(one, name)} and {getattr(other, name)}"
    return "the MPI library"


def tier(tender: Tender, bid: Read) -> Iterator[Fault | Note]:
    """The bid's tier is accepted, and one other than baseline attaches its changes."""
    if bid.bid.tier not in tender.tiers:
        yield Fault("tier", f"{bid.bid.tier!r}; accepted: {', '.join(tender.tiers)}")
    if bid.bid.tier != "baseline" and not bid.bid.attachments:
        yield Fault("tier", f"{bid.bid.tier} without an attachment that shows what was changed")


def limits(tender: Tender, bid: Read) -> Iterator[Fault | Note]:
    """Every case meets the tender's limit with both bounds of its interval."""
    for case in tender.cases:
        results = measured.of_case(case, bid.records)
        if case.limit is None or results is None:
            continue
        verdict = measured.meets(case, results, case.limit)
        text = f"{verdict} the limit of {case.limit:.6g}: {results.text}"
        kind = Note if verdict is Meets.MEETS else Fault
        yield kind(f"case {case.name}", text)


def system_nodes(tender: Tender, bid: Read) -> Iterator[Fault | Note]:
    """The bid states how many nodes its system has where the metric counts them, and no case needs more."""
    if tender.metric in OF_A_SYSTEM and bid.bid.nodes is None:
        yield Fault("nodes", f"not stated; {tender.metric} counts the nodes of the system")
    for case in tender.cases if bid.bid.nodes is not None else ():
        used = nodes_of(case, bid.records)
        if used is not None and used > (bid.bid.nodes or 0):
            yield Fault(f"case {case.name}", f"on {used} nodes; the offered system has {bid.bid.nodes}")


def speedups(tender: Tender, bid: Read) -> Iterator[Fault | Note]:
    """No case is slower than its reference where the metric is SSI or SSNI, which demand it."""
    for case in tender.cases if tender.metric in OF_TWO_SYSTEMS else ():
        results = measured.scored(tender, case, bid)
        if results:
            yield from _demanded(case, results, case.reference, "reference")


def pledges(tender: Tender, bid: Read) -> Iterator[Fault | Note]:
    """Every pledge names a case of the tender, and the measured value reaches it, unless the tender scores pledges."""
    by_name = {case.name: case for case in tender.cases}
    for name, pledged in bid.bid.pledges.items():
        if name not in by_name:
            yield Fault("pledges", f"{name!r} is no case of the tender")
            continue
        results = measured.of_case(by_name[name], bid.records)
        if tender.scored == "measured" and results:
            yield from _demanded(by_name[name], results, pledged, "pledge")


def _demanded(case: Case, results: Measured, bound: float, what: str) -> Iterator[Fault | Note]:
    """Yield a fault if results do not meet a bound, and a note if the interval contains it."""
    verdict = measured.meets(case, results, bound)
    text = f"{verdict}: {results.text}; the {what} is {bound:.6g}"
    if verdict is not Meets.MEETS:
        kind = Fault if verdict is Meets.DOES_NOT_MEET else Note
        yield kind(f"case {case.name}", text)


def presets(tender: Tender, bid: Read) -> Iterator[Fault | Note]:
    """Every test that the tender's presets require is answered by a record of the bid."""
    for preset in tender.presets:
        for rule in preset.rules:
            problem = rule.test.problem(bid.records, bid.bid.nodes) if rule.test else ""
            if problem:
                yield Fault(f"{preset.name}, {rule.name}", f"{problem} ({rule.source})")


def nodes_of(case: Case, records: Sequence[Judged]) -> int | None:
    """Return how many nodes a bid used for a case; None if no record answers it."""
    return next((read.nodes for read in measured.answering(case, records)), None)


def named_network(tender: Tender, bid: Read) -> Iterator[Fault | Note]:
    """The tender names what makes an emulated or simulated network fast or slow, because the bidder sets it."""
    for case in tender.cases:
        for read in measured.answering(case, bid.records)[:1]:
            named = {name: read.setting[name] for name in OF_A_TORUS if name in read.setting}
            if read.origin is not Origin.MEASURED and named.keys() - case.parameters.keys():
                wanted = ", ".join(f"{name}: {json_io.canonical(value)}" for name, value in named.items())
                yield Fault(
                    f"case {case.name}", f"{read.origin}; the tender's `parameters` do not name all of {wanted}"
                )


def own_launches(tender: Tender, bid: Read, others: Sequence[Read]) -> Iterator[Fault | Note]:
    """No job, launch or series of the bid is in a bid that the buyer received before, or that is signed."""
    for other in others:
        name = as_seen(other.bid.bidder)
        jobs, boots = ({getattr(read, key) for read in other.records} - {None} for key in ("job", "boot"))
        copied = {copy.read.id: copy for copy in copies.between(bid.records, other.records)}
        shared: set[str | None] = set()
        for read in bid.records:
            if read.job in jobs:
                yield _against(tender, (bid, other), f"record {read.id}: run.job", f"is in the bid of {name}")
            elif copy := copied.get(read.id):
                field = f"record {read.id}: {_launches(copy.launch)}"
                text = f"is in the bid of {name}, {_launches(copy.original_launch)} of record {copy.original.id}"
                yield _against(tender, (bid, other), field, text)
            elif read.boot in boots - shared:
                shared.add(read.boot)
                yield Note(f"record {read.id}: run.boot", f"ran on the computer of a record of {name}")


def _against(tender: Tender, bids: tuple[Read, Read], field: str, text: str) -> Fault | Note:
    """Return a fault of the first of two bids that have the same, or a note if it is the earlier one.

    The buyer's list of what was received decides, then a signature that the buyer accepts. A time in a bid does not,
    because whoever copies writes an earlier one. Without either the note is open.
    """
    last = len(tender.received)
    bid, other = (
        (tender.received.index(one.digest) if one.digest in tender.received else last, not one.signed.by)
        for one in bids
    )
    if bid == other:
        text = f"{text}; nobody can tell whose it is; expected both in the tender's `received`"
        return Note(field, text, is_open=True)
    return Note(field, f"{text}, which came later") if bid < other else Fault(field, text)


def own_name(tender: Tender, bid: Read, others: Sequence[Read]) -> Iterator[Fault | Note]:
    """No bid that came before, or that is signed, has the name of this bidder, or one that looks like it."""
    looks = text_rules.skeleton(bid.bid.bidder)
    for other in others:
        if text_rules.skeleton(other.bid.bidder) == looks:
            text = f"{as_seen(bid.bid.bidder)} looks like {as_seen(other.bid.bidder)} of {as_seen(str(other.path))}"
            yield _against(tender, (bid, other), "bidder", text)


def explained(tender: Tender, bid: Read) -> Iterator[Fault | Note]:
    """Launches that an event of the network made slow count as all others, and are named."""
    for read in bid.records:
        yield from (Note(f"record {read.id}", text) for text in read.explained)


RULES: Sequence[Check] = (
    readable,
    signature,
    bidder,
    evidence,
    challenge,
    origin,
    sessions,
    first_jobs,
    launches_once,
    one_machine,
    named_network,
    one_clock,
    parameters,
    cases,
    tier,
    limits,
    system_nodes,
    speedups,
    pledges,
    presets,
    explained,
)
#: Rules that compare a bid with the others.
ACROSS: Sequence[Callable[[Tender, Read, Sequence[Read]], Iterator[Fault | Note]]] = (own_name, own_launches)
