"""Launchers whose software is not here, read back from their text by the rules of their manual pages.

Each reader below knows a launcher's manual alone, nothing of railyard's renderer. It returns each rank's node and the
processors that it is bound to, or refuses words that the manual does not have.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from support.commands import CHECKOUT, program
from support.mpis import matrix

from railyard.base.errors import InputError
from railyard.jobs.nodes import allocated_nodes
from railyard.placements import launchers
from railyard.placements.arrays import np
from railyard.placements.hosts import naming
from railyard.placements.hosts.node import BINDINGS, Binding
from railyard.placements.launchers import LAUNCHERS, Rendered
from railyard.placements.launchers.jsrun import PREAMBLE
from railyard.placements.linkload.patterns import patterns
from railyard.placements.nics.policies import policies
from railyard.placements.nics.stacks import stacks
from railyard.placements.orders.allocation import scheduled
from railyard.placements.orders.choices import choices
from railyard.placements.orders.placement import Placement, place
from railyard.placements.orders.rank_orders import orders
from railyard.reference import catalogue, tables

Where = tuple[str, str]
#: Every order with every binding. The optimiser is compiled.
PLACEMENTS = [
    pytest.param(f"{order}/{binding}", marks=[pytest.mark.built] if order.startswith("optimised") else [])
    for order in matrix.ORDERS
    for binding in matrix.BINDINGS
]


def options(words: Sequence[str], with_value: set[str], alone: set[str]) -> Iterator[tuple[str, str]]:
    """Yield a command's options; an option that the manual does not have is an error."""
    rest = list(words)
    while rest:
        name, mark, value = rest.pop(0).partition("=")
        if name in alone:
            yield name, ""
        else:
            assert name in with_value, name
            yield name, value if mark else rest.pop(0)


def hydra_nodes(rendered: Rendered, option: str = "-f") -> list[str]:
    """mpiexec(1) of MPICH, -f: HOST[:COUNT] a line; lines of one host apart from each other are several nodes."""
    assert rendered.command[0] == "mpiexec"
    given = dict(options(rendered.command[1:], {option, "-n"}, set()))
    lines = [line.split(":") for line in rendered.files[given[option]].splitlines()]
    assert len({host for host, _ in lines}) == len(lines)
    return [host for host, count in lines for _ in range(int(count))][: int(given["-n"])]


def numbered(nodes: Sequence[str]) -> Iterator[tuple[str, int]]:
    """Yield each rank's node and its number there, in the order of ranks."""
    seen: Counter[str] = Counter()
    for node in nodes:
        yield node, seen[node]
        seen[node] += 1


def bound(nodes: Sequence[str], cores: Sequence[str]) -> list[Where]:
    """Return where the ranks are if the k-th rank of a node has the k-th entry; no entry is no binding."""
    return [(node, cores[k] if cores else "any") for node, k in numbered(nodes)]


def intel_mpi(rendered: Rendered) -> list[Where]:
    """Developer reference 2021.15, "Environment Variables for Process Pinning": I_MPI_PIN is on by default.

    The counts of the file hold with -machinefile. With -f a node of two processors gets two ranks at a time, whatever
    its count is.
    """
    told = rendered.environment
    assert told["I_MPI_JOB_RESPECT_PROCESS_PLACEMENT"] == "0"
    if told.get("I_MPI_PIN", "1") == "0":
        return bound(hydra_nodes(rendered, "-machinefile"), [])
    domain = told.get("I_MPI_PIN_DOMAIN")
    assert domain in {None, "numa"}
    cores = ["numa"] * matrix.RANKS_PER_NODE if domain else told["I_MPI_PIN_PROCESSOR_LIST"].split(",")
    return bound(hydra_nodes(rendered, "-machinefile"), cores)


def mvapich_cores(told: Mapping[str, str]) -> list[str]:
    """User guide of MVAPICH2 2.3: MV2_CPU_MAPPING, one entry for each rank of a node, with colons between."""
    if told.get("MV2_ENABLE_AFFINITY", "1") == "0":
        return []
    return told["MV2_CPU_MAPPING"].split(":")


def mvapich(rendered: Rendered) -> list[Where]:
    """User guide of MVAPICH2 2.3, "Run using Hydra (mpiexec)"."""
    return bound(hydra_nodes(rendered), mvapich_cores(rendered.environment))


def mpirun_rsh(rendered: Rendered) -> list[Where]:
    """User guide of MVAPICH2 2.3, "Run using mpirun_rsh": ranks take the lines; NAME=VALUE right before the program."""
    command, words = rendered.command[0], list(rendered.command[1:])
    settings = list(itertools.takewhile(lambda word: "=" in word, reversed(words)))
    assert command == "mpirun_rsh" and not rendered.environment
    given = dict(options(words[: len(words) - len(settings)], {"-np", "-hostfile"}, set()))
    nodes = rendered.files[given["-hostfile"]].split()
    assert len(nodes) == int(given["-np"])
    return bound(nodes, mvapich_cores(dict(word.split("=", 1) for word in settings)))


def flux(rendered: Rendered) -> list[Where]:
    """flux-run(1), --requires and --taskmap; flux-shell(1), cpu-affinity: a map has one set for each task, with ;."""
    assert rendered.command[:2] == ("flux", "run")
    known = {"--nodes", "--ntasks", "--requires", "--taskmap", "-o"}
    found = list(options(rendered.command[2:], known, {"--exclusive"}))
    given = dict(found)
    shell = dict(value.split("=", 1) for name, value in found if name == "-o")
    scheme, _, file = given["--taskmap"].partition(":")
    operator, _, hosts = given["--requires"].partition(":")
    nodes = rendered.files[file].split()
    assert (scheme, operator, shell["gpu-affinity"]) == ("hostfile", "hosts", "off") and "--exclusive" in given
    assert set(hosts.split(",")) == set(nodes)
    assert (int(given["--nodes"]), int(given["--ntasks"])) == (len(set(nodes)), len(nodes))
    affinity, _, sets = shell["cpu-affinity"].partition(":")
    assert affinity in {"off", "map"}
    return bound(nodes, sets.split(";") if sets else [])


def pals(rendered: Rendered) -> list[Where]:
    """mpiexec(1) of HPE PALS: --ppn ranks on each host of --hostfile, in its order."""
    assert rendered.command[0] == "mpiexec"
    given = dict(options(rendered.command[1:], {"-n", "--ppn", "--hostfile", "--cpu-bind"}, set()))
    hosts = rendered.files[given["--hostfile"]].split()
    nodes = [host for host in hosts for _ in range(int(given["--ppn"]))][: int(given["-n"])]
    assert given["--cpu-bind"] == "none" and len(set(hosts)) == len(hosts)
    return bound(nodes, [])


def jsrun(rendered: Rendered) -> list[Where]:
    """IBM's "Explicit Resource File (ERF) format": `rank: N: {hostname: HOST; cpu: *; ...}` after a preamble."""
    assert rendered.command[:2] == ("jsrun", "--erf_input") and "overlapping_rs: allow" in PREAMBLE
    body = rendered.files[rendered.command[2]].removeprefix(PREAMBLE)
    lines = [re.fullmatch(r"rank: (\d+): \{ hostname: (\S+); cpu: \* ; .*\}", line) for line in body.splitlines()]
    hosts = {int(line[1]): line[2] for line in lines if line}
    assert sorted(hosts) == list(range(len(lines)))
    return bound([hosts[rank] for rank in sorted(hosts)], [])


READERS: Mapping[str, Callable[[Rendered], list[Where]]] = {
    "flux": flux,
    "jsrun": jsrun,
    "intel-mpi": intel_mpi,
    "mpirun-rsh": mpirun_rsh,
    "mvapich": mvapich,
    "pals": pals,
}
#: Orders of the matrix that return to a node: Hydra and PALS refuse them.
RETURNING = {"plain", "custom", "random:1", "file", "by-rail", "by-pod-rail"}


def wanted(placed: Placement) -> list[Where]:
    """Return each rank's node and processors, from the placement alone."""
    words = {Binding.NONE: "any", Binding.NUMA: "numa"}
    return [
        (node.name, words.get(placed.binding, str(local)))
        for node, local in zip(placed.nodes, placed.local_ranks.tolist(), strict=True)
    ]


@pytest.mark.parametrize("launcher", sorted(READERS))
@pytest.mark.parametrize("name", PLACEMENTS)
def test_a_launch_reads_back_as_its_placement_or_is_refused(launcher: str, name: str) -> None:
    """Every order and binding: what the manual makes of the text is the placement, or the launcher refuses it."""
    placed, order = matrix.one(name), name.rpartition("/")[0]
    any_order = launcher in {"flux", "jsrun", "mpirun-rsh"}
    can = placed.binding in LAUNCHERS[launcher].bindings and (any_order or order not in RETURNING)
    if not can:
        with pytest.raises(InputError, match=launcher):
            launchers.render(launcher, placed)
        return
    assert READERS[launcher](launchers.render(launcher, placed)) == wanted(placed)


@pytest.mark.parametrize(
    ("reframe_launcher", "features", "name"),
    [
        ("mpirun", ["mpi", "openmpi"], "openmpi4"),
        ("mpirun", ["mpi", "openmpi5", "ucx"], "openmpi5"),
        ("mpiexec", ["mpich", "ucx"], "mpich"),
        ("mpirun", ["mpich"], "mpich"),
        ("srun", ["mpi", "openmpi"], "slurm"),
        ("srun", ["mpich"], "slurm"),
        ("srun", ["mpi", "cray-mpich"], "cray-mpich"),
        ("local", ["mpi", "smpi"], "smpi"),
        ("local", ["mpi", "linkload"], "linkload"),
        ("mpirun-intelmpi", ["mpi", "intel-mpi"], "intel-mpi"),
        ("mpiexec", ["mpi", "mvapich2"], "mvapich"),
        ("mpirun", ["mpi", "mvapich2", "mpirun-rsh"], "mpirun-rsh"),
        ("mpirun", ["mpi", "openmpi5", "flux"], "flux"),
        ("local", ["mpi", "flux"], "flux"),
        ("mpiexec", ["mpi", "openmpi5", "ucx"], "openmpi5"),
        ("mpiexec", ["mpi", "openmpi", "flux"], "flux"),
        ("srunalloc", ["mpi", "openmpi"], "slurm"),
        ("srunalloc", ["mpi", "cray-mpich"], "cray-mpich"),
        ("ibrun", ["mpi", "intel-mpi"], "ibrun"),
        ("lrun", ["mpi", "openmpi"], "jsrun"),
        ("lrun-gpu", ["mpi"], "jsrun"),
        ("local", ["mpi", "jsrun"], "jsrun"),
    ],
)
def test_a_feature_selects_a_launcher(reframe_launcher: str, features: list[str], name: str) -> None:
    assert launchers.selected(reframe_launcher, features).name == name


def test_a_refusal_shows_the_pairs_that_are_near_and_the_word_for_a_wrapper() -> None:
    """Before, it was one line of 20 pairs in no order."""
    with pytest.raises(InputError) as refused:
        launchers.selected("mpiexec", ["mpi", "psm2"])
    text = str(refused.value)
    assert "mpiexec with feature mpich" in text and "srun" not in text and "launch: FAMILY" not in text
    with pytest.raises(InputError, match=r"yrun with mpi.*srun with feature mpi"):
        launchers.selected("yrun", ["mpi"])
    with pytest.raises(InputError, match="extras: launch: FAMILY if it wraps one of ") as refused:
        launchers.selected("site_mpirun", ["mpi", "openmpi"])
    assert "mpirun with feature openmpi" in str(refused.value) and "cray-mpich" not in str(refused.value)


@pytest.mark.parametrize("name", sorted(LAUNCHERS))
def test_the_binding_launcher_passes_no_option_that_binds_or_prevents_binding(name: str) -> None:
    """Unbound processes take the first NIC (open-mpi/ompi#12144), and nobody's plain mpirun is unbound."""
    if Binding.LAUNCHER not in LAUNCHERS[name].bindings:
        assert LAUNCHERS[name].nic_by_host or name == "jsrun"
        return
    plain = launchers.render(name, matrix.one("cart-create/launcher"))
    unbound = launchers.render(name, matrix.one("cart-create/none"))
    about = re.compile(r"(?i)bind|affinity|_pin|cpu")
    assert not any(about.search(word) for word in (*plain.command, *plain.environment))
    assert plain.files == unbound.files and set(plain.command) <= set(unbound.command)
    assert any(about.search(word) for word in (*unbound.command, *unbound.environment)) or name == "mpich"


def test_ibrun_takes_the_first_granted_nodes_or_refuses() -> None:
    placed = matrix.one("cart-create/none")
    assert launchers.render("ibrun", placed).command == ("ibrun", "-n", str(len(placed.indices)), "-o", "0")
    with pytest.raises(InputError, match="ibrun scheduler, or an order that fills the first granted nodes"):
        launchers.render("ibrun", matrix.one("random:1/none"))


def test_mpirun_rsh_gets_a_nic_policys_variables_before_the_program() -> None:
    """They must stand there: mpirun_rsh passes its own environment to no rank."""
    passed = LAUNCHERS["mpirun-rsh"].pass_variables({"MV2_NUM_HCAS": "1"})
    assert passed.options == ("MV2_NUM_HCAS=1",) and not passed.environment


def test_grid_engines_host_file_lists_the_nodes_once(tmp_path: Path) -> None:
    """sge_pe(5), pe_hostfile: host, slots, queue and processor range on each line, a host once for each queue."""
    file = tmp_path / "pe_hostfile"
    file.write_text("n3.site 2 all.q@n3.site UNDEFINED\nn1.site 2 all.q@n1.site <NULL>\nn3.site 1 long.q@n3.site 0,1\n")
    assert allocated_nodes.names({"PE_HOSTFILE": str(file)}) == ["n3.site", "n1.site"]


def test_a_launchers_own_command_lists_the_nodes_of_a_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Flux's is in its module, and a launcher that is added needs no other one."""
    program(tmp_path, "flux", "echo n3; echo n1")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert allocated_nodes.names({"FLUX_URI": "local:///x"}) == ["n3", "n1"]
    monkeypatch.setattr(launchers, "node_commands", lambda: {"MY_JOB": ("flux", "nodes")})
    assert allocated_nodes.names({"MY_JOB": "7"}) == ["n3", "n1"]
    with pytest.raises(InputError, match="PE_HOSTFILE, MY_JOB"):
        allocated_nodes.names({})


def test_each_launcher_and_stack_has_a_row_in_the_reference_with_its_manual() -> None:
    text = "".join(page.read_text() for page in tables.PAGES)
    assert {found[2] for found in tables.BLOCK.finditer(text)} == set(tables.TABLES)
    page = catalogue.page()
    assert [name for name in (*LAUNCHERS, *stacks()) if f"| `{name}` |" not in page] == []
    assert all(one.source for one in LAUNCHERS.values())
    assert all(stack.source for stack in stacks().values())


def test_a_launcher_that_refuses_an_order_says_so_in_its_row() -> None:
    """And one that can do every order names none."""
    for name, launcher in LAUNCHERS.items():
        refused = 0
        for order in RETURNING:
            try:
                launchers.render(name, matrix.one(f"{order}/none"))
            except InputError:
                refused += 1
        assert launcher.nic_by_host or bool(refused) == ("node" in launcher.cannot and name != "cray-mpich"), name


def test_every_order_choice_binding_and_policy_is_described_in_the_document_and_nothing_else_is() -> None:
    """The words come from the objects, so a new one without a description fails here, and so does a row by hand."""
    assert set(BINDINGS) == set(Binding)
    written = "".join(block[3] for block in tables.BLOCK.finditer((CHECKOUT / "docs/placements.md").read_text()))
    rows = re.findall(r"^\| `([a-z-]+)(?::[^`]*)?` \|", written, re.MULTILINE)
    described = {str(name) for names in (orders(), choices(), Binding, policies()) for name in names} - {"nic-K"}
    assert described <= set(rows)
    assert set(rows) <= described | set(patterns())


def test_the_documents_example_is_what_the_orders_do() -> None:
    """`blocks:2x2` gives each node a box of the grid; the page shows that, drawn from the placement itself."""
    lines = tables.TABLES["orders-example"]().strip("\n").splitlines()
    column = lines[0].index("blocks:2x2")
    assert [line[column : column + 7] for line in lines[3:]] == ["A A B B", "A A B B", "C C D D", "C C D D"]


def on_a_slurm_site(order: str, nodes: int = 4, ranks_per_node: int = 2) -> Rendered:
    """A launch on the nodes of a partition of which no topology is known."""
    names = [f"n{number}" for number in range(nodes)]
    granted = scheduled(naming.flat(names), np.arange(nodes))
    placed = place(order, granted, (nodes * ranks_per_node,), ranks_per_node=ranks_per_node, seed=1)
    return launchers.render("slurm", placed, stem="p")


def test_slurm_fills_nodes_by_name_where_the_order_does() -> None:
    """With a host file slurmctld compares each node with each rank: 1e10 comparisons on a whole machine.

    Ranks in a row on one node are one line of that file (srun(1), SLURM_HOSTFILE).
    """
    filled = on_a_slurm_site("cart-create")
    assert "--distribution=block" in filled.command and filled.files["p.nodes"] == "n0\nn1\nn2\nn3\n"
    assert filled.files["p.hosts"] == "n0*2\nn1*2\nn2*2\nn3*2\n"
    returning = on_a_slurm_site("random:1")
    assert "--distribution=arbitrary" in returning.command and returning.environment
    large = on_a_slurm_site("cart-create", nodes=400).command
    assert max(map(len, large)) == max(map(len, filled.command)), "no word grows with the machine"
