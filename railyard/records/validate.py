"""Check all records in files, archives and bags for `railyard results check`, and list the faults of each.

Models: a record that cannot be read is a fault, and the check goes on with the others. A bag that is wrong itself (a
wrong sum, an extra file) is one refused entry. Leaves out: the rules (`railyard.records.record`,
`railyard.records.rules`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from railyard.base.errors import InputError
from railyard.records import rules
from railyard.records.record import Record
from railyard.records.rules import computed
from railyard.records.rules.registry import Fault
from railyard.records.store import archive, bag
from railyard.records.store.index import Progress


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """The result of checking one record file or file of a bag, which is good if it has no faults.

    `sha256` is that of the file. `not_recomputed` is the reason why modelled or simulated figures were not computed
    again, empty if they were.
    """

    source: str
    id: str
    sha256: str
    faults: Sequence[Fault]
    not_recomputed: str = ""


def check_paths(paths: Sequence[Path], is_strict: bool, progress: Progress) -> Iterator[Checked]:
    """Check all records in files, archives and bags, in the order given, and yield the result of each.

    `progress` wraps the files of an archive. Raises InputError for a path that does not exist.
    """
    for path in paths:
        if not path.exists():
            raise InputError(str(path), "", problem="no such file", valid="a record, an archive's folder or a bag")
        if bag.is_bag(path):
            yield from _check_bag(path, is_strict)
        elif path.is_dir():
            files = archive.paths(path) or archive.paths_of_system(path)
            yield from (_check_file(file, is_strict) for file in progress(files, len(files)))
        else:
            yield _check_file(path, is_strict)


def _check_file(path: Path, is_strict: bool) -> Checked:
    """Check one record file; a name of the archive's form must contain the record's id."""
    try:
        content = path.read_bytes()
        (read,) = archive.iterate([path])
    except OSError as error:
        return _refused(str(path), b"", error.strerror or str(error))
    except InputError as error:
        return _refused(str(path), content, _reason(error))
    return _judged(str(path), content, read, is_strict=is_strict)


def _check_bag(path: Path, is_strict: bool) -> Iterator[Checked]:
    """Yield the result of each record in a bag.

    A bag with a wrong signature adds a refused entry; one that contradicts its manifests is one refused entry.
    """
    try:
        _, sums = bag.opened(path)
        files = [(name, bag.content(path, name, digest)) for name, digest in sums]
        signed = bag.signed(path)
    except InputError as error:
        yield _refused(str(path), b"", _reason(error))
        return
    if signed.problem:
        yield _refused(str(path), b"", signed.text)
    for name, content in files:
        source = f"{path}: {name}"
        try:
            read = bag.parse(path, name, content)
        except InputError as error:
            yield _refused(source, content, _reason(error))
        else:
            yield _judged(source, content, read, is_strict=is_strict)


def _judged(source: str, content: bytes, read: Record, *, is_strict: bool) -> Checked:
    return Checked(
        source=source,
        id=read.id,
        sha256=hashlib.sha256(content).hexdigest(),
        faults=rules.faults(read, content) if is_strict else [],
        not_recomputed=computed.why_not_recomputed(read) if is_strict else "",
    )


def _refused(source: str, content: bytes, reason: str) -> Checked:
    digest = hashlib.sha256(content).hexdigest() if content else ""
    return Checked(source=source, id="", sha256=digest, faults=[Fault("", reason)])


def _reason(error: InputError) -> str:
    """Return the message of an error without its source, which the caller prints."""
    return str(error).removeprefix(f"{error.source}: ")
