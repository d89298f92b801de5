"""Write, sign and read bags: folders in the BagIt layout (RFC 8493) with a bid, its records and attachments.

    bagit.txt  bag-info.txt  manifest-sha256.txt  tagmanifest-sha256.txt  tagmanifest-sha256.txt.sig
    data/bid.json  data/records/<system>/<date>-<id>.json  data/attachments/<name>

Standard tools can verify a bag. Models: `ssh-keygen -Y sign` signs tagmanifest-sha256.txt, which has the sums of the
other tag files; one of those, manifest-sha256.txt, has the sums of all data. Files that no manifest lists are not read.
Leaves out: who owns a key, for which the reader has a list of allowed signers; trusted timestamps.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import itertools
import os
import re
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from railyard.base.decoded import decoded
from railyard.base.errors import InputError, RunError, as_seen
from railyard.records import json_io, record, text_rules
from railyard.records.json_io import Json
from railyard.records.record import Record
from railyard.records.store import archive

NAMESPACE = "railyard-bag"
SIGNATURE = "tagmanifest-sha256.txt.sig"
TAGS = ("bag-info.txt", "bagit.txt", "manifest-sha256.txt")
FORMAT = "railyard-bid/1"
BID = "data/bid.json"
RECORDS = "data/records/"
MOST_FILES = 200_000
MOST_FILE_BYTES = 64 << 20
MOST_SIGNATURE_BYTES = 64 << 10
#: The largest value that a bid may pledge, above any figure of merit of a real machine.
MOST_PLEDGED = 1e18
_TIMEOUT_S = 60
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
_LINE = re.compile(r"([0-9a-f]{64})  (\S.*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bid:
    """The bid in a bag: the bidder, the tier, and the attachments that explain a tier other than baseline.

    `nodes` is the size of the offered system. `pledges` maps a case of the tender to the figure of merit to which the
    bidder commits.
    """

    bidder: str
    tier: str
    attachments: tuple[str, ...] = ()
    nodes: int | None = None
    pledges: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Signed:
    """The signature of a bag; all fields are empty if there is none.

    `key` is the key's fingerprint. `lines` are the principals of each line of the reader's list of allowed signers that
    accepts it: names, patterns such as `*@example.org`, and those that begin with `!` for names left out; of a
    certificate the names that it has. `problem` describes a signature that is wrong.
    """

    key: str = ""
    lines: tuple[tuple[str, ...], ...] = ()
    problem: str = ""

    @property
    def by(self) -> str:
        """Return the principals that are accepted, with commas between them; empty if the key's owner is not known."""
        return ", ".join(dict.fromkeys(name for line in self.lines for name in line if name[0] != "!"))

    def is_by(self, name: str) -> bool:
        """Return whether `ssh-keygen -Y verify -I NAME` accepts the signature."""

        def has(patterns: Iterable[str]) -> bool:
            # in a pattern of ssh, `*` and `?` alone are special
            regular = (re.escape(pattern).replace(r"\*", ".*").replace(r"\?", ".") for pattern in patterns)
            return any(re.fullmatch(one, name, re.DOTALL) for one in regular)

        return any(
            has(part for part in line if part[0] != "!") and not has(part[1:] for part in line if part[0] == "!")
            for line in self.lines
        )

    @property
    def text(self) -> str:
        """Return one line for people."""
        if self.problem:
            return f"signature refused: {self.problem}"
        if not self.key:
            return "not signed"
        return f"signed by {self.by} with {self.key}" if self.by else f"signed with {self.key}, a key not known here"


def is_bag(path: Path) -> bool:
    """Return whether a folder is a bag: it contains `bagit.txt`."""
    return (path / "bagit.txt").is_file()


def write(
    folder: Path, records: Sequence[Path], bid: Bid, *, attached: Sequence[Path] = (), key: Path | None = None
) -> None:
    """Write a new bag and sign it if `key`, a private ssh key, is given.

    Raises InputError for a folder that exists, an invalid record and an attachment with an invalid name. Raises
    RunError if the bag cannot be written or signed.
    """
    if folder.exists():
        raise InputError(str(folder), "", problem="already there", valid="the name of a new folder")
    contents: dict[str, bytes] = {}
    for path in records:
        content = path.read_bytes()
        read = record.parse(content, str(path))
        if contents.setdefault(f"data/records/{archive.name_of(read, content)}", content) != content:
            raise InputError(str(path), "id", read.id, "each id once in a bag")
    for path in attached:
        if not _NAME.fullmatch(path.name):
            raise InputError("attachment", "", path.name, "a name of letters, digits, '.', '_' and '-'")
        contents[f"data/attachments/{path.name}"] = path.read_bytes()
    described: dict[str, Json] = {"format": FORMAT, "bidder": bid.bidder, "tier": bid.tier}
    described |= {"nodes": bid.nodes} if bid.nodes is not None else {}
    described |= {"pledges": dict(bid.pledges)} if bid.pledges else {}
    text_rules.check(described, "bid")
    contents[BID] = json_io.text(described).encode("ascii")
    try:
        _write(folder, contents, bid)
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise RunError(f"{folder} could not be written: {error.strerror}") from error
    if key is not None:
        _sign(folder, key)


def _write(folder: Path, contents: Mapping[str, bytes], bid: Bid) -> None:
    for name, content in contents.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    size = sum(map(len, contents.values()))
    tags = {
        "bagit.txt": "BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n",
        "bag-info.txt": f"Source-Organization: {bid.bidder}\nPayload-Oxum: {size}.{len(contents)}\n",
        "manifest-sha256.txt": _sums(contents),
    }
    tags["tagmanifest-sha256.txt"] = _sums({name: text.encode() for name, text in tags.items()})
    for name, text in tags.items():
        (folder / name).write_bytes(text.encode())


def _sums(contents: Mapping[str, bytes]) -> str:
    return "".join(f"{hashlib.sha256(contents[name]).hexdigest()}  {name}\n" for name in sorted(contents))


def digest(folder: Path) -> str:
    """Return the sha256 of the file that has the sums of all other files of a bag, and that is signed."""
    return hashlib.sha256(_content(folder, "tagmanifest-sha256.txt")).hexdigest()


def _sign(folder: Path, key: Path) -> None:
    file = folder.absolute() / "tagmanifest-sha256.txt"
    done = _keygen(folder, ["-q", "-Y", "sign", "-f", str(key.absolute()), "-n", NAMESPACE, str(file)], b"")
    if done.returncode != 0 or not (folder / SIGNATURE).is_file():
        why = " ".join(done.stderr.decode(errors="replace").split())[:200]
        raise RunError(f"{folder} could not be signed with {key}: {why}")


def signed(folder: Path, allowed: Path | None = None) -> Signed:
    """Return the signature of a bag; `allowed` is the reader's file of allowed signers (see ssh-keygen(1)).

    Each line counts, as in `ssh-keygen -Y verify`; a key that no line accepts is a problem. Raises InputError for a
    file that cannot be read, and RunError where there is no ssh-keygen.
    """
    lines = None if allowed is None else signers(allowed)
    if not os.path.lexists(folder / SIGNATURE):
        return Signed()
    try:
        signature = _content(folder, SIGNATURE, MOST_SIGNATURE_BYTES)
        content = _content(folder, "tagmanifest-sha256.txt")
    except InputError as error:
        return Signed(problem=str(error).removeprefix(f"{folder}: "))
    try:
        return _verified(folder, signature, content, lines)
    except subprocess.TimeoutExpired:
        return Signed(problem=f"ssh-keygen did not answer within {_TIMEOUT_S} s")


def _verified(folder: Path, signature: bytes, content: bytes, lines: Mapping[int, str] | None) -> Signed:
    """Return what ssh-keygen finds; it reads a copy of the signature, which nobody can replace meanwhile."""
    with tempfile.TemporaryDirectory(prefix="railyard-") as own:
        copy, signers = Path(own) / "copy.sig", Path(own) / "signers"
        copy.write_bytes(signature)
        verify = ["-n", NAMESPACE, "-s", str(copy)]
        checked = _keygen(folder, ["-Y", "check-novalidate", *verify], content)
        match = re.search(rb"(SHA256:[A-Za-z0-9+/=]+)", checked.stdout)
        if checked.returncode != 0 or not match:
            return Signed(problem="it does not fit the bag")
        key = match[1].decode()
        if lines is None:
            return Signed(key=key)
        verify += ["-f", str(signers)]
        accepted, why = [], "it is not in the list of allowed signers"
        for number, line in lines.items():
            if key not in _fingerprints(line) and "cert-authority" not in line:
                continue
            signers.write_text(f"{line}\n", encoding="utf-8")
            done = _keygen(folder, ["-Y", "find-principals", *verify], content)
            names = tuple(filter(None, re.split(r"[\n,]", done.stdout.decode(errors="replace"))))
            if name := next((name for name in names if name[0] != "!"), ""):
                done = _keygen(folder, ["-Y", "verify", *verify, "-I", name], content)
                if done.returncode == 0:
                    accepted.append(tuple(map(as_seen, names)))
            reason = next(iter(done.stderr.decode(errors="replace").strip().splitlines()), "no reason given")
            why = f"line {number}: {as_seen(reason.removeprefix(f'{signers}:1: '))[:200]}"
    if not accepted:
        return Signed(key=key, problem=f"its key {key} is not accepted: {why}")
    return Signed(key=key, lines=tuple(accepted))


def signers(allowed: Path) -> dict[int, str]:
    """Return number -> line of a file of allowed signers, without comments; raises InputError for a line of no key."""
    valid = "lines NAME KEYTYPE KEY, as ssh-keygen reads them"
    try:
        lines = allowed.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        problem = getattr(error, "strerror", None) or "no text"
        raise InputError(str(allowed), "", problem=problem, valid=valid) from error
    stated = {number: line for number, line in enumerate(lines, 1) if line.split("#")[0].strip()}
    for number, line in stated.items():
        if not any(_fingerprints(line)):
            raise InputError(str(allowed), f"line {number}", line, valid)
    return stated


def _fingerprints(line: str) -> Iterator[str]:
    """Yield the fingerprint of each word of a line that is a key, after a word that is its type."""
    for kind, word in itertools.pairwise(line.split()):
        with contextlib.suppress(ValueError):
            blob = base64.b64decode(word, validate=True)
            if _fields(blob)[:1] == [kind.encode()]:
                yield f"SHA256:{base64.b64encode(hashlib.sha256(blob).digest()).decode().rstrip('=')}"


def _fields(blob: bytes) -> list[bytes]:
    """Return the fields of a key, each after its length in four bytes; none of a key that is cut off."""
    fields, at = list[bytes](), 0
    while at < len(blob):
        end = at + 4 + int.from_bytes(blob[at : at + 4])
        fields.append(blob[at + 4 : end])
        at = end
    return fields if at == len(blob) else []


def _keygen(folder: Path, arguments: Sequence[str], content: bytes) -> subprocess.CompletedProcess[bytes]:
    """Run ssh-keygen by its absolute path, outside the bag, so that no file of a bag is run."""
    outside = [
        part
        for part in os.environ.get("PATH", os.defpath).split(os.pathsep)
        if Path(part).is_absolute() and not Path(part).resolve().is_relative_to(folder.resolve())
    ]
    program = shutil.which("ssh-keygen", path=os.pathsep.join(outside))
    if program is None:
        raise RunError("ssh-keygen is not installed; it signs bags and verifies them")
    return subprocess.run(
        [program, *arguments], cwd="/", input=content, capture_output=True, timeout=_TIMEOUT_S, check=False
    )


def opened(folder: Path) -> tuple[Bid, list[tuple[str, str]]]:
    """Return the bid of a bag, and (path, sha256) of each record file, after comparing the sums of all other files.

    The caller must compare those of the record files, as `content` does. Raises InputError for a sum that differs, and
    for a file that is missing, not listed in a manifest, or not a regular file.
    """
    tags = _manifest(folder, "tagmanifest-sha256.txt")
    if sorted(tags) != sorted(TAGS):
        raise InputError(str(folder), "tagmanifest-sha256.txt", ", ".join(sorted(tags)), ", ".join(TAGS))
    for name, digest in tags.items():
        content(folder, name, digest)
    named = _manifest(folder, "manifest-sha256.txt")
    walked = os.walk(folder / "data")
    there = {f"{where[len(str(folder)) + 1 :]}/{name}" for where, _, names in walked for name in names}
    if extra := sorted(there - named.keys()):
        valid = "the files of the manifest"
        raise InputError(str(folder), extra[0][:200], problem="a file that no manifest names", valid=valid)
    sums = [(name, digest) for name, digest in sorted(named.items()) if name.startswith(RECORDS)]
    contents = {
        name: content(folder, name, digest) for name, digest in sorted(named.items()) if not name.startswith(RECORDS)
    }
    opened_bid = _bid(f"{folder}: {BID}", contents)
    stated = re.search(rb"^Source-Organization: (.*)$", content(folder, TAGS[0], tags[TAGS[0]]), re.MULTILINE)
    if stated is None or stated[1].decode(errors="replace") != opened_bid.bidder:
        raise InputError(str(folder), "bag-info.txt", problem="another Source-Organization", valid=opened_bid.bidder)
    return opened_bid, sums


def _bid(source: str, contents: Mapping[str, bytes]) -> Bid:
    """Return the bid in the files of a bag; raises InputError for none, and for one that violates its schema."""
    if BID not in contents:
        raise InputError(source, "", problem="missing", valid=f"a bid of {FORMAT}")
    bid = json_io.loads_bytes(contents[BID], source)
    json_io.validate(bid, "bid-v1.json", source)
    text_rules.check(bid, source)
    attachments = tuple(PurePosixPath(name).name for name in contents if name.startswith("data/attachments/"))
    return decoded(Bid, bid, source, attachments=attachments)


def _manifest(folder: Path, name: str) -> dict[str, str]:
    lines = _content(folder, name).decode("utf-8", errors="replace").splitlines()
    if len(lines) > MOST_FILES:
        raise InputError(str(folder), name, problem=f"{len(lines)} files", valid=f"at most {MOST_FILES:,}")
    sums: dict[str, str] = {}
    for line in lines:
        match = _LINE.fullmatch(line)
        path = match[2] if match else ".."
        is_inside = path[0] != "/" and ".." not in path.split("/") and text_rules.is_visible(path)
        if match is None or not is_inside or path in sums:
            raise InputError(str(folder), name, line[:100], "a sha256, two blanks and a path in the bag, once")
        sums[path] = match[1]
    return sums


def content(folder: Path, name: str, digest: str) -> bytes:
    """Return the bytes of a file of a bag; raises InputError if its sha256 differs or it is not a regular file."""
    content = _content(folder, name)
    if hashlib.sha256(content).hexdigest() != digest:
        raise InputError(str(folder), name, problem="another sha256", valid=digest)
    return content


def _content(folder: Path, name: str, most_bytes: int = MOST_FILE_BYTES) -> bytes:
    path = str(folder)
    status: os.stat_result | None = None
    try:
        for part in name.split("/"):
            path = f"{path}/{part}"
            status = os.lstat(path)
            if stat.S_ISLNK(status.st_mode):
                break
    except (OSError, ValueError):
        status = None
    if status is None or not stat.S_ISREG(status.st_mode):
        raise InputError(str(folder), name, problem="no plain file", valid="a file of the bag")
    if status.st_size > most_bytes:
        raise InputError(str(folder), name, problem=f"{status.st_size} bytes", valid=f"at most {most_bytes:,}")
    with Path(path).open("rb") as file:
        if status.st_size and os.lseek(file.fileno(), 0, os.SEEK_HOLE) < status.st_size:
            raise InputError(str(folder), name, problem="a sparse file", valid="a file whose bytes are all written")
        file.seek(0)
        return file.read(most_bytes + 1)


def parse(folder: Path, name: str, content: bytes) -> Record:
    """Return the record in a file of a bag; raises InputError if it is invalid or its path contradicts its content."""
    source = f"{folder}: {name}"
    parsed = record.parse(content, source)
    wanted = f"{RECORDS}{archive.name_of(parsed, content)}"
    if name != wanted:
        raise InputError(source, "path", name, wanted)
    return parsed
