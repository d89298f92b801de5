"""Write a record as format 1 and its versions have it: with a row for each rank and NIC, which tests can change."""

from __future__ import annotations

import copy
import json
from typing import Any

from railyard.records import record, versions
from railyard.records.folded import tables
from railyard.records.record import Record
from support.records import figures

LAST_WITH_ROWS = "railyard-record/1.9"


def with_rows(of: Record) -> dict[str, Any]:
    """Return a copy of a record's document in the last version of format 1."""
    document = json.loads(record.text(of))
    return tables.unfolded(document, LAST_WITH_ROWS) if "tables" in document else document


def of_rows(document: dict[str, Any], source: str = "changed") -> Record:
    """Return the record of a document that `with_rows` gave and a test changed: in the format that railyard writes.

    One whose version a test set is left in it.
    """
    made = document
    if document["schema"] == LAST_WITH_ROWS:
        made = {
            **tables.folded(document),
            "schema": record.FORMAT,
            "figures": figures.of_record(document),
        }
    return record.validate(record.sealed(made), source)


def as_version(document: dict[str, Any], name: str) -> dict[str, Any]:
    """Return a copy of a record's document without the fields that versions younger than `name` added."""
    old = tables.unfolded(document, name) if "tables" in document else copy.deepcopy(document)
    names = [version.name for version in versions.VERSIONS]
    old["schema"] = name
    for version in versions.VERSIONS[names.index(name) + 1 :]:
        parts = [
            (old, version.record_fields),
            (old["case"], version.case_fields),
            (old["provenance"], version.provenance_fields),
            *((launch, version.launch_fields) for launch in old["launches"]),
        ]
        for part, fields in parts:
            for field in fields:
                part.pop(field, None)
    return old
