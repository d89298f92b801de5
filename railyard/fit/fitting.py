"""What a capture leads to: placements predicted from a matrix on granted nodes, and the words on what was measured.

Pure, but for the matrix and the topology, which are read, and the simulation, which is a program. Leaves out the runs
(`railyard.fit.cli`).
"""

from __future__ import annotations

import contextlib
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from railyard.analysis.cases import cases, comparison, scoreboard
from railyard.analysis.cases.cases import Case
from railyard.analysis.cases.scoreboard import Standing, faster
from railyard.analysis.stats.verdicts import Finding
from railyard.analysis.text import DataTable
from railyard.base.errors import InputError
from railyard.placements.arrays import np
from railyard.placements.hosts import naming
from railyard.placements.linkload import model
from railyard.placements.linkload.traffic import Traffic
from railyard.placements.orders.allocation import Allocation, scheduled
from railyard.placements.orders.placement import Placement, place
from railyard.placements.orders.rank_orders import orders
from railyard.placements.topology import catalog
from railyard.records.record import Record
from railyard.torus.native.messages import exchanges_s

#: What the result is held against: the launcher gets the nodes, and rank k takes slot k.
DEFAULT = "scheduler"
FITTED = "optimised"
#: The most searches of the fitted placement, and about how many ranks they place in all (10 s with 64 ranks). Each
#: begins elsewhere; their slowest links are equal, but not what else shares links.
MOST_SEARCHES, RANKS_SEARCHED = 8, 256
#: The most pairs of ranks, and nodes, of a simulation. Of more it takes minutes: `railyard torus simulate --patient`.
SIMULATED_PAIRS = 20_000
SIMULATED_NODES = 1024
#: Counted over predicted bytes of the slowest link from which on `railyard fit` warns.
UNLIKE = 1.5
#: A fitted placement that saves a smaller share of every predicted time is no gain.
LEAST_GAIN = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Predicted:
    """A placement with seconds of its slowest link, of its slowest link to a node, of its steps, and of a simulation.

    A step takes as long as its slowest link, one to a node included, and waits for the step before. All messages sent
    at once are simulated in the router's network on the real machine's rates; None where that was not done.
    """

    name: str
    slowest_s: float
    host_s: float
    steps_s: float
    simulated_s: float | None = None


def granted(record: Record, file: str = "") -> Allocation:
    """Return the nodes of a record's job on their topology; InputError where no topology is known.

    `file` is that of a topology of one's own: a record has its name alone.
    """
    request, nodes = record.case.topology, record.case.allocation["nodes"]
    if request is None or any(node["coordinate"] is None for node in nodes):
        valid = "a machine whose nodes have known coordinates (docs/cluster.md)"
        raise InputError(record.source, "topology", problem="the nodes have no coordinates", valid=valid)
    at = {str(node["name"]): tuple(node["coordinate"]) for node in nodes}
    topology = naming.named(catalog.load(file or request.name), at, record.source)
    index = {node.name: number for number, node in enumerate(topology.nodes)}
    return scheduled(topology, np.array([index[name] for name in at], dtype=np.int64))


def placed(name: str, record: Record, sent: Traffic, file: str = "") -> Placement:
    """Return a placement on the nodes of a record's job, made as there; InputError where they do not allow it."""
    case = record.case
    grid, per_node = case.grid or (sent.ranks,), case.ranks_per_node or 1
    return place(name, granted(record, file), grid, ranks_per_node=per_node, seed=case.seed, traffic=sent)


def predicted(record: Record, sent: Traffic, steps: Sequence[Traffic] = (), file: str = "") -> list[Predicted]:
    """Return the default, every other order that the job's nodes allow, and the fitted placement, fastest first.

    `steps` is the same traffic divided into what each step sends; the fitted placement is searched for the whole.
    Of named orders that place each rank on the same node, one is returned.
    """
    searches = max(1, min(MOST_SEARCHES, RANKS_SEARCHED // sent.ranks))
    names = [order.name for order in orders().values() if order.start]
    own = [FITTED, *(f"{FITTED}:{seed}" for seed in range(2, searches + 1))]
    placements = dict[str, Placement]()
    for name in [DEFAULT, *names, *own]:
        # Others may not be possible: custom, where the grid does not match the block; by-group.
        expected = () if name == DEFAULT else (InputError,)
        with contextlib.suppress(*expected):
            placement = placed(name, record, sent, file)
            if name == FITTED or placement.nodes not in [one.nodes for one in placements.values()]:
                placements[name] = placement
    topology = placements[DEFAULT].allocation.topology
    indices = [placement.indices for placement in placements.values()]
    is_large = len(sent.source) > SIMULATED_PAIRS or len(topology.nodes) > SIMULATED_NODES
    simulated: Sequence[float | None] = [None] * len(indices)
    if not is_large:
        simulated = exchanges_s(topology, indices, sent)
    rows = []
    for name, nodes, simulated_s in zip(placements, indices, simulated, strict=True):
        whole, *loads = (
            model.load(topology, nodes, one, model.PROTOCOLS["payload"]) for one in (sent, *(steps or (sent,)))
        )
        rows.append(
            Predicted(
                name=name,
                slowest_s=whole.slowest_s,
                host_s=whole.slowest_host_s,
                steps_s=sum(max(step.slowest_s, step.slowest_host_s) for step in loads),
                simulated_s=simulated_s,
            )
        )
    rows.sort(key=lambda row: (row.steps_s, row.slowest_s))
    fastest = min((row for row in rows if is_fitted(row.name)), key=_all_at_once(rows), default=None)
    return [row for row in rows if row is fastest or not is_fitted(row.name)]


def is_fitted(name: str) -> bool:
    """Return whether a placement is one fitted to the program."""
    return name.partition(":")[0] == FITTED


def _all_at_once(rows: Sequence[Predicted]) -> Callable[[Predicted], tuple[bool, float, float]]:
    """Return the key by which the best of placements with practically the fastest steps simulates fastest."""
    limit_s = (1 + LEAST_GAIN) * min(row.steps_s for row in rows)
    return lambda row: (row.steps_s > limit_s, row.simulated_s or 0.0, row.steps_s)


def best_named(rows: Sequence[Predicted]) -> str:
    """Return the named order that is predicted to be fastest: the default, if it has no rival."""
    named = [row for row in rows if row.name != DEFAULT and not is_fitted(row.name)]
    return min(named, key=_all_at_once(named)).name if named else DEFAULT


def fitted(names: Iterable[str]) -> str:
    """Return the fitted one of placements; empty without one."""
    return next(filter(is_fitted, names), "")


def no_gain(rows: Sequence[Predicted]) -> str:
    """Return one line where no predicted time of the fitted placement is below the default's.

    Empty otherwise, and where the fitted placement has no prediction.
    """
    by_name = {row.name: row for row in rows}
    usual, best = by_name[DEFAULT], by_name.get(fitted(by_name))
    if best is None:
        return ""
    pairs = [(getattr(best, time), getattr(usual, time)) for time in ("slowest_s", "host_s", "steps_s")]
    if best.simulated_s is not None and usual.simulated_s is not None:
        pairs.append((best.simulated_s, usual.simulated_s))
    if any(fitted_s < (1 - LEAST_GAIN) * usual_s for fitted_s, usual_s in pairs):
        return ""
    limit = "a node's own link" if usual.host_s >= usual.slowest_s else "the slowest link"
    limit_s = max(usual.host_s, usual.slowest_s)
    return f"nothing to gain: {limit} takes {limit_s * 1e3:.4g} ms in {DEFAULT} as in the fitted placement"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A measured placement: its slowest link as counted, its run time, and how many times as fast as the default it is.

    The slowest link is one between routers. Seconds of links are of the real machine, those of a run are measured ones.
    Medians over the launches that count; None where nothing was counted or no launch counts.
    """

    placement: str
    counted_s: float | None
    elapsed_s: float | None
    times_as_fast: str


def outcomes(record: Record, evidence: Mapping[int, Mapping[str, Any]]) -> list[Outcome]:
    """Return an outcome for each placement of a record; `evidence` is what the torus counted, by launch."""
    scale = (record.provenance["torus"] or {}).get("rate_scale", 1.0)
    outcomes = []
    for placement in record.case.placements:
        launches = [one for one in record.launches if one.placement == placement and one.is_result]
        counts = [slowest_link_s(evidence[one.index]) * scale for one in launches if one.index in evidence]
        times = [float(series.samples[0]) for one in launches for series in one.series]
        row = None
        if placement != DEFAULT and DEFAULT in record.case.placements:
            row = standing(record, placement, DEFAULT)
        outcomes.append(
            Outcome(
                placement=placement,
                counted_s=statistics.median(counts) if counts else None,
                elapsed_s=statistics.median(times) if times else None,
                times_as_fast=f"{row.value} ({row.interval})" if row and row.score else "",
            )
        )
    return outcomes


def slowest_link_s(evidence: Mapping[str, Any]) -> float:
    """Return the seconds that the slowest link between routers needs, at its rate, for the bytes that it counted."""
    links = [link for link in evidence["links"] if link["dimension"] != "H" and link["rate_mbit_s"]]
    return max((link["bytes"] * 8e-6 / link["rate_mbit_s"] for link in links), default=0.0)


def table(rows: Sequence[Predicted], outcomes: Sequence[Outcome] = ()) -> list[str]:
    """Return a table of all placements, the fastest steps first, with what was measured; then warnings."""
    usual = next((row for row in rows if row.name == DEFAULT), None)
    measured = {one.placement: one for one in outcomes}
    heads = ["placement", "slowest link ms", f"of {DEFAULT}'s", "of a node ms", "steps ms", "simulated ms"]
    columns = heads + ["counted ms", "run time s", f"times as fast as {DEFAULT} (95 %)"] * bool(outcomes)
    lines, unlike = list[list[str]](), []
    for row in rows:
        one = measured.pop(row.name, None)
        share = f"{row.slowest_s / usual.slowest_s:.0%}" if usual and usual.slowest_s else "-"
        times = [row.host_s, row.steps_s, row.simulated_s]
        lines.append([row.name, _ms(row.slowest_s), share, *map(_ms, times), *_measured(one)])
        if one and one.counted_s and row.slowest_s and one.counted_s > UNLIKE * row.slowest_s:
            unlike.append(
                f"warning: {row.name}: the slowest link counted {one.counted_s / row.slowest_s:.1f} times "
                "the predicted bytes, so a predicted gain may not hold"
            )
    lines += [[name, *["-"] * (len(heads) - 1), *_measured(one)] for name, one in measured.items()]
    cells = [[*line, *[""] * (len(columns) - len(line))] for line in lines]
    return [
        f"  {line}" for line in DataTable(columns=columns, rows=cells, numbers=frozenset(columns[1:])).lines()
    ] + unlike


def _ms(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds * 1e3:.4g}"


def _measured(one: Outcome | None) -> list[str]:
    """Return the cells of what was measured; none for a placement that was not."""
    if one is None:
        return []
    return [_ms(one.counted_s), "-" if one.elapsed_s is None else f"{one.elapsed_s:.4g}", one.times_as_fast]


def captured_text(record: Record) -> list[str]:
    """Return a warning if the launch that captured would be no result: its times depend on more than the network."""
    launch = record.launches[0]
    if not launch.is_void or launch.guard is None:
        return []
    return [f"warning: as a measurement this launch would be void: {reason}" for reason in launch.guard.reasons]


def standing(record: Record, placement: str, baseline: str) -> Standing:
    """Return the score of a placement against another of one record."""
    (case,) = cases.group([record])
    by_name = {one.placement: one for one in case.combinations}
    two = Case(key=case.key, records=case.records, combinations=(by_name[baseline], by_name[placement]))
    (row,) = scoreboard.standings([(two, comparison.comparisons(two))])
    if two.baseline is by_name[baseline] or row.score is None:
        return row
    low, high = (None if end is None else 1 / end for end in (row.score.high, row.score.low))
    finding = {Finding.BETTER: Finding.WORSE, Finding.WORSE: Finding.BETTER}.get(row.verdict, row.verdict)
    score = replace(row.score, value=1 / row.score.value, low=low, high=high, finding=finding)
    return replace(row, combination=row.baseline, baseline=row.combination, score=score)


def measured_text(record: Record) -> list[str]:
    """Return what the record shows: the fitted placement against the default, and against the best named order."""
    others = dict.fromkeys(name for name in (DEFAULT, fastest_named(record)) if name in record.case.placements)
    return [f"{_sentence(standing(record, fitted(record.case.placements), other))}." for other in others]


def fastest_named(record: Record) -> str:
    """Return the placement that measures best of those that are not fitted."""
    first, *others = [name for name in record.case.placements if not is_fitted(name)]
    scores = {name: row.score.value for name in others if (row := standing(record, name, first)).score}
    return max([first, *scores], key=lambda name: scores.get(name, 1.0))


def advised(record: Record) -> str:
    """Return the placement to use: the fitted one if the record shows it to be faster than the default.

    If it does not, or another is shown to be faster than the fitted one: the best named order, if that is shown to be
    faster than the default, which is the last choice.
    """
    best, own = fastest_named(record), fitted(record.case.placements)
    if best == DEFAULT or DEFAULT not in record.case.placements:
        return own if standing(record, own, best).verdict is Finding.BETTER else best
    shown = {name for name in (own, best) if standing(record, name, DEFAULT).verdict is Finding.BETTER}
    if own in shown and standing(record, own, best).verdict is not Finding.WORSE:
        return own
    return best if best in shown else DEFAULT


def _sentence(row: Standing) -> str:
    if row.score is None:
        return f"{row.combination} against {row.baseline}: no value"
    if row.verdict in (Finding.BETTER, Finding.WORSE):
        return faster(row.combination, row.score, row.baseline)
    if row.score.low is None or row.score.high is None:
        return f"{row.combination} against {row.baseline}: too few launches to tell (6 per placement are enough)"
    gain = max(row.score.high - 1, 0)
    return f"No gain of {row.combination} over {row.baseline} is shown; one above {gain:.1%} is excluded"
