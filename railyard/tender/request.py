"""The tender file: what a bid must hold (schema: results/schema/tender-v1.json)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from railyard import yaml_io
from railyard.errors import InputError
from railyard.records import json_io, text_rules, units
from railyard.records.json_io import Json
from railyard.records.record import Origin, Record
from railyard.records.units import Better

SCHEMA = "tender-v1.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One required measurement: which records answer it, and the figure of merit that counts.

    `reference` is the value that scores 1, `limit` the worst median that is accepted, both in the unit of `fom`.
    """

    name: str
    check: str
    nodes: int
    placement: str
    fom: str
    reference: float
    parameters: Mapping[str, Json] = field(default_factory=dict)
    nic_policy: str = "library-default"
    launches: int = 6
    labels: Mapping[str, str | int] = field(default_factory=dict)
    weight: float = 1.0
    limit: float | None = None

    @property
    def better(self) -> Better:
        """Which direction of the figure of merit is better."""
        return units.unit_of(self.fom).better

    def is_met_by(self, read: Record) -> bool:
        """Whether a record is one of this case."""
        case = read.case
        given = all(case.parameters.get(name) == value for name, value in self.parameters.items())
        return given and case.check == self.check and len(case.allocation["nodes"]) == self.nodes


@dataclass(frozen=True, slots=True, kw_only=True)
class Tender:
    """What the buyer requests."""

    title: str
    challenge: str
    origins: tuple[Origin, ...]
    cases: tuple[Case, ...]
    signed: bool = False
    tiers: tuple[str, ...] = ("baseline",)


def load(path: Path) -> Tender:
    """Return the tender in a file; raises InputError, in one line, for a file that is none."""
    try:
        document = yaml_io.read(path)
    except OSError as error:
        raise InputError(str(path), "", error.strerror or str(error), "a readable tender file") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        problem = getattr(error, "problem", None) or "other text"
        raise InputError(str(path), "", problem, "a tender file in YAML, without aliases") from error
    json_io.validate(document, SCHEMA, str(path))
    text_rules.check(document, str(path))
    cases = tuple(Case(**case) for case in document["cases"])
    _check(cases, str(path))
    known = {name: document[name] for name in ("title", "challenge", "signed") if name in document}
    tiers = tuple(document.get("tiers", ["baseline"]))
    return Tender(**known, origins=tuple(map(Origin, document["origins"])), cases=cases, tiers=tiers)


def _check(cases: tuple[Case, ...], source: str) -> None:
    """Raise InputError for a name twice and for a figure of merit of which no direction is better."""
    names = [case.name for case in cases]
    for place, case in enumerate(cases):
        if names.index(case.name) != place:
            raise InputError(source, f"cases[{place}].name", case.name, "each name once")
        if units.unit_of(case.fom, source, f"cases[{place}].fom").better is Better.NEITHER:
            raise InputError(
                source, f"cases[{place}].fom", case.fom, "a figure of merit with a better direction"
            )
