"""Read a tender file: what a bid must contain (schema: results/schema/tender-v1.json).

Models: cases; for what a case does not name, what its check measures unless its user sets something else. The source
files of the checks have that: assignments of plain values, and sizes by scale. A value that is computed is not known.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path

import yaml

from railyard.base import check_sources, yaml_io
from railyard.base.decoded import decoded
from railyard.base.errors import InputError
from railyard.records import json_io, own_figures, text_rules, units
from railyard.records.comparable import BUILD
from railyard.records.json_io import Json
from railyard.records.record import Origin
from railyard.records.units import Better, Fom
from railyard.tender import presets
from railyard.tender.judged import Judged
from railyard.tender.presets import Preset

SCHEMA = "tender-v1.json"


class Metric(StrEnum):
    """Names of the formulas that make one score of a bid's cases (`railyard.tender.metrics`)."""

    GEOMETRIC_MEAN = "geometric-mean"
    SSI = "ssi"
    SSNI = "ssni"
    SSP = "ssp"
    P_TOT = "p-tot"


#: Metrics that count the nodes of the offered system, that compare them with the reference's, and that need run times.
OF_A_SYSTEM = frozenset({Metric.SSI, Metric.SSNI, Metric.SSP, Metric.P_TOT})
OF_TWO_SYSTEMS = frozenset({Metric.SSI, Metric.SSNI})


#: Defaults of variables that every check has.
EVERY_CHECK: Mapping[str, Json] = {
    "ranks_per_node": 1,
    "software": "native",
    "split": "interleaved",
    "allocation": "snake",
    "block": [],
    "cube": [],
}
#: What the machine decides, and a tender may name.
OF_THE_MACHINE = frozenset({"topology", "rate_scale", "latency_scaled", "network"})
#: What of it makes a network that is no machine's own fast or slow, so that the tender must name it.
OF_A_TORUS = ("topology", "rate_scale", "latency_scaled")
#: Parameters that set how often the same work is measured, and how a verdict is reached.
EFFORT = frozenset({"repeats", "rounds", "count", "tolerance_percent"})
#: Parameters that a tender need not name: these, and those of the build, which must be one in all records of a case.
FREE = EFFORT | BUILD
#: Parameters whose variable has another name; `sizes_bytes` is `sizes` without being listed here.
VARIABLES = {
    "pairs_per_node": "pairs",
    "size_bytes": "message_bytes",
    "tests": "test",
    "variables": "stencil_variables",
}
SCALES = ("small", "standard", "large")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One required measurement: which records answer it, and the figure of merit that counts.

    `reference` is the value that scores 1, `limit` the worst median that is accepted, both in the unit of `fom`.
    `reference_nodes` is how many nodes gave the reference, `capability` how much larger the problem is than the
    reference's, `work` the operations of one run. With `fewer_nodes` the bidder may use fewer than `nodes`.

    What `parameters` do not name is the check's default. `nodes` are those on which ranks run. `launches` is the least
    number of results. `jobs` is how many jobs count, the first ones of one session; with None all jobs count.
    """

    name: str
    check: str
    nodes: int
    placement: str
    fom: Fom
    reference: float
    parameters: Mapping[str, Json] = field(default_factory=dict)
    nic_policy: str = "library-default"
    launches: int = 6
    jobs: int | None = None
    labels: Mapping[str, str | int] = field(default_factory=dict)
    weight: float = 1.0
    limit: float | None = None
    capability: float = 1.0
    reference_nodes: int | None = None
    work: float | None = None
    fewer_nodes: bool = False

    @property
    def nodes_of_reference(self) -> int:
        """Return how many nodes the reference ran on."""
        return self.nodes if self.reference_nodes is None else self.reference_nodes

    def is_met_by(self, read: Judged) -> bool:
        """Return whether a record is one of this case."""
        return read.check == self.check and next(self.differences(read), None) is None

    def differences(self, read: Judged) -> Iterator[str]:
        """Yield in what a record of the check differs from the case; what the case does not name is the default."""
        if not read.nodes:
            yield "has no result"
            return
        is_of_size = read.nodes == self.nodes or (self.fewer_nodes and read.nodes < self.nodes)
        if not is_of_size:
            yield f"ranks ran on {read.nodes} of {read.granted} nodes; the tender names {self.nodes}"
        stated = {**read.setting, **read.parameters}
        usual = "standard" if read.origin is Origin.MEASURED else SCALES[0]
        scale = str(read.parameters.get("scale") or usual)
        grid = read.parameters.get("grid")
        dimensions = len(grid) if isinstance(grid, list) else 0  # a forged record may have any value
        for name in sorted({*stated, *self.parameters} - (FREE - self.parameters.keys())):
            default = _default(self.check, name, scale, dimensions)
            if name in self.parameters:
                value = stated.get(name, default)
                if value != self.parameters[name]:
                    yield f"{name} is {value}; the tender names {self.parameters[name]}"
            elif name == "scale":
                if read.origin is Origin.MEASURED and scale == SCALES[0]:
                    yield f"scale is {scale}, which the tender does not name; the default is standard"
            elif name not in OF_THE_MACHINE and stated[name] != default:
                shown = "is not known" if default is None else f"is {default}"
                yield f"{name} is {stated[name]}, which the tender does not name; the default {shown}"

    def unnamed(self, read: Judged) -> dict[str, Json]:
        """Return the parameters and settings of a record that the tender does not name."""
        stated = {**read.setting, **read.parameters}
        return {name: value for name, value in stated.items() if name not in self.parameters and value != []}


@dataclass(frozen=True, slots=True, kw_only=True)
class Tender:
    """What the buyer requests. `reference_nodes` is the size of the reference system.

    `bidders` maps a bidder to the name of its key in the list of allowed signers. `launchers` are programs that a site
    may start in a launcher's place, `launcher_options` words that a launch may have besides railyard's own.
    `may_differ` names what jobs of a bid need not share (`railyard.tender.agreement`). `received` has the digests of
    bids in the order in which they reached the buyer. With `scored` "pledged" a pledge counts instead of the measured
    value.
    """

    title: str
    challenge: str
    origins: tuple[Origin, ...]
    cases: tuple[Case, ...]
    signed: bool = False
    tiers: tuple[str, ...] = ("baseline",)
    metric: Metric = Metric.GEOMETRIC_MEAN
    reference_nodes: int | None = None
    presets: tuple[Preset, ...] = ()
    scored: str = "measured"
    launchers: tuple[str, ...] = ()
    launcher_options: tuple[str, ...] = ()
    bidders: Mapping[str, str] = field(default_factory=dict)
    may_differ: tuple[str, ...] = ()
    received: tuple[str, ...] = ()

    @property
    def nodes_of_reference(self) -> int:
        """Return the number of nodes of the reference system; `load` refuses a tender that needs and lacks it."""
        assert self.reference_nodes is not None
        return self.reference_nodes


def load(path: Path) -> Tender:
    """Return the tender in a file; raises InputError, in one line, for a file without one."""
    try:
        document = yaml_io.read(path)
    except OSError as error:
        raise InputError(str(path), "", problem=error.strerror or str(error), valid="a readable tender file") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        problem = getattr(error, "problem", None) or "other text"
        raise InputError(str(path), "", problem=problem, valid="a tender file in YAML, without aliases") from error
    json_io.validate(document, SCHEMA, str(path))
    text_rules.check(document, str(path))
    cases = _with_sizes(tuple(_case(case, str(path), index) for index, case in enumerate(document["cases"])))
    chosen = tuple(presets.load(name) for name in document.get("presets", []))
    tiers = next((preset.tiers for preset in chosen if preset.tiers), ("baseline",))
    metric = next((preset.metric for preset in chosen if preset.metric), Metric.GEOMETRIC_MEAN)
    del document["format"]
    tender = decoded(Tender, {"tiers": tiers, "metric": metric, **document}, str(path), cases=cases, presets=chosen)
    _check(tender, str(path))
    return tender


@functools.lru_cache(maxsize=1024)
def _default(check: str, name: str, scale: str, dimensions: int) -> Json:
    """Return a check's default of a parameter or variable at a scale; None if it is not known.

    A variable that no check of its family sets has the default of every check. `dimensions` are those of the process
    grid, for which `cells` are repeated.
    """
    stem = name.rpartition("_")[0] or name
    values = (_value(check, variable, scale) for variable in (VARIABLES.get(name, name), stem))
    default = next((one for one in values if one is not None), EVERY_CHECK.get(name))
    if name == "cells" and isinstance(default, int):
        return [default] * dimensions
    return [default] if name == "tests" and isinstance(default, str) else default


def is_size(check: str, name: str) -> bool:
    """Return whether a parameter is the process grid, or a size that a check has by scale."""
    variables = {name, VARIABLES.get(name, name), name.rpartition("_")[0]}
    by_scale = (values.get(scale) or {} for values in check_sources.chain(check) for scale in SCALES)
    return name == "grid" or any(variables & sizes.keys() for sizes in by_scale)


def _value(check: str, variable: str, scale: str) -> Json:
    """Return a variable's value: of the scale, or of the class or the nearest base that assigns one."""
    for values in check_sources.chain(check):
        for name in ("large", "standard") if scale == "large" else (scale,):
            if variable in (values.get(name) or {}):
                return values[name][variable]
    own: Json = check_sources.value(check, variable)
    return own


def _with_sizes(cases: tuple[Case, ...]) -> tuple[Case, ...]:
    """Return the cases with the sizes and the grid that a case leaves to the other cases of its check."""
    completed = []
    for case in cases:
        others = [other.parameters for other in cases if other.check == case.check]
        added: dict[str, Json] = {}
        for name in sorted({name for parameters in others for name in parameters} - case.parameters.keys()):
            values = [parameters[name] for parameters in others if name in parameters]
            if is_size(case.check, name) and all(value == values[0] for value in values):
                added[name] = values[0]
        completed.append(replace(case, parameters={**case.parameters, **added}))
    return tuple(completed)


def _case(given: Mapping[str, Json], source: str, index: int) -> Case:
    """Return a case; raises InputError for a figure of merit without unit or direction that is not railyard's own."""
    field = f"cases[{index}]"
    rest = {name: value for name, value in given.items() if name not in {"unit", "better"}}
    name = given["fom"]
    if "unit" in given or "better" in given:
        fom = units.fom(name, given.get("unit", ""), given.get("better", ""), source=source, field=field)
    elif (own := own_figures.find(name)) is not None:
        fom = own
    else:
        valid = "`unit` and `better` next to this figure of merit, as its records declare them"
        raise InputError(source, f"{field}.fom", name, valid)
    return Case(**{**rest, "fom": fom})


def _check(tender: Tender, source: str) -> None:
    """Raise InputError for a name twice, for a figure without a better direction, and for a metric without an input."""
    names = [case.name for case in tender.cases]
    for index, case in enumerate(tender.cases):
        if names.index(case.name) != index:
            raise InputError(source, f"cases[{index}].name", case.name, "each name once")
        if case.fom.better is Better.NEITHER:
            raise InputError(source, f"cases[{index}].fom", case.fom, "a figure of merit with a better direction")
    if tender.metric in OF_TWO_SYSTEMS and tender.reference_nodes is None:
        raise InputError(source, "reference_nodes", None, f"the size of the reference system, for {tender.metric}")
    for index, case in enumerate(tender.cases):
        is_rate = case.fom.unit.measures != "time"
        if case.work is None and (tender.metric is Metric.SSP or (tender.metric is Metric.P_TOT and is_rate)):
            wanted = f"the operations of one run, for {tender.metric}"
            raise InputError(source, f"cases[{index}].work", None, wanted)
