"""Turn the documents of records and imported results into the rows of the table, column by column.

Models: three lists of tuples, of records, launches and points, in which a launch has the number of its record and a
point the number of its launch: what rows have in common is made once, and repeated by the writer, so that one SELECT
without a join answers a question. `COLUMNS` has name, type, unit and meaning of each column; docs/table.md is made from
it, and `VERSION` changes with any column. Leaves out: files (`railyard.table.parquet`), and ranks, NICs one by one and
the guard's figures, which are only in the record that `record_sha256` names.
"""

from __future__ import annotations

import functools
import statistics
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

import orjson

from railyard.records import units
from railyard.records.comparable import BUILD
from railyard.records.folded import columns as folded
from railyard.records.folded import tables
from railyard.records.folded.health import Event, Kind
from railyard.records.json_io import Json
from railyard.records.rules import rebuilt
from railyard.records.store import entries, levels

#: Rates of one pair of nodes, or of one node: what the NICs of a node limit. Others are of a rank, or of many nodes.
OF_A_PAIR = {
    "pt2pt": ("pair_bandwidth_gbyte_s",),
    "topobw": ("bandwidth_gbyte_s",),
    "osu_bw": ("bandwidth_gbyte_s",),
    "imb": ("bandwidth_gbyte_s",),
    "linktest": ("bandwidth_gbyte_s",),
}


@dataclass(slots=True)
class Rows:
    """Rows as tuples in the order of the columns; a launch and a point begin with the number of what has them."""

    records: list[tuple[Any, ...]] = field(default_factory=list)
    launches: list[tuple[Any, ...]] = field(default_factory=list)
    points: list[tuple[Any, ...]] = field(default_factory=list)

    def add(self, document: Mapping[str, Json]) -> None:
        """Add the rows of a record, or of an imported result."""
        is_import = document.get("format") == levels.IMPORTED
        stated = None if is_import else document["case"]["topology"]
        torus = None if is_import else document["provenance"]["torus"]
        limit = limit_gbyte_s(stated["name"], stated["sha256"], torus) if stated else None
        head = (_imported if is_import else _recorded)(document, limit)
        benchmark = document["benchmark"] if is_import else document["case"]["benchmark"]
        limited = OF_A_PAIR.get(benchmark, ()) if limit else ()
        launches, points = [], []
        for number, launch in enumerate(document["launches"]):
            launches.append((len(self.records), *_launch(number, launch, None if is_import else document["tables"])))
            at = len(self.launches) + number
            rows = [
                (at, *point, point[4] / limit if limit and point[0] in limited else None)
                for point in (_imported_points(launch) if is_import else _points(launch, document["figures"]))
            ]
            points += rows or [(at, *[None] * len(OF_POINT))]
        self.records.append(head)  # from here on nothing fails: a bad document leaves no row
        self.launches += launches or [(len(self.records) - 1, *[None] * len(OF_LAUNCH))]
        self.points += points or [(len(self.launches) - 1, *[None] * len(OF_POINT))]


def _recorded(document: Mapping[str, Json], limit: float | None) -> tuple[Any, ...]:
    case, provenance, system = document["case"], document["provenance"], document["system"]
    machine, mpi, run = provenance["machine"], provenance["mpi"], document.get("run")
    names = tables.unfold_names(case["allocation"]["nodes"]["names"], document["id"], "case.allocation.nodes.names")
    parameters = {name: value for name, value in case["parameters"].items() if name not in BUILD}
    return (
        *_head(document),
        document["origin"],
        "",
        *(datetime.fromisoformat(document["created"]), document["created"][:7]),
        *(system["name"], system["partition"], system["environment"]),
        *(case["check"], case["benchmark"], _json(parameters), (case["topology"] or {}).get("name", "")),
        *(len(names), entries.allocation([{"name": name} for name in names])),
        *(str(run["job"]) if run else document["sha256"], document["status"]),
        f"{machine['hostname']}: {machine['cpu']}, {machine['cpus']} CPUs, {machine['kernel']}",
        *(mpi["library"] if mpi else "", provenance["railyard"]["git_commit"] or ""),
        *(entries.subject(provenance.get("job")), limit),
    )


def _imported(document: Mapping[str, Json], _limit: float | None) -> tuple[Any, ...]:
    source = document["source"]
    return (
        *_head(document),
        "imported",
        f"{source['tool']}: {source['file']} {source['sha256']}",
        *(datetime.fromisoformat(document["created"]), document["created"][:7]),
        *(document["system"], document["partition"], document["environment"]),
        *(document["check"], document["benchmark"], _json(document["parameters"]), ""),
        *(document["nodes"], "", document["job"] or document["sha256"], "ok"),
        *(document["machine"], document["software"], "", "", None),
    )


def _head(document: Mapping[str, Json]) -> tuple[Any, ...]:
    level, lacks = levels.of(document)
    return VERSION, document["sha256"], document["id"], int(level), lacks


def _launch(number: int, launch: Mapping[str, Json], shared: Mapping[str, Json] | None) -> tuple[Any, ...]:
    """Return the columns of a launch; `shared` are the tables of its record, None for an imported one."""
    is_void = launch["status"] == "ok" and (launch.get("guard") or {}).get("verdict") == "void"
    started = launch.get("started")
    ranks = launch.get("ranks")
    if shared:
        ranks = len(folded.unfold(shared["columns"][ranks["host"]], "", "tables.columns")) if ranks else 0
    return (
        number,
        *(launch.get("placement", ""), launch.get("nic_policy", ""), launch.get("software", "native")),
        *(launch.get("repeat", number), "void" if is_void else launch["status"]),
        "; ".join(launch["guard"]["reasons"]) if is_void else str(launch["reason"]),
        *(datetime.fromisoformat(started) if started else None, launch.get("elapsed_s")),
        ranks,
        *(launch.get("placement_verdict", "cannot-tell"), launch.get("nic_verdict", "cannot-tell")),
        _faults(launch.get("health")),
    )


def _faults(read: Mapping[str, Json] | None) -> str | None:
    events = (Event(**{**item, "kind": Kind(item["kind"])}) for item in (read or {}).get("events", ()))
    return None if read is None else "; ".join(event.text() for event in events if event.is_fault)


def _points(launch: Mapping[str, Json], figures: Mapping[str, Json]) -> Iterator[tuple[Any, ...]]:
    for series in launch["series"]:
        declared, samples = figures[series["fom"]], series["samples"]
        value = samples[0] if len(samples) == 1 else statistics.median(samples)
        labels = _json(series["labels"]) if series["labels"] else "{}"
        yield (
            *(series["fom"], _unit(declared["unit"]), declared["better"], labels),
            *(float(value), float(min(samples)), float(max(samples)), len(samples)),
        )


def _imported_points(launch: Mapping[str, Json]) -> Iterator[tuple[Any, ...]]:
    for point in launch["figures"]:
        value = float(point["value"])
        words = point["fom"], _unit(point["unit"]), point["better"], _json(point["labels"])
        yield (*words, value, value, value, 1)


@functools.cache
def _unit(text: str) -> str:
    unit = units.find(text)
    return unit.name if unit else text


def _json(value: Json) -> str:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()


def limit_gbyte_s(topology: str, sha256: str, torus: Mapping[str, Json] | None) -> float | None:
    """Return the rate of all NICs of a node; None without a topology that ships with railyard.

    On a virtual torus rates are scaled, and so are those that its programs measure.
    """
    rate = _rate_gbyte_s(topology, sha256)
    return rate * torus["rate_scale"] if rate and torus else rate


@functools.cache
def _rate_gbyte_s(name: str, sha256: str) -> float | None:
    topology = rebuilt.shipped(name)
    if topology is None or topology.sha256 != sha256:
        return None
    return topology.rails * topology.host_rate_gbyte_s


VERSION = 2


class Column(NamedTuple):
    """A column; `kind` is its type in Parquet, `unit` is empty for one without a unit."""

    name: str
    kind: str
    unit: str
    meaning: str


TEXT, WHOLE, REAL, TIME = "text", "whole", "real", "time"
#: What is equal in all rows of a record.
OF_RECORD = (
    Column("schema_version", WHOLE, "", f"version of these columns: {VERSION}"),
    Column("record_sha256", TEXT, "", "sha256 of the record's content"),
    Column("record_id", TEXT, "", "its first 12 digits, which the file's name has"),
    Column("level", WHOLE, "", "level of evidence, 0 to 3: see below"),
    Column("lacks", TEXT, "", "what the record lacks for the next level"),
    Column("origin", TEXT, "", "`measured`, `emulated`, `simulated` or `modelled`"),
    Column("source", TEXT, "", "of an imported result: tool, and the file's name and sha256; else empty"),
    Column("created", TIME, "UTC", "when the record was made"),
    Column("month", TEXT, "", "its year and month; partitions the table"),
    Column("system", TEXT, "", "name of the machine; partitions the table"),
    Column("partition", TEXT, "", "its partition"),
    Column("environment", TEXT, "", "programming environment"),
    Column("check", TEXT, "", "name of the check"),
    Column("benchmark", TEXT, "", "program"),
    Column("parameters", TEXT, "JSON", "parameters of the case"),
    Column("topology", TEXT, "", "name of the topology; empty without one"),
    Column("nodes", WHOLE, "nodes", "size of the allocation"),
    Column("allocation", TEXT, "", "equal for records of the same set of nodes"),
    Column("job", TEXT, "", "job that made the record, or its sha256: launches of one job are not independent"),
    Column("job_status", TEXT, "", "`ok`, `failed` or `not-measured`, of the whole job"),
    Column("machine", TEXT, "", "host that ran the launcher, processor, kernel"),
    Column("mpi", TEXT, "", "MPI library"),
    Column("git_commit", TEXT, "", "commit of railyard"),
    Column("subject", TEXT, "", "commit of the user's repository that a CI service tested"),
    Column("limit_gbyte_s", REAL, "GB/s", "rate of all NICs of a node of the topology, scaled as the virtual torus is"),
)
#: What is equal in all rows of a launch.
OF_LAUNCH = (
    Column("launch", WHOLE, "", "position in the job, from 0"),
    Column("placement", TEXT, "", "placement"),
    Column("nic_policy", TEXT, "", "NIC policy"),
    Column("software", TEXT, "", "`native` or `image`"),
    Column("repeat", WHOLE, "", "round of the job, from 0"),
    Column("status", TEXT, "", "`ok`, `void` (refused by the guard), `failed` or `not-measured`"),
    Column("reason", TEXT, "", "why the status is not `ok`"),
    Column("started", TIME, "UTC", "when the launch started"),
    Column("elapsed_s", REAL, "s", "from the launcher's start to its end"),
    Column("ranks", WHOLE, "ranks", "ranks that reported where they ran"),
    Column("placement_verdict", TEXT, "", "`obeyed`, `not-obeyed` or `cannot-tell`"),
    Column("nic_verdict", TEXT, "", "the same for the NIC policy"),
    Column(
        "faults", TEXT, "", "what error counters counted, by node and NIC; empty for nothing, null where none was read"
    ),
)
#: The point: empty in the only row of a launch without figures.
OF_POINT = (
    Column("fom", TEXT, "", "figure of merit"),
    Column("unit", TEXT, "", "unit of `value`, `minimum` and `maximum`"),
    Column("better", TEXT, "", "`lower`, `higher` or `neither`"),
    Column("labels", TEXT, "JSON", "what identifies the point: message size, pair of hosts, ..."),
    Column("value", REAL, "`unit`", "median of the launch's samples"),
    Column("minimum", REAL, "`unit`", "smallest sample"),
    Column("maximum", REAL, "`unit`", "largest sample"),
    Column("samples", WHOLE, "samples", "how many there are"),
    Column("share_of_limit", REAL, "ratio", "`value` / `limit_gbyte_s`, of rates that one pair of nodes reaches"),
)
COLUMNS = (*OF_RECORD, *OF_LAUNCH, *OF_POINT)
#: What Parquet calls the types.
PARQUET = {TEXT: "`BYTE_ARRAY (STRING)`", WHOLE: "`INT64`", REAL: "`DOUBLE`", TIME: "`INT64 (TIMESTAMP, ms, UTC)`"}


def page() -> str:
    """Return the columns as a page in Markdown."""
    rows = "".join(f"| `{one.name}` | {PARQUET[one.kind]} | {one.unit} | {one.meaning} |\n" for one in COLUMNS)
    return (
        f"# Columns of the table\n\nVersion {VERSION}. A row is a point of a launch, or a launch without figures.\n\n"
        f"| column | type | unit | meaning |\n|---|---|---|---|\n{rows}"
    )
