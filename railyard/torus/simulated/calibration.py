"""Read calibration files: latencies and rates that a topology file lacks, each value with its source.

`calibrations/*.yml` come with railyard; their schema is `calibrations/schema.json`. One set of values serves every run
on a network: nothing is fitted for a figure. A file with `base: NAME` changes single values of that calibration.

Leaves out how SimGrid gets the values (`railyard.torus.simulated.smpi`, `railyard.torus.simulated.network`).
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from railyard.base import schemas, yaml_io
from railyard.base.errors import InputError
from railyard.placements.topology.base import Topology

FOLDER = Path(__file__).parent / "calibrations"
SCHEMA = FOLDER / "schema.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """The values of a calibration file. Rates are of payload, in GB/s (1e9 bytes per second).

    None means no limit for `router_gbyte_s`, `reach_hops`, `reach_most_times` and `memory_banks`, and the topology's
    value for `hop_latency_us`. docs/simulated.md explains each value.
    """

    name: str
    payload_share: float
    endpoint_latency_us: float
    mpi_latency_us: float
    eager_bytes: int
    memory_gbyte_s: float
    core_gbyte_s: float
    collectives: str
    hop_latency_us: float | None = None
    router_gbyte_s: float | None = None
    reach_hops: int | None = None
    reach_most_times: int | None = None
    memory_banks: int | None = None
    sha256: str = ""

    def hop_us(self, topology: Topology) -> float:
        """Return the latency that one more router adds: this file's value, or else the topology's."""
        return topology.hop_latency_us if self.hop_latency_us is None else self.hop_latency_us

    def packing_gbyte_s(self, ranks_per_node: int) -> float:
        """Return the rate at which one rank packs while all ranks of its node do, spread over the memory banks."""
        if self.memory_banks is None:
            return self.core_gbyte_s
        ranks_per_bank = math.ceil(ranks_per_node / self.memory_banks)
        return min(self.core_gbyte_s, self.memory_gbyte_s / ranks_per_bank)


def known() -> list[str]:
    """Return the names of the calibrations that come with railyard, sorted."""
    return sorted(path.stem for path in FOLDER.glob("*.yml"))


def load(name_or_path: str) -> Calibration:
    """Return a calibration by its name or by the path of its YAML file; InputError for anything else."""
    text, document, path = _read(name_or_path)
    if isinstance(document, dict) and isinstance(document.get("base"), str):
        base_text, base, base_path = _read(document["base"])
        schemas.validate(base, schemas.validator(SCHEMA), str(base_path))
        document = {**base, **{key: value for key, value in document.items() if key != "base"}}
        text = base_text + text
    schemas.validate(document, schemas.validator(SCHEMA), str(path))
    values = {name: entry["value"] for name, entry in document.items() if name != "name"}
    return Calibration(name=document["name"], sha256=hashlib.sha256(text.encode()).hexdigest(), **values)


def _read(name_or_path: str) -> tuple[str, Any, Path]:
    """Return the text of a calibration file, what it contains, and its path."""
    path = Path(name_or_path)
    if path.suffix not in {".yml", ".yaml"}:
        path = FOLDER / f"{name_or_path}.yml"
    try:
        text = path.read_text(encoding="utf-8")
        return text, yaml_io.loads(text), path
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        valid = f"{', '.join(known())}, or the path of a readable .yml file"
        raise InputError("--calibration", "", name_or_path, valid) from error
