"""The append-only archive: `<root>/<system>/<date>-<id>.json`, one file per record, none ever changed.

A record of more than `PLAIN_BYTES` is compressed: `.json.gz`, which zcat shows.

Models: a file appears whole or not at all (temporary file in the same folder, fsync, hard link, fsync of the
folder), so a reader may look at any moment, several jobs may add at once, and a kill leaves at most a
temporary file, which nobody reads. The name holds the content's id: adding the same record again changes
nothing. Leaves out: deletion, indexes, locks.
"""

from __future__ import annotations

import errno
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from railyard.base.errors import InputError, RunError
from railyard.records import json_io
from railyard.records import record as records
from railyard.records.record import Record
from railyard.records.store import folders

_NAME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}-([0-9a-f]{12})\.json(?:\.gz)?")
PLAIN_BYTES = 4 << 20
_NO_HARD_LINKS = {errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK, errno.EXDEV}


def name_of(record: Record, content: bytes) -> str:
    """Return a record's path below the root of an archive, a bundle or a bag; `content` are its file's bytes.

    The date is that of `created`, in UTC.
    """
    suffix = ".json.gz" if json_io.is_packed(content) else ".json"
    return f"{record.system.name}/{record.created[:10]}-{record.id}{suffix}"


def content_of(record: Record) -> bytes:
    """Return the bytes of a record's file; raises InputError for a record that could not be read again."""
    content = records.text(record).encode("ascii")
    whole = len(content)
    if whole > PLAIN_BYTES:
        content = json_io.packed(content)
    if len(content) > json_io.MOST_BYTES or whole > json_io.MOST_UNPACKED_BYTES:
        most = f"at most {json_io.MOST_BYTES:,}, unpacked {json_io.MOST_UNPACKED_BYTES:,}"
        problem = f"{len(content):,} bytes, unpacked {whole:,}"
        raise InputError(f"record {record.id}", "", problem=problem, valid=most)
    return content


def add(record: Record, root: Path) -> Path:
    """Adds a record and returns its file; a record that is there already is left alone.

    Raises RunError when the file cannot be written (nothing half written stays), InputError when the
    file is there with another content, because someone edited the archive, and for a record that is too large.
    """
    content = content_of(record)
    path = root / name_of(record, content)
    try:
        folders.make(root, record.system.name)
        if not path.exists():
            write_bytes(path, [content], replace=False)
            return path
    except FileExistsError:
        pass
    except OSError as error:
        raise RunError(f"record {record.id} could not be written to {path}: {error.strerror}") from error
    if records.load(path).sha256 != record.sha256:
        raise InputError(str(path), "sha256", problem="another record of the same id", valid=record.sha256)
    return path


def write_whole(path: Path, text: str, *, replace: bool) -> None:
    """Writes a text as `write_bytes` does."""
    write_bytes(path, [text.encode("utf-8")], replace=replace)


def write_bytes(path: Path, parts: Iterable[bytes], *, replace: bool) -> None:
    """Writes a file that is seen whole or not at all.

    Raises FileExistsError when it is there and `replace` is false; OSError, with nothing left behind, when
    the disk is full or the folder cannot be written.
    """
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.writelines(parts)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(0o666 & ~_umask())
        _publish(temporary, path, replace)
    finally:
        temporary.unlink(missing_ok=True)
    _sync_folder(path.parent)


def _publish(temporary: Path, path: Path, replace: bool) -> None:
    if replace:
        temporary.replace(path)
        return
    try:
        path.hardlink_to(temporary)
    except OSError as error:
        if error.errno not in _NO_HARD_LINKS:
            raise
        if path.exists():  # a file system without links: the id in the name makes the race harmless
            raise FileExistsError(errno.EEXIST, "already there", str(path)) from error
        temporary.rename(path)


def _umask() -> int:
    """The umask, read where reading does not change it; Python has no other way than /proc."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return 0o022
    match = re.search(r"^Umask:\s*([0-7]+)", status, re.MULTILINE)
    return int(match.group(1), 8) if match else 0o022


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in {
            errno.EINVAL,
            errno.ENOTSUP,
        }:  # the file is written; this file system syncs no folder
            raise
    finally:
        os.close(handle)


def paths(root: Path) -> list[Path]:
    """The records' files, sorted; everything else there (temporary files, schema/) is passed over."""
    return [path for folder in sorted(root.glob("*/")) for path in paths_of_system(folder)]


def is_record_name(name: str) -> bool:
    """Return whether a file's name is one that the archive gives to records."""
    return _NAME.fullmatch(name) is not None


def paths_of_system(folder: Path) -> list[Path]:
    """The records' files of one folder, sorted."""
    return sorted(path for path in folder.glob("*.json*") if is_record_name(path.name) and path.is_file())


def iterate(files: Iterable[Path], refused: Callable[[InputError], None] | None = None) -> Iterator[Record]:
    """The records of files of an archive, one after another.

    A bad one is given to `refused` and passed over; without `refused` it raises InputError.
    """
    for path in files:
        try:
            yield _named(path)
        except InputError as error:
            if refused is None:
                raise
            refused(error)


def _named(path: Path) -> Record:
    record = records.load(path)
    named = _NAME.fullmatch(path.name)
    if named and named.group(1) != record.id:
        raise InputError(str(path), "id", record.id, f"{named.group(1)}, as the file's name says")
    return record


def load_all(root: Path) -> list[Record]:
    """Every record of the archive, by path; raises InputError naming the first file that is not one."""
    return list(iterate(paths(root)))
