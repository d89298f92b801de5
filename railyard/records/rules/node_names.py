"""Compare the names of a job's nodes: nodes of two machines, put into one job, mostly have names of two forms."""

from __future__ import annotations

import re
from collections.abc import Iterator

from railyard.records.record import Origin, Record
from railyard.records.rules import rebuilt
from railyard.records.rules.registry import ALIKE_JOBS, Fault, rule


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
