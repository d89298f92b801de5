"""Pack records and a manifest of their sha256 sums into one file, a bundle, and verify and unpack bundles.

Models: a gzip-compressed tar of regular files: `manifest.json`, then `records/<system>/<date>-<id>.json` in the order
of the manifest. Equal records and sign-off give equal bytes. The reader trusts nothing in a bundle. It parses the
headers of 512 bytes itself and accepts only regular files with the expected names and limited sizes. Links, devices,
long-name extensions, other paths and extreme compression ratios are therefore harmless, and nothing is written outside
the given archive. Leaves out: cryptographic signatures (sign the file by any tool; its sha256 is printed), encryption.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
#: The largest sizes, in bytes. Larger files are refused before they are read.
MOST_RECORD_BYTES = 64 << 20
MOST_MANIFEST_BYTES = 64 << 20
MOST_BUNDLE_BYTES = 16 << 30
_BLOCK = tarfile.BLOCKSIZE
_TAIL = 21 * _BLOCK  # at most: two blocks of zeros, the second of which begins a tar record of 20 blocks


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One file of a bundle: its path in the bundle, and its bytes, whose sha256 equals that in the manifest."""

    path: str
    content: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """The manifest of a bundle; `files` has path, sha256 and size in bytes of each record."""

    signed_off_by: str
    note: str
    files: Sequence[Mapping[str, Json]]


def pack(files: Sequence[Path], output: Path, *, signed_off_by: str, note: str = "") -> str:
    """Write a bundle of record files and return its sha256, after validating every record.

    Raises InputError for an invalid record and for a sign-off or note that is not one line. Raises RunError if the file
    cannot be written, in which case no partial file remains.
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
    """Return whether a file begins as a gzip file does; the text of a record begins with a brace."""
    try:
        with path.open("rb") as file:
            return file.read(2) == b"\x1f\x8b"
    except OSError:
        return False


def manifest_of(path: Path) -> Manifest:
    """Return the manifest of a bundle; raises InputError for a file without a valid one."""
    return next(_members(path))[0]


def members(path: Path) -> Iterator[Member]:
    """Yield each record file of a bundle, after comparing its sum with the manifest.

    Raises InputError, with the name of the file, for a wrong sum and for any entry but the expected regular file; at
    the end for missing files and for further bytes.
    """
    for _, member in _members(path):
        if member is not None:
            yield member


def _members(path: Path) -> Iterator[tuple[Manifest, Member | None]]:
    """Yield (manifest, None) once, then (manifest, member) for each record file."""
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
    """A stream whose reads return exactly the requested number of bytes, up to a limit for the whole bundle."""

    def __init__(self, path: Path, file: IO[bytes] | gzip.GzipFile) -> None:
        self.path, self.file, self.left = path, file, MOST_BUNDLE_BYTES

    def read(self, count: int) -> bytes:
        """Return exactly `count` bytes; raises InputError if there are fewer, or the bundle is larger than allowed."""
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
    """Return the next file's content; raises InputError unless it is a regular file `name` of at most `most` bytes."""
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
    """Raise InputError unless the bundle ends as a tar file does.

    A tar file ends with at least two blocks of zeros, padded with zeros to a multiple of 20 blocks.
    """
    rest = stream.file.read(_TAIL + 1)
    if len(rest) < 2 * _BLOCK or len(rest) > _TAIL or rest.strip(b"\0"):
        raise InputError(
            str(path),
            "end",
            problem=f"{len(rest)} bytes after the last record",
            valid="the end of the bundle",
        )


def parse(path: Path, member: Member) -> Record:
    """Return the record in a member; raises InputError if it is invalid or its path does not match its content."""
    source = f"{path}: {member.path}"
    read = record.parse(member.content, source)
    if (wanted := _path_of(read, member.content)) != member.path:
        raise InputError(source, "path", member.path, wanted)
    return read


def unpack(path: Path, root: Path) -> int:
    """Add a bundle's records to the archive at `root` and return their number.

    The whole bundle is verified first, so that nothing is added from a bundle with any fault. Raises InputError for
    such a bundle, and RunError if the archive cannot be written.
    """
    for member in members(path):
        parse(path, member)
    count = 0
    for member in members(path):
        archive.add(parse(path, member), root)
        count += 1
    return count
