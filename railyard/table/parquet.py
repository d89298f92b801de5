"""Write the table of an archive as Parquet files below DIR/system=NAME/month=YYYY-MM/, only what is new.

Models: the table itself shows which records it has, so that there is no other state to lose. A file has whole records,
and appears whole or not at all; one process writes at a time. Processes are forked before polars is imported, because
its threads do not survive a fork. Leaves out: records that were deleted from the archive; they stay in the table.
"""

from __future__ import annotations

import hashlib
import io
import itertools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from railyard.base.errors import InputError, RunError
from railyard.base.parent import workers
from railyard.base.progress import track
from railyard.records import json_io, record
from railyard.records.json_io import Json
from railyard.records.store import archive, exclusive, imported
from railyard.table import rows as columns
from railyard.table.rows import OF_LAUNCH, OF_POINT, OF_RECORD, VERSION, Column, Rows

if TYPE_CHECKING:
    import polars

LOCK = ".lock"
#: The description of the columns, in the folder of the table.
COLUMNS = "columns.md"
#: Records per file at most, and per piece of work: 1,000 small records are about 50,000 rows.
BATCH = 1000
#: A record in the table: folder of its system, and id.
Key = tuple[str, str]


def export(root: Path, folder: Path, refused: Callable[[InputError], None]) -> tuple[int, int]:
    """Add the records of an archive that the table at `folder` lacks; return how many were added, and how many it had.

    An invalid record is passed to `refused` and left out. Raises RunError without polars and for a folder that cannot
    be written, InputError for a table of another version.
    """
    if find_spec("polars") is None:
        raise RunError("the table needs Python's polars, which is not installed; run: make parquet")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / LOCK).open("a+") as file, exclusive.held(file, folder / LOCK):
            with workers(1) as pool:
                there = pool.submit(keys, folder).result()
            archive.write_whole(folder / COLUMNS, columns.page())
            missing = [path for path in files(root) if key_of(path) not in there]
            batches = list(_batches(missing))
            added = 0
            with workers(min(os.cpu_count() or 1, len(batches)) or 1) as pool:
                written = pool.map(_write, batches, itertools.repeat(folder))
                for errors, count in track(written, len(batches), "exporting records"):
                    added += count
                    for error in errors:
                        refused(error)
    except OSError as error:
        raise RunError(f"{folder} could not be written: {error.strerror}") from error
    return added, len(there)


def files(root: Path) -> list[Path]:
    """Return the files of all records and imported results of an archive."""
    return [*archive.paths(root), *imported.paths(root)]


def key_of(path: Path) -> Key:
    """Return system and id, which the path of a record has."""
    return path.parent.name, path.name[11:].partition(".")[0]


def parts(folder: Path) -> list[Path]:
    """Return the files of a table."""
    return sorted(folder.glob("system=*/month=*/*.parquet"))


def keys(folder: Path) -> set[Key]:
    """Return which records a table has; InputError for one of another version."""
    import polars

    there = parts(folder)
    if not there:
        return set()
    try:
        frame = polars.scan_parquet(there, hive_partitioning=False).select("system", "record_id", "schema_version")
        rows = frame.unique().collect(engine="streaming").rows()
    except polars.exceptions.PolarsError as error:
        problem = " ".join(str(error).split())[:200]
        raise InputError(str(folder), "", problem=problem, valid="a table of railyard, or a new folder") from error
    if other := {version for *_, version in rows} - {VERSION}:
        valid = f"{VERSION}; export to a new folder"
        raise InputError(str(folder), "schema_version", min(other), valid)
    return {(system, name) for system, name, _ in rows}


def _batches(paths: Sequence[Path]) -> Iterator[Sequence[Path]]:
    """Yield files of one system and month together, by their names, at most `BATCH` at a time."""
    for _, group in itertools.groupby(paths, lambda path: (path.parent, path.name[:7])):
        while batch := list(itertools.islice(group, BATCH)):
            yield batch


def _write(paths: Sequence[Path], folder: Path) -> tuple[list[InputError], int]:
    """Write the file of some records of one system and month, in a process of its own."""
    os.environ["POLARS_MAX_THREADS"] = "1"
    rows, errors, digests = Rows(), [], []
    for path in paths:
        try:
            document = read(path)
            rows.add(document)
        except InputError as error:
            errors.append(error)
        except KeyError as error:
            problem = f"{error} is named, but not in the record"
            errors.append(InputError(str(path), "", problem=problem, valid="a record of `railyard results check`"))
        else:
            digests.append(document["sha256"])
    if digests:
        system, month = paths[0].parent.name, paths[0].name[:7]
        name = f"{hashlib.sha256(''.join(digests).encode()).hexdigest()[:16]}.parquet"
        path = folder / f"system={system}" / f"month={month}" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        file = io.BytesIO()
        frame(rows).write_parquet(file, statistics=True)
        archive.write_bytes(path, [file.getvalue()])
    return errors, len(digests)


def read(path: Path) -> Mapping[str, Json]:
    """Return the document in the file of a record or of an imported result.

    Raises InputError for one that is not of its schema, or does not match its hash or its name. `railyard results
    check` looks for more.
    """
    document: Mapping[str, Json] = json_io.read(path)
    record.check(document, str(path), imported.SCHEMA if imported.is_path(path) else record.SCHEMA)
    system = document["system"] if isinstance(document["system"], str) else document["system"]["name"]
    stated = f"{system}/{document['created'][:10]}-{document['id']}"
    if stated != (there := f"{path.parent.name}/{path.name.partition('.')[0]}"):
        raise InputError(str(path), "system, created and id", stated, f"{there}, as its path says")
    return document


def frame(rows: Rows) -> polars.DataFrame:
    """Return the rows with what they share."""
    import polars

    points = _frame(rows.points, OF_POINT, "of_launch")
    launches = _frame(rows.launches, OF_LAUNCH, "of_record")[points["of_launch"]]
    records = _frame(rows.records, OF_RECORD)[launches["of_record"]]
    return polars.concat([records, launches.drop("of_record"), points.drop("of_launch")], how="horizontal")


def _frame(rows: Sequence[tuple[Any, ...]], of: Sequence[Column], number: str = "") -> polars.DataFrame:
    import polars

    kinds = {
        columns.TEXT: polars.String(),
        columns.WHOLE: polars.Int64(),
        columns.REAL: polars.Float64(),
        columns.TIME: polars.Datetime("ms", "UTC"),
    }
    schema = ({number: polars.UInt32()} if number else {}) | {column.name: kinds[column.kind] for column in of}
    values = zip(*rows, strict=True) if rows else ([] for _ in schema)
    return polars.DataFrame(
        [polars.Series(name, list(column), kind) for (name, kind), column in zip(schema.items(), values, strict=True)]
    )
