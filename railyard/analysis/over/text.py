"""Print tables over dates, sizes and allocations as text for terminal and page, and as one JSON document.

Leaves out: markup.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence

from railyard.analysis.over import sizes
from railyard.analysis.over.allocations import Spread, Steadiness
from railyard.analysis.over.dates import Change, Dated, can_tell
from railyard.analysis.over.series import DatedRow
from railyard.analysis.over.sizes import Scaled
from railyard.analysis.stats import change_points
from railyard.analysis.text.datatable import DataTable
from railyard.analysis.text.numbers import NOTHING, Format, percent
from railyard.records.json_io import Json

FORMAT = "railyard-over/1"


# ---- dates ----


def changes_table(series: Sequence[Dated]) -> DataTable:
    """Return a row for each change of level, in the order of the series."""
    numbers = ("before", "after", "change", "p")
    rows = [
        (member.row.what, f"{member.row.figure}, {member.row.unit}", *_change_cells(change))
        for member in series
        for change in member.changes
    ]
    columns = ("what", "figure", "since", "record", *numbers, "differs in")
    return DataTable(columns=columns, rows=rows, numbers=frozenset(numbers))


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


def changes_sentence(series: Sequence[Dated]) -> str:
    """Return how many series were examined, how many changed, and how many would change by chance alone."""
    able = [member for member in series if can_tell(member.row)]
    changed = sum(bool(member.changes) for member in able)
    few = len(series) - len(able)
    short = f" {few} have fewer than {2 * change_points.FEWEST} records: too few to tell." if few else ""
    expected = f"chance alone changes about {change_points.ALPHA * len(able):.2g} of them"
    return f"{changed} of {len(able)} series changed their level; {expected}.{short}"


# ---- sizes ----


def sizes_table(families: Sequence[Scaled]) -> DataTable:
    """Return a row for each number of ranks of each family."""
    columns = ("what", "scaling", "figure", "ranks", "nodes", "records", "median", "speedup", "efficiency")
    rows = []
    for family in families:
        form = Format.for_values([step.median for step in family.steps])
        heads = (family.row.what, str(family.scaling), f"{family.row.figure}, {family.row.unit}")
        for step in family.steps:
            counts = (str(step.ranks), str(step.nodes), str(step.records))
            speedup = NOTHING if step.speedup is None else f"{step.speedup:.3g}"
            efficiency = NOTHING if step.efficiency is None else f"{step.efficiency:.3f}"
            rows.append((*heads, *counts, form.text(step.median), speedup, efficiency))
    return DataTable(columns=columns, rows=rows, numbers=frozenset(columns[3:]))


# ---- allocations ----


def allocations_table(spreads: Sequence[Spread]) -> DataTable:
    """Return a row for each series that several allocations have."""
    numbers = ("allocations", "lowest", "highest", "between", "at most", "within", "p (Holm)")
    rows = []
    for spread in spreads:
        form = Format.for_values((spread.lowest, spread.highest))
        cells = (
            str(spread.allocations),
            form.text(spread.lowest),
            form.text(spread.highest),
            _percent(spread.between_percent),
            _percent(spread.upper_percent),
            _percent(spread.within_percent),
            NOTHING if spread.p_holm is None else f"{spread.p_holm:.4f}",
        )
        rows.append((spread.row.what, f"{spread.row.figure}, {spread.row.unit}", *cells, str(spread.verdict)))
    return DataTable(columns=("what", "figure", *numbers, "verdict"), rows=rows, numbers=frozenset(numbers))


def allocations_sentence(spreads: Sequence[Spread], limit_percent: float) -> str:
    """Return how many rows are steady, variable, or neither."""
    counts = Counter(spread.verdict for spread in spreads)
    return (
        f"{counts[Steadiness.STEADY]} of {len(spreads)} series are steady: with 95 % confidence their "
        f"allocations spread by at most {limit_percent:g} %. {counts[Steadiness.VARIABLE]} are variable, of "
        f"{counts[Steadiness.CANNOT_TELL]} the launches cannot tell."
    )


def _percent(value: float | None) -> str:
    return NOTHING if value is None else percent(value, signed=False)


def dates_document(dated: Sequence[Dated]) -> dict[str, Json]:
    """Return every series with its points and changes."""
    series = [
        {
            **_of_row(member.row),
            "points": [
                {
                    "created": point.created,
                    "record": point.entry.own["sha256"],
                    "value": point.value,
                    "launches": len(point.values),
                    "git_commit": point.setting["git_commit"],
                }
                for point in member.row.points
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
                for change in member.changes
            ],
        }
        for member in dated
    ]
    return {"format": FORMAT, "over": "dates", "alpha": change_points.ALPHA, "series": series}


def sizes_document(families: Sequence[Scaled]) -> dict[str, Json]:
    """Return every family with its steps."""
    series = [
        {
            **_of_row(family.row),
            "parameters": sizes.fixed_parameters(family.row),
            "scaling": str(family.scaling),
            "steps": [dataclasses.asdict(step) for step in family.steps],
        }
        for family in families
    ]
    return {"format": FORMAT, "over": "sizes", "series": series}


def allocations_document(spreads: Sequence[Spread], limit_percent: float) -> dict[str, Json]:
    """Return every series with its spread and verdict."""
    names = [field.name for field in dataclasses.fields(Spread) if field.name != "row"]
    series = [
        {
            **_of_row(spread.row),
            **{name: getattr(spread, name) for name in names},
            "verdict": str(spread.verdict),
        }
        for spread in spreads
    ]
    return {"format": FORMAT, "over": "allocations", "limit_percent": limit_percent, "series": series}


def _of_row(row: DatedRow) -> dict[str, Json]:
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
