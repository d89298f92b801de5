"""Print the report's figures for other programs: OpenMetrics 1.0, Bencher's JSON, Apache Parquet.

Specifications: https://prometheus.io/docs/specs/om/open_metrics_spec/,
https://bencher.dev/docs/reference/bencher-metric-format and https://parquet.apache.org/docs/file-format/.

Models: a gauge, or a measure, for each figure of merit, with the median over launches and its interval. Leaves out:
times of measurement, which the services set on arrival.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from railyard.records.units import Fom

if TYPE_CHECKING:
    from polars import Series

Row = Mapping[str, object]
#: Columns that identify the figure of a row.
NAMES = ("origin", "system", "check", "case", "labels", "placement", "nic_policy", "software")
STATISTICS = ("median", "interval_low", "interval_high")
#: What Bencher takes as the name of a benchmark and of a measure.
MOST_OF_A_NAME, MOST_OF_A_MEASURE = 1024, 64


def openmetrics(rows: Iterable[Row]) -> str:
    """Return an exposition: a gauge for each figure of merit, with the statistic as a label."""
    families: dict[Fom, list[Row]] = {}
    for row in _with_values(rows):
        fom = row["fom"]
        assert isinstance(fom, Fom)
        families.setdefault(fom, []).append(row)
    lines: list[str] = []
    for fom, members in sorted(families.items()):
        name, unit = f"railyard_{fom}", fom.unit
        lines += [f"# TYPE {name} gauge", f"# UNIT {name} {unit.name}"]
        lines.append(f"# HELP {name} {_escaped(fom.stem)} in {_escaped(unit.text)} over launches")
        seen: set[str] = set()
        for row in members:
            for statistic in STATISTICS:
                labels = _labels(row, statistic)
                if (
                    row.get(statistic) is not None and labels not in seen
                ):  # a metric has each set of labels once
                    seen.add(labels)
                    lines.append(f"{name}{{{labels}}} {row[statistic]!r}")
    return "\n".join([*lines, "# EOF"]) + "\n"


def _labels(row: Row, statistic: str) -> str:
    pairs = [*((name, str(row.get(name) or "")) for name in NAMES), ("statistic", statistic)]
    return ",".join(f'{name}="{_escaped(value)}"' for name, value in pairs if value)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def bencher(rows: Iterable[Row]) -> str:
    """Return Bencher's JSON: a benchmark for each combination of a case, a measure for each figure of merit."""
    benchmarks: dict[str, dict[str, dict[str, object]]] = {}
    for row in _with_values(rows):
        name = ", ".join(filter(None, (str(row.get(column) or "") for column in NAMES)))[:MOST_OF_A_NAME]
        metric = {"value": row["median"]}
        if row.get("interval_low") is not None:
            metric |= {"lower_value": row["interval_low"], "upper_value": row["interval_high"]}
        benchmarks.setdefault(name, {}).setdefault(str(row["fom"])[:MOST_OF_A_MEASURE], metric)
    return json.dumps(benchmarks, indent=1, sort_keys=True) + "\n"


def parquet(rows: Iterable[Row]) -> bytes:
    """Return the rows as a Parquet file: text columns and columns of double precision, empty cells as null."""
    import polars  # imported here: takes 1 s, and the other formats do not need it

    records = list(rows)
    names = list(dict.fromkeys(name for row in records for name in row))
    frame = polars.DataFrame([_column(name, [row.get(name) for row in records]) for name in names])
    file = io.BytesIO()
    frame.write_parquet(file)
    return file.getvalue()


def _column(name: str, values: Sequence[object]) -> Series:
    import polars

    is_number = all(value is None or isinstance(value, int | float) for value in values)
    return polars.Series(name, values, dtype=polars.Float64 if is_number else polars.String, strict=False)


def _with_values(rows: Iterable[Row]) -> Iterator[Row]:
    return (row for row in rows if row.get("median") is not None)
