"""Bundles: records with a manifest of their sha256 sums in one file that can be handed over and checked.

Models: a gzip-compressed tar of plain files, `manifest.json` first, then `records/<system>/<date>-<id>.json` in the
manifest's order; the same records and sign-off give the same bytes. The reader trusts nothing: it reads headers of
512 bytes itself and accepts plain files under expected names and below fixed sizes, so that no link, device, long-name
extension, path or compression ratio can do harm, and it never writes outside the archive it is given. Leaves out:
cryptographic signatures (sign the file with the tool of your choice; its sha256 is printed), encryption.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from railyard.base.errors import InputError, RunError
from railyard.records import json_io, record
from railyard.records.json_io import Json
from railyard.records.record import Record
from railyard.records.store import archive

FORMAT = "railyard-bundle/1"
MANIFEST = "manifest.json"
SCHEMA = "bundle-v1.json"
#: Larger ones are refused before they are read.
MOST_RECORD_BYTES = 64 << 20
MOST_MANIFEST_BYTES = 64 << 20
MOST_BUNDLE_BYTES = 16 << 30
_BLOCK = tarfile.BLOCKSIZE
_TAIL = 21 * _BLOCK  # two blocks of zeros whose second begins a record of 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One file of a bundle: its path there, and its bytes, of which the sum was compared with the manifest's."""

    path: str
    content: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What a bundle says of itself; `files` are path, sha256 and bytes of each record."""

    signed_off_by: str
    note: str
    files: Sequence[Mapping[str, Json]]


def pack(files: Sequence[Path], output: Path, *, signed_off_by: str, note: str = "") -> str:
    """Writes a bundle of record files and returns its sha256.

    Every record is validated before. Raises InputError for a bad record or a name that is no line, RunError when the
    file cannot be written; nothing half written stays.
    """
    contents: dict[str, bytes] = {}
    for path, content in sorted(_readings(files)):
        if contents.setdefault(path, content) != content:
            raise InputError(
                path,
                "",
                problem="two records of this id",
                valid="each id once: add one of them to another bundle",
            )
    manifest = _manifest_text(contents, signed_off_by, note)
    members = [(MANIFEST, manifest), *contents.items()]
    try:
        archive.write_bytes(output, _compressed(members), replace=True)
    except OSError as error:
        raise RunError(f"{output} could not be written: {error.strerror}") from error
    return hashlib.sha256(output.read_bytes()).hexdigest()


def _readings(files: Sequence[Path]) -> Iterator[tuple[str, bytes]]:
    for path in files:
        content = path.read_bytes()
        yield _path_of(record.parse(content, str(path)), content), content


def _path_of(read: Record, content: bytes) -> str:
    return f"records/{archive.name_of(read, content)}"


def _manifest_text(contents: Mapping[str, bytes], signed_off_by: str, note: str) -> bytes:
    sums = [
        {"path": path, "sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
        for path, content in contents.items()
    ]
    document = {"format": FORMAT, "signed_off_by": signed_off_by, "note": note, "files": sums}
    json_io.validate(document, SCHEMA, "bundle")
    return json_io.text(document).encode("ascii")


def _compressed(members: Sequence[tuple[str, bytes]]) -> Iterable[bytes]:
    packed = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=packed, mode="wb", mtime=0) as squeezed,
        tarfile.open(fileobj=squeezed, mode="w", format=tarfile.USTAR_FORMAT) as tar,
    ):
        for path, content in members:
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode = len(content), 0o644
            tar.addfile(entry, io.BytesIO(content))
    return [packed.getvalue()]


def is_bundle(path: Path) -> bool:
    """Return whether a file starts like a gzip file; a record starts with a brace."""
    try:
        with path.open("rb") as file:
            return file.read(2) == b"\x1f\x8b"
    except OSError:
        return False


def manifest_of(path: Path) -> Manifest:
    """The manifest of a bundle; raises InputError for a file that has none."""
    return next(_members(path))[0]


def members(path: Path) -> Iterator[Member]:
    """The records of a bundle one after another, each compared with the manifest.

    Raises InputError, with the name of the member, for whatever a bundle must not hold, for a wrong sum, and at the end
    for records that are missing or bytes that follow.
    """
    for _, member in _members(path):
        if member is not None:
            yield member


def _members(path: Path) -> Iterator[tuple[Manifest, Member | None]]:
    """The manifest alone first, then with each member."""
    try:
        with gzip.open(path, "rb") as file:
            stream = _Bounded(path, file)
            manifest = _read_manifest(path, stream)
            yield manifest, None
            for wanted in manifest.files:
                yield manifest, _read_member(path, stream, wanted)
            _check_end(path, stream)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InputError(str(path), "", str(error), "a whole bundle of `railyard results pack`") from error
    except OSError as error:
        raise InputError(
            str(path), "", problem=error.strerror or str(error), valid="a readable bundle"
        ) from error


class _Bounded:
    """A stream that gives exactly what is asked, and an end to a bundle without end."""

    def __init__(self, path: Path, file: IO[bytes] | gzip.GzipFile) -> None:
        self.path, self.file, self.left = path, file, MOST_BUNDLE_BYTES

    def read(self, count: int) -> bytes:
        """Exactly `count` bytes; raises InputError when there are fewer or the bundle is too large."""
        self.left -= count
        if self.left < 0:
            raise InputError(
                str(self.path),
                "",
                problem="a larger bundle",
                valid=f"at most {MOST_BUNDLE_BYTES:,} bytes unpacked",
            )
        content = self.file.read(count)
        if len(content) != count:
            raise InputError(str(self.path), "", problem="a truncated file", valid="a whole bundle")
        return content


def _read_file(path: Path, stream: _Bounded, name: str, most: int) -> bytes:
    """The next file, which must be a plain one of that name."""
    header = stream.read(_BLOCK)
    try:
        entry = tarfile.TarInfo.frombuf(header, "ascii", "strict")
    except (tarfile.HeaderError, UnicodeDecodeError, ValueError) as error:
        raise InputError(str(path), name, str(error) or "no header", "a file of this name") from error
    if entry.type != tarfile.REGTYPE or entry.linkname:
        raise InputError(str(path), name, problem=f"an entry of type {entry.type!r}", valid="a plain file")
    if entry.name != name:
        raise InputError(str(path), "member", entry.name[:100], f"{name}, as the manifest says")
    if not 0 <= entry.size <= most:
        raise InputError(str(path), name, problem=f"{entry.size} bytes", valid=f"at most {most:,}")
    content = stream.read(entry.size)
    if stream.read(-entry.size % _BLOCK).strip(b"\0"):
        raise InputError(str(path), name, problem="bytes after its end", valid="zeros")
    return content


def _read_manifest(path: Path, stream: _Bounded) -> Manifest:
    content = _read_file(path, stream, MANIFEST, MOST_MANIFEST_BYTES)
    source = f"{path}: {MANIFEST}"
    try:
        document = json_io.loads(content.decode("ascii"), source)
    except UnicodeDecodeError as error:
        raise InputError(source, "", problem="bytes that are no text", valid="ASCII text") from error
    json_io.validate(document, SCHEMA, source)
    names = [file["path"] for file in document["files"]]
    if names != sorted(set(names)):
        raise InputError(source, "files", problem="unsorted or twice", valid="each path once, sorted")
    return Manifest(signed_off_by=document["signed_off_by"], note=document["note"], files=document["files"])


def _read_member(path: Path, stream: _Bounded, wanted: Mapping[str, Json]) -> Member:
    content = _read_file(path, stream, wanted["path"], MOST_RECORD_BYTES)
    digest = hashlib.sha256(content).hexdigest()
    if len(content) != wanted["bytes"] or digest != wanted["sha256"]:
        raise InputError(
            str(path), wanted["path"], problem=f"sha256 {digest[:16]}...", valid="the sum in the manifest"
        )
    return Member(path=wanted["path"], content=content)


def _check_end(path: Path, stream: _Bounded) -> None:
    """A tar ends with at least two blocks of zeros, filled up to a record of 20; nothing follows."""
    rest = stream.file.read(_TAIL + 1)
    if len(rest) < 2 * _BLOCK or len(rest) > _TAIL or rest.strip(b"\0"):
        raise InputError(
            str(path),
            "end",
            problem=f"{len(rest)} bytes after the last record",
            valid="the end of the bundle",
        )


def parse(path: Path, member: Member) -> Record:
    """The record in a member, which must lie where its content says; raises InputError."""
    return parse_as_written(path, member)[0]


def parse_as_written(path: Path, member: Member) -> tuple[Record, bool]:
    """Return the record in a member, and whether the member is as railyard writes it; raises InputError."""
    source = f"{path}: {member.path}"
    read, is_as_written = record.parse_as_written(member.content, source)
    if (wanted := _path_of(read, member.content)) != member.path:
        raise InputError(source, "path", member.path, wanted)
    return read, is_as_written


def unpack(path: Path, root: Path, *, seen: Callable[[Record], None] = lambda _: None) -> int:
    """Adds a bundle's records to the archive at `root` and returns their number.

    Reads the whole bundle first: nothing is added from one with any fault. Raises InputError, RunError.
    """
    for member in members(path):
        parse(path, member)
    count = 0
    for member in members(path):
        read = parse(path, member)
        archive.add(read, root)
        seen(read)
        count += 1
    return count
