"""Demand evidence: a bidder's record must hold more than a valid one, such as enough launches and verified data.

If the record names a study, the study's minimum of launches and samples applies. Leaves out: the validity of the record
itself (`railyard.records.record`), the bag that contains it (`railyard.records.store.bag`), whether the numbers
are good.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator

from railyard.placements.orders import spec
from railyard.records import studies, units
from railyard.records.record import COMPUTED, Guarded, Launch, Origin, Record, Status, Verdict, combination_name
from railyard.records.rules.registry import ALIKE_JOBS, Fault, ended_well, rule
from railyard.records.store.levels import LAUNCHES
from railyard.records.units import Fom

DEFAULT_POLICIES = frozenset({"library-default", "default"})


def _results(read: Record) -> Iterator[tuple[str, Launch]]:
    """Return (path of the field, launch) for each launch that is a result."""
    return ((field, launch) for field, launch in ended_well(read) if launch.is_result)


@rule("ended")
def ended(read: Record) -> Iterator[Fault]:
    """The job and all its launches ended well, and no launch is void."""
    if read.status is not Status.OK:
        yield Fault("status", f"{read.status}: {read.reason}")
    for index, launch in enumerate(read.launches):
        if launch.is_void and launch.guard:
            why = "; ".join(launch.guard.reasons) or "no reason given"
            yield Fault(f"launches[{index}].guard", f"void: {why}")


@rule("guarded")
def guarded(read: Record) -> Iterator[Fault]:
    """A guard watched every launch of a virtual torus and reached a verdict."""
    if read.origin is not Origin.EMULATED:
        return
    for field, launch in _results(read):
        if launch.guard is None:
            yield Fault(f"{field}.guard", "no guard watched this launch")
        elif launch.guard.verdict is Guarded.CANNOT_TELL:
            why = "; ".join(launch.guard.reasons) or "no reason given"
            yield Fault(f"{field}.guard", f"the guard could not tell: {why}")


@rule("launches", once_for=ALIKE_JOBS)
def enough_launches(read: Record) -> Iterator[Fault]:
    """Every combination has as many results as its study needs, or 6."""
    needed = [LAUNCHES, *(study.launches for study in studies.of(read.case.studies))]
    least = 1 if read.origin in COMPUTED else max(needed)
    counted = Counter(launch.combination for _, launch in _results(read))
    for combination in itertools.product(read.case.placements, read.case.nic_policies, read.case.software):
        if counted[combination] < least:
            text = f"{counted[combination]} results of {combination_name(*combination)}; at least {least} are needed"
            yield Fault("launches", text)


@rule("samples", once_for=ALIKE_JOBS)
def enough_samples(read: Record) -> Iterator[Fault]:
    """Every series has as many samples as its study needs."""
    least = 1 if read.origin in COMPUTED else max([1, *(study.samples for study in studies.of(read.case.studies))])
    for field, launch in _results(read):
        for index, series in enumerate(launch.series):
            if len(series.samples) < (1 if units.is_counted(series.fom) else least):
                yield Fault(f"{field}.series[{index}]", f"{len(series.samples)} samples; at least {least} are needed")


@rule("verified")
def verified(read: Record) -> Iterator[Fault]:
    """Every benchmark verified its data."""
    if read.origin is Origin.MODELLED:
        return  # no data moved
    for field, launch in _results(read):
        if launch.verified is not True:
            yield Fault(f"{field}.verified", "the benchmark did not verify its data")


@rule("one-unit", once_for=ALIKE_JOBS)
def one_unit(read: Record) -> Iterator[Fault]:
    """Every figure of merit has one unit; a time and a rate may share a name."""
    first: dict[tuple[str, str], str] = {}
    for field, launch in _results(read):
        for index, series in enumerate(launch.series):
            what = series.fom.stem, series.fom.unit.measures
            there = first.setdefault(what, series.fom)
            if there != series.fom:
                yield Fault(f"{field}.series[{index}].fom", f"{series.fom} beside {there}: mixed units")


@rule("same-series", once_for=ALIKE_JOBS)
def same_series(read: Record) -> Iterator[Fault]:
    """Every launch has the same figures of merit, except what nodes counted: one may have failed to."""
    wanted: set[Fom] | None = None
    for field, launch in _results(read):
        foms = {series.fom for series in launch.series if not units.is_counted(series.fom)}
        wanted = foms if wanted is None else wanted
        if foms != wanted:
            names = ", ".join(sorted(foms ^ wanted))
            yield Fault(f"{field}.series", f"not the figures of the first launch: {names}")


@rule("placed", once_for=ALIKE_JOBS)
def placed(read: Record) -> Iterator[Fault]:
    """Every rank proved where it ran, and on which CPUs."""
    if read.origin is Origin.MODELLED:
        return  # nothing ran
    for field, launch in _results(read):
        if not launch.ranks:
            yield Fault(f"{field}.ranks", "no evidence of where the ranks stood")
        if launch.placement_verdict is not Verdict.OBEYED:
            yield Fault(f"{field}.placement_verdict", "the placement is not proved")
        is_run = read.origin is not Origin.SIMULATED
        if is_run and launch.ranks.has_no_cpus():
            yield Fault(f"{field}.ranks", "no evidence of the ranks' CPUs")


@rule("nic-evidence", once_for=ALIKE_JOBS)
def nic_evidence(read: Record) -> Iterator[Fault]:
    """Every node has its NICs' bytes, and they prove the NIC policy."""
    if read.origin in COMPUTED:
        return
    for field, launch in _results(read):
        is_default = launch.nic_policy in DEFAULT_POLICIES
        if launch.nics is None and read.origin is Origin.MEASURED and is_default:
            continue  # the MPI library chose the NICs, on a machine where a job may be unable to read the counters
        if not launch.nics:
            yield Fault(f"{field}.nics", "no evidence of the NICs")
            continue
        hosts = set(launch.ranks.hosts)
        missing = sorted(hosts - {node for node, _ in launch.nics.pairs})
        if missing:
            yield Fault(f"{field}.nics", f"no NIC of {missing[0]} and {len(missing) - 1} more")
        elif len(hosts) > 1 and not launch.nics.busy & hosts:
            yield Fault(f"{field}.nics", "no NIC sent a byte")
        if not is_default and launch.nic_verdict is not Verdict.OBEYED:
            yield Fault(f"{field}.nic_verdict", f"{launch.nic_policy} is not proved")


@rule("provenance")
def provenance(read: Record) -> Iterator[Fault]:
    """The code is a clean commit; ReFrame, MPI, machine and topology are named."""
    provenance = read.provenance
    code = provenance["railyard"]
    if code["git_commit"] is None:
        yield Fault("provenance.railyard.git_commit", "the commit is not known")
    if code["git_dirty"] is not False:
        yield Fault("provenance.railyard.git_dirty", "the checkout was changed, or nobody looked")
    for name in ("reframe", "mpi"):
        if provenance[name] is None:
            yield Fault(f"provenance.{name}", "missing")
    for name, value in provenance["machine"].items():
        if value in (None, ""):
            yield Fault(f"provenance.machine.{name}", "not known")
    if read.case.topology is None and not _needs_no_topology(read):
        yield Fault("case.topology", "the topology is not named, and not every node has a coordinate")


def _needs_no_topology(read: Record) -> bool:
    """Return whether a real machine's record may omit its topology: all coordinates known, or none needed."""
    if read.origin is not Origin.MEASURED:
        return False
    kinds = {spec.parse(placement) for placement in read.case.placements}
    located = all(node["coordinate"] is not None for node in read.case.allocation["nodes"])
    return located or not any(
        (kind.order.determined and kind.order.needs_coordinates) or kind.choice.needs_coordinates for kind in kinds
    )


@rule("source")
def checked_source(read: Record) -> Iterator[Fault]:
    """The program was built of the source whose checksum the Spack recipe has."""
    source = str(read.case.parameters.get("spack_source", ""))
    if source.startswith("unchecked"):
        spec = read.case.parameters.get("spack_spec", "the program")
        text = f"{spec} was built of a source without the recipe's checksum: {source}"
        yield Fault("case.parameters.spack_source", text)
