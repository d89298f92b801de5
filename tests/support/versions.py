"""Write a record as an older version of the format would have."""

from __future__ import annotations

import copy
from typing import Any

from railyard.records import versions


def as_version(document: dict[str, Any], name: str) -> dict[str, Any]:
    """Return a copy of a record's document without the fields that versions younger than `name` added."""
    old = copy.deepcopy(document)
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
