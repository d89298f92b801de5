"""Tables over dates, sizes and allocations as text for terminal and page, and as one JSON document.

Leaves out: markup.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analysis.over import sizes
from analysis.over.allocations import Spread, Verdict
from analysis.over.dates import Change, Dated, can_tell
from analysis.over.series import Row
from analysis.over.sizes import Scaled
from analysis.stats import change_points
from analysis.text.datatable import DataTable
from analysis.text.numbers import NOTHING, Format, percent
from railyard.records.json_io import Json

FORMAT = "railyard-over/1"
#: Columns of any of the tables that hold numbers.
_NUMBERS = (
    frozenset({"before", "after", "change", "p"})
    | {"ranks", "nodes", "records", "median", "speedup", "efficiency"}
    | {"allocations", "lowest", "highest", "between", "at most", "within", "p (Holm)"}
)


# ---- dates ----


def changes_table(found: Sequence[Dated]) -> DataTable:
    """Return a row for each change of level, in the order of the series."""
    columns = ("what", "figure", "since", "record", "before", "after", "change", "p", "differs in")
    rows = [
        (each.row.what, f"{each.row.figure}, {each.row.unit}", *_change_cells(change))
        for each in found
        for change in each.changes
    ]
    return DataTable(columns=columns, rows=rows, numbers=_NUMBERS)


def _change_cells(change: Change) -> tuple[str, ...]:
    form = Format.for_values((change.median_before, change.median_after))
    changed = change.percent
    return (
        change.after.created[:10],
        str(change.after.entry.own["id"]),
        form.text(change.median_before),
        form.text(change.median_after),
        NOTHING if changed is None else percent(changed),
        f"{change.p_value:.4f}",
        "; ".join(change.differs) or "nothing that records name",
    )


def changes_sentence(found: Sequence[Dated]) -> str:
    """Return how many series were looked at, how many changed, and how many chance alone would let change."""
    able = [each for each in found if can_tell(each.row)]
    changed = sum(bool(each.changes) for each in able)
    few = len(found) - len(able)
    short = f" {few} have fewer than {2 * change_points.FEWEST} records: too few to tell." if few else ""
    expected = f"chance alone changes about {change_points.ALPHA * len(able):.2g} of them"
    return f"{changed} of {len(able)} series changed their level; {expected}.{short}"


# ---- sizes ----


def sizes_table(found: Sequence[Scaled]) -> DataTable:
    """Return a row for each number of ranks of each family."""
    columns = ("what", "scaling", "figure", "ranks", "nodes", "records", "median", "speedup", "efficiency")
    rows = []
    for each in found:
        form = Format.for_values([step.median for step in each.steps])
        for step in each.steps:
            rows.append(
                (
                    each.row.what,
                    str(each.scaling),
                    f"{each.row.figure}, {each.row.unit}",
                    str(step.ranks),
                    str(step.nodes),
                    str(step.records),
                    form.text(step.median),
                    NOTHING if step.speedup is None else f"{step.speedup:.3g}",
                    NOTHING if step.efficiency is None else f"{step.efficiency:.3f}",
                )
            )
    return DataTable(columns=columns, rows=rows, numbers=_NUMBERS)


# ---- allocations ----


def allocations_table(found: Sequence[Spread]) -> DataTable:
    """Return a row for each series that several allocations have."""
    columns = (
        "what",
        "figure",
        "allocations",
        "lowest",
        "highest",
        "between",
        "at most",
        "within",
        "p (Holm)",
        "verdict",
    )
    rows = []
    for each in found:
        form = Format.for_values((each.lowest, each.highest))
        rows.append(
            (
                each.row.what,
                f"{each.row.figure}, {each.row.unit}",
                str(each.allocations),
                form.text(each.lowest),
                form.text(each.highest),
                _percent(each.between_percent),
                _percent(each.upper_percent),
                _percent(each.within_percent),
                NOTHING if each.p_holm is None else f"{each.p_holm:.4f}",
                str(each.verdict),
            )
        )
    return DataTable(columns=columns, rows=rows, numbers=_NUMBERS)


def allocations_sentence(found: Sequence[Spread], limit_percent: float) -> str:
    """Return how many rows are steady, variable, or neither."""
    counts = {verdict: sum(each.verdict is verdict for each in found) for verdict in Verdict}
    return (
        f"{counts[Verdict.STEADY]} of {len(found)} series are steady: with 95 % confidence their "
        f"allocations spread by at most {limit_percent:g} %. {counts[Verdict.VARIABLE]} are variable, of "
        f"{counts[Verdict.CANNOT_TELL]} the launches cannot tell."
    )


def _percent(value: float | None) -> str:
    return NOTHING if value is None else percent(value, signed=False)


# ---- formats ----


def lines(table: DataTable) -> Iterator[str]:
    """Yield a header and the rows, aligned; the last column is not padded."""
    widths = [max(len(row[at]) for row in (table.columns, *table.rows)) for at in range(len(table.columns))]
    for row in (table.columns, *table.rows):
        cells = [
            cell.rjust(width) if name in table.numbers else cell.ljust(width)
            for cell, width, name in zip(row, widths, table.columns, strict=True)
        ]
        yield "  ".join(cells).rstrip()


def dates_document(found: Sequence[Dated]) -> dict[str, Json]:
    """Return every series with its points and changes."""
    series = [
        {
            **_of_row(each.row),
            "points": [
                {
                    "created": taken.created,
                    "record": taken.entry.own["sha256"],
                    "value": taken.value,
                    "launches": len(taken.values),
                    "git_commit": taken.setting["git_commit"],
                }
                for taken in each.row.taken
            ],
            "changes": [
                {
                    "record": change.after.entry.own["sha256"],
                    "created": change.after.created,
                    "before": change.median_before,
                    "after": change.median_after,
                    "p_value": change.p_value,
                    "differs": list(change.differs),
                }
                for change in each.changes
            ],
        }
        for each in found
    ]
    return {"format": FORMAT, "over": "dates", "alpha": change_points.ALPHA, "series": series}


def sizes_document(found: Sequence[Scaled]) -> dict[str, Json]:
    """Return every family with its steps."""
    series = [
        {
            **_of_row(each.row),
            "parameters": sizes.fixed_parameters(each.row),
            "scaling": str(each.scaling),
            "steps": [
                {
                    "ranks": step.ranks,
                    "nodes": step.nodes,
                    "records": step.records,
                    "median": step.median,
                    "low": step.low,
                    "high": step.high,
                    "speedup": step.speedup,
                    "efficiency": step.efficiency,
                }
                for step in each.steps
            ],
        }
        for each in found
    ]
    return {"format": FORMAT, "over": "sizes", "series": series}


def allocations_document(found: Sequence[Spread], limit_percent: float) -> dict[str, Json]:
    """Return every series with its spread and verdict."""
    series = [
        {
            **_of_row(each.row),
            "allocations": each.allocations,
            "lowest": each.lowest,
            "highest": each.highest,
            "between_percent": each.between_percent,
            "upper_percent": each.upper_percent,
            "within_percent": each.within_percent,
            "p_holm": each.p_holm,
            "verdict": str(each.verdict),
        }
        for each in found
    ]
    return {"format": FORMAT, "over": "allocations", "limit_percent": limit_percent, "series": series}


def _of_row(row: Row) -> dict[str, Json]:
    setting, key = row.setting, row.key
    return {
        "system": setting["system"],
        "origin": setting["origin"],
        "check": setting["check"],
        "parameters": setting["parameters"],
        "placement": key.placement,
        "nic_policy": key.nic_policy,
        "software": key.software,
        "fom": key.fom,
        "labels": dict(key.labels),
    }
