"""Hostile input, drawn by seed: bags, records, topologies, tender files and texts, and what reading each comes to.

Models: a good input in which values are replaced, removed or nested, with digests and sums that fit, so that the change
gets past them; and its bytes cut, turned and repeated. An input is read as the commands read it. It is refused in one
line or accepted.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import io
import json
import random
import re
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from railyard.base.checkout import CHECKOUT, TOPOLOGIES
from railyard.base.errors import InputError, RunError
from railyard.placements.topology import catalog
from railyard.records import json_io, record, rules
from railyard.records.rules.registry import Fault
from railyard.records.store import bag
from railyard.tender import bids, request
from support import evidence
from support.inputs import texts

#: What no honest file has in most places.
VALUES: tuple[Any, ...] = (
    *(None, True, 0, -1, 7, 1 << 40, 10**30, 1e308, -1e-300, 0.5),
    *("", "x", "\u202e", "\x1b[2J", "../../etc/passwd", "a" * 500, "9" * 400, "2026-13-45T99:99:99Z"),
    *("nic-99999999999999", "random:99999999999999999999", "blocks:0x0x0", "blocks:999999999x1x1"),
    *([], {}, [[]], [0, 0, 0], [1 << 20, 1 << 20], {"a": {"b": [1]}}),
)
#: How long reading one input may take, in seconds of processor.
MOST_S = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What reading one input came to. `problem` is empty for one that was accepted or refused in one line."""

    is_accepted: bool
    seconds: float
    problem: str = ""


def fuzzed(kind: str, seed: int) -> Outcome:
    """Draw an input of a kind by its seed and read it."""
    chance = random.Random(f"{kind} {seed}")
    with tempfile.TemporaryDirectory() as folder:
        path = KINDS[kind][0](chance, Path(folder))
        begun = time.process_time()
        try:
            is_accepted, problem = KINDS[kind][1](path), ""
        except (InputError, RunError) as error:
            is_accepted = False
            problem = "several lines" if "\n" in str(error) else ""
        except Exception as error:  # what this looks for
            is_accepted, problem = False, f"{type(error).__name__}: {str(error)[:200]}"
        seconds = time.process_time() - begun
    if seconds > MOST_S and not problem:
        problem = f"{seconds:.1f} s"
    return Outcome(is_accepted=is_accepted, seconds=seconds, problem=problem)


def _spots(part: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Return the place of every value of a document."""
    if not isinstance(part, dict | list):
        return []
    inner = list(part.items() if isinstance(part, dict) else enumerate(part))
    return [(*path, key) for key, _ in inner] + [at for key, value in inner for at in _spots(value, (*path, key))]


def changed(document: Any, chance: random.Random) -> Any:
    """Change one to three values of a document where it stands."""
    for _ in range(chance.choice([1, 1, 1, 2, 3])):
        spots = _spots(document)
        if not spots:
            return document
        *outer, spot = chance.choice(spots)
        last: Any = spot
        part: Any = document
        for step in outer:
            part = part[step]
        how = chance.random()
        if how < 0.15:
            del part[last]
        elif how < 0.25 and isinstance(part, list):
            part.extend(copy.deepcopy([part[last]] * chance.choice([1, 2, 50])))
        elif how < 0.35 and isinstance(part, dict):
            part[chance.choice(["x", "a\nb", "\u200b", "schema", "id"])] = copy.deepcopy(part[last])
        else:
            part[last] = copy.deepcopy(chance.choice(VALUES))
    return document


def _torn(content: bytes, chance: random.Random) -> bytes:
    """Cut, turn, repeat and replace bytes."""
    for _ in range(chance.choice([1, 1, 2, 5])):
        at = chance.randrange(len(content) + 1)
        until = min(len(content), at + chance.choice([0, 1, 1, 2, 8, 512]))
        put = chance.choice([b"", bytes([chance.randrange(256)]), b"\x00" * 512, content[at:until] * 2, b"[" * 40])
        content = content[:at] + put + content[until:]
    return content


@functools.cache
def _good(origin: str) -> str:
    return record.text(evidence.good(origin=origin, launches=1, nic_policies=evidence.POLICIES))


def _record_text(chance: random.Random) -> bytes:
    """A record: changed, with digests that fit, or torn."""
    text = _good(chance.choice(["emulated", "measured", "simulated"]))
    if chance.random() < 0.25:
        return _torn(text.encode(), chance)
    document = changed(json.loads(text), chance)
    try:
        return json_io.text(record.sealed(document)).encode("utf-8", errors="surrogatepass")
    except (TypeError, ValueError, AttributeError):
        return json.dumps(document).encode("utf-8", errors="surrogatepass")


def _read_record(path: Path) -> bool:
    read = record.load(path)
    return not _sound(rules.faults(read, path.read_bytes()))


def _sound(faults: Sequence[Fault]) -> Sequence[Fault]:
    """Return faults, of which each must have one line, and none an error in a rule."""
    for each in faults:
        if "\n" in f"{each.field}{each.text}" or "cannot be applied" in each.text:
            raise AssertionError(f"{each.text[:200]!r}")
    return faults


def _bag(chance: random.Random, folder: Path) -> Path:
    """A bag of which a file was changed, whose sums mostly fit."""
    good, path = folder / "good.json", folder / "bag"
    good.write_text(_good("measured"), encoding="ascii")
    bag.write(path, [good], bag.Bid(bidder="A Ltd", tier="baseline", nodes=16, pledges={"halo": 1.0}))
    files = sorted(each for each in path.rglob("*") if each.is_file())
    chosen = chance.choice(files)
    if chosen.name == "bid.json":
        chosen.write_text(json.dumps(changed(json.loads(chosen.read_text()), chance)), encoding="ascii")
    elif chosen.parent.name == "cluster":
        chosen.write_bytes(_record_text(chance))
    else:
        chosen.write_bytes(_torn(chosen.read_bytes(), chance))
    if chance.random() > 0.7 or not chosen.is_relative_to(path / "data"):
        return path
    contents = {each.relative_to(path).as_posix(): each.read_bytes() for each in (path / "data").rglob("*.json")}
    (path / "manifest-sha256.txt").write_text(bag._sums(contents), encoding="utf-8")
    tags = {name: (path / name).read_bytes() for name in bag.TAGS}
    (path / "tagmanifest-sha256.txt").write_text(bag._sums(tags), encoding="utf-8")
    return path


def _read_bag(path: Path) -> bool:
    found = bids.read(path)
    _sound([*found.broken, *found.faults])
    return not found.broken


@functools.cache
def _topologies() -> list[str]:
    """The shipped topologies that are quick to build."""
    return [path.read_text(encoding="utf-8") for path in sorted(TOPOLOGIES.glob("*.yml")) if path.stem not in _LARGE]


_LARGE = {"blue-waters", "cielo", "titan", "alps-like", "frontier-like", "leonardo-like"}


def _yaml(chance: random.Random, text: str) -> bytes:
    if chance.random() < 0.3:
        return _torn(text.encode(), chance)
    document = changed(yaml.safe_load(text), chance)
    return yaml.safe_dump(document, allow_unicode=True).encode("utf-8", errors="surrogatepass")


def _read_topology(path: Path) -> bool:
    found = catalog.load(str(path))
    return found.sha256 != "" and len(found.nodes) > 0


@functools.cache
def _request_text() -> str:
    (example,) = re.findall(r"```yaml\n(.*?)```", (CHECKOUT / "docs/tender.md").read_text(encoding="utf-8"), re.DOTALL)
    document = yaml.safe_load(example)
    document |= {"metric": "ssi", "reference_nodes": 10, "presets": ["ats5"], "scored": "pledged"}
    document["cases"][0] |= {"capability": 2.0, "reference_nodes": 8, "work": 3.0, "fewer_nodes": True}
    return yaml.safe_dump(document)


def _file(name: str, draw: Callable[[random.Random], bytes]) -> Callable[[random.Random, Path], Path]:
    """Return a function that writes what is drawn into a file of this name."""

    def write(chance: random.Random, folder: Path) -> Path:
        path = folder / name
        path.write_bytes(draw(chance))
        return path

    return write


def _text(chance: random.Random, folder: Path, readers: Mapping[str, texts.Reader]) -> Path:
    """A real text of a reader, changed, in a file with the reader's name."""
    name = chance.choice([*readers])
    path = folder / name
    sample = chance.choice([*readers[name].samples.values()])
    path.write_bytes(texts.changed(sample, chance).encode(errors="surrogatepass"))
    return path


def _read_text(path: Path) -> bool:
    noted = io.StringIO()
    with contextlib.redirect_stderr(noted):
        texts.READERS[path.name].read(path)
    return True


#: Kind -> who draws an input and writes it, and who reads it.
KINDS: Mapping[str, tuple[Callable[[random.Random, Path], Path], Callable[[Path], bool]]] = {
    "bag": (_bag, _read_bag),
    "record": (_file("record.json", _record_text), _read_record),
    "topology": (_file("topology.yml", lambda chance: _yaml(chance, chance.choice(_topologies()))), _read_topology),
    "tender": (
        _file("tender.yml", lambda chance: _yaml(chance, _request_text())),
        lambda path: bool(request.load(path).cases),
    ),
    "site": (functools.partial(_text, readers=texts.SITES), _read_text),
    "output": (functools.partial(_text, readers=texts.OUTPUTS), _read_text),
}
