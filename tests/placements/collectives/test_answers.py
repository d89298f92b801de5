"""Which algorithm of a collective to use, and guidelines: effects in made records are found, and none where none is."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from support import synthetic
from support.commands import Run

from railyard.analysis.cases import cases
from railyard.analysis.figures import algorithms
from railyard.analysis.figures.drawing import svg_file
from railyard.analysis.judge import collectives
from railyard.base.errors import InputError
from railyard.placements.collectives import libraries, mpich_json
from railyard.placements.collectives.algorithms import Shape
from railyard.records import record
from railyard.records.record import Record

pytestmark = pytest.mark.unit

SIZES = (1024, 16384, 262144)
#: Algorithm -> how its time compares with the default's, by size: the ring loses short messages and wins long ones.
SPEED = {"default": (1.0, 1.0, 1.0), "allreduce:ring": (1.5, 1.0, 0.7), "allreduce:rabenseifner": (1.0, 1.0, 1.0)}
#: Collective -> its time in us at the smallest size.
COSTS = {"allreduce": 100.0, "reduce-scatter": 60.0, "allgather": 80.0}


def made(speed: Mapping[str, Sequence[float]], costs: Mapping[str, float] | None = None) -> Record:
    policies = ["library-default" if name == "default" else f"library-default+{name}" for name in speed]
    case = synthetic.case(
        check="rowcol_all",
        benchmark="rowcol",
        extents=[2, 2, 2],
        parameters={"repeats": 20},
        placements=["plain"],
        nic_policies=policies,
        launches_per_combination=6,
    )

    def series(chance: random.Random, placement: str, policy: str) -> synthetic.Series:
        launch = 1 + chance.gauss(0, 0.004)
        factors = speed[policy.partition("+")[2] or "default"]
        common = {"split": "all", "ranks": 8}
        return [
            {
                "fom": "slowest_us",
                "labels": {"collective": name, **common, "size_bytes": size // (1 if name == "allreduce" else 8)},
                "samples": synthetic.noisy(chance, cost * size / SIZES[0] * factor, launch),
            }
            for name, cost in (costs or {"allreduce": 100.0}).items()
            for size, factor in zip(SIZES, factors, strict=True)
        ]  # fmt: skip

    return synthetic.job(case, series)


def test_the_ring_is_used_from_the_size_on_from_which_it_is_faster() -> None:
    (answer,) = collectives.answers([made(SPEED)])
    assert answer.choice == "allreduce:ring@262144"
    assert answer.crossings == {"allreduce:ring".partition(":")[2]: (1024, 262144)}
    change = answer.sizes[262144].group("ring")
    assert change.change_interval and change.change_interval[0] < -30 < change.change_interval[1]


def test_the_heat_map_has_a_cell_for_each_algorithm_and_size() -> None:
    (case,) = cases.group([made(SPEED)])
    (drawing,) = algorithms.drawings(case)
    assert drawing.statement == "Use with plain: ring from 256 KiB on."
    found = {(row[1], int(row[2])): row[4] for row in drawing.data.rows}
    assert len(found) == 6 and found["ring", 1024] == "worse" and found["ring", 262144] == "better"
    assert "<svg" in svg_file(drawing)
    (other,) = cases.group([synthetic.halo(seed=1)])
    assert algorithms.drawings(other) == []


def test_equal_algorithms_leave_the_default() -> None:
    same = dict.fromkeys(SPEED, (1.0, 1.0, 1.0))
    (answer,) = collectives.answers([made(same)])
    assert (answer.choice, answer.crossings) == ("default", {})


def test_rules_are_open_mpis_own_file() -> None:
    """Three numbers for each size: from 0 bytes Open MPI's decision; other numbers of ranks have it at all sizes."""
    text = libraries.libraries()["openmpi"].rules("allreduce:ring@262144+allgather:bruck@1024", 8)
    words = [line.split() for line in text.splitlines()]
    assert words[0] == ["2"] and words[1:4] == [["2"], ["2"], ["8"]]
    assert words[4:7] == [["2"], ["0", "0", "0", "0"], ["262144", "4", "0", "0"]]
    assert ["8192", "2", "0", "0"] in words, "a block of 1024 bytes of each of 8 ranks"
    assert words.count(["9"]) == 2


def test_mpichs_file_has_the_librarys_own_decisions_but_for_the_rules(tmp_path: Path) -> None:
    """The decisions are in a library, beside others of its devices, which are no base."""
    names = ("bcast", "allreduce", "alltoall", "allgather", "reduce_scatter_block", "barrier", "ibcast")
    leaf: dict[str, dict[str, str]] = {"algorithm=MPIR_Bcast_intra_binomial": {}}
    tree = {f"collective={name}": {"comm_type=intra": leaf} for name in names}
    device = b'{"collective=bcast":{"composition=MPIDI_Bcast_alpha":{}}}'
    base, mpich = tmp_path / "libmpi.so.12", libraries.libraries()["mpich"]
    base.write_bytes(b"\0".join([b"\x7fELF", device, json.dumps(tree, separators=(",", ":")).encode(), b""]))
    made = json.loads(mpich_json.text(mpich, "allreduce:ring@1024+bcast:scatter-ring@64", 8, base))
    assert {name for name in tree if made[name] != tree[name]} == {"collective=bcast", "collective=allreduce"}
    ring: dict[str, dict[str, str]] = {"algorithm=MPIR_Bcast_intra_scatter_ring_allgather": {}}
    rules = {"total_msg_size<=511": leaf, "total_msg_size=any": ring}
    sized = made["collective=bcast"]["comm_type=intra"]
    assert list(sized.items()) == [("comm_size<=7", leaf), ("comm_size<=8", rules), ("comm_size=any", leaf)]
    assert "MPIR_Allreduce_intra_ring" in json.dumps(made["collective=allreduce"]["comm_type=intra"]["comm_size<=8"])
    for choice, file, error in (("barrier:dissemination@1", base, "without a radix"), ("", tmp_path, "a file to read")):
        with pytest.raises(InputError, match=error):
            mpich_json.text(mpich, choice, 8, file)
    base.write_bytes(device)
    with pytest.raises(InputError, match=r"--base: .*libmpi.so.12' is not valid; expected MPICH's library"):
        mpich_json.text(mpich, "", 8, base)


def test_each_choice_of_a_job_has_a_file_of_rules_of_its_own() -> None:
    library, choices = libraries.libraries()["openmpi"], ("bcast:chain@8", "bcast:chain@16")
    names = {libraries.environment(one, library)[library.rules_variable] for one in choices}
    files = {name for one in choices for name in libraries.files(one, Shape(ranks=8), library)}
    assert names == files == {"bcast-chain-8.rules", "bcast-chain-16.rules"}


@pytest.mark.parametrize(("cost", "verdict"), [(100.0, "holds"), (140.0, "no difference shown"), (170.0, "violated")])
def test_guidelines_have_verdicts(cost: float, verdict: str) -> None:
    """An allreduce of the cost of a reduce-scatter and an allgather; 16 times larger messages take longer."""
    found = collectives.guidelines([made({"default": (1.0, 1.0, 1.0)}, {**COSTS, "allreduce": cost})])
    of = {(row.left, row.right, row.size_bytes): row.verdict for row in found}
    assert {of["allreduce", "reduce-scatter + allgather", size] for size in SIZES} == {verdict}
    assert of["allreduce", "allreduce of 16384 bytes", 1024] == "holds"


def test_both_commands_print_verdicts_and_the_file(railyard: Run, tmp_path: Path) -> None:
    (tmp_path / "one.json").write_text(record.text(made(SPEED)))
    rules = tmp_path / "rules"
    words = ["collectives", "answer", tmp_path / "one.json", "--library", "openmpi", "--output", rules]
    text = railyard(*words).stdout
    assert "use ring from 256 KiB on: -S algorithms=default,allreduce:ring@262144" in text
    assert "ring passes the default between 1 KiB and 256 KiB" in text
    assert "262144 4 0 0" in rules.read_text()
    done = railyard("collectives", "guidelines", tmp_path / "one.json")
    assert done.returncode == 0 and "holds" in done.stdout
