"""Add records to the append-only archive and read them: `<root>/<system>/<date>-<id>.json`, one file per record.

A record of more than `PLAIN_BYTES` is compressed by gzip, as `.json.gz`.

Models: a file appears whole or not at all (temporary file in the same folder, fsync, hard link, fsync of the folder).
Readers therefore need no lock, several jobs may add records at once, and a killed job leaves at most a temporary file,
which is never read. The name contains the id of the content, so that adding the same record again changes nothing. A
folder has the group and mode of the archive's root, so that all users who may add to the archive may add to the folder;
files have the umask's mode, because a record is never changed.
Leaves out: deletion, indexes, locks.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from railyard.base.errors import InputError, RunError
from railyard.records import json_io
from railyard.records import record as records
from railyard.records.record import Record

_NAME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}-([0-9a-f]{12})\.json(?:\.gz)?")
PLAIN_BYTES = 4 << 20
_NO_HARD_LINKS = {errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK, errno.EXDEV}


def name_of(record: Record, content: bytes) -> str:
    """Return a record's path below the root of an archive or bag; `content` are the bytes of its file.

    The date is that of `created`, in UTC.
    """
    suffix = ".json.gz" if json_io.is_packed(content) else ".json"
    return f"{record.system.name}/{record.created[:10]}-{record.id}{suffix}"


def content_of(record: Record) -> bytes:
    """Return the bytes of a record's file; raises InputError for a record that is too large to be read again."""
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
    """Add a record to the archive at `root` and return its file; a file that already has this record is not changed.

    Raises RunError if the file cannot be written, in which case no partial file remains. Raises InputError for a record
    that is too large, and if the file exists with other content because someone edited the archive.
    """
    content = content_of(record)
    path = root / name_of(record, content)
    try:
        make_folder(root, record.system.name)
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


def make_folder(root: Path, name: str) -> Path:
    """Return the folder of this name in an archive, creating it if needed; raises OSError."""
    try:
        root.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(root)) from error
    path = root / name
    with contextlib.suppress(FileExistsError):
        path.mkdir()
        whole = root.stat()
        with contextlib.suppress(PermissionError):
            os.chown(path, -1, whole.st_gid)
        path.chmod(stat.S_IMODE(whole.st_mode))
    return path


def check_writable(root: Path, names: Iterable[str]) -> None:
    """Raise InputError if files cannot be created in these folders of an archive, or in the nearest existing parent."""
    for path in (root / name for name in names):
        there = next(folder for folder in (path, *path.absolute().parents) if folder.exists())
        try:
            with tempfile.TemporaryFile(dir=there):
                pass
        except OSError as error:
            valid = "a folder that can be written; give another by -S archive=FOLDER"
            raise InputError("archive", "", problem=f"{there}: {error.strerror}", valid=valid) from error


def write_whole(path: Path, text: str) -> None:
    """Write a text in UTF-8 as `write_bytes` does."""
    write_bytes(path, [text.encode("utf-8")])


def write_bytes(path: Path, parts: Iterable[bytes], *, replace: bool = True) -> None:
    """Write a file atomically: readers see all of it or nothing.

    Raises FileExistsError if it exists and `replace` is false. Raises OSError if the disk is full or the folder cannot
    be written, in which case no file remains.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")
    try:
        with temporary.open("xb") as file:
            file.writelines(parts)
            file.flush()
            os.fsync(file.fileno())
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
        if path.exists():  # no hard links: two writers may race, but the id in the name means equal content
            raise FileExistsError(errno.EEXIST, "already there", str(path)) from error
        temporary.rename(path)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in {errno.EINVAL, errno.ENOTSUP}:
            raise  # else the file itself is synced, on a file system that cannot sync folders
    finally:
        os.close(handle)


def paths(root: Path) -> list[Path]:
    """Return the record files of an archive, sorted by path; other files (temporary ones, schema/) are ignored."""
    return [path for folder in sorted(root.glob("*/")) for path in paths_of_system(folder)]


def is_record_name(name: str) -> bool:
    """Return whether a file's name has the form `<date>-<id>.json` or `.json.gz` of the archive."""
    return _NAME.fullmatch(name) is not None


def paths_of_system(folder: Path) -> list[Path]:
    """Return the record files of one system's folder, sorted by name."""
    if not folder.is_dir():
        return []
    with os.scandir(folder) as files:
        names = sorted(file.name for file in files if is_record_name(file.name) and file.is_file())
    return [folder / name for name in names]


def iterate(files: Iterable[Path], refused: Callable[[InputError], None] | None = None) -> Iterator[Record]:
    """Yield the record of each file, in the order given.

    An invalid record is passed to `refused` and skipped; without `refused`, InputError is raised.
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
    """Return all records of an archive, sorted by path; raises InputError for the first invalid file."""
    return list(iterate(paths(root)))
