"""Format records as text: the lines of `railyard results list` and the page of `railyard results show`.

Leaves out: statistics over several records (`analysis`).
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import orjson

from railyard.records.record import Record, combination_name
from railyard.records.store import entries, levels
from railyard.records.store.entries import Entry

if TYPE_CHECKING:
    from railyard.records.rules.registry import Fault

_COLUMNS = (
    ("date", 10),
    ("id", 12),
    ("origin", 9),
    ("system", 16),
    ("check", 20),
    ("level", 5),
    ("status", 12),
    ("ok", 5),
    ("void", 5),
    ("failed", 6),
    ("not measured", 12),
)
_INDEX, _NUMBER = re.compile(r"\[(\d+)\]"), re.compile(r"^\d+(?= )")
_NUMBERS = frozenset({"level", "ok", "void", "failed", "not measured"})


def table_lines(entries: Iterable[Entry]) -> Iterator[str]:
    """Yield a header and one line per record, in aligned columns; long names are not truncated."""
    yield _line([name for name, _ in _COLUMNS])
    for entry in entries:
        head = {**entry.head, "date": entry.head["created"][:10], "not measured": entry.head["not_measured"]}
        yield _line([str(head[name]) for name, _ in _COLUMNS])


def _line(cells: Iterable[str]) -> str:
    parts = [
        cell.rjust(width) if name in _NUMBERS else cell.ljust(width)
        for cell, (name, width) in zip(cells, _COLUMNS, strict=True)
    ]
    return "  ".join(parts).rstrip()


def json_lines(entries: Iterable[Entry]) -> Iterator[str]:
    """Yield the lines of a JSON array with one object per record, one object per line."""
    yield "["
    previous = ""
    for entry in entries:
        if previous:
            yield f"{previous},"
        previous = orjson.dumps({**entry.head, "path": entry.path}).decode()
    if previous:
        yield previous
    yield "]"


def fault_lines(faults: Iterable[Fault]) -> Iterator[str]:
    """Yield a line per kind of fault: those that differ in indices and a first number are folded into ranges."""
    kinds: dict[tuple[str, str], list[Fault]] = {}
    for fault in faults:
        kinds.setdefault((_INDEX.sub("[]", fault.field), _NUMBER.sub("", fault.text)), []).append(fault)
    for (field, text), of_kind in kinds.items():
        numbers = sorted({int(match[0]) for fault in of_kind if (match := _NUMBER.match(fault.text))})
        if numbers:
            text = f"{_span(numbers)}{text}"
        columns = zip(*(map(int, _INDEX.findall(fault.field)) for fault in of_kind), strict=True)
        where = field.replace("[]", "[{}]").format(*(_span(sorted(set(column))) for column in columns))
        count = f" ({len(of_kind)} times)" if len(of_kind) > 1 else ""
        yield ": ".join(filter(None, [where, text])) + count


def _span(numbers: list[int]) -> str:
    """Return sorted numbers as `3` or `0..127`; a gap inside is not shown."""
    return str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]}..{numbers[-1]}"


def record_text(read: Record) -> str:
    """Return a page of text: a record's case, how its launches ended, its provenance, and the median of each series."""
    entry = entries.of_record(read)
    head = entry.head
    counted = ", ".join(f"{head[name]} {name.replace('_', ' ')}" for name in ("ok", "void", "failed", "not_measured"))
    level, lacks = levels.of(read.document)
    facts = [
        ("record", f"{read.id} of {read.created}"),
        ("sha256", read.sha256),
        ("status", " ".join(filter(None, [str(read.status), read.reason and f"({read.reason})"]))),
        ("level", level.text),
        ("lacks", lacks),
        ("origin", str(read.origin)),
        ("system", f"{read.system.name}:{read.system.partition}+{read.system.environment}"),
        ("check", f"{read.case.check} ({read.case.benchmark})"),
        *((name.replace("_", " "), str(value)) for name, value in sorted(read.case.parameters.items())),
        ("topology", head["topology"] or "none"),
        ("launches", counted),
        ("commit", f"{head['git_commit'] or 'not known'}{' (changed)' if head['git_dirty'] else ''}"),
        *([("subject", head["subject"])] if head["subject"] else []),
        ("MPI", head["mpi"] or "not known"),
        *([("image", head["image"])] if head["image"] else []),
        ("machine", head["machine"]),
    ]
    return "\n".join([*(f"{name:<12} {value}" for name, value in facts), "", *_series_lines(entry)])


def _series_lines(entry: Entry) -> Iterator[str]:
    for key, values in entry.values:
        labels = ", ".join(f"{name} {value}" for name, value in key.labels)
        what = " ".join(filter(None, [key.fom.stem, labels]))
        unit = key.fom.unit.text
        side = combination_name(key.placement, key.nic_policy, key.software)
        yield f"{side}: {what}: median {statistics.median(values):.6g} {unit}, n = {len(values)}"
