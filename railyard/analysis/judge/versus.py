"""Judge sides against each other: a row for everything that both ran, and a score over all rows.

Models: the rows that sides share (`railyard.analysis.judge.rows`), the sides of each as the groups of one comparison.
All rows of one figure of merit are one family of tests. Every row names the fields of provenance in which its sides
differ. Origins never share a row. Leaves out: what a judgement is (`railyard.analysis.cases.judgement`), text
(`railyard.analysis.judge.text`).
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from railyard.analysis.cases import cases, judgement, modelled, scoreboard
from railyard.analysis.cases.comparison import rank_of, remaining
from railyard.analysis.cases.judgement import Comparison, Evidence, Series
from railyard.analysis.cases.scoreboard import Ratio, Score
from railyard.analysis.judge import rows, sides
from railyard.analysis.judge.rows import Point, Row, Source
from railyard.base.errors import InputError
from railyard.records import json_io
from railyard.records.comparable import NAMED_OF_SIDES, SIDES_ROW
from railyard.records.json_io import Json
from railyard.records.record import COMPUTED
from railyard.records.store import levels
from railyard.records.store.entries import Entry, without_marked


@dataclass(frozen=True, slots=True, kw_only=True)
class SideRow:
    """A row with its judgement: the sides are the groups of `comparison`; `differs` names fields of provenance."""

    row: Row
    comparison: Comparison
    differs: Sequence[str]

    @property
    def is_shared(self) -> bool:
        """Return whether several sides have a value."""
        return len(self.comparison.measured) > 1

    @property
    def origin(self) -> str:
        """Return where its numbers come from."""
        return str(self.row.shared["origin"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Versus:
    """The whole comparison of sides.

    `counts` and `foms` are those of `railyard.analysis.judge.rows.Gathered`. `scores` has a value for each origin and
    each side but the baseline; None is a score of no case. `refused` states what could not be compared and why,
    and that records of several levels of evidence were compared. `marked` states which launches an event explains, and
    whether the verdicts hold without them.
    """

    sides: Sequence[str]
    baseline: str
    counts: Mapping[str, Counter[str]]
    foms: frozenset[str]
    rows: Sequence[SideRow]
    scores: Mapping[tuple[str, str], Score | None]
    refused: Sequence[str]
    marked: Sequence[str] = ()


def of_texts(
    texts: Sequence[str],
    archive: Callable[..., Iterable[Entry]],
    baseline: str | None = None,
    foms: Sequence[str] = (),
    *,
    for_people: bool = False,
) -> Versus:
    """Return the comparison of the sides that texts describe, the first as baseline unless one is named.

    `archive` returns the entries from which sides without a path choose, with `values=False` without their values.
    Raises InputError for a side that chooses nothing, and for a baseline or figure of merit that is not there.
    """
    base = baseline or texts[0]
    if base not in texts:
        raise InputError("--baseline", "", base, f"one of {', '.join(texts)}")
    parsed = sides.parse(texts, functools.partial(archive, values=False))
    compared = compare(rows.sources(parsed, archive), texts, base, foms, for_people=for_people)
    points = (point for row in compared.rows for points in row.row.sides.values() for point in points)
    used = {point.entry.own["sha256"]: point.entry.own for point in points}  # the records of the rows
    if explained := [f"{own['id']}: {one['text']}" for own in used.values() for one in own["marked"]]:
        sources = [(map(without_marked, own), choosing) for own, choosing in rows.sources(parsed, archive)]
        rest = compare(sources, texts, base, foms, for_people=for_people)
        before, after = (
            {_order(row.row): row.comparison for row in versus.rows if row.is_shared} for versus in (compared, rest)
        )
        explained.append(remaining(len(explained), before, after))
        compared = dataclasses.replace(compared, marked=explained)
    for side in parsed:
        if not compared.counts[side.name]["records"]:
            sides.require(side, archive(values=False))
    if unknown := [fom for fom in foms if fom not in compared.foms]:
        raise InputError("--fom", "", unknown[0], f"one of {', '.join(sorted(compared.foms)) or 'none'}")
    return compared


def compare(
    sources: Sequence[Source],
    names: Sequence[str],
    baseline: str,
    foms: Sequence[str] = (),
    *,
    for_people: bool = False,
) -> Versus:
    """Return the comparison of the sides of all sources, in the order of `names`; each source is read once.

    `foms` restricts the figures of merit, if any. `for_people` converts the values of a virtual torus to those of the
    machine that it models.
    """
    varied = sides.varied([side for _, choosing in sources for side in choosing])
    blank = {"system": ""} if "system" in varied else {}
    gathered = rows.gather(
        sources,
        lambda setting: {
            **{name: setting[name] for name in SIDES_ROW},
            **blank,
            "rate_scale": modelled.unconverted_scale(setting),
        },
        foms,
        varied,
    )
    ordered = sorted(gathered.rows, key=_order)
    compared = judgement.compare([_series(row, names, for_people=for_people) for row in ordered], baseline)
    judged = [
        SideRow(row=row, comparison=comparison, differs=_differs(row))
        for row, comparison in zip(ordered, compared, strict=True)
    ]
    shared = [row for row in judged if row.is_shared]
    scored: dict[tuple[str, str], list[Ratio]] = {
        (origin, name): []
        for origin in dict.fromkeys(row.origin for row in shared or judged)
        for name in names
        if name != baseline
    }
    for (origin, name), ratios in scored.items():
        of_rows = (scoreboard.ratio(row.comparison, name, _case(row.row)) for row in judged if row.origin == origin)
        ratios += filter(None, of_rows)
    points = (point for row in shared for points in row.row.sides.values() for point in points)
    mixed = levels.sentence(point.entry.own["level"] for point in points)
    return Versus(
        sides=names,
        baseline=baseline,
        counts=gathered.counts,
        foms=gathered.foms,
        rows=judged,
        scores=scoreboard.scores(scored),
        refused=[*_refused(judged, names), *filter(None, [mixed])],
    )


def _case(row: Row) -> tuple[Json, ...]:
    """Return what a row is of but for the figure of merit: rows of one case count once in a score."""
    shared = row.shared
    parameters = json_io.canonical(shared["parameters"])
    return (shared["origin"], shared["system"], shared["check"], parameters, shared["ranks"], *row.key[:3])


def _order(row: Row) -> tuple[str, ...]:
    rank, fom = rank_of(row.key.fom)
    labels = repr([(name, f"{value!s:>24}") for name, value in row.key.labels])
    return (*map(str, _case(row)), str(rank), fom, labels)


def _series(row: Row, names: Sequence[str], *, for_people: bool) -> Series:
    """Return the evidence of all sides; of one without values it is empty. Several rate scales are always converted."""
    factors = {
        id(point.setting): modelled.multiplier(point.setting, row.key.fom)
        for points in row.sides.values()
        for point in points
    }
    if not for_people and len(set(factors.values())) == 1:
        factors = {}
    return Series(
        fom=row.key.fom,
        labels=row.key.labels,
        evidence={name: _evidence(row.sides.get(name, ()), factors) for name in names},
        deterministic=row.shared["origin"] in COMPUTED,
        follows=row.follows,
    )


def _evidence(points: Sequence[Point], factors: Mapping[int, float]) -> Evidence:
    """Return the launches' values of one side times the factor of their setting's id, its jobs in order of time."""
    values, jobs = list[float](), list[str]()
    for point in points:
        jobs += itertools.repeat(point.job, len(point.values))
        factor = factors.get(id(point.setting), 1.0)
        values += point.values if factor == 1.0 else [factor * value for value in point.values]
    floor = max((point.entry.own["noise_percent"] for point in points), default=0.0)
    return Evidence(values=values, jobs=jobs, noise_percent=floor)


def _differs(row: Row) -> list[str]:
    """Return the fields of provenance with more than one value among all records of a row, with dotted names."""
    settings = {id(point.setting): point.setting for points in row.sides.values() for point in points}.values()

    def differ(values: Iterable[Json]) -> bool:
        return len(set(map(json_io.canonical, values))) > 1

    names: list[str] = []
    for field in NAMED_OF_SIDES:
        if differ(setting[field] for setting in settings):
            parts = [dict(cases.flat(setting[field], field)) for setting in settings]
            names += [name for name in dict.fromkeys(itertools.chain(*parts)) if differ(one.get(name) for one in parts)]
    return names


def _refused(judged: Sequence[SideRow], names: Sequence[str]) -> list[str]:
    """Return a sentence for each set of origins or rate scales that would share a row if these could be mixed."""
    by_rest: dict[tuple[Json, ...], dict[tuple[str, float], set[str]]] = {}
    for row in judged:
        rest = (*_case(row.row)[1:], row.row.key.fom, row.row.key.labels)
        measured = {group.name for group in row.comparison.measured}
        kind = row.origin, float(row.row.shared["rate_scale"])
        by_rest.setdefault(rest, {}).setdefault(kind, set()).update(measured)
    mixed = {
        tuple(sorted((name, *kind) for kind, members in kinds.items() for name in members))
        for kinds in by_rest.values()
        if len(kinds) > 1 and not any(members >= set(names) for members in kinds.values())
    }
    sentences = []
    for kinds in sorted(mixed):
        by_origin = len({origin for _, origin, _ in kinds}) > 1
        of_sides = ", ".join(
            f"{name} is {origin}" if by_origin else f"{name} ran at rate scale {scale:g}"
            for name, origin, scale in kinds
        )
        why = "numbers of different origin are" if by_origin else "times of a program at different rate scales are"
        sentences.append(f"not compared: {of_sides}; {why} never mixed")
    return sentences
