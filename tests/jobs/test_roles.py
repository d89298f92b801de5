"""Programs that run beside the measured one: which nodes, which words, and what their files prove."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.records import rows

from railyard.base.decoded import decoded
from railyard.base.errors import InputError
from railyard.jobs import load_evidence, roles
from railyard.jobs.job import job_folder
from railyard.jobs.job.job_folder import JobFolder
from railyard.jobs.job.spec import JobSpec
from railyard.jobs.job.submitted import NOT_PLACED, Planned
from railyard.jobs.load_evidence import Companions
from railyard.jobs.roles import Roles
from railyard.placements.orders.allocation import allocate
from railyard.placements.topology import catalog

EIGHT = allocate(catalog.load("gemini-2x2x2"), "snake")


def asked(*loads: str, rule: str = "interleaved", victim_nodes: int = 0) -> Roles:
    changes: Any = {"loads": loads, "split": rule, "victim_nodes": victim_nodes, "load_program": "sleep 1"}
    return roles.chosen(JobSpec(name="check", benchmark="halo", **changes), on_a_machine=False)


@pytest.mark.parametrize("load", ["incast", "incast.alltoall", "allreduce.allreduce.program", "copies"])
@pytest.mark.parametrize("rule", ["interleaved", "contiguous", "by-router", "random:3", "nodes:0,5"])
def test_no_node_has_two_programs_and_the_victim_s_nodes_stay(load: str, rule: str) -> None:
    said = asked(load, rule=rule, victim_nodes=2)
    own = [node.name for node in roles.victims(said, EIGHT).nodes]
    others = [node.name for _, nodes in roles.companions(said, EIGHT, load) for node in nodes.nodes]
    assert len(own) == 2
    assert not set(own) & set(others) and len(set(others)) == len(others)


@pytest.mark.parametrize(
    ("load", "names"), [("copies", ["copy-1", "copy-2", "copy-3"]), ("incast.incast", ["incast", "incast-2"])]
)
def test_copies_fill_the_allocation_and_two_congestors_of_one_pattern_have_two_names(
    load: str, names: list[str]
) -> None:
    found = roles.companions(asked(load, victim_nodes=2), EIGHT, load)
    assert [companion.name for companion, _ in found] == names
    assert sum(len(nodes.indices) for _, nodes in found) == 6


def test_a_congestor_writes_its_own_files_and_a_copy_the_victim_s_under_another_name() -> None:
    incast = asked("incast").loads["incast"][0]
    words = roles.program(incast, [], "launch-003", counts_nics=True)
    assert words[:2] == ["env", "RAILYARD_NICS=launch-003.incast.nics"]
    assert words[-6:] == [
        *("--ready", "launch-003.incast.ready"),
        *("--stop", "launch-003.stop"),
        *("--json", "launch-003.incast.json"),
    ]
    copy = roles.companions(asked("copies", victim_nodes=4), EIGHT, "copies")[0][0]
    victim = ["halo", "--json", "launch-003.json"]
    assert roles.program(copy, victim, "launch-003", counts_nics=False)[-1] == "launch-003.copy-1.json"


@pytest.mark.parametrize(
    ("load", "words"), [("hurricane", "incast, alltoall"), ("copies.incast", "full stop"), ("incast.", "incast")]
)
def test_an_unknown_load_is_refused_with_those_that_exist(load: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        asked(load)


def test_too_few_nodes_for_a_load_are_refused() -> None:
    with pytest.raises(InputError, match="at least one for each program"):
        roles.companions(asked("incast.alltoall", victim_nodes=7), EIGHT, "incast.alltoall")


def test_roles_survive_their_document() -> None:
    said = asked("incast.program", "copies", rule="random:3", victim_nodes=2)
    document = json.loads(json.dumps(dataclasses.asdict(said)))
    assert dataclasses.asdict(decoded(Roles, document, "roles")) == document


# ---- what is left of a launch ----


def write_launch(folder: Path, *, sent: int | None) -> None:
    """Write a launch whose congestor ran on two nodes and reports that its rounds have 1000 bytes."""
    output = {
        "format": "railyard-benchmark/3",
        "benchmark": "congestor",
        "version": "0.1.0",
        "parameters": {"pattern": "incast", "round_bytes": 1000, "rounds_sent": 9},
        "mpi": {"library": "x", "standard": "3.1", "ranks": 2},
        "verified": True,
        "ranks": [{"rank": rank, "host": f"n{rank}"} for rank in range(2)],
        "series": [{"fom": "round_us", "labels": {}, "samples": [1.0]}],
    }
    nics = [{"node": f"n{k}", "nic": "nic0", "tx_bytes": sent or 0, "rx_bytes": 0} for k in range(4)]
    (folder / "launch-000.incast.json").write_text(json.dumps(rows.output(output)))
    left = {
        "format": roles.FORMAT,
        "reasons": [],
        "victim": {"begun_s": 100.0, "ended_s": 108.0},
        "roles": [{"name": "incast", "exit_status": 0, "begun_s": 98.0, "ended_s": 109.0, "starts": 1}],
        "nics": None if sent is None else nics,
    }
    (folder / "launch-000.roles").write_text(json.dumps(left))


def companions(path: Path, role: str = "congestor") -> Companions:
    """Return the companions of the launch in a folder, of a job on nodes without named NICs."""
    planned = {"name": "incast", "role": role, "again": False, "command": "mpirun congestor"}
    launch = Planned(index=0, placement="plain", nic_policy="stripe", repeat=0, command="mpirun halo", roles=[planned])
    job: Any = SimpleNamespace(site=SimpleNamespace(devices=None))
    placed = dataclasses.replace(NOT_PLACED, roles={"plain": {"incast": ["n0", "n1"]}})
    companions = job_folder.launch(path, launch).companions
    return load_evidence.read(JobFolder(path=path, job=job, placed=placed), launch, companions, lambda *_: "")


def test_the_load_is_proved_by_the_bytes_of_its_own_nics(tmp_path: Path) -> None:
    write_launch(tmp_path, sent=60)
    found = companions(tmp_path)
    (role,) = found.roles
    assert (found.fault, found.void, role["status"]) == ("", [], "ok")
    assert [nic.node for nic in role["nics"]] == ["n0", "n1"]
    assert (role["begun_s"], role["victim_s"], role["ended_s"]) == (-2.0, 8.0, 9.0)
    assert load_evidence.guard({"verdict": "ok", "reasons": []}, found) == {"verdict": "ok", "reasons": []}


@pytest.mark.parametrize(("sent", "words"), [(20, "sent 40 bytes"), (None, "nothing counted")])
def test_a_load_that_is_not_proved_makes_the_launch_void(tmp_path: Path, sent: int | None, words: str) -> None:
    write_launch(tmp_path, sent=sent)
    found = companions(tmp_path)
    guard = load_evidence.guard(None, found)
    assert guard is not None and guard["verdict"] == "void" and words in guard["reasons"][0]


@pytest.mark.parametrize(("sent", "is_void"), [(0, True), (49, True), (50, False), (100, False)])
def test_a_copy_that_did_not_run_at_once_with_the_victim_makes_the_launch_void(
    tmp_path: Path, sent: int, is_void: bool
) -> None:
    """Before, a copy that began when the first one had ended counted as one of the copies at once."""
    write_launch(tmp_path, sent=100)
    path = tmp_path / "launch-000.roles"
    said = json.loads(path.read_text())
    for nic in said["nics"][:2]:
        nic["tx_bytes"] = sent
    path.write_text(json.dumps(said))
    found = companions(tmp_path, "copy")
    assert bool(found.void) == is_void
    if is_void:
        assert f"the NICs of incast sent {2 * sent} bytes while the first copy sent 200" in found.void[0]


def test_a_launch_fails_whose_congestor_ran_on_another_node_or_that_has_no_word_of_it(tmp_path: Path) -> None:
    write_launch(tmp_path, sent=600)
    path = tmp_path / "launch-000.incast.json"
    path.write_text(path.read_text().replace('"n1"', '"n7"'))
    assert companions(tmp_path).fault == "incast: rank 1 ran on n7, asked n1"
    (tmp_path / "launch-000.roles").write_text("{")
    assert "wrote nothing about the programs beside it" in companions(tmp_path).fault
