"""Edit records and benchmark outputs in tests with one row per rank and NIC, which are columns in the files."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from typing import Any

from railyard.records import record
from railyard.records.folded import columns, nic_bytes, tables
from railyard.records.folded.columns import ABSENT, NULL
from railyard.records.folded.ranks import Ranks
from railyard.records.record import Record
from support.records import figures

Row = dict[str, Any]


def with_rows(of: Record) -> dict[str, Any]:
    """Return a copy of a record's document in which ranks, NICs and nodes are lists of rows, to be changed."""
    document: Row = json.loads(record.text(of))
    reader = tables.Reader(document.pop("tables"), "the record")
    document.pop("figures")
    allocation = document["case"]["allocation"]
    allocation["nodes"] = tables.unfold_nodes(allocation["nodes"], "the record")
    document["launches"] = [_launch_with_rows(launch, reader) for launch in document["launches"]]
    return document


def _launch_with_rows(launch: Row, reader: tables.Reader) -> Row:
    unfolded = {**launch, "ranks": of_ranks(reader.ranks(launch["ranks"], "ranks"))}
    if (nics := reader.nics(launch.get("nics"), "nics")) is not None:
        counted = zip(nics.pairs, nics.tx_bytes, nics.rx_bytes, strict=True)
        unfolded["nics"] = [
            {"node": node, "nic": nic, "tx_bytes": tx, "rx_bytes": rx} for (node, nic), tx, rx in counted
        ]
    if launch.get("hosts") is not None:
        unfolded["hosts"] = list(reader.hosts(launch["hosts"], "hosts"))
    if launch.get("roles") is not None:
        unfolded["roles"] = [_launch_with_rows(role, reader) for role in launch["roles"]]
    return unfolded


def of_rows(document: Mapping[str, Any], source: str = "changed") -> Record:
    """Return the record of a document that `with_rows` gave and a test changed."""
    return record.validate(sealed(document), source)


def sealed(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document of a record, with figures and digests, of one that `with_rows` gave."""
    writer = tables.Writer(known=[node["name"] for node in document["case"]["allocation"]["nodes"]])
    launches = [_folded_launch(launch, writer) for launch in document["launches"]]
    whole = {
        **document,
        "case": tables.with_folded_nodes(document["case"]),
        "launches": launches,
        "tables": writer.document(),
        "figures": figures.of_record(document),
    }
    return record.sealed(whole)


def _folded_launch(launch: Row, writer: tables.Writer) -> Row:
    folded = {**launch, "ranks": writer.ranks(ranks_of(launch["ranks"]))}
    if launch.get("nics") is not None:
        folded["nics"] = writer.nics(nic_bytes.of_rows(launch["nics"]))
    if launch.get("hosts") is not None:
        folded["hosts"] = writer.hosts(launch["hosts"])
    if launch.get("roles") is not None:
        folded["roles"] = [_folded_launch(role, writer) for role in launch["roles"]]
    return folded


def of_ranks(ranks: Ranks) -> list[Row]:
    """Return one row per rank: host, CPU, NUMA node and allowed CPUs, each left out if it is absent."""
    rows = []
    for number, host in enumerate(ranks.host_names):
        row: Row = {"rank": number, "host": host}
        for name, column in (("cpu", ranks.cpu), ("numa_node", ranks.numa_node)):
            if column[number] != ABSENT:
                row[name] = None if column[number] == NULL else int(column[number])
        own = int(ranks.cpu_set[number])
        if own != ABSENT:
            row["allowed_cpus"] = None if own == NULL else list(ranks.cpu_sets[own])
        rows.append(row)
    return rows


def ranks_of(rows: Sequence[Row]) -> Ranks:
    """Return the ranks of rows."""
    hosts: dict[str, int] = {}
    cpu_sets: dict[tuple[int, ...], int] = {}
    own = [row.get("allowed_cpus", ABSENT) for row in rows]
    return Ranks(
        host_of=[hosts.setdefault(row["host"], len(hosts)) for row in rows],
        hosts=tuple(hosts),
        cpu=[_number(row.get("cpu", ABSENT)) for row in rows],
        numa_node=[_number(row.get("numa_node", ABSENT)) for row in rows],
        cpu_set=[
            cpu_sets.setdefault(tuple(cpus), len(cpu_sets)) if isinstance(cpus, list) else _number(cpus) for cpus in own
        ],
        cpu_sets=tuple(cpu_sets),
    )


def _number(value: int | None) -> int:
    return NULL if value is None else value


def output(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a benchmark's output, with the figures that it lacks, of one that has a row per rank."""
    declared = figures.of_series(document["series"])
    return {"figures": declared, **document, "ranks": by_node(document["ranks"])}


def by_node(rows: Sequence[Row]) -> dict[str, Any]:
    """Return the member `ranks` of a benchmark's output, which has a row per node, of one row per rank.

    The launches of a job have the same, so it is folded once.
    """
    return dict(json.loads(_by_node(json.dumps(rows))))


@functools.lru_cache(maxsize=64)
def _by_node(text: str) -> str:
    rows = json.loads(text)
    nodes: dict[str, list[Row]] = {}
    for row in rows:
        nodes.setdefault(row["host"], []).append(row)
    members = {
        "layouts": list(map(_layout, nodes.values())),
        "nodes": [
            {"host": host, "ranks": columns.fold([row["rank"] for row in own]), "layout": number}
            for number, (host, own) in enumerate(nodes.items())
        ],
    }
    return json.dumps(members)


def _layout(rows: Sequence[Row]) -> Row:
    ranks = ranks_of(rows)
    numbers = {"cpu": ranks.cpu, "allowed_cpus": ranks.cpu_set, "numa_node": ranks.numa_node}
    return {
        "ranks": len(rows),
        "cpu_sets": [columns.fold(cpus) for cpus in ranks.cpu_sets],
        **{name: columns.fold(column) for name, column in numbers.items()},
    }
