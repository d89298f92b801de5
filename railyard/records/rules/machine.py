"""Bound a machine by what exists, so that no record can claim one that nobody built, and compare its nodes' names.

Nodes of two machines, put into one job, mostly have names of two forms.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from railyard.base.host_names import short
from railyard.records.record import Origin, Record
from railyard.records.rules import rebuilt
from railyard.records.rules.registry import ALIKE_JOBS, Fault, ended_well, rule

#: The most CPUs that Linux can be configured for (NR_CPUS of x86).
MOST_CPUS = 8192
#: The least memory in which Linux and an MPI program start, and the most that a processor of today can address.
MEMORY_BYTES = range(1 << 26, (1 << 52) + 1)


@rule("machine", once_for=ALIKE_JOBS)
def machine(read: Record) -> Iterator[Fault]:
    """The machine has CPUs and memory that exist; a rank may use no more CPUs than its machine has."""
    stated = read.provenance["machine"]
    cpus, memory_bytes = stated["cpus"], stated["memory_bytes"]
    if cpus is not None and cpus > MOST_CPUS:
        yield Fault("provenance.machine.cpus", f"{cpus:.3g}; Linux has at most {MOST_CPUS}")
    if memory_bytes is not None and memory_bytes not in MEMORY_BYTES:
        yield Fault("provenance.machine.memory_bytes", f"{memory_bytes:.3g}; a machine has from 64 MiB to 4 PiB")
    for field, launch in ended_well(read):
        is_here = read.origin is Origin.EMULATED or {short(stated["hostname"])} == set(map(short, launch.ranks.hosts))
        most = cpus if is_here and cpus is not None else MOST_CPUS
        count = max(map(len, launch.ranks.cpu_sets), default=0)
        if count > most:
            yield Fault(f"{field}.ranks", f"{count} CPUs allowed, where the machine has {most}")


def form(name: str) -> str:
    """Return a name without its domain, with `#` for each number."""
    return re.sub(r"\d+", "#", name.split(".")[0])


@rule("node-names", once_for=ALIKE_JOBS)
def one_form(read: Record) -> Iterator[Fault]:
    """Nodes of a measured job have names of one form, in which numbers may differ, and a letter, as of a rack."""
    forms = list(dict.fromkeys(map(form, rebuilt.names(read)))) if read.origin is Origin.MEASURED else []
    for other in forms[1:]:
        if not _are_alike(forms[0], other):
            text = f"nodes {forms[0]} and {other} in one job"
            yield Fault("case.allocation.nodes", text[:300], options="node_names", named_in="may_differ")
            return


def _are_alike(one: str, other: str) -> bool:
    """Return whether two forms differ in one letter at most, and share another letter."""
    pairs = list(zip(one, other, strict=False))
    unlike = sum(letter != another for letter, another in pairs)
    return len(one) == len(other) and unlike <= 1 and any(a == b and a.isalpha() for a, b in pairs)
