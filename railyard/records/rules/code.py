"""Check the code: origin and torus match, the commit is known here, nothing that ran changed during the job."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

from railyard.records import programs, provenance
from railyard.records.record import Origin, Record, Software
from railyard.records.rules.figures import RAN
from railyard.records.rules.registry import Fault, rule


@rule("origin")
def origin(read: Record) -> Iterator[Fault]:
    """Measured and modelled records have no torus, emulated ones a virtual torus, simulated ones SimGrid."""
    torus = read.provenance["torus"]
    engine = str(torus["engine"]) if torus else ""
    if read.origin in {Origin.MEASURED, Origin.MODELLED} and torus is not None:
        yield Fault("provenance.torus", f"a torus of {engine}, yet the origin is {read.origin}")
    if (read.origin is Origin.SIMULATED) != engine.startswith("SimGrid"):
        yield Fault("origin", f"{read.origin}, with the engine {engine or 'none'}")
    if read.origin is Origin.MEASURED and any(launch.guard for launch in read.launches):
        yield Fault("origin", "measured, yet a virtual torus's guard watched")


@rule("own-kernels")
def own_kernels(read: Record) -> Iterator[Fault]:
    """Every node of a measured job reported a boot of its own: nodes that share a kernel are one computer."""
    if read.origin is not Origin.MEASURED or len(read.case.allocation["nodes"]) < 2:
        return
    count, reported = len(read.case.allocation["nodes"]), read.provenance.get("nodes") or {}
    described, boots = reported.get("described", 0), reported.get("boots", 0)
    if described != count:
        yield Fault("provenance.nodes.described", f"{described} of {count} nodes described themselves")
    elif boots != count:
        yield Fault("provenance.nodes.boots", f"{count} nodes have {boots} boots of kernels: emulated, not measured")


_is_known = functools.lru_cache(maxsize=4096)(provenance.is_known)


@rule("commit")
def commit(read: Record) -> Iterator[Fault]:
    """The commit is in the history of the checker's own clone, where the checker has a whole one."""
    named = read.provenance["railyard"]["git_commit"]
    if named is not None and _is_known(named) is False:
        yield Fault("provenance.railyard.git_commit", f"{named[:12]} is not known here; fetch, or ask for it")


@rule("check-name")
def check_name(read: Record) -> Iterator[Fault]:
    """ReFrame ran the check that the case names."""
    ran = (read.provenance["reframe"] or {}).get("check")
    if ran is not None and not re.fullmatch(rf"{re.escape(read.case.check)}(_\d+| .*)?", str(ran)):
        yield Fault("provenance.reframe.check", f"{ran}; the case names {read.case.check}")


@rule("run")
def run(read: Record) -> Iterator[Fault]:
    """A record has its job, the boot of its kernel, and the case's grid, block and ranks per node."""
    if read.run is None:
        yield Fault("run", "missing")
    elif read.run["boot"] is None and read.origin in RAN:
        yield Fault("run.boot", "missing; each kernel of Linux has one")
    for name in ("ranks_per_node", "grid", "block", "cube"):
        if getattr(read.case, name) is None:
            yield Fault(f"case.{name}", "missing")


@rule("code-before-and-after")
def same_code(read: Record) -> Iterator[Fault]:
    """Commit, dirty state and every digest are the same when the job is written and when it ends."""
    if read.run is None:
        return
    written, at_end = read.run["written"], read.run["ended"]
    if written is None or at_end is None:
        yield Fault("run", "the code is not known at the job's beginning and end")
        return
    for name, noted in read.provenance["railyard"].items():
        for when, state in (("written", written), ("ended", at_end)):
            if name in state and state[name] != noted:
                yield Fault(f"run.{when}.{name}", f"{state[name]}; provenance says {noted}")
    first, again = written["files"], at_end["files"]
    for name in sorted(again):
        if first.get(name) != again[name]:
            yield Fault(f"run.ended.files.{name[:60]}", "not the file that the job began with")
    if absent := sorted(first.keys() - again.keys()):
        more = f" and {len(absent) - 1} more" if absent[1:] else ""
        yield Fault("run.ended.files", f"not summed again, because the job did not end: {absent[0][:60]}{more}")


@rule("program-digest")
def program_digest(read: Record) -> Iterator[Fault]:
    """The benchmark's program is among the digests, where it ran natively."""
    if read.run is None or read.origin is Origin.MODELLED or read.case.software == (Software.IMAGE,):
        return
    files = (read.run["ended"] or {}).get("files") or {}
    if read.case.benchmark in programs.PROGRAMS and not files.get(read.case.benchmark):
        yield Fault("run.ended.files", f"no digest of {read.case.benchmark}")


@rule("chain")
def chain(read: Record) -> Iterator[Fault]:
    """The first record of a session has no previous one, every other has."""
    if read.run is not None and (read.run["number"] == 0) != (read.run["previous"] is None):
        yield Fault("run.previous", f"{read.run['previous']} for record {read.run['number']}")
