"""Which records may be compared: one table, and the three users of it behave as it says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from support import synthetic

from railyard.analysis.judge import versus
from railyard.analysis.judge.sides import Side
from railyard.records import comparable, references
from railyard.records.comparable import FIELDS, NAMED_OF_SIDES, Rule
from railyard.records.record import Record
from railyard.records.store import entries


def job(**changes: Any) -> Record:
    """A halo job of four launches; `case` changes its case, all else its record."""
    of_case = changes.pop("case", {})
    made = synthetic.case(**{"placements": ["plain", "custom"], "launches_per_combination": 2, **of_case})
    speed = dict.fromkeys(made["placements"], 1.0)
    return synthetic.job(made, synthetic.halo_series(speed), **changes)


def topology(**changes: Any) -> dict[str, Any]:
    return {"topology": {**synthetic.case()["topology"], **changes}}


def fewer_nodes() -> dict[str, Any]:
    allocation = synthetic.case()["allocation"]
    return {"allocation": {**allocation, "nodes": allocation["nodes"][:32]}}


SYSTEM = {"name": "vtorus", "partition": "netns", "environment": "openmpi"}
CODE = synthetic.provenance()["railyard"]
MACHINE = synthetic.provenance()["machine"]
IMAGE = synthetic.IMAGE
PARAMETERS = synthetic.case()["parameters"]
JOB: dict[str, Any] = {"variables": {}, "modules": [], "libraries": []}
#: Field of a setting -> a job that differs from `job()` in it, and in as little else as can be.
CHANGED: dict[str, Callable[[], Record]] = {
    "origin": lambda: job(origin="simulated"),
    "system": lambda: job(system={**SYSTEM, "name": "other"}),
    "partition": lambda: job(system={**SYSTEM, "partition": "docker"}),
    "environment": lambda: job(system={**SYSTEM, "environment": "mpich"}),
    "check": lambda: job(case={"check": "halo_2d"}),
    "benchmark": lambda: job(case={"benchmark": "other"}),
    "parameters": lambda: job(case={"parameters": {"grid": [4, 4, 4], "cells": [32, 32, 32]}}),
    "program": lambda: job(case={"parameters": {**PARAMETERS, "program_sha256": "ab" * 6}}),
    "subject": lambda: job(job={**JOB, "variables": {"GITHUB_SHA": "3c" * 20}}),
    "git_commit": lambda: job(railyard={**CODE, "git_commit": "2e" * 20}),
    "git_dirty": lambda: job(railyard={**CODE, "git_dirty": True}),
    "mpi": lambda: job(mpi={"library": "MPICH 4.0.2", "standard": "4.0"}),
    "machine": lambda: job(machine={**MACHINE, "hostname": "other"}),
    "processors": lambda: job(machine={**MACHINE, "cpu": "another"}),
    "topology": lambda: job(case=topology(name="the same under another name")),
    "topology_sha256": lambda: job(case=topology(sha256="cd" * 32)),
    "nodes": lambda: job(case=fewer_nodes()),
    "torus": lambda: job(torus={**synthetic.TORUS, "rate_scale": 0.002}),
    "placements": lambda: job(case={"placements": ["plain"]}),
    "nic_policies": lambda: job(case={"nic_policies": ["library-default", "nic-0"]}),
    "image": lambda: job(case={"software": ["image"]}, image=IMAGE),
    "software": lambda: job(case={"software": ["native", "image"]}, image=IMAGE),
    "studies": lambda: job(case={"studies": []}),
}
#: `ranks` follow from the launches; the environment of a job has tests of its own (tests/jobs/test_surroundings.py).
NOT_CHANGED = {"ranks", "job_environment"}


def test_every_field_of_a_setting_has_its_rules() -> None:
    assert set(FIELDS) == set(entries.of_record(job()).setting)
    assert set(FIELDS) == set(CHANGED) | NOT_CHANGED


@pytest.mark.parametrize("name", CHANGED)
def test_records_form_one_case_as_the_table_says(name: str) -> None:
    one, other = job(), CHANGED[name]()
    assert entries.of_record(one).setting[name] != entries.of_record(other).setting[name]
    together = comparable.pool_key(one) == comparable.pool_key(other)
    assert together == (FIELDS[name].pool is not Rule.AGREE)


@pytest.mark.parametrize("name", [name for name in CHANGED if name != "check"])  # a check is the key above its cases
def test_a_run_is_held_against_a_reference_as_the_table_says(name: str) -> None:
    one, other = (references.kind_of(references.case_name(read)) for read in (job(), CHANGED[name]()))
    assert (one[0].split()[-1] == other[0].split()[-1]) == (FIELDS[name].reference is not Rule.AGREE)
    assert (one[1] == other[1]) == (name != "processors"), "each kind of machine has a history of its own"


#: Where these change, so do the ranks or the software of the launches, and a row of its own is made.
ROWS_OF_THEIR_OWN = {"nodes", "image"}


@pytest.mark.parametrize("name", [name for name in NAMED_OF_SIDES if name in CHANGED.keys() - ROWS_OF_THEIR_OWN])
def test_a_difference_of_sides_is_named_as_the_table_says(name: str) -> None:
    one, other = Side(name="one", wanted={}), Side(name="other", wanted={})
    sources = [([entries.of_record(job())], [one]), ([entries.of_record(CHANGED[name]())], [other])]
    found = versus.compare(sources, ["one", "other"], "one")
    assert found.rows and all(name in {part.partition(".")[0] for part in row.differs} for row in found.rows)
