"""Define the columns of the table: name, type, unit and meaning. docs/table.md and the writer are made from this list.

Models: a row per launch and point, in which what a record and a launch have in common is repeated, so that one SELECT
without a join answers a question. `VERSION` changes with any column. Leaves out: ranks, NICs one by one and the guard's
figures, which are only in the record that `record_sha256` names.
"""

from __future__ import annotations

from typing import NamedTuple

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
