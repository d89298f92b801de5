"""Entries of records of a cluster, of which a test gives the launches' values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from railyard.records.store.entries import Entry, SeriesKey
from support.records import figures

KEY = SeriesKey("plain", "library-default", "native", figures.fom("iteration_us"), ())
SETTING: Mapping[str, Any] = {
    "origin": "measured",
    "system": "cluster",
    "partition": "compute",
    "environment": "openmpi",
    "check": "halo_3d",
    "benchmark": "halo",
    "parameters": {"grid": [4, 4], "cells": [64, 64]},
    "studies": [],
    "topology": "torus",
    "topology_sha256": "ab" * 32,
    "nodes": 16,
    "ranks": 16,
    "placements": ["plain"],
    "nic_policies": ["library-default"],
    "program": {},
    "subject": "",
    "git_commit": "1f" * 20,
    "git_dirty": False,
    "mpi": "Open MPI v4.1.4",
    "machine": "m",
    "software": ["native"],
    "image": "",
    "job_environment": "",
    "torus": {},
}


def entry(
    number: int, values: Sequence[float], *, key: SeriesKey = KEY, allocation: str = "a", **changes: Any
) -> Entry:
    own = {
        "id": f"{number:012x}",
        "sha256": f"{number:064x}",
        "created": f"2026-{1 + number // 28:02d}-{1 + number % 28:02d}T03:00:00Z",
        "allocation": allocation,
        "noise_percent": 0.0,
        "marked": [],
        "level": 3,
        "ok": len(values),
        "void": 0,
        "failed": 0,
        "not_measured": 0,
    }
    return Entry(path=f"{number}.json", setting={**SETTING, **changes}, own=own, values=[(key, list(values))])
