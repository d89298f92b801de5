"""Compare what the jobs of a bid ran on and with: one machine, one software, unless the tender lets them differ.

Models: node names may differ from job to job, because a scheduler chooses nodes. They are of one machine if they have
the same forms, which are the names with `#` for each number. A job on few nodes may lack forms of a larger one.
Leaves out: whether what jobs report of themselves is true.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from railyard.records.record import Origin, Record
from railyard.records.rules import figures, rebuilt
from railyard.records.rules import machine as node_names

if TYPE_CHECKING:
    from railyard.tender.judged import Judged

#: Relative difference of the memory of two nodes of a kind, from which firmware and kernel take their parts.
MEMORY = 0.01
#: Libraries that change the clock of the program that loads them.
_CLOCKS = re.compile(r"faketime|datefudge|fakeclock|timeskew", re.IGNORECASE)


def facts_of(read: Record) -> dict[str, str]:
    """Return what all jobs of a bid should have in common, by the names of the tender's `may_differ`, but for files."""
    machine, mpi = read.provenance["machine"] or {}, read.provenance["mpi"] or {}
    topology = read.case.topology
    names = [*rebuilt.names(read), str(machine.get("hostname"))] if read.origin is Origin.MEASURED else []
    facts = {
        "cpu": f"{machine.get('cpus')} x {machine.get('cpu')}",
        "memory": str(machine.get("memory_bytes") or 0),
        "kernel": f"{machine.get('kernel')}, {machine.get('os')}",
        "mpi": f"{mpi.get('library')}, MPI {mpi.get('standard')}",
        "nics": ", ".join(read.case.devices or ["none named"] * (read.origin is Origin.MEASURED)),
        "topology": f"{topology.name} {topology.sha256}" if topology else "",
        "node_names": " ".join(sorted({node_names.form(name) for name in names})),
    }
    return {name: fact for name, fact in facts.items() if fact}


def files_of(read: Record) -> dict[str, str]:
    """Return the digests of the programs and libraries of a job, and of its image, by name."""
    image = read.provenance.get("image")
    files = {image["file"]: image["sha256"]} if image else {}
    files |= ((read.run or {}).get("ended") or {}).get("files") or {}
    return {name: digest or "not readable" for name, digest in files.items()}


def differences(records: Sequence[Judged]) -> Iterator[tuple[str, str, str]]:
    """Yield (name, field, text) of each fact and file in which a job differs from the first job.

    The name is empty for a file that changes a clock, which no tender can allow.
    """
    first: dict[tuple[str, str], tuple[Judged, str]] = {}
    shown = set()
    run = sorted((read for read in records if read.origin in figures.RAN), key=lambda read: read.created)
    forms = [(read, read.facts["node_names"]) for read in run if "node_names" in read.facts]
    if forms:
        first["node_names", ""] = max(forms, key=lambda one: len(one[1].split()))
    for read in run:
        for name, fact in read.facts.items():
            of = fact.partition(" ")[0] if name == "topology" and read.origin is not Origin.MEASURED else ""
            one, other = first.setdefault((name, of), (read, fact))
            if not _is_like(name, fact, other) and (name, fact) not in shown:
                shown.add((name, fact))
                yield name, f"record {read.id}", f"{name} {fact}; record {one.id} has {other}"
    yield from _files(run)


def _is_like(name: str, fact: str, other: str) -> bool:
    if name == "memory" and fact.isdigit() and other.isdigit():
        return abs(int(fact) - int(other)) <= MEMORY * int(other)
    if name == "node_names":
        return set(fact.split()) <= set(other.split())
    return fact == other


def _files(records: Sequence[Judged]) -> Iterator[tuple[str, str, str]]:
    """Yield, as `differences` does, files with two digests, that some jobs of a case lack, or that change a clock.

    A script of a NIC policy or an order, which is a word of a launch's line, need not be in jobs of other policies.
    """
    digests: dict[str, tuple[Judged, str]] = {}
    jobs: dict[str, list[Judged]] = {}
    shown = set()
    for read in records:
        jobs.setdefault(read.work, []).append(read)
        for name, digest in read.files.items():
            one, other = digests.setdefault(name, (read, digest))
            if other != digest and (name, digest) not in shown:
                shown.add((name, digest))
                text = f"sha256 {digest[:12]}; record {one.id} has {other[:12]}"
                yield "files", f"record {read.id}: {name}", text
    for name in filter(_CLOCKS.search, digests):
        yield "", f"record {digests[name][0].id}: {name}", "a library that changes the program's clock"
    for of_case in jobs.values():
        for name in dict.fromkeys(name for read in of_case for name in read.files):
            having = [read for read in of_case if name in read.files]
            commands = (ran.command for one in having for ran in one.launches)
            if len(having) < len(of_case) and not any(f"/{name} " in command for command in commands):
                text = f"among the files of {len(having)} of the {len(of_case)} jobs of this case"
                yield "files", f"record {having[0].id}: {name}", text
