"""Export a checked bid in standard vocabularies: RO-Crate metadata, and an in-toto statement of the check's result.

Models: RO-Crate 1.1 describes the bag, its records and attachments, and for each record the action that made it. The
statement is in-toto's version 1 with the predicate test-result 0.1, whose subjects are the bag's files by digest.
Leaves out: trust. Neither is signed here; docs/tender.md shows how to sign the statement.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from railyard.records.json_io import Json
from railyard.records.store.bag import RECORDS
from railyard.tender.bids import Read
from railyard.tender.completeness import Ruled
from railyard.tender.judged import Judged

RO_CRATE = "https://w3id.org/ro/crate/1.1"
STATEMENT = "https://in-toto.io/Statement/v1"
TEST_RESULT = "https://in-toto.io/attestation/test-result/v0.1"


def ro_crate(bid: Read) -> str:
    """Return the content of ro-crate-metadata.json for a bag."""
    files = list(_files(bid.path))
    newest = max((read.created for read in bid.records), default="")
    bidder = {"@id": "#bidder", "@type": "Organization", "name": bid.bid.bidder}
    root: dict[str, Json] = {
        "@id": "./",
        "@type": "Dataset",
        "name": f"Bid of {bid.bid.bidder}",
        "description": f"{len(bid.records)} records of interconnect benchmarks, tier {bid.bid.tier}",
        "datePublished": newest[:10],
        "license": "All rights are with the bidder.",
        "author": {"@id": "#bidder"},
        "hasPart": [{"@id": name} for name, _, _ in files],
    }
    descriptor = {
        "@id": "ro-crate-metadata.json",
        "@type": "CreativeWork",
        "conformsTo": {"@id": RO_CRATE},
        "about": {"@id": "./"},
    }
    parts = [_file(name, size, digest) for name, size, digest in files]
    graph = [descriptor, root, bidder, *parts, *_actions(bid.records)]
    return json.dumps({"@context": f"{RO_CRATE}/context", "@graph": graph}, indent=1) + "\n"


def _file(name: str, size: int, digest: str) -> dict[str, Json]:
    kind = "application/json" if name.endswith(".json") else "application/octet-stream"
    return {
        "@id": name,
        "@type": "File",
        "name": Path(name).name,
        "encodingFormat": kind,
        "contentSize": str(size),
        "sha256": digest,
    }


def _actions(records: Sequence[Judged]) -> Iterator[dict[str, Json]]:
    """Yield for each record the run that made it, and once each program of railyard at its commit."""
    commits = set()
    for read in records:
        commit = read.commit
        yield {
            "@id": f"#run-{read.id}",
            "@type": "CreateAction",
            "name": f"{read.check} on {read.system}",
            "instrument": {"@id": f"#railyard-{commit}"},
            "agent": {"@id": "#bidder"},
            "startTime": read.started,
            "endTime": read.created,
            "result": {"@id": f"{RECORDS}{read.path}"},
        }
        if commit not in commits:
            commits.add(commit)
            yield {
                "@id": f"#railyard-{commit}",
                "@type": "SoftwareApplication",
                "name": "railyard",
                "version": f"{read.version}, commit {commit}",
            }


def in_toto(bid: Read, rules: Sequence[Ruled], request: Path) -> str:
    """Return the statement that a bid was checked against a tender file, with the rules that passed and failed."""
    passed = [rule.name for rule in rules if not rule.faults]
    failed = [rule.name for rule in rules if rule.faults]
    subjects = [{"name": name, "digest": {"sha256": digest}} for name, _, digest in _files(bid.path)]
    configuration: Mapping[str, Json] = {
        "name": request.name,
        "digest": {"sha256": hashlib.sha256(request.read_bytes()).hexdigest()},
    }
    document = {
        "_type": STATEMENT,
        "subject": subjects,
        "predicateType": TEST_RESULT,
        "predicate": {
            "result": "FAILED" if failed else "PASSED",
            "configuration": [configuration],
            "passedTests": passed,
            "failedTests": failed,
        },
    }
    return json.dumps(document, indent=1) + "\n"


def _files(bag: Path) -> Iterator[tuple[str, int, str]]:
    """Yield the payload of a bag or the one file of a bundle: name, size and sha256."""
    if bag.is_file():
        content = bag.read_bytes()
        yield bag.name, len(content), hashlib.sha256(content).hexdigest()
        return
    for path in sorted((bag / "data").rglob("*")):
        if path.is_file() and not path.is_symlink():
            content = path.read_bytes()
            yield path.relative_to(bag).as_posix(), len(content), hashlib.sha256(content).hexdigest()
