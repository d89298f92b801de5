"""Store where each rank of a launch ran, as the rank itself reported: host, CPU, allowed CPUs, NUMA node.

Models: columns, of which a `Rank` is built only when it is accessed, because the launches of a large machine have
millions. Launches that share a column share one object. Leaves out: how records store ranks (`records.folded.tables`),
where ranks should have run (`records.assemble`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from railyard.base.errors import InputError
from railyard.records.folded import columns
from railyard.records.folded.columns import NULL

if TYPE_CHECKING:
    from railyard.records.folded.columns import Numbers

Json = Any
#: The columns of ranks besides their hosts, as outputs and records name them.
COLUMNS = ("cpu", "allowed_cpus", "numa_node")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rank:
    """Where one rank ran, as the rank itself reported; a field is None if its program could not determine it."""

    rank: int
    host: str
    cpu: int | None
    allowed_cpus: tuple[int, ...] | None
    numa_node: int | None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Ranks:
    """The ranks of a launch, in order.

    `hosts` are the distinct hosts, in the order of their first ranks. The other columns have one number per rank:
    `host_of` is an index into `hosts`, `cpu_set` an index into `cpu_sets`, `cpu` and `numa_node` are the system's
    numbers. `columns.NULL` and `columns.ABSENT` represent None.
    """

    hosts: Sequence[str] = ()
    host_of: Sequence[int] | Numbers = ()
    cpu: Sequence[int] | Numbers = ()
    cpu_set: Sequence[int] | Numbers = ()
    numa_node: Sequence[int] | Numbers = ()
    cpu_sets: Sequence[tuple[int, ...]] = ()

    def __len__(self) -> int:
        return len(self.host_of)

    def __iter__(self) -> Iterator[Rank]:
        return map(self.__getitem__, range(len(self)))

    def __getitem__(self, number: int) -> Rank:
        cpu_set = int(self.cpu_set[number])
        return Rank(
            rank=number,
            host=self.hosts[self.host_of[number]],
            cpu=_value(self.cpu[number]),
            allowed_cpus=self.cpu_sets[cpu_set] if cpu_set >= 0 else None,
            numa_node=_value(self.numa_node[number]),
        )

    @property
    def host_names(self) -> list[str]:
        """Return the host of each rank."""
        return [self.hosts[number] for number in _list(self.host_of)]

    def counts(self) -> dict[str, int]:
        """Return host -> number of ranks."""
        import numpy as np

        counts = np.bincount(np.asarray(self.host_of, dtype=np.int64), minlength=len(self.hosts))
        return dict(zip(self.hosts, counts.tolist(), strict=True))

    def has_no_cpus(self) -> bool:
        """Return whether any rank reported neither its CPU nor the CPUs that it may use."""
        return any(cpu <= NULL and own <= NULL for cpu, own in zip(_list(self.cpu), _list(self.cpu_set), strict=True))

    def outside_its_cpus(self) -> Rank | None:
        """Return the first rank that ran on a CPU outside its allowed CPUs; None if there is none."""
        allowed = [frozenset(cpus) for cpus in self.cpu_sets]
        pairs = zip(_list(self.cpu), _list(self.cpu_set), strict=True)
        for number, (cpu, own) in enumerate(pairs):
            if own >= 0 and (not allowed[own] or (cpu >= 0 and cpu not in allowed[own])):
                return self[number]
        return None


def _value(number: int) -> int | None:
    return None if number <= NULL else int(number)


def _list(numbers: Sequence[int] | Numbers) -> Sequence[int]:
    """Return a list of plain integers, because Python iterates over it faster than over an array."""
    return numbers if isinstance(numbers, list | tuple) else numbers.tolist()  # type: ignore[union-attr]


def of_nodes(document: Mapping[str, Json], source: str, field: str) -> Ranks:
    """Return the ranks of a benchmark's output that has one row per node (docs/formats.md).

    Raises InputError for columns of different lengths, and if the nodes' ranks are not 0 to n - 1, each once.
    """
    import numpy as np  # imported here and below: commands on small records do not need it

    nodes, layouts = document["nodes"], document["layouts"]
    numbers = [node["layout"] for node in nodes]
    if max(numbers) >= len(layouts):
        raise InputError(source, f"{field}.nodes", max(numbers), f"layouts from 0 to {len(layouts) - 1}")

    def joined(name: str) -> Numbers:
        """Return one column over all nodes: the values of the layout of each node, in the order of the nodes."""
        texts = [layout[name] for layout in layouts]
        return columns.unfold(",".join([texts[number] for number in numbers]), source, f"{field}.layouts.{name}")

    counts = [layouts[number]["ranks"] for number in numbers]
    own = columns.unfold(",".join([node["ranks"] for node in nodes]), source, f"{field}.nodes.ranks")
    listed = {name: joined(name) for name in COLUMNS}
    for name, column in [("ranks", own), *listed.items()]:
        if len(column) != sum(counts):
            problem = f"{len(column)} values of {name}"
            raise InputError(source, field, problem=problem, valid=f"{sum(counts)}, as the layouts have ranks")
    if (np.sort(own) != np.arange(len(own))).any():
        problem = "a rank twice or left out"
        raise InputError(source, f"{field}.nodes", problem=problem, valid="each rank once, from 0 on")
    hosts: dict[str, int] = {}
    of_node = [hosts.setdefault(node["host"], len(hosts)) for node in nodes]
    layout_of = np.repeat(numbers, counts)
    cpu_sets, cpu_set = _sets(layouts, layout_of, listed["allowed_cpus"], f"{source}: {field}.layouts")
    order, names = np.argsort(own), tuple(hosts)
    used, host_of = columns.by_first(np.repeat(of_node, counts)[order], len(names))
    return Ranks(
        hosts=tuple(names[number] for number in used.tolist()),
        host_of=host_of,
        cpu=listed["cpu"][order],
        cpu_set=cpu_set[order],
        numa_node=listed["numa_node"][order],
        cpu_sets=cpu_sets,
    )


def _sets(
    layouts: Sequence[Mapping[str, Json]], layout_of: Numbers, own: Numbers, source: str
) -> tuple[tuple[tuple[int, ...], ...], Numbers]:
    """Return the distinct CPU sets of all layouts, and for each rank the index of its set.

    `own` is the index of a rank's set within the layout of its node, `layout_of` the index of that layout. Raises
    InputError for an index outside a layout.
    """
    import numpy as np

    of_text: dict[str, int] = {}
    numbers, begins = [], [0]
    for layout in layouts:
        numbers += [of_text.setdefault(text, len(of_text)) for text in layout["cpu_sets"]]
        begins.append(len(numbers))
    places, ends = np.array(begins)[layout_of] + own, np.array(begins)[layout_of + 1]
    if (places >= ends).any():
        raise InputError(source, "allowed_cpus", problem="no such set", valid="one of the layout's cpu_sets")
    sets = tuple(tuple(columns.unfold(text, source, "cpu_sets").tolist()) for text in of_text)
    padded = np.array([*numbers, 0])
    return sets, np.where(own >= 0, padded[np.where(own >= 0, places, 0)], own)
