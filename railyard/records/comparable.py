"""Decide which records may be compared, by one table: which fields must agree, and which may differ.

Models: five questions, each answered by the same fields of an index entry's setting. `pool`: do launches of two
records form one case? `reference`: may a run be compared with the archive's references? `sides`: may two records be
sides of `railyard compare`? `allocations`, `sizes`: may they share a row of `railyard series`? A new field of the
setting needs a row in the table, and a test fails until it has one. Leaves out: how launches are compared
(`railyard.analysis.cases.comparison`, `railyard.analysis.judge`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from railyard.records import json_io
from railyard.records.json_io import Json
from railyard.records.record import Record, Software


class Rule(StrEnum):
    """The effect of a difference in a field."""

    AGREE = "agree"  # records that differ are never compared
    NAMED = "named"  # records that differ are compared, and the difference is printed with the figures
    FREE = "free"  # records that differ are compared, and the difference is not printed


AGREE, NAMED, FREE = Rule.AGREE, Rule.NAMED, Rule.FREE


@dataclass(frozen=True, slots=True)
class Field:
    """The rule of one field for each of the five questions."""

    pool: Rule
    reference: Rule
    sides: Rule
    allocations: Rule
    sizes: Rule


#: Parameters of a case that identify the program that ran. The setting has them in its field `program`.
BUILD = frozenset({"program_sha256", "spack_spec", "spack_source", "spack_compiler", "spack_target"})
#: Field of a setting -> its rules. Named fields are named in this order.
FIELDS: Mapping[str, Field] = {
    #: Field(pool, reference, sides, allocations, sizes)
    "origin": Field(AGREE, AGREE, AGREE, AGREE, AGREE),
    "system": Field(AGREE, AGREE, AGREE, AGREE, AGREE),
    "check": Field(AGREE, AGREE, AGREE, AGREE, AGREE),
    "benchmark": Field(AGREE, AGREE, AGREE, AGREE, AGREE),
    "parameters": Field(AGREE, AGREE, AGREE, AGREE, FREE),
    # free in a pool because parameters and launches determine the ranks
    "ranks": Field(FREE, AGREE, AGREE, AGREE, FREE),
    "program": Field(AGREE, FREE, NAMED, AGREE, AGREE),  # which build ran: the parameters of `BUILD`
    "subject": Field(AGREE, FREE, NAMED, FREE, FREE),
    # free in a reference because it exists to find a slower commit
    "git_commit": Field(AGREE, FREE, NAMED, AGREE, AGREE),
    "git_dirty": Field(AGREE, FREE, NAMED, FREE, FREE),
    "mpi": Field(AGREE, FREE, NAMED, AGREE, AGREE),
    "machine": Field(AGREE, FREE, NAMED, FREE, FREE),
    "processors": Field(AGREE, FREE, FREE, FREE, FREE),  # a part of `machine`, which references name
    "environment": Field(AGREE, AGREE, NAMED, AGREE, AGREE),
    "partition": Field(AGREE, AGREE, NAMED, AGREE, AGREE),
    "topology": Field(AGREE, FREE, NAMED, FREE, FREE),  # the name; the next field is a digest of the content
    "topology_sha256": Field(AGREE, AGREE, NAMED, AGREE, FREE),
    "nodes": Field(AGREE, AGREE, NAMED, AGREE, FREE),
    "torus": Field(AGREE, AGREE, NAMED, AGREE, AGREE),
    "image": Field(AGREE, FREE, NAMED, AGREE, AGREE),
    "job_environment": Field(AGREE, FREE, NAMED, FREE, FREE),
    "placements": Field(AGREE, FREE, FREE, FREE, FREE),  # sides and references are chosen launch by launch
    "nic_policies": Field(AGREE, FREE, FREE, FREE, FREE),
    "software": Field(AGREE, FREE, FREE, FREE, FREE),
    "studies": Field(FREE, FREE, FREE, FREE, FREE),
}
#: Fields in which sides may differ; a difference is named on the row.
NAMED_OF_SIDES = tuple(name for name, field in FIELDS.items() if field.sides is NAMED)
#: Fields in which all sides of a row of `railyard compare` agree, but for those that define the sides.
SIDES_ROW = tuple(name for name, field in FIELDS.items() if field.sides is AGREE)
#: Fields that identify a case among the references of one check.
REFERENCE_CASE = tuple(name for name, field in FIELDS.items() if field.reference is AGREE and name != "check")
#: Fields in which all records of a row of `railyard series allocations` agree.
ALLOCATIONS_ROW = tuple(name for name, field in FIELDS.items() if field.allocations is AGREE)
#: The same for `railyard series sizes`, which also compares parts of parameters, ranks, nodes
#: (`railyard.analysis.judge.over`).
SIZES_ROW = tuple(name for name, field in FIELDS.items() if field.sizes is AGREE)

#: Parts of a record's case in which records of one pool may differ: `studies`, and the parts that only determine how
#: often and in which order the same launches ran.
_FREE_IN_CASE = frozenset({"seed", "challenge", "launches_per_combination", "studies"})


def pool(record: Record) -> dict[str, Json]:
    """Return what records must have in common to form one case: everything that `FIELDS` does not leave free.

    This is stricter than comparing settings, because those contain a short text for the machine and the MPI library.
    """
    torus = record.provenance["torus"]
    provenance = {
        name: part
        for name, part in record.provenance.items()
        if name not in {"reframe", "torus"} and (name != "image" or part is not None)
    }
    case = {"software": [Software.NATIVE], **record.document["case"], "allocation": record.case.allocation}
    return {
        "origin": record.document["origin"],
        "system": record.document["system"],
        "case": {name: part for name, part in case.items() if name not in _FREE_IN_CASE},
        "provenance": provenance,
        "torus": None if torus is None else unnamed(torus),
    }


def pool_key(record: Record) -> str:
    """Return a digest that is equal for records of one pool, and for no others.

    A record of a changed or unknown checkout has a pool of its own, because two such records may have run different
    code.
    """
    is_known = record.provenance["railyard"]["git_dirty"] is False
    parts = {**pool(record), "alone": "" if is_known else record.sha256}
    return hashlib.sha256(json_io.canonical(parts).encode("ascii")).hexdigest()


def unnamed(torus: Mapping[str, Json]) -> dict[str, Json]:
    """Return a virtual torus's provenance without its name, which each session chooses, and why it has its scale."""
    return {name: part for name, part in torus.items() if name not in {"name", "slowed_from"}}


def reference_digest(setting: Mapping[str, Json]) -> str:
    """Return eight hex digits that are equal for all runs of a check to which the same references apply."""
    parts = {name: setting[name] for name in REFERENCE_CASE}
    return hashlib.sha256(json_io.canonical(parts).encode("ascii")).hexdigest()[:8]
