"""Read GPCNeT 1.3 (`network_load_test`): victims alone and under its four congestors, and congestion impact factors.

Models: standard output, plain or built with -DVERBOSE: of every victim the average and the 99 % value in both tables,
and the factor that the program prints in its table. Times stay in us. MiB/s per rank become GB/s. The factor is in
percent, 100 being no effect, and must be the quotient of the two tables. The program verifies no data. A table that is
cut off is an error. Leaves out: minimum, maximum and 99.9 % of the verbose tables, and the congestors' own rates.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from railyard.applications import reading
from railyard.applications.reading import MIB_GBYTE, Output, Reading, UnreadableError, disagreement, single
from railyard.records import units
from railyard.records.benchmark import Series

LATENCY = units.fom("latency_us", "usec", "lower")
BANDWIDTH = units.fom("bandwidth_gbyte_s", "GB/s", "higher")
IMPACT = units.fom("impact_percent", "%", "neither")
#: Unit, as printed -> the figure, and the factor to its own unit.
UNITS = {"usec": (LATENCY, 1.0), "MiB/s/rank": (BANDWIDTH, MIB_GBYTE)}
ALONE, LOADED = "alone", "loaded"
#: How the heading of a table begins -> what its rows are.
TABLES: Mapping[str, str] = {
    "Isolated Network Tests": ALONE,
    "Isolated Congestion Tests": "",
    "Network Tests running with Congestion Tests - Key Results": "key",
    "Network Tests running with Congestion Tests": LOADED,
}
#: Heads of the columns that are read -> the statistic's word in the label.
COLUMNS: Mapping[str, str] = {"Avg": "average", "99%": "p99"}
#: Beginning of the names of the program's victims; other rows of a verbose table are congestors.
VICTIMS = ("RR ", "Multiple Allreduce")

Row = Sequence[str]


def parse(text: str, _left: str, source: str) -> Reading:
    """Return a run's reading; raises InputError for output that is cut off or not a number."""
    output = Output(source=source, text=text)
    version = output.token("title", r"NetworkLoad Tests v(\d+\.\d+)")
    ranks = output.whole("MPI ranks", r"  Test with (\d+) MPI ranks \(\d+ nodes\)")
    victims = output.whole("nodes of the victims", r"  (\d+) nodes running Network Tests")
    congestors = output.whole("nodes of the congestors", r"  (\d+) nodes running Congestion Tests.*")
    tables = {name: list(_rows(output.text, name)) for name in (ALONE, LOADED, "key")}
    series = [one for name, rows in tables.items() for one in _figures(output, rows, name)]
    names = [[row[0] for row in rows] for rows in tables.values()]
    if not names[0] or any(others != names[0] for others in names):
        ends = f"the output ends with {output.last_line()!r}"
        raise UnreadableError(source, "tables", f"{names} are not the same tests; {ends}")
    nodes = {"victim_nodes": victims, "congestor_nodes": congestors}
    fault = _wrong_factor(tables)
    return Reading(program="GPCNeT", version=version, ranks=ranks, series=series, fault=fault, parameters=nodes)


def _rows(text: str, wanted: str) -> Iterator[Row]:
    """Return the victims' rows of one kind of table: the cells; the first row of each table has the heads."""
    table, heads = "", list[str]()
    for line in text.split("\n")[:-1]:
        words = re.sub(r"\s+", " ", line.strip("| \r"))
        if (name := next((name for heading, name in TABLES.items() if words.startswith(heading)), None)) is not None:
            table, heads = name, []
        elif line.startswith("|") and table == wanted:
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            if "Avg" in cells:
                heads = cells
            elif heads and cells[0].startswith(VICTIMS):
                if len(cells) != len(heads):
                    raise UnreadableError(wanted, "table", f"a row of {len(cells)} cells: {line.strip()[:60]!r}")
                values = [cell for head, cell in zip(heads, cells, strict=True) if head in COLUMNS]
                if len(values) == len(COLUMNS):
                    yield [cells[0], *values, cells[-1]]


def _wrong_factor(tables: Mapping[str, Sequence[Row]]) -> str:
    """Return the first factor that is not the quotient of its two figures, in one line; empty if all are."""
    for alone, loaded, key in zip(*(tables[name] for name in (ALONE, LOADED, "key")), strict=True):
        for column in (1, 2):
            above, below = (loaded, alone) if alone[-1] == "usec" else (alone, loaded)
            if not float(below[column]):
                return f"GPCNeT: {key[0]} is {below[column]} {alone[-1]}"
            determined = float(above[column]) / float(below[column])
            printed = key[column].removesuffix("X")
            name = f"GPCNeT: factor of {key[0]}"
            if why := disagreement(name, printed, determined, above[column], below[column]):
                return why
    return ""


def _figures(output: Output, rows: Sequence[Row], table: str) -> Iterator[Series]:
    """Yield the figures of a kind of table; those of the key results are factors."""
    is_key = table == "key"
    for test, *tokens, unit in rows:
        if not is_key and unit not in UNITS:
            raise UnreadableError(output.source, f"unit of {test}", f"{unit}; expected {' or '.join(UNITS)}")
        fom, factor = (IMPACT, 100.0) if is_key else UNITS[unit]
        for statistic, token in zip(COLUMNS.values(), tokens, strict=True):
            word = token.removesuffix("X") if is_key else token
            value = reading.finite(word, output.source, f"{test}, {table}, {statistic}")
            yield single(fom, value * factor, test=test, load=LOADED if is_key else table, statistic=statistic)
