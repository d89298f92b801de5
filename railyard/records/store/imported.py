"""Store results of other tools: `<archive>/.imported/<system>/<date>-<id>.json`, with their origin, at level 0 or 1.

Models: a document of its own format, which no reader of records takes. Such a result is therefore in the table and in
lists, and never in a comparison, a strict check or a bag of a tender. Leaves out: how the files of other tools are read
(`railyard.table.foreign`).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from railyard.base.errors import InputError
from railyard.records import json_io, record
from railyard.records.json_io import Json
from railyard.records.store import archive, levels
from railyard.records.store.entries import Entry
from railyard.records.store.levels import IMPORTED, Level

FOLDER = ".imported"
SCHEMA = "import-v1.json"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
#: What a result of level 1 has: field -> what the message names.
_NEEDED = {"command": "the command", "exit_status": "the exit status", "machine": "the machine", "software": "software"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A figure that another tool wrote; `unit` is its own word, and `better` is `neither` where it names none."""

    fom: str
    unit: str
    value: float
    better: str = "neither"
    labels: Mapping[str, str | int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """A result of another tool: one run of one program, with what the tool wrote about it; empty for what it did not.

    `created` is a UTC time, of the file where the tool writes none, which is no date of the run (`is_dated`).
    """

    tool: str
    check: str
    benchmark: str
    points: Sequence[Point]
    created: str = ""
    system: str = ""
    partition: str = ""
    environment: str = ""
    parameters: Mapping[str, Json] = field(default_factory=dict)
    nodes: int | None = None
    ranks: int | None = None
    job: str = ""
    command: str = ""
    exit_status: int | None = None
    machine: str = ""
    software: str = ""
    elapsed_s: float | None = None
    reason: str = ""
    is_dated: bool = True


def document(result: Result, file: str, content: bytes) -> dict[str, Json]:
    """Return a result of a file as a document with its level, what it lacks for level 1, and its hash."""
    if not _NAME.fullmatch(result.system):
        raise InputError(file, "system", result.system, "a name of letters, digits, '.', '_' and '-': --system NAME")
    needed = {name: getattr(result, name) for name in _NEEDED}
    lacks = [words for name, words in _NEEDED.items() if needed[name] in ("", None)]
    copied = ("check", "benchmark", "created", "system", "partition", "environment", "nodes", "job")
    launch = {
        "ranks": result.ranks,
        "elapsed_s": result.elapsed_s,
        "status": "failed" if result.reason else "ok",
        "reason": result.reason,
        "figures": list(map(asdict, result.points)),
    }
    return record.sealed(
        {
            "format": IMPORTED,
            "level": int(Level.IMPORTED if lacks else Level.RAN),
            "lacks": lacks,
            "source": {"tool": result.tool, "file": file, "sha256": hashlib.sha256(content).hexdigest()},
            **{name: getattr(result, name) for name in copied},
            "parameters": dict(result.parameters),
            **needed,
            "launches": [launch],
        }
    )


def lasting_text(document: Mapping[str, Json], *, is_dated: bool) -> str:
    """Return what stays equal if a result is imported again, from a log that has grown or a copy with another time."""
    varying = {"id", "sha256", "source", *(() if is_dated else ("created",))}
    equal = {name: value for name, value in document.items() if name not in varying}
    return json_io.canonical({**equal, "file": [document["source"]["tool"], document["source"]["file"]]})


def stored(root: Path) -> dict[str, Path]:
    """Return what `lasting_text` returns of each imported result, dated and not, and its file."""
    read = [(path, load(path)) for path in paths(root)]
    return {lasting_text(document, is_dated=dated): path for path, document in read for dated in (True, False)}


def load(path: Path) -> Mapping[str, Json]:
    """Return the document in a file; raises InputError for one of another schema, or that does not match its hash."""
    document: Mapping[str, Json] = json_io.read(path)
    record.check(document, str(path), SCHEMA)
    return document


def add(document: Mapping[str, Json], root: Path) -> Path:
    """Add a result to the archive at `root` and return its file; one that is there already is left alone."""
    record.check(document, document["source"]["file"], SCHEMA)
    folder = archive.make_folder(root, FOLDER)
    archive.make_folder(folder, document["system"])
    path: Path = folder / document["system"] / f"{document['created'][:10]}-{document['id']}.json"
    if not path.exists():
        archive.write_whole(path, json_io.text(document))
    return path


def paths(root: Path) -> list[Path]:
    """Return the files of the imported results of an archive, sorted."""
    return archive.paths(root / FOLDER)


def entries(root: Path) -> Iterator[Entry]:
    """Yield an entry of each imported result, without values, for lists."""
    for path in paths(root):
        document = load(path)
        (launch,) = document["launches"]
        counts = {"ok": int(launch["status"] == "ok"), "failed": int(launch["status"] == "failed")}
        head = {name: document[name] for name in ("id", "sha256", "created", "level", "system", "check", "source")}
        own = {**head, "origin": "imported", "status": launch["status"], "reason": launch["reason"]}
        yield Entry(str(path.relative_to(root)), {}, {**own, **counts, "void": 0, "not_measured": 0}, ())


def text(path: Path) -> str:
    """Return an imported result as text: where it came from, what it lacks, and its figures."""
    document = load(path)
    level, lacks = levels.of(document)
    source, (launch,) = document["source"], document["launches"]
    facts = {"level": level.text, "lacks": lacks, "origin": f"imported: {source['tool']}", "file": source["file"]}
    facts |= {name: document[name] for name in ("created", "system", "check", "command", "machine", "software")}
    points = (
        f"{' '.join([one['fom'], *(f'{name} {value}' for name, value in one['labels'].items())])}: "
        f"{one['value']:g} {one['unit']}"
        for one in launch["figures"]
    )
    return "\n".join([*(f"{name:<12} {value}" for name, value in facts.items() if value), "", *points])


def is_path(path: Path) -> bool:
    """Return whether a file is where imported results are."""
    return path.parent.parent.name == FOLDER
