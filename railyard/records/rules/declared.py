"""Check what a benchmark declares, parameters and series, and refuse keys that railyard does not write.

Where the schema allows any key, nothing would judge the values of others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from railyard.base import check_sources
from railyard.base.errors import as_seen
from railyard.base.host_names import short
from railyard.records import own_figures, programs, units
from railyard.records.benchmark import HOST_LABELS, SAMPLE_BEGUN, Labels, Series, point
from railyard.records.programs import third_party
from railyard.records.record import Origin, Record
from railyard.records.rules.registry import ALIKE_JOBS, CASE, Fault, ended_well, rule


@rule("benchmark", once_for=CASE)
def benchmark(read: Record) -> Iterator[Fault]:
    """The benchmark is the one that the check runs."""
    own = check_sources.value(read.case.check, "benchmark")
    if isinstance(own, str) and own != read.case.benchmark:
        yield Fault("case.benchmark", f"{read.case.benchmark}; {read.case.check} runs {own}")


@rule("parameters", once_for=CASE)
def parameters(read: Record) -> Iterator[Fault]:
    """A case of a benchmark of railyard has the parameters that its program needs, each of its kind."""
    program = programs.PROGRAMS.get(read.case.benchmark)
    stated = read.case.parameters
    for name in sorted(program.needs.keys() - stated.keys()) if program else ():
        yield Fault(f"case.parameters.{name}", f"missing; {read.case.benchmark} needs it")
    for name, kind in {**program.may, **program.needs}.items() if program else ():
        if name in stated and not kind.has(stated[name]):
            text = as_seen(f"{stated[name]!r}"[:100])
            yield Fault(f"case.parameters.{name}", f"{text} is not {kind}")


@rule("series", once_for=ALIKE_JOBS)
def series(read: Record) -> Iterator[Fault]:
    """A benchmark of railyard has its own figures alone, in their units, with labels that its program writes."""
    if read.origin is Origin.MODELLED:
        return  # the model writes other figures, and all of them are computed again
    problems: dict[tuple[int, tuple[str, ...]], str] = {}  # series of all launches share their figures
    is_own = read.case.benchmark in programs.PROGRAMS
    for field, launch in ended_well(read):
        if is_own and (strange := launch.reported.keys() - {SAMPLE_BEGUN}):
            yield Fault(f"{field}.reported.{min(strange)}", f"{read.case.benchmark} reports {SAMPLE_BEGUN} alone")
        for index, one in enumerate(launch.series):
            key = id(one.fom), tuple(one.labels)
            if key not in problems:
                problems[key] = _strange(read.case.benchmark, one)
            if problem := problems[key]:
                yield Fault(f"{field}.series[{index}]", problem)
                break


@rule("same-points", once_for=ALIKE_JOBS)
def same_points(read: Record) -> Iterator[Fault]:
    """Launches of one placement of a benchmark whose output railyard reads have series at the same points."""
    if not _is_known(read.case.benchmark):
        return
    first: dict[str, tuple[int, Counter[tuple[str, Labels]]]] = {}
    for field, launch in ended_well(read):
        if launch.not_measured:
            continue
        points = Counter((str(one.fom), point(one.labels)) for one in launch.series if not units.is_counted(one.fom))
        index, wanted = first.setdefault(launch.placement, (launch.index, points))
        if points != wanted:
            fom, labels = min((points - wanted) or (wanted - points))
            text = f"{fom} at {dict(labels)} is not as often there as in launch {index}"
            yield Fault(f"{field}.series", as_seen(text)[:300])


@rule("ends", once_for=ALIKE_JOBS)
def ends(read: Record) -> Iterator[Fault]:
    """The ends of a pair are hosts and ranks of the launch; a host's name may lack its domain.

    Programs number ranks in an order of their own, so which rank is on which host is not compared.
    """
    for field, launch in ended_well(read):
        pairs = [(index, one) for index, one in enumerate(launch.series) if HOST_LABELS & one.labels.keys()]
        hosts = {short(rank.host) for rank in launch.ranks} if pairs else set()
        for index, one in pairs if hosts else ():
            for end in ("from", "to"):
                host, rank = one.labels.get(end), one.labels.get(f"{end}_rank", 0)
                if (host is not None and short(str(host)) not in hosts) or rank not in range(len(launch.ranks)):
                    ends_at = {key: value for key, value in one.labels.items() if key.startswith(end)}
                    text = f"{ends_at} is not in the launch"
                    yield Fault(f"{field}.series[{index}]", as_seen(text)[:300])
                    break


def _is_known(benchmark: str) -> bool:
    return benchmark in programs.PROGRAMS or third_party.is_known(benchmark)


def _strange(benchmark: str, one: Series) -> str:
    """Return what a benchmark's program never writes of a series; empty if it may write the series."""
    program = programs.PROGRAMS.get(benchmark)
    if not _is_known(benchmark) or units.is_counted(one.fom):
        return ""
    if program is not None and one.fom not in program.figures:
        return f"{one.fom} is no figure of {benchmark}"
    declared = own_figures.find(str(one.fom))
    if declared is not None and declared != one.fom:
        stated = f"in {one.fom.unit.name}, {one.fom.better} is better"
        return f"{one.fom} is {stated}; {benchmark} writes {declared.heading}"
    allowed = None if program is None else set(program.figures[one.fom].split())
    strange = HOST_LABELS & one.labels.keys() if allowed is None else one.labels.keys() - allowed
    return f"{one.fom} has the label {min(strange)}, which {benchmark} never writes" if strange else ""


#: Object of a record or of a launch's guard -> the keys that railyard writes there.
KNOWN = {
    "reframe": "version session check job wrapper launcher",
    "torus": "name engine rate_scale mtu_bytes burst_bytes latency_scaled network buffer_cells routes faults image"
    " image_sha256 machines slowed_from calibration calibration_sha256 algorithms",
    "guard": "watched_s traffic_s host_limited_s idle_share softirq_share steal_share busiest_link busiest_link_share"
    " packets_per_s drops conserved by_load attempts waited_s error_bound_percent error_bound lateness",
    "error_bound": "percent lateness_percent waiting_percent steal_percent throttled_percent idle_percent",
    "lateness": "chunks median_us p99_us max_us median_percent p99_percent mean_percent",
}


@rule("known-keys")
def known(read: Record) -> Iterator[Fault]:
    """ReFrame, torus and guard have no keys but those that railyard writes."""
    objects = [(f"provenance.{name}", name, read.provenance[name]) for name in ("reframe", "torus")]
    for index, launch in enumerate(read.launches):
        if launch.guard is not None:
            guard, field = launch.guard.figures, f"launches[{index}].guard"
            objects += [(field, "guard", guard)]
            objects += [(f"{field}.{name}", name, guard.get(name)) for name in ("error_bound", "lateness")]
    for field, name, there in objects:
        keys = there.keys() if isinstance(there, Mapping) else ()  # other rules refuse what is not an object
        if strange := sorted(set(keys) - set(KNOWN[name].split())):
            yield Fault(f"{field}.{strange[0][:60]}", "railyard writes no such key")
