"""Read and write the tables of a record, which store once what several launches have in common.

    "tables": {
      "hosts": ["n[0-9999]"],                      the hosts that ran ranks or counted NICs, as Slurm folds them
      "cpu_sets": ["0-127"],                       sets of CPUs that ranks may use
      "columns": {"c0": "0*128,1*128", ...},       numbers (`records.folded.columns`)
      "nics": {"n0": {"node": "c7", "nic": "c8", "names": ["mlx5_0", "mlx5_1"]}}
    }
    "ranks": {"host": "c0", "cpu": "c1", "allowed_cpus": "c2", "numa_node": "c3"}
    "nics": {"of": "n0", "tx_bytes": [...], "rx_bytes": [...]}

A launch refers to columns and NICs by name. A column of hosts has one index into `hosts` per rank, in rank order. The
other columns of the ranks are sorted by host, in the order of `hosts`, and within a host by rank, so that the values
of similar nodes fold to one repeated range. Leaves out the rules of a record (`records.record`).
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from typing import TYPE_CHECKING, Any

from railyard.base import host_names
from railyard.base.errors import InputError
from railyard.records.folded import columns, nic_bytes, ranks
from railyard.records.folded.columns import ABSENT, NULL
from railyard.records.folded.nic_bytes import Nics
from railyard.records.folded.ranks import Ranks

if TYPE_CHECKING:
    from railyard.records.folded.columns import Numbers

Json = Any
_FOLDED = re.compile(r"([^\[\]]*)\[([0-9,-]+)\]([^\[\]]*)", re.DOTALL)


def fold_names(names: Sequence[str]) -> list[Json]:
    """Return names in their order, folded as `n[0-3,7]`; a name that contains a bracket becomes a list of that name."""
    folded: list[Json] = []
    for has_bracket, group in itertools.groupby(names, lambda name: "[" in name or "]" in name):
        together = list(group)
        folded += [[name] for name in together] if has_bracket else host_names.folded(together)
    return folded


def unfold_names(folded: Sequence[Json], source: str, place: str) -> list[str]:
    """Return the names in a folded list; raises InputError for an invalid range and for too many names."""
    names: list[str] = []
    for item in folded:
        match = _FOLDED.fullmatch(item) if isinstance(item, str) else None
        if match is None:
            names.append(item if isinstance(item, str) else item[0])
            continue
        numbers = columns.unfold(match[2], source, place).tolist()
        names += [f"{match[1]}{number}{match[3]}" for number in numbers]
        if len(names) > columns.MOST_VALUES:
            raise InputError(source, place, problem="more names", valid=f"at most {columns.MOST_VALUES:,}")
    return names


@dataclass(kw_only=True)
class Writer:
    """Collects the tables of a record while its launches are written, and returns each launch's references to them.

    `known` are hosts in the order in which they should be listed; hosts not among them are added at the end.
    """

    known: InitVar[Iterable[str]] = ()
    _hosts: dict[str, int] = field(default_factory=dict)
    _cpu_sets: dict[tuple[int, ...], int] = field(default_factory=dict)
    _columns: dict[str, str] = field(default_factory=dict)
    _nics: dict[tuple[str, str, tuple[str, ...]], str] = field(default_factory=dict)
    _known: dict[int, tuple[object, Json]] = field(default_factory=dict)

    def __post_init__(self, names: Iterable[str]) -> None:
        self._numbers(names)

    def document(self) -> dict[str, Json]:
        """Return the tables, as the record's field `tables` has them."""
        return {
            "hosts": fold_names(list(self._hosts)),
            "cpu_sets": [columns.fold(cpus) for cpus in self._cpu_sets],
            "columns": {name: text for text, name in self._columns.items()},
            "nics": {
                name: {"node": node, "nic": nic, "names": list(names)}
                for (node, nic, names), name in self._nics.items()
            },
        }

    def column(self, numbers: Sequence[int] | Numbers) -> str:
        """Return the name of the column with these numbers, adding it if it is new."""
        text = columns.fold(numbers)
        return self._columns.setdefault(text, f"c{len(self._columns)}")

    def hosts(self, names: Iterable[str]) -> str:
        """Return the name of the column with the indices of these hosts, adding both if they are new."""
        return self.column(self._numbers(names))

    def _numbers(self, names: Iterable[str]) -> list[int]:
        return [self._hosts.setdefault(name, len(self._hosts)) for name in names]

    def ranks(self, of: Ranks) -> Json:
        """Return the value of a launch's field `ranks`: the name of each column; None for a launch without ranks."""
        import numpy as np  # imported here and below: commands on small records do not need it

        if not len(of):
            return None
        if id(of) in self._known:
            return self._known[id(of)][1]
        numbers = np.array(self._numbers(of.hosts), dtype=np.int64)
        host_of = numbers[np.asarray(of.host_of)]
        order = np.argsort(host_of, kind="stable")
        sets = np.array([self._cpu_sets.setdefault(cpus, len(self._cpu_sets)) for cpus in of.cpu_sets], dtype=np.int64)
        own = np.asarray(of.cpu_set)
        cpu_set = np.where(own >= 0, sets[np.maximum(own, 0)], own) if len(sets) else own
        columns_of = {"host": self.column(host_of)}
        for name, values in zip(ranks.COLUMNS, (of.cpu, cpu_set, of.numa_node), strict=True):
            columns_of[name] = self.column(np.asarray(values)[order])
        self._known[id(of)] = of, columns_of
        return columns_of

    def nics(self, of: Nics | None) -> Json:
        """Return a launch's field `nics`: a name in the table of NICs, and the bytes; None if they were not counted."""
        if of is None:
            return None
        if id(of.pairs) not in self._known:
            names = {nic: number for number, nic in enumerate(dict.fromkeys(nic for _, nic in of.pairs))}
            node, nic = (self.hosts(node for node, _ in of.pairs), self.column([names[nic] for _, nic in of.pairs]))
            key = node, nic, tuple(names)
            self._known[id(of.pairs)] = of.pairs, self._nics.setdefault(key, f"n{len(self._nics)}")
        return {"of": self._known[id(of.pairs)][1], "tx_bytes": list(of.tx_bytes), "rx_bytes": list(of.rx_bytes)}


class Reader:
    """Returns the ranks, hosts and NICs that launches refer to; each column is unfolded once and shared."""

    def __init__(self, tables: Mapping[str, Json], source: str) -> None:
        self._tables, self.source = tables, source
        self._hosts = unfold_names(tables["hosts"], source, "tables.hosts")
        self._cpu_sets = tuple(
            tuple(columns.unfold(text, source, f"tables.cpu_sets[{index}]").tolist())
            for index, text in enumerate(tables["cpu_sets"])
        )
        self._columns: dict[str, Numbers] = {}
        self._orders: dict[str, Numbers] = {}
        self._by_rank: dict[tuple[str, str], Numbers] = {}
        self._placed: dict[str, tuple[tuple[str, ...], Numbers]] = {}
        self._ranks: dict[tuple[str, ...], Ranks] = {}
        self._pairs: dict[str, nic_bytes.Pairs] = {}

    def ranks(self, named: Mapping[str, str] | None, place: str) -> Ranks:
        """Return the ranks of a launch from its field `ranks`; `place` is that field's path, for messages.

        Raises InputError for a column that does not exist, and for columns that do not match each other.
        """
        if named is None:
            return Ranks()
        key = named["host"], *(named[name] for name in ranks.COLUMNS)
        if key not in self._ranks:
            hosts, host_of = self._hosts_of(named["host"], f"{place}.host")
            cpu, cpu_set, numa_node = (
                self._in_order(named["host"], named[name], f"{place}.{name}") for name in ranks.COLUMNS
            )
            if len(cpu_set) and int(cpu_set.max()) >= len(self._cpu_sets):
                raise self._fault(f"{place}.allowed_cpus", int(cpu_set.max()), "numbers of tables.cpu_sets")
            self._ranks[key] = Ranks(
                hosts=hosts, host_of=host_of, cpu=cpu, cpu_set=cpu_set, numa_node=numa_node, cpu_sets=self._cpu_sets
            )
        return self._ranks[key]

    def hosts(self, name: str, place: str) -> tuple[str, ...]:
        """Return the hosts whose indices a column has; raises InputError as `ranks` does."""
        return tuple(self._hosts[number] for number in self._numbers(name, len(self._hosts), place).tolist())

    def nics(self, named: Mapping[str, Json] | None, place: str) -> Nics | None:
        """Return the NICs of a launch from its field `nics`, None if not counted; raises InputError as `ranks` does."""
        if named is None:
            return None
        if (name := named["of"]) not in self._pairs:
            if name not in self._tables["nics"]:
                raise self._fault(f"{place}.of", name, "a name in tables.nics")
            listed, at = self._tables["nics"][name], f"tables.nics.{name}"
            nodes = self.hosts(listed["node"], f"{at}.node")
            numbers = self._numbers(listed["nic"], len(listed["names"]), f"{at}.nic").tolist()
            if len(nodes) != len(numbers):
                raise self._fault(f"{at}.nic", f"{len(numbers)} values", f"{len(nodes)}")
            self._pairs[name] = tuple(zip(nodes, (listed["names"][number] for number in numbers), strict=True))
        pairs = self._pairs[name]
        for column in ("tx_bytes", "rx_bytes"):
            if len(named[column]) != len(pairs):
                raise self._fault(f"{place}.{column}", f"{len(named[column])} numbers", f"{len(pairs)}, one per NIC")
        return Nics(pairs=pairs, tx_bytes=named["tx_bytes"], rx_bytes=named["rx_bytes"])

    def _fault(self, place: str, value: object, valid: str) -> InputError:
        return InputError(self.source, place, value, valid)

    def _column(self, name: str, place: str) -> Numbers:
        if name not in self._tables["columns"]:
            raise self._fault(place, name, "a name in tables.columns")
        if name not in self._columns:
            text = self._tables["columns"][name]
            self._columns[name] = columns.unfold(text, self.source, f"tables.columns.{name}")
        return self._columns[name]

    def _numbers(self, name: str, below: int, place: str) -> Numbers:
        """Return a column; all its numbers must be at least 0 and below a limit; raises InputError otherwise."""
        column = self._column(name, place)
        if len(column) and (int(column.min()) < 0 or int(column.max()) >= below):
            raise self._fault(place, name, f"a column of numbers from 0 to {below - 1}")
        return column

    def _hosts_of(self, name: str, place: str) -> tuple[tuple[str, ...], Numbers]:
        """Return the distinct hosts of a column, in the order of their first ranks, and each rank's index into them."""
        if name not in self._placed:
            import numpy as np

            numbers = self._numbers(name, len(self._hosts), place)
            used, host_of = columns.by_first(numbers, len(self._hosts))
            self._placed[name] = tuple(self._hosts[number] for number in used.tolist()), host_of
            self._orders[name] = np.argsort(np.argsort(numbers, kind="stable"))
        return self._placed[name]

    def _in_order(self, hosts: str, name: str, place: str) -> Numbers:
        """Return a column in the order of ranks; the record has it sorted by host."""
        if (hosts, name) not in self._by_rank:
            rows, listed = self._orders[hosts], self._column(name, place)
            if len(listed) != len(rows):
                raise self._fault(place, f"{len(listed)} values", f"{len(rows)}, one per rank")
            self._by_rank[hosts, name] = listed[rows]
        return self._by_rank[hosts, name]


def with_folded_nodes(case: Mapping[str, Json]) -> dict[str, Json]:
    """Return a case whose nodes are folded, as a record has them: names, and one column per axis of the coordinates."""
    nodes = case["allocation"]["nodes"]
    axes = max([1, *(len(node["coordinate"] or ()) for node in nodes)])
    coordinates = [
        [NULL] * axes if node["coordinate"] is None else (*node["coordinate"], *[ABSENT] * axes)[:axes]
        for node in nodes
    ]
    folded = {
        "names": fold_names([node["name"] for node in nodes]),
        "coordinates": [columns.fold([numbers[axis] for numbers in coordinates]) for axis in range(axes)],
    }
    return {**case, "allocation": {**case["allocation"], "nodes": folded}}


def unfold_nodes(folded: Mapping[str, Json], source: str) -> list[dict[str, Json]]:
    """Return the nodes of an allocation: one name and coordinate per node.

    Raises InputError for columns of another length than the names.
    """
    place = "case.allocation.nodes"
    names = unfold_names(folded["names"], source, f"{place}.names")
    axes = [
        columns.unfold(text, source, f"{place}.coordinates[{axis}]").tolist()
        for axis, text in enumerate(folded["coordinates"])
    ]
    for axis, numbers in enumerate(axes):
        if len(numbers) != len(names):
            field = f"{place}.coordinates[{axis}]"
            raise InputError(source, field, problem=f"{len(numbers)} values", valid=f"{len(names)}, one per node")
    coordinates = zip(*axes, strict=True) if axes else ([NULL] for _ in names)
    return [
        {"name": name, "coordinate": None if at[0] == NULL else [number for number in at if number != ABSENT]}
        for name, at in zip(names, coordinates, strict=True)
    ]
