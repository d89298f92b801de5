"""Placements by name: rank orders, node choices, host files, launchers' words, and what is refused."""

from __future__ import annotations

import dataclasses
import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.commands import Run, refused
from support.topology.topologies import gemini

from railyard.base.errors import InputError
from railyard.placements import launchers
from railyard.placements.hosts.node import Binding
from railyard.placements.launchers import Rendered
from railyard.placements.orders import spec
from railyard.placements.orders.allocation import Allocation, allocate, occupied, scheduled, within
from railyard.placements.orders.choices import choices, choose
from railyard.placements.orders.placement import Placement, place
from railyard.placements.orders.rank_orders import hilbert, orders
from railyard.placements.orders.spec import Spec
from railyard.placements.orders.walks import row_major
from railyard.placements.topology import catalog

#: A torus has no groups, and one router does not hold half of the nodes; see test_by_group.py.
TORUS_CHOICES = [c for c in choices() if "group" not in c and c not in {"one-switch", "half-routers"}]
EXTENTS = st.tuples(*[st.integers(1, 4)] * 3)
#: Every order but those that a torus, a grid or a machine may refuse, and the optimiser, which is compiled.
ORDERS = [
    f"{order}:{order.example}" if order.example else str(order)
    for order in orders().values()
    if not (order.searches or order.all_nodes or "group" in order.name)
]
JOBS = {
    "extents": EXTENTS,
    "choice": st.sampled_from(TORUS_CHOICES),
    "percent": st.integers(1, 100),
    "seed": st.integers(0, 5),
}


@settings(deadline=None, max_examples=60)
@given(order=st.sampled_from(ORDERS), **JOBS)
def test_every_order_fills_the_slots_of_the_chosen_nodes_and_no_other(
    *, order: str, extents: tuple[int, int, int], choice: str, percent: int, seed: int
) -> None:
    check_slots(order, extents, choice, percent=percent, seed=seed)


@pytest.mark.built
@settings(deadline=None, max_examples=20)
@given(**JOBS)
def test_the_optimiser_fills_the_slots_of_the_chosen_nodes_and_no_other(
    extents: tuple[int, int, int], choice: str, percent: int, seed: int
) -> None:
    check_slots("optimised:1", extents, choice, percent=percent, seed=seed)


def check_slots(order: str, extents: tuple[int, int, int], choice: str, *, percent: int, seed: int) -> None:
    topo = gemini("x".join(map(str, extents)), nodes_per_router=2)
    granted = occupied(allocate(topo, "snake"), percent, seed)
    nodes = max(1, len(granted.indices) // 2)
    placed = place(f"{order}@{choice}", granted, (1, nodes, 2), ranks_per_node=2, seed=seed)
    chosen = choose(granted, nodes, choice, seed)
    assert sorted(placed.indices.tolist()) == sorted(np.repeat(chosen.indices, 2).tolist())


@given(EXTENTS.map(lambda e: tuple(2**n for n in e)))
def test_a_hilbert_walk_of_a_power_of_two_cube_takes_single_steps(extents: tuple[int, ...]) -> None:
    side = (min(extents),) * 3
    cells = row_major(side)[hilbert.along(row_major(side))]
    assert (np.abs(np.diff(cells, axis=0)).sum(axis=1) == 1).all()
    assert len(np.unique(cells, axis=0)) == math.prod(side)


def test_hilbert_keeps_neighbours_nearer_than_row_by_row() -> None:
    granted = allocate(gemini("8x8x8"), "contiguous")
    far = {name: place(name, granted, (16, 16, 16), ranks_per_node=8).mean_hops() for name in ("hilbert", "plain")}
    assert far["hilbert"] < far["plain"]


def test_blocks_put_a_box_of_the_grid_on_each_node() -> None:
    placed = place("blocks:2x2x4", allocate(gemini("2x2x2"), "contiguous"), (4, 4, 8), ranks_per_node=16)
    box = placed.indices.reshape(4, 4, 8)
    assert len(np.unique(box[:2, :2, :4])) == 1 == len(np.unique(box[2:, 2:, 4:]))
    assert box[0, 0, 4] == placed.allocation.indices[1]


def test_snake_sorts_what_the_scheduler_shuffled() -> None:
    topo = gemini("4x2x8")
    shuffled = allocate(topo, "random", seed=4)
    assert place("snake", shuffled, (64,)).indices.tolist() == allocate(topo, "snake").indices.tolist()
    assert place("scheduler", shuffled, (64,)).indices.tolist() == shuffled.indices.tolist()


@pytest.mark.parametrize(
    ("choice", "names"),
    [
        ("contiguous", ["n0-0-0-0", "n0-0-0-1", "n0-0-1-0"]),
        ("scattered", ["n0-0-0-0", "n0-0-1-0", "n0-0-2-0"]),
        ("by-router", ["n0-0-0-0", "n0-0-1-0", "n0-0-2-0"]),
    ],
)
def test_node_choices(choice: str, names: list[str]) -> None:
    granted = allocate(gemini("1x1x3", nodes_per_router=2), "contiguous")
    assert [node.name for node in place(f"scheduler@{choice}", granted, (3,)).nodes] == names


@pytest.mark.parametrize(
    ("text", "order", "choice", "rest"),
    [
        ("custom", "custom", "contiguous", {}),
        ("blocks:2x2x4/core", "blocks", "contiguous", {"argument": "2x2x4", "binding": Binding.CORE}),
        ("random:7@random:3/numa", "random", "random", {"argument": "7", "choice_number": 3, "binding": Binding.NUMA}),
        ("file:/a@b/core.txt@scattered", "file", "scattered", {"argument": "/a@b/core.txt"}),
    ],
)
def test_a_name_says_order_choice_and_binding(text: str, order: str, choice: str, rest: dict[str, Any]) -> None:
    wanted = Spec(order=orders()[order], choice=choices()[choice], **rest)
    assert spec.parse(text) == wanted


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nonsense", ["nonsense", "hilbert", "blocks:AxB or AxBxC", "contiguous"]),
        ("plain:3", ["plain without an argument"]),
        ("blocks", ["blocks:AxB"]),
        ("blocks:3x1x1", ["3x1x1", "2 ranks per node that divide", "1x1x2"]),
        ("blocks:1xax2", ["1xax2"]),
        ("random:x", ["seed", "'x'", "integer"]),
        ("random:-1", ["'-1'", "0 or more"]),
        ("cart-create@elsewhere", ["cart-create@elsewhere", "scattered"]),
        ("cart-create@random", ["seed"]),
        ("blocks:1x1x2", ["none: the ranks of a node do not divide it"]),
    ],
)
def test_a_wrong_name_is_one_line(name: str, words: list[str]) -> None:
    grid = (3, 1, 5) if name == "blocks:1x1x2" else (2, 2, 4)
    with pytest.raises(InputError) as caught:
        place(name, allocate(gemini("2x2x2")), grid, ranks_per_node=2)
    assert "\n" not in str(caught.value)
    assert all(word in str(caught.value) for word in words), str(caught.value)


@pytest.mark.parametrize("side", [3, 5, 7])
def test_custom_fits_a_square_of_an_odd_side_whose_last_routers_give_one_node(side: int) -> None:
    topology = gemini("8x8x2", nodes_per_router=2)
    granted = within(allocate(topology, block=(side, (side + 1) // 2, 1)), (side, side, 1))
    placed = place("custom", granted, (side, side))
    cells = topology.cells(placed.indices)[:, :2].reshape(side, side, 2)
    assert sorted(placed.indices) == sorted(granted.indices)
    assert np.all(np.abs(np.diff(cells, axis=0)).sum(axis=-1) == 1), "neighbours in the grid are neighbours"
    assert np.all(np.abs(np.diff(cells, axis=1)).sum(axis=-1) == 1)


def test_custom_on_an_allocation_with_gaps_names_what_helps() -> None:
    with pytest.raises(InputError, match="optimised, hilbert, blocks"):
        place("custom", occupied(allocate(gemini("4x4x4")), 50, 1), (32,))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("n0-0-0\nn9-9-9\n", ["line 2", "n9-9-9", "whose coordinate is known"]),
        ("n0-0-0\nrank zero\n", ["line 2", "rank zero", "HOST:SLOTS"]),
        ("# nothing\n", ["no node"]),
    ],
)
def test_a_host_file_that_is_wrong_is_one_line(railyard: Run, tmp_path: Path, text: str, words: list[str]) -> None:
    (tmp_path / "hosts").write_text(text)
    refused(railyard("place", "gemini-2x2x2", "--grid", "2", "--nodes", str(tmp_path / "hosts")), *words)


def test_a_host_file_is_an_allocation_in_its_order(railyard: Run, tmp_path: Path) -> None:
    (tmp_path / "hosts").write_text("n1-1-1 slots=4\nn0-0-0  # mine\n\nn0-1-0:2\nn1-1-1\n")
    words = "place gemini-2x2x2 --grid 3 --placement scheduler --format openmpi-hostfile --nodes"
    done = railyard(*words.split(), str(tmp_path / "hosts"))
    assert done.stdout.split() == ["n1-1-1", "n0-0-0", "n0-1-0"]


def test_a_file_says_the_node_of_each_rank(tmp_path: Path) -> None:
    (tmp_path / "ranks").write_text("n0-0-1\nn0-0-0\nn0-0-1\nn0-0-0\n")
    granted = allocate(gemini("1x1x2"))
    placed = place(f"file:{tmp_path}/ranks", granted, (4,), ranks_per_node=2)
    assert [node.name for node in placed.nodes] == ["n0-0-1", "n0-0-0", "n0-0-1", "n0-0-0"]
    assert placed.local_ranks.tolist() == [0, 0, 1, 1]
    with pytest.raises(InputError, match="4 lines"):
        place(f"file:{tmp_path}/ranks", granted, (3,), ranks_per_node=2)


def small(name: str, granted: Allocation | None = None) -> Placement:
    return place(name, granted or allocate(gemini("2x1x1"), "contiguous"), (2, 2), ranks_per_node=2)


HOSTS = "n0-0-0\nn1-0-0\nn0-0-0\nn1-0-0\n"
NODES = "n0-0-0\nn1-0-0\n"
BLOCKS = "srun --kill-on-bad-exit=1 --ntasks 4 --nodes 2 --nodelist ./p.nodes --ntasks-per-node 2 --distribution=block"
GOLDEN = {
    ("openmpi4", "plain"): (
        "mpirun -np 4 --map-by seq --hostfile p.hostfile --bind-to none",
        {},
        {"p.hostfile": HOSTS},
    ),
    ("openmpi4", "plain/core"): (
        "mpirun -np 4 --rankfile p.rankfile",
        {},
        {"p.rankfile": "rank 0=n0-0-0 slot=0\nrank 1=n1-0-0 slot=0\nrank 2=n0-0-0 slot=1\nrank 3=n1-0-0 slot=1\n"},
    ),
    ("openmpi4", "scheduler"): (
        "mpirun -np 4 --map-by slot --hostfile p.hostfile --bind-to none",
        {},
        {"p.hostfile": "n0-0-0 slots=2\nn1-0-0 slots=2\n"},
    ),
    ("openmpi5", "cart-create/numa"): (
        "mpirun -np 4 --hostfile p.hostfile --map-by rankfile:file=p.rankfile --bind-to package:overload-allowed",
        {},
        {
            "p.hostfile": "n0-0-0 slots=2\nn1-0-0 slots=2\n",
            "p.rankfile": "rank 0=n0-0-0 slot=0:*\nrank 1=n0-0-0 slot=0:*\n"
            "rank 2=n1-0-0 slot=0:*\nrank 3=n1-0-0 slot=0:*\n",
        },
    ),
    ("mpich", "cart-create/core"): (
        "mpiexec -f p.hosts -n 4 -bind-to user:0,1",
        {},
        {"p.hosts": "n0-0-0:2\nn1-0-0:2\n"},
    ),
    ("slurm", "plain/core"): (
        "srun --kill-on-bad-exit=1 --ntasks 4 --distribution=arbitrary --cpu-bind=map_cpu:0,1",
        {"SLURM_HOSTFILE": "p.hosts"},
        {"p.hosts": HOSTS},
    ),
    ("slurm", "scheduler"): (f"{BLOCKS} --cpu-bind=none", {}, {"p.nodes": NODES}),
    ("cray-mpich", "plain/numa"): (
        f"{BLOCKS} --cpu-bind=map_ldom:0,0",
        {"MPICH_RANK_REORDER_METHOD": "3", "MPICH_RANK_REORDER_FILE": "p.rank_order"},
        {"p.nodes": NODES, "p.rank_order": "0,2\n1,3\n"},
    ),
    ("cray-mpich", "scheduler"): (f"{BLOCKS} --cpu-bind=none", {"MPICH_RANK_REORDER_METHOD": "1"}, {"p.nodes": NODES}),
}


@pytest.mark.parametrize(("launcher", "name"), sorted(GOLDEN))
def test_a_launcher_is_told_of_a_placement(launcher: str, name: str) -> None:
    rendered = launchers.render(launcher, small(name), stem="p")
    assert (" ".join(rendered.command), rendered.environment, rendered.files) == GOLDEN[launcher, name]


def block_filled(rendered: Rendered, order: list[str]) -> list[str]:
    """The node of each rank as srun and Cray MPICH read the launch; `order` is srun's own order of the job's nodes."""
    words = dict(itertools.pairwise(rendered.command))
    listed = rendered.files[words["--nodelist"].removeprefix("./")].split()
    nodes = sorted(listed, key=order.index)[: int(words["--nodes"])]
    slots = [node for node in nodes for _ in range(int(words["--ntasks-per-node"]))]
    file = rendered.environment.get("MPICH_RANK_REORDER_FILE")
    ranks = [int(word) for word in rendered.files[file].replace(",", " ").split()] if file else range(len(slots))
    at = dict(zip(ranks, slots, strict=True))
    return [at[rank] for rank in sorted(at)]


@pytest.mark.parametrize("order", ["snake", "contiguous", "random"])
@pytest.mark.parametrize(
    "name", ["plain", "plain@scattered", "random@random:5", "cart-create@by-router", "hilbert", "scheduler"]
)
def test_cray_mpich_puts_every_rank_where_its_placement_says(name: str, order: str) -> None:
    """A step without node names runs on the first nodes of the job, and srun sorts the names that it is given."""
    topology = gemini("2x2x4")
    numbered = np.random.default_rng(3).permutation(len(topology.nodes))
    granted = dataclasses.replace(allocate(topology, order, seed=1), counted=numbered)
    if name == "scheduler":
        granted = scheduled(topology, numbered)
    placed = place(name, granted, (2, 2, 2), ranks_per_node=2, seed=7)
    rendered = launchers.render("cray-mpich", placed, stem="p")
    names = [topology.nodes[index].name for index in numbered]
    assert block_filled(rendered, names) == [node.name for node in placed.nodes]
    assert "--distribution=block" in rendered.command


@pytest.mark.parametrize("launcher", ["slurm", "openmpi4"])
def test_the_schedulers_own_placement_is_on_the_chosen_nodes(launcher: str) -> None:
    placed = place("scheduler@scattered", allocate(gemini("2x2x4"), "contiguous"), (4,))
    (text,) = launchers.render(launcher, placed, stem="p").files.values()
    assert [line.split()[0] for line in text.splitlines()] == [node.name for node in placed.nodes]
    assert placed.nodes[1].name != "n0-0-1"


@pytest.mark.parametrize(
    ("launcher", "name", "words"),
    [
        ("mpich", "plain", ["plain, which comes back to n0-0-0", "mpich", "one rank a node"]),
        ("cray-mpich", "file", ["1 to 2 ranks per node", "as many ranks on every node"]),
        ("no-launcher", "plain", ["no-launcher", "openmpi4", "cray-mpich"]),
    ],
)
def test_what_a_launcher_cannot_say_is_one_line(launcher: str, name: str, words: list[str], tmp_path: Path) -> None:
    granted = allocate(gemini("2x1x1"), "contiguous")
    if name == "file":
        (tmp_path / "ranks").write_text("n0-0-0\nn1-0-0\nn0-0-0\n")
        placed = place(f"file:{tmp_path}/ranks", granted, (3,), ranks_per_node=2)
    else:
        placed = small(name, granted)
    with pytest.raises(InputError) as caught:
        launchers.render(launcher, placed)
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_every_launcher_refuses_a_binding_that_it_lacks() -> None:
    """The launchers without a machine have no cores to bind to; PALS, ibrun and jsrun are given none."""
    refusing = set()
    for name in launchers.LAUNCHERS:
        try:
            launchers.render(name, small("cart-create/core"))
        except InputError as error:
            assert f"{name} cannot bind by core" in str(error)
            refusing.add(name)
    assert refusing == {"smpi", "linkload", "pals", "ibrun", "jsrun"}


def test_place_writes_a_launchers_files(railyard: Run, tmp_path: Path) -> None:
    words = ["place", "gemini-2x2x2", "--grid", "4x2x2", "--ranks-per-node", "2", "--placement", "hilbert/core"]
    done = railyard(*words, "--launcher", "openmpi4", "--output", str(tmp_path / "new"))
    assert done.stdout == "mpirun -np 16 --rankfile placement.rankfile PROGRAM\n", done.stderr
    assert len((tmp_path / "new/placement.rankfile").read_text().splitlines()) == 16


def test_half_routers_give_one_node_as_of_the_8192_nodes_on_4118_routers() -> None:
    """Pedretti et al., CUG'13, section IV: 4,118 routers for 8,192 nodes of Cielo."""
    granted = allocate(catalog.load("cielo"), "snake")
    chosen = choose(granted, 8192, "half-routers", 44)
    routers, nodes = np.unique(granted.topology.router_of_node[chosen.indices], return_counts=True)
    assert len(chosen.indices) == 8192 and len(routers) == 4118
    assert sorted(np.unique(nodes, return_counts=True)[1].tolist()) == [44, 4074]


@pytest.mark.parametrize(("count", "halves"), [(8192, 43), (9216, 2), (4, 6)])
def test_half_routers_that_do_not_fit_are_refused_in_one_line(count: int, halves: int) -> None:
    granted = allocate(catalog.load("cielo"), "snake")
    with pytest.raises(InputError, match=r"half-routers: .*routers with two granted nodes"):
        choose(granted, count, "half-routers", halves)
