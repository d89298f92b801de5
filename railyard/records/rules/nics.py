"""Check NICs: their names, bytes and errors, and the verdict that follows from the bytes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from railyard.base import host_names
from railyard.placements.collectives import libraries, proof
from railyard.placements.collectives.algorithms import Shape
from railyard.placements.hosts import naming
from railyard.placements.nics import evidence, policies
from railyard.placements.nics.evidence import Sender
from railyard.records.folded import health as healths
from railyard.records.folded.nic_bytes import Nics
from railyard.records.record import Launch, Origin, Record, Verdict
from railyard.records.rules import rebuilt
from railyard.records.rules.registry import Fault, answers, ended_well, rule


def _devices(read: Record) -> list[str]:
    if read.case.devices:
        return list(read.case.devices)
    return [f"nic{rail}" for rail in range(read.case.topology.rails if read.case.topology else 1)]


@rule("nic-names")
def names(read: Record) -> Iterator[Fault]:
    """NICs are of the allocation's nodes, each once; of a virtual torus all, idle ones too; else the same each time."""
    granted, devices = set(rebuilt.names(read)), _devices(read)
    is_named = read.origin is not Origin.MEASURED or bool(read.case.devices)
    seen: dict[str, tuple[int, frozenset[str]]] = {}
    cached: dict[int, tuple[Mapping[tuple[str, str], int], set[str]]] = {}
    for field, launch in ended_well(read):
        if launch.nics is None:
            continue
        pairs = launch.nics.pairs
        if id(pairs) not in cached:
            counted = Counter(pairs)
            named = {node for node, _ in counted}
            cached[id(pairs)] = counted, named - host_names.matched(named, granted).keys()
        elif read.origin is Origin.MEASURED:
            continue  # the same NICs as in an earlier launch
        counts, outside = cached[id(pairs)]
        if outside and read.origin is Origin.EMULATED:
            yield from _beside_the_job(read, field, launch.nics, outside)
        elif outside:
            shown = f"{min(outside)} is no node of the allocation, one of {len(outside)}"
            yield Fault(f"{field}.nics", shown)
        for (node, nic), count in counts.items():
            if count > 1:
                yield Fault(f"{field}.nics", f"{nic} of {node} {count} times")
            if is_named and nic not in devices:
                yield Fault(f"{field}.nics", f"{nic} is none of {', '.join(devices)}")
        if read.origin is Origin.MEASURED:
            yield from _counted_before(field, launch, seen)
        if read.origin is Origin.EMULATED:
            hosts = granted.intersection(launch.ranks.hosts)
            lacking = sorted((host, nic) for host in hosts for nic in devices if (host, nic) not in counts)
            if lacking:
                yield Fault(f"{field}.nics", f"no {lacking[0][1]} of {lacking[0][0]}")


def _beside_the_job(read: Record, field: str, nics: Nics, outside: set[str]) -> Iterator[Fault]:
    """Yield faults of the torus's nodes outside the job: all are in the topology, all are listed, and all are idle."""
    topology = rebuilt.topology_of(read.case)
    of_topology = {node.name for node in topology.nodes} if topology is not None else outside
    strange = outside - of_topology
    busy = {nic.node for nic in nics if nic.node in outside and (nic.tx_bytes or nic.rx_bytes)}
    pairs = set(nics.pairs)
    lacking = of_topology - {node for node, _ in pairs}
    if strange or busy:
        text = f"{min(strange or busy)} is no node of the allocation, one of {len(strange or busy)}"
        yield Fault(f"{field}.nics", text)
    elif lacking:
        yield Fault(f"{field}.nics", f"no NIC of {min(lacking)}, although nodes outside the allocation are listed")
    half = sorted((node, nic) for node in outside for nic in _devices(read) if (node, nic) not in pairs)
    if half:
        yield Fault(f"{field}.nics", f"no {half[0][1]} of {half[0][0]}")


def _counted_before(field: str, launch: Launch, seen: dict[str, tuple[int, frozenset[str]]]) -> Iterator[Fault]:
    """Yield a fault for the first node whose NICs differ from those that an earlier launch counted on it."""
    by_node: dict[str, set[str]] = {}
    for node, nic in launch.nics.pairs if launch.nics else ():
        by_node.setdefault(node, set()).add(nic)
    for node, nics in by_node.items():
        index, before = seen.setdefault(node, (launch.index, frozenset(nics)))
        if before != nics:
            shown = f"{', '.join(sorted(nics))} of {node}; launch {index} counted {', '.join(sorted(before))}"
            yield Fault(f"{field}.nics", shown[:300])
            return


@rule("nic-bytes")
def conserved(read: Record) -> Iterator[Fault]:
    """On a virtual torus that lost nothing as many bytes arrived as were sent, and every rank's node sent some."""
    if read.origin is not Origin.EMULATED:
        return
    for field, launch in ended_well(read):
        if not launch.nics:
            continue
        sent, received = sum(launch.nics.tx_bytes), sum(launch.nics.rx_bytes)
        if sent != received and launch.guard is not None and launch.guard.figures.get("conserved") is True:
            yield Fault(f"{field}.nics", f"{sent} bytes sent and {received} received, yet none lost")
        idle = sorted({*launch.ranks.hosts} - launch.nics.busy)
        if idle and len(launch.ranks.hosts) > 1:
            yield Fault(f"{field}.nics", f"{idle[0]} sent nothing")


@rule("nic-verdict")
def verdict(read: Record) -> Iterator[Fault]:
    """`nic_verdict` is the one that the NICs' bytes give under the policy."""
    expected, senders = rebuilt.expected_hosts(read), answers(read)
    for field, launch in ended_well(read):
        hosts = tuple(rebuilt.asked_of(launch, expected))
        key = "senders", launch.nic_policy, hosts, rebuilt.ranks_per_node(read)
        if key not in senders:
            senders[key] = _senders(read, launch.nic_policy, hosts)
        of_ranks = senders[key]
        verdict = None
        if of_ranks is not None:
            # counted by the ranks, so that MPI's set-up is included
            setup_bytes = evidence.SETUP_BYTES if rebuilt.counts_nics(read, launch) else 0
            sent = None if launch.nics is None else launch.nics.sent
            verdict = evidence.judge(of_ranks, sent, setup_bytes=setup_bytes)
        if choice := launch.nic_policy.partition("+")[2]:
            yield from _algorithms(read, field, launch, choice)
            if verdict is None or verdict.verdict != Verdict.NOT_OBEYED:
                continue
        if verdict is not None and str(launch.nic_verdict) != verdict.verdict:
            why = f": {verdict.reason}" if verdict.reason else ""
            yield Fault(f"{field}.nic_verdict", f"{launch.nic_verdict}; the bytes say {verdict.verdict}{why}")


def _algorithms(read: Record, field: str, launch: Launch, choice: str) -> Iterator[Fault]:
    """Yield a fault if algorithms are `obeyed` whose bytes the nodes did not send. A record has no bytes of links."""
    calls = proof.calls_of((str(one.fom), one.labels, one.samples) for one in launch.series)
    hosts = launch.ranks.hosts
    if launch.nic_verdict is not Verdict.OBEYED or launch.nics is None or len({name for name, _ in calls}) != 1:
        return
    (collective,) = {name for name, _ in calls}
    shape = Shape(ranks=len(hosts), per_node=rebuilt.ranks_per_node(read), grid=rebuilt.grid(read) or ())
    rows = [{"node": nic.node, "tx_bytes": nic.tx_bytes, "rx_bytes": nic.rx_bytes} for nic in launch.nics]
    topology = naming.flat(sorted(set(hosts)))
    fits = proof.fits(proof.counted(topology, hosts, {"nics": rows}), calls, shape)
    sides = [None, *libraries.libraries().values()]
    wanted = {libraries.matrices(choice, library).get(collective, "") for library in sides} - {""}
    if all(proof.judge(name, fits)[0] is False for name in wanted):
        yield Fault(f"{field}.nic_verdict", f"obeyed; the nodes' bytes are {proof.named(fits)}")


def _senders(read: Record, nic_policy: str, hosts: Sequence[str]) -> list[Sender] | None:
    """Return the NICs that a policy assigns to each rank; None if the record does not determine the nearest NIC."""
    devices = _devices(read)
    topology = rebuilt.topology_of(read.case)
    policy = policies.parse(nic_policy, len(devices))
    described = read.origin is Origin.MEASURED and len(devices) > 1
    if policy.kind.with_gpus or (policy.kind.nearest and described):
        return None  # only the descriptions of the nodes determine the nearest NIC
    if topology is None and policy.kind.nearest and len(devices) > 1:
        return None
    of = topology if topology is not None else naming.flat(["node"], rails=len(devices))
    if of.rails != len(devices):
        return None
    assigned = policies.assign(policy, policies.host(of, rebuilt.ranks_per_node(read), devices))
    local = rebuilt.local_ranks(hosts)
    if max(local, default=0) >= len(assigned):
        return None
    return evidence.senders(hosts, local, [tuple(devices[nic] for nic in own) for own in assigned])


@rule("health")
def of_launches(read: Record) -> Iterator[Fault]:
    """Events are changes of counters that were read, on the nodes of the launch; no launch lacks what others have."""
    has_health = any(launch.health for launch in read.launches)
    for field, launch in ended_well(read):
        if launch.health is None:
            if has_health and launch.nics is not None:
                text = "null; the NICs of this launch were counted, and other launches have their errors"
                yield Fault(f"{field}.health", text)
            continue
        health, place = launch.health, f"{field}.health"
        names = {name for group in health.read.values() for name in group}
        own = {node for node, _ in launch.nics.pairs} if launch.nics else set(launch.ranks.hosts)
        named = {event.node for event in health.events}
        strange = named - host_names.matched(named, own).keys()
        if strange and read.origin is Origin.MEASURED:
            yield Fault(f"{place}.events", f"{min(strange)} is no node whose NICs were counted")
        for number, event in enumerate(health.events):
            if event.event not in names and event.kind is not healths.Kind.GONE:
                yield Fault(f"{place}.events[{number}].event", f"{event.event} was not read")
            if text := healths.fault_of(event):
                yield Fault(f"{place}.events[{number}]", text)
        for number, other in enumerate(health.others):
            listed = sum((event.event, event.kind) == (other.event, other.kind) for event in health.events)
            if listed != healths.LISTED:
                text = f"{other.event}: {listed} events; expected {healths.LISTED} before others are added up"
                yield Fault(f"{place}.others[{number}]", text)
