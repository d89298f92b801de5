"""What a partition can give of a check's request, without ReFrame: skips, lists, nodes and grid."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
from support import synthetic

from railyard.base.errors import InputError
from railyard.jobs import submission
from railyard.jobs.job import request
from railyard.jobs.job.spec import JobSpec
from railyard.jobs.partition import Partition
from railyard.placements.orders.allocation import allocate
from railyard.placements.topology import catalog
from railyard.records.assemble import LaunchRun
from railyard.records.store import archive

ASKED = JobSpec(name="halo_3d %x=1", benchmark="halo", placements=("plain", "custom"))
TORUS = Partition.read("vtorus:netns", "local", {"origin": "emulated", "topology": "gemini-4x4x4"}, {})
FEATURES = ("openmpi", "openmpi-tcp")
CLUSTER = Partition.read("site:cpu", "slurm", {"nodes": 4}, {}, features=FEATURES)
SMOKE = {"topology": "gemini-4x4x4", "smoke_topology": "gemini-2x2x2"}


def asked(**changes: Any) -> JobSpec:
    return JobSpec.of({**{name: getattr(ASKED, name) for name in ASKED.__dataclass_fields__}, **changes})


#: Where a block with another number of dimensions ended in a ValueError.
ON_GEMINI = dataclasses.replace(CLUSTER, topology="gemini-2x2x2")


@pytest.mark.parametrize(
    ("changes", "where", "words"),
    [
        ({}, CLUSTER, ""),
        ({"needs_coordinates": True}, CLUSTER, "needs the nodes' coordinates; site:cpu names no topology"),
        ({"grid": [4, 4, 4]}, CLUSTER, "needs 64 nodes; jobs on site:cpu have 4"),
        ({"grid": [5], "nics": ["nic-0", "nic-1"]}, CLUSTER, "needs 5 nodes"),
        ({"nics": ["nic-0", "nic-1"], "ranks_per_node": 9}, CLUSTER, "needs 2 NICs per node; site:cpu names no NICs"),
        (
            {"nics": ["nic-2"]},
            dataclasses.replace(CLUSTER, devices=["a", "b"]),
            "needs 3 NICs per node; site:cpu names 2",
        ),
        ({"ranks_per_node": 9}, CLUSTER, "needs 9 ranks per node; site:cpu has 8 CPUs per node"),
        ({"ranks_per_node": 8}, CLUSTER, ""),
        ({"nics": ["nic-0", "nic-1"], "torus": "dual-rail-small"}, TORUS, ""),
        ({"block": [2], "needs_coordinates": True}, ON_GEMINI, "needs a block of 2 routers"),
    ],
)
def test_a_check_is_skipped_with_the_first_thing_that_is_lacking(
    changes: dict[str, Any], where: Partition, words: str
) -> None:
    reason = request.lacking(asked(**changes), where, cpus=8)
    assert reason.startswith(words) and bool(reason) == bool(words)


def test_a_machine_without_coordinates_leaves_out_what_needs_them_and_a_torus_of_the_job_nothing() -> None:
    on_torus = request.fitted(asked(block=[2, 2, 2]), TORUS)
    assert (on_torus.request, on_torus.left_out) == (asked(block=[2, 2, 2]), {})
    fitted = request.fitted(ASKED, CLUSTER)
    assert list(fitted.request.placements) == ["plain"] and list(fitted.left_out) == ["custom"]
    assert fitted.nothing_left == ""
    none = request.fitted(asked(placements=["custom"]), CLUSTER)
    assert "site:cpu" in none.nothing_left


def test_a_record_that_could_not_be_read_again_is_refused_beforehand() -> None:
    """36 nodes with 128 ranks were too many once; a whole machine is not."""
    where = Partition.read("site:cpu", "slurm", {"nodes": 10_000, "nics": [f"mlx5_{k}" for k in range(8)]}, {})
    whole = asked(grid=[10_000, 128], launches=6)
    request.check_size(whole, where, 10_000)
    with pytest.raises(InputError, match=r"1,280,000 ranks in one record.*expected at most \d+: fewer launches"):
        request.check_size(asked(grid=[10_000, 128], launches=60), where, 10_000)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"placements": ["plain", "plain"]}, "placements: plain is listed twice; expected each word once"),
        ({"nics": ["stripe", "nic-0", "stripe"]}, "nics: stripe is listed twice"),
        ({"software": ["native", "native"]}, "software: native is listed twice"),
        ({"placements": ["file:" + "x" * 200]}, "at most 200 printable characters"),
        ({"until": "2 percent"}, "until: '2 percent' is not valid; expected a percentage such as 2%"),
        ({"until": "0%"}, "until: '0%' is not valid"),
        ({"until": "2%"}, "until: 6 launches allow no look before the last; expected -S launches=N with N above 6"),
        ({"until": "2%", "launches": 20, "finishes": "record.json"}, "it cannot finish a job that ended early"),
    ],
)
def test_what_no_record_may_have_and_no_round_could_satisfy_is_refused_before_the_job(
    changes: dict[str, Any], told: str
) -> None:
    """The launches would run, and no record could be made of them, or no look would end them."""
    with pytest.raises(InputError, match=told):
        request.for_partition(asked(**changes), CLUSTER)


@pytest.mark.parametrize(
    ("changes", "where", "nodes", "grid"),
    [
        ({}, TORUS, 64, [4, 4, 4]),
        ({"block": [2, 2, 4]}, TORUS, 16, [2, 2, 4]),
        ({"ranks_per_node": 2}, TORUS, 64, [4, 4, 8]),
        ({"torus": "gemini-2x2x2"}, TORUS, 8, [2, 2, 2]),
        ({"allocation": "axes"}, TORUS, 7, [7]),
        ({}, CLUSTER, 4, [2, 2, 1]),
        ({"nodes": 8, "ranks_per_node": 8}, CLUSTER, 8, [4, 4, 4]),
    ],
)
def test_nodes_and_grid_follow_from_the_request(
    changes: dict[str, Any], where: Partition, nodes: int, grid: list[int]
) -> None:
    made = asked(**changes)
    granted = request.allocation(made, where := where.with_torus(made.torus))
    assert len(granted.indices) == nodes
    assert request.whole_grid(made, where, granted) == grid


@pytest.mark.parametrize(("scheduler", "extras"), [("local", {"nodes": 1}), ("slurm", {"nodes": 4})])
def test_nodes_of_which_nothing_is_known_have_the_seed_that_the_strict_check_expects(
    scheduler: str, extras: dict[str, Any]
) -> None:
    assert request.allocation(asked(seed=7), Partition.read("site:cpu", scheduler, extras, {})).seed == 7
    with pytest.raises(InputError, match=r"site:cpu: extras.nodes: 0 .* by -S nodes=N"):
        request.allocation(ASKED, Partition.read("site:cpu", "slurm", {}, {}))


CUBES = {"topology": "gemini-3x3x3", "nodes": 27}
SLURM = Partition.read("site:cpu", "slurm", CUBES, {})
NAMED = Partition.read("site:cpu", "slurm", {**CUBES, "names_nodes": True}, {})
PAPER = {"torus": "blue-waters", "placements": ["plain", "custom"]}


def test_a_box_of_nodes_is_another_block_where_routers_have_other_numbers_of_nodes() -> None:
    """The papers' cube of 3x3x3 nodes is 3x2x3 routers of Blue Waters, two nodes on each, but 3x3x3 routers here."""
    cube = asked(**PAPER, grid=[3, 3, 3], block=[3, 2, 3], cube=[3, 3, 3])
    fitted = request.fitted(cube, SLURM)
    assert (list(fitted.request.block), list(fitted.request.cube), fitted.left_out) == ([3, 3, 3], [], {})
    granted = request.allocation(fitted.request, SLURM)
    assert len(granted.indices) == 27
    even = request.fitted(asked(**PAPER, grid=[2, 2], block=[2, 1, 1]), SLURM)
    assert (list(even.request.block), even.left_out) == ([2, 2, 1], {})
    large = request.fitted(asked(**PAPER, grid=[3, 3, 3], block=[4, 2, 4], cube=[4, 4, 4]), SLURM)
    assert (list(large.request.block), list(large.request.cube)) == ([], [])


@pytest.mark.parametrize("where", [SLURM, NAMED])
def test_custom_is_left_out_where_no_box_of_the_machine_takes_the_grid(where: Partition) -> None:
    plane = asked(**PAPER, grid=[5, 5], block=[5, 3, 1], cube=[5, 5, 1])
    fitted = request.fitted(plane, where)
    assert list(fitted.request.placements) == ["plain"] and "5x5" in fitted.left_out["custom"]
    folded = request.fitted(asked(**PAPER, grid=[9, 3], block=[9, 2, 1], cube=[9, 3, 1]), where)
    assert list(folded.request.placements) == ["plain", "custom"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"block": [3, 3, 3], "cube": [3, 3, 3]}, ""),
        ({"block": [3, 3, 3]}, ""),
        ({"block": [7, 4, 7], "cube": [7, 7, 7]}, "needs 343 nodes; jobs on site:cpu have 27"),
        ({"block": [4, 2, 2], "cube": []}, "needs 32 nodes; jobs on site:cpu have 27"),
        ({"block": [1, 1, 4], "cube": []}, "needs a block of 1x1x4 routers of a torus; site:cpu has 3x3x3"),
    ],
)
def test_a_block_takes_the_nodes_that_it_has_on_the_machine(changes: dict[str, Any], words: str) -> None:
    walking = asked(torus="blue-waters", needs_coordinates=True, **changes)
    assert request.lacking(walking, SLURM, cpus=8).partition(" (")[0] == words


def preempted(run: LaunchRun, _: dict[str, Any]) -> LaunchRun:
    """Return a launch as a job leaves it that ended in its fifth round."""
    if run.repeat < 4:
        return run
    return dataclasses.replace(run, output=None, exit_status=None, started=None, reason="the job ended")


def test_a_job_finishes_the_rounds_that_an_earlier_one_lacks(tmp_path: Path) -> None:
    made = {
        name: archive.add(synthetic.halo(change=change), tmp_path / name)
        for name, change in {"early": preempted, "whole": lambda run, _: run}.items()
    }
    wanted = asked(placements=["plain", "cart-create", "custom"], nics=["library-default"], launches=6)
    assert request.finishing(dataclasses.replace(wanted, finishes=str(made["early"]))).launches == 2
    refused: list[tuple[str, dict[str, Any], str]] = [
        ("whole", {}, "lacks no round"),
        ("early", {"placements": ("plain",)}, "expected a record of halo_3d with placements plain and"),
        ("early", {"name": "halo_folded"}, "expected a record of halo_folded"),
    ]
    for record, changes, words in refused:
        with pytest.raises(InputError, match=words):
            request.finishing(dataclasses.replace(wanted, finishes=str(made[record]), **changes))


@pytest.mark.parametrize(
    ("scheduler", "origin", "tag", "torus"),
    [
        ("local", "emulated", "smoke", "gemini-2x2x2"),
        ("local", "emulated", "coral", ""),
        ("squeue", "emulated", "smoke", ""),
        ("local", "measured", "smoke", ""),
    ],
)
def test_smoke_checks_get_the_small_torus_only_where_the_job_makes_one(
    scheduler: str, origin: str, tag: str, torus: str
) -> None:
    where = Partition.read("vtorus:some", scheduler, {"origin": origin, **SMOKE}, {})
    assert where.torus_for({tag}, "") == torus
    assert where.torus_for({tag}, "dual-rail-small") == "dual-rail-small"


# ---- nodes near to each other: the option of each scheduler ----


@pytest.mark.parametrize(
    ("scheduler", "value", "option"),
    [
        ("slurm", 1, "--switches=1"),
        ("slurm", "2@30", "--switches=2@30"),
        ("squeue", "1@1-12:00:00", "--switches=1@1-12:00:00"),
        ("pbs", "switch", "-l place=group=switch"),
        ("pbs", "", None),
    ],
)
def test_the_scheduler_gets_its_own_option(scheduler: str, value: str | int, option: str | None) -> None:
    where = Partition.read("site:cpu", scheduler, {"nodes": 4, "constraint": value}, {})
    granted = allocate(catalog.load("gemini-2x2x2"), "contiguous", seed=1)
    options = list(submission.options(where, granted))
    assert option in options if option else options == []


@pytest.mark.parametrize(
    ("scheduler", "name", "value", "words"),
    [
        ("slurm", "origin", "wrong", "emulated, measured"),
        ("slurm", "engine", "wrong", "netns"),
        ("slurm", "constraint", "one", "COUNT"),
        ("slurm", "constraint", "1 --nodelist=x", "COUNT"),
        ("pbs", "constraint", "switch:excl", "resource"),
        ("flux", "constraint", "switch", "none with the scheduler flux"),
        ("local", "constraint", "1", "none with the scheduler local"),
    ],
)
def test_a_word_that_reframe_yml_cannot_have_is_one_line(scheduler: str, name: str, value: str, words: str) -> None:
    with pytest.raises(InputError, match=f"reframe.yml: site:cpu: extras.{name}: '{value}'") as caught:
        Partition.read("site:cpu", scheduler, {"nodes": 4, name: value}, {})
    assert words in str(caught.value) and "\n" not in str(caught.value)
