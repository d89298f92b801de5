"""Rules of the NICs: their names, their bytes, and the verdict that the bytes give."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from placements.hosts import naming
from placements.nics import evidence, policies
from placements.nics.evidence import Sender
from railyard.records import assemble
from railyard.records.record import Launch, Origin, Record
from railyard.records.rules import rebuilt
from railyard.records.rules.registry import Fault, ended_well, of_case, rule


def _devices(read: Record) -> list[str]:
    if read.case.devices:
        return list(read.case.devices)
    return [f"nic{rail}" for rail in range(read.case.topology.rails if read.case.topology else 1)]


@rule("nic-names")
def names(read: Record) -> Iterator[Fault]:
    """NICs are of the allocation's nodes, each once; of a virtual torus all, idle ones too; else the same each time."""
    granted, devices = set(rebuilt.names(read)), _devices(read)
    seen: dict[str, tuple[int, frozenset[str]]] = {}
    for field, launch in ended_well(read):
        if launch.nics is None:
            continue
        counts = Counter((each.node, each.nic) for each in launch.nics)
        outside = {node for node, _ in counts if not _is_granted(node, granted)}
        if outside and read.origin is Origin.EMULATED:
            yield from _beside_the_job(read, field, launch, outside)
        elif outside:
            shown = f"{min(outside)} is no node of the allocation, one of {len(outside)}"
            yield Fault(field=f"{field}.nics", text=shown)
        for (node, nic), count in counts.items():
            if count > 1:
                yield Fault(field=f"{field}.nics", text=f"{nic} of {node} {count} times")
            if (read.origin is not Origin.MEASURED or read.case.devices) and nic not in devices:
                yield Fault(field=f"{field}.nics", text=f"{nic} is none of {', '.join(devices)}")
        if read.origin is Origin.MEASURED:
            yield from _counted_before(field, launch, seen)
        if read.origin is Origin.EMULATED:
            hosts = {rank.host for rank in launch.ranks} & granted
            lacking = sorted((host, nic) for host in hosts for nic in devices if (host, nic) not in counts)
            if lacking:
                yield Fault(field=f"{field}.nics", text=f"no {lacking[0][1]} of {lacking[0][0]}")


def _is_granted(node: str, granted: set[str]) -> bool:
    return node in granted or any(assemble.same_host(node, name) for name in granted)


def _beside_the_job(read: Record, field: str, launch: Launch, outside: set[str]) -> Iterator[Fault]:
    """Yield what is wrong with the torus's other nodes: each is one of the topology, none is left out, all are idle."""
    known = rebuilt.topology_of(read)
    of_topology = {node.name for node in known.nodes} if known is not None else outside
    strange = outside - of_topology
    busy = {
        each.node for each in launch.nics or () if each.node in outside and (each.tx_bytes or each.rx_bytes)
    }
    lacking = of_topology - {each.node for each in launch.nics or ()}
    if strange or busy:
        text = f"{min(strange or busy)} is no node of the allocation, one of {len(strange or busy)}"
        yield Fault(field=f"{field}.nics", text=text)
    elif lacking:
        text = f"no NIC of {min(lacking)}, though other nodes beside the allocation are there"
        yield Fault(field=f"{field}.nics", text=text)
    pairs = {(each.node, each.nic) for each in launch.nics or ()}
    half = sorted((node, nic) for node in outside for nic in _devices(read) if (node, nic) not in pairs)
    if half:
        yield Fault(field=f"{field}.nics", text=f"no {half[0][1]} of {half[0][0]}")


def _counted_before(
    field: str, launch: Launch, seen: dict[str, tuple[int, frozenset[str]]]
) -> Iterator[Fault]:
    """Yield the first node whose NICs are not those that an earlier launch counted there."""
    by_node: dict[str, set[str]] = {}
    for each in launch.nics or ():
        by_node.setdefault(each.node, set()).add(each.nic)
    for node, nics in by_node.items():
        index, before = seen.setdefault(node, (launch.index, frozenset(nics)))
        if before != nics:
            shown = f"{', '.join(sorted(nics))} of {node}; launch {index} counted {', '.join(sorted(before))}"
            yield Fault(field=f"{field}.nics", text=shown[:300])
            return


@rule("nic-bytes")
def conserved(read: Record) -> Iterator[Fault]:
    """On a virtual torus that lost nothing as many bytes arrived as were sent, and every rank's node sent some."""
    if read.origin is not Origin.EMULATED:
        return
    for field, launch in ended_well(read):
        if not launch.nics:
            continue
        sent, received = (
            sum(getattr(each, name) for each in launch.nics) for name in ("tx_bytes", "rx_bytes")
        )
        if sent != received and launch.guard is not None and launch.guard.figures.get("conserved") is True:
            yield Fault(
                field=f"{field}.nics", text=f"{sent} bytes sent and {received} received, yet none lost"
            )
        active = {each.node for each in launch.nics if each.tx_bytes}
        idle = sorted({rank.host for rank in launch.ranks} - active)
        if idle and len({rank.host for rank in launch.ranks}) > 1:
            yield Fault(field=f"{field}.nics", text=f"{idle[0]} sent nothing")


@rule("nic-verdict")
def verdict(read: Record) -> Iterator[Fault]:
    """`nic_verdict` is the one that the NICs' bytes give under the policy."""
    expected, kept = rebuilt.expected_hosts(read), _senders_of_case(read)
    for field, launch in ended_well(read):
        asked = launch.nic_policy, tuple(rebuilt.asked_of(launch, expected)), rebuilt.ranks_per_node(read)
        if asked not in kept:
            kept[asked] = _senders(read, launch.nic_policy, asked[1])
        of_ranks = kept[asked]
        found = None if of_ranks is None else _judged(read, launch, of_ranks)
        if found is not None and str(launch.nic_verdict) != found.verdict:
            why = f": {found.reason}" if found.reason else ""
            yield Fault(
                field=f"{field}.nic_verdict", text=f"{launch.nic_verdict}; the bytes say {found.verdict}{why}"
            )


@of_case
def _senders_of_case(read: Record) -> dict[tuple[str, tuple[str, ...], int], list[Sender] | None]:
    """Return what was worked out of a case before: the ranks' NICs by policy, hosts and ranks of a node."""
    return {}


def _senders(read: Record, nic_policy: str, hosts: Sequence[str]) -> list[Sender] | None:
    """Return the NICs that a policy gives each rank; None where the record does not say which are near to a rank."""
    devices = _devices(read)
    topology = rebuilt.topology_of(read)
    policy = policies.parse(nic_policy, len(devices))
    described = read.origin is Origin.MEASURED and len(devices) > 1
    if policy.kind in policies.WITH_GPUS or (policy.kind == policies.Kind.LOCAL_NIC and described):
        return None  # each node's description says which NIC is near
    if topology is None and policy.kind == policies.Kind.LOCAL_NIC and len(devices) > 1:
        return None
    of = topology if topology is not None else naming.flat(["node"], rails=len(devices))
    if of.rails != len(devices):
        return None
    assigned = policies.assign(policy, policies.host(of, rebuilt.ranks_per_node(read), devices))
    local = rebuilt.local_ranks(hosts)
    if any(number >= len(assigned) for number in local):
        return None
    return [
        Sender(rank=rank, node=host, nics=tuple(devices[nic] for nic in assigned[number]))
        for rank, (host, number) in enumerate(zip(hosts, local, strict=True))
    ]


def _judged(read: Record, launch: Launch, senders: Sequence[Sender]) -> evidence.Found:
    sent = None if launch.nics is None else {(each.node, each.nic): each.tx_bytes for each in launch.nics}
    is_own = read.origin is Origin.MEASURED  # the ranks' own count, with MPI's set-up in it
    return evidence.judge(senders, sent, setup_bytes=evidence.SETUP_BYTES if is_own else 0)
