"""The order `optimised`: the placement whose slowest link is fastest, for given traffic on the very nodes granted.

Five steps. Starts: every order that needs no file, block shapes, the grid folded into a box, and the two point sets
halved together (`bisection`); the same along the grids that measured traffic follows (`products`). The result is never
worse than the best of them.
Trial: the best get a round of exchanges (`railyard.placements.orders.refine`). Main: the best of those gets the rest,
with the sum's power rising from 8 to 32. Annealing: for up to 800 ranks, searches from that result and from random
orders which accept worse exchanges at first. Shortening: of placements with as fast a slowest link, the one with the
smallest sum of all links' seconds; a message that passes fewer links waits less.

The objective is the slowest link between routers. The slowest host link is held near what it was at the start. Where it
takes more than twice as long as the slowest link, shortening may raise the latter to half of it (`HOST_SHARE`), but not
above the best start's. Where packets are spread over third groups, or the load decides, exchanges follow the minimal
routes, but the link-load model judges what they lead to; so they do on the first rail alone where ranks have NICs of
their own. Where counters show what other jobs load
(`railyard.placements.linkload.background`), seconds are of what they leave of each link, and the placement found
without the counters is one of the starts.

One seed, one result: work is counted in trials, not in seconds. Only a run that its time limit ends depends on the
machine; it returns the best so far.
"""

from __future__ import annotations

import itertools
import math
import operator
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from railyard.base.errors import InputError
from railyard.placements.arrays import Ints, Ints32, NDArray, np
from railyard.placements.linkload.model import PROTOCOLS, load
from railyard.placements.linkload.traffic import Traffic, stencil
from railyard.placements.orders import bisection, products, refine
from railyard.placements.orders.bisection import Cuts
from railyard.placements.orders.rank_orders import Effort, PlacementJob, boxes, hilbert, orders
from railyard.placements.orders.rank_orders.slots import snake_walk
from railyard.placements.orders.walks import divides, grids, row_major, text

ROUNDS = (8, 8, 8, 16, 16, 16, 16, 32)
NODE_SHARE = 0.01  # of trials exchange all ranks of two nodes
LARGE_RANKS, GRAPH_RANKS = 40_000, 8192  # beyond, fewer starts are evaluated
#: Steps of an annealed search: power of the sum, and what the first exchanges may add to it. The sum is 1 for one
#: slowest link. With 2 or 16 as the first power the slowest links were 1 to 8 % slower.
ANNEALED = ((4, 1.0), (8, 0.3), (32, 0.3))
SEARCHES = 6
#: Starts that get a first round.
REFINED = 6
#: Messages of a rank to which `Effort.trials_per_rank` is fitted: a trial follows the routes of all of them.
USUAL_MESSAGES = 12
#: A link below this share of the slowest host link costs nothing but its part of the sum. Measured with LULESH: on a
#: torus where the slowest link is at 0.4, the smallest sum is 7 % faster; on a dragonfly and a tree, at 0.8, slower.
HOST_SHARE = 0.5
#: What the first exchanges may add where the sum is lowered, first from the shortest start. Then all are repeated from
#: the best result, the freest first: with LULESH on a torus the sum falls by 5 % more. How often is limited by the
#: trials, and they end when they gain nothing.
SHORTENED, SHORTENED_STEPS = (0.3, 1.0, 4.0), 3
REPEATS = 4
ROUNDING = 1e-9
DIMENSIONS = 3  # of a grid that is recognised

SLOWEST, TOTAL = operator.attrgetter("slowest_s"), operator.attrgetter("total_s")
#: Names and placements, as positions in the allocation, that a search starts from.
Starts = Iterator[tuple[str, Ints32]]


@dataclass(frozen=True, kw_only=True, eq=False)
class Candidate:
    """A placement as positions in the allocation: seconds of its slowest link and host link, and of all links."""

    name: str
    at: Ints32
    slowest_s: float
    host_s: float
    total_s: float


def optimised(job: PlacementJob) -> Ints:
    """Return the node of each rank (index into `topology.nodes`).

    The default of a job's traffic is a stencil's faces. Raises InputError for traffic of other ranks than the job's.
    """
    traffic = job.traffic or stencil(job.grid, (1.0,))
    if traffic.ranks != job.ranks:
        raise InputError("traffic", "ranks", traffic.ranks, f"{job.ranks}, as many as are placed")
    return job.allocation.indices[Search(job, traffic, job.effort or Effort()).best().at[: job.ranks]]


class Search:
    """One search: the arrays of refine.c (`problem`), the deadline, and the seeds of its steps in their order."""

    def __init__(self, job: PlacementJob, traffic: Traffic, effort: Effort) -> None:
        self.deadline, self.trial_s = time.monotonic() + effort.time_limit_s, 1e-12
        if effort.background is not None and (effort.background.left == 1).all():
            effort = replace(effort, background=None)
        self.job, self.traffic, self.effort = job, traffic, effort
        self.problem = refine.problem(job.allocation, job.ranks_per_node, traffic, effort.background)
        self.progress = effort.progress or (lambda share, slowest_s: None)
        self.seeds = itertools.count(1000 * (job.seed or 0) + 1)
        #: Trials of one round, and of one step of an annealed search or of shortening.
        ranks = self.problem.ranks
        total = min(effort.trials_per_rank * ranks, effort.most_trials)
        self.trials = max(1, total // (len(ROUNDS) + REFINED - 1))
        messages = max(1.0, len(self.problem.other) / ranks)
        share = min(2.0, max(0.4, USUAL_MESSAGES / messages))
        self.step_trials = round(2 * share * effort.trials_per_rank * ranks)

    def best(self) -> Candidate:
        """Take the five steps, and return the best placement; its `name` is the start that it came from."""
        starts = [*self._without_background(), *self._evaluated_starts()]
        starts.sort(key=lambda start: (start.slowest_s, start.host_s))
        if starts[0].slowest_s == 0:
            return starts[0]
        # One of several starts of equal cost is refined, because most are one placement turned or mirrored.
        unlike = {(start.slowest_s, start.host_s, start.total_s): start for start in reversed(starts)}
        best, self.host_s = starts[0], starts[0].host_s
        tried = [*itertools.islice(reversed(unlike.values()), REFINED)]
        for number, power in enumerate(ROUNDS, start=1):
            for one in tried:
                best = min(best, self._exchanged(one, self.trials, (power, 0.0)), key=SLOWEST)
            self.progress(number / len(ROUNDS), best.slowest_s)
            tried = [best]
        candidates = [best, *self._annealed(best)]
        best = min(candidates, key=SLOWEST)
        limit_s = max(best.slowest_s, min(starts[0].slowest_s, HOST_SHARE * best.host_s)) * (1 + ROUNDING)
        host_s = max(best.host_s, candidates[0].host_s) * (1 + ROUNDING)
        shortest = min(starts, key=TOTAL)
        eased = self._exchanged(shortest, self.trials, (4, 0.0))
        pairs = [(shortest, SHORTENED[0]), (eased, SHORTENED[0]), *[(one, SHORTENED[1]) for one in candidates]]
        within = [(one, allowed) for one, allowed in pairs if one.slowest_s <= limit_s and one.host_s <= host_s]
        best = min((self._shortened(one, limit_s, allowed) for one, allowed in within), key=TOTAL)
        repeats = self.effort.most_trials // 2 // (self.step_trials * SHORTENED_STEPS)
        for _ in range(min(REPEATS, repeats // 2)):
            before = best
            for allowed in reversed(SHORTENED):
                best = self._shortened(best, limit_s, allowed)
            if best is before:
                break
        return best

    def _evaluated(self, name: str, at: Ints32) -> Candidate:
        """Return a placement with its seconds, by the link-load model where packets do not follow one route."""
        allocation, background = self.job.allocation, self.effort.background
        if allocation.topology.is_static and self.effort.nics is None:
            slowest, host, total = refine.seconds(self.problem, at)
        else:
            nodes = allocation.indices[at[: self.traffic.ranks]]
            loads = load(allocation.topology, nodes, self.traffic, PROTOCOLS["payload"], nics=self.effort.nics)
            loads = loads if background is None else background.added_to(loads)
            slowest, host, total = loads.slowest_s, loads.slowest_host_s, float(loads.link_s.sum())
        return Candidate(name=name, at=at, slowest_s=slowest, host_s=host, total_s=total)

    def _without_background(self) -> Iterator[Candidate]:
        """Yield what a search of half the time finds without the counters, with its seconds under the background."""
        if self.effort.background is not None:
            limit_s = self.effort.time_limit_s / 2
            alone = replace(self.effort, background=None, progress=None, time_limit_s=limit_s)
            best = Search(self.job, self.traffic, alone).best()
            yield self._evaluated(f"{best.name} without background", best.at)

    def _evaluated_starts(self) -> Iterator[Candidate]:
        """Yield every start with its seconds; after the deadline only those evaluated so far (at least one)."""
        for number, (name, at) in enumerate(_starts(self.job, self.traffic)):
            free = self.problem.slots - np.bincount(at, minlength=len(self.job.allocation.indices))
            # Every empty slot is taken by a rank without messages.
            idle = np.repeat(np.arange(len(free), dtype=np.int32), free)
            yield self._evaluated(name, np.ascontiguousarray(np.concatenate([at, idle]), dtype=np.int32))
            if number and time.monotonic() > self.deadline:
                return

    def _annealed(self, start: Candidate) -> Iterator[Candidate]:
        """Yield what annealed searches end in: none for more ranks than a quarter of the trials allows.

        Every second one begins with all ranks exchanged at random.
        """
        searches = self.effort.most_trials // 4 // (self.step_trials * len(ANNEALED))
        for number in range(min(SEARCHES, searches)):
            current = start
            if number % 2:
                shuffled = np.random.default_rng(next(self.seeds)).permutation(start.at)
                current = self._evaluated("random", shuffled)
            for step in ANNEALED:
                current = self._exchanged(current, self.step_trials, step)
            yield current

    def _shortened(self, start: Candidate, limit_s: float, allowed: float) -> Candidate:
        """Lower the sum of all links' seconds, where no link becomes slower than the limit."""
        trials = min(SHORTENED_STEPS * self.step_trials, self.effort.most_trials)
        one = self._exchanged(start, trials, (1, allowed), limit_s)
        return one if one.slowest_s <= limit_s and one.total_s < start.total_s else start

    def _exchanged(
        self, start: Candidate, trials: int, step: tuple[int, float], limit_s: float = math.inf
    ) -> Candidate:
        """Exchange ranks in some trials; the best start's slowest host link counts nine tenths of the slowest link.

        A step is the power of the sum, and what the first exchanges may add to it.
        """
        begun_s = time.monotonic()
        trials = int(min(trials, (self.deadline - begun_s) / self.trial_s))  # as many as the time limit has room for
        if trials <= 0:
            return start
        at = refine.refine(
            self.problem,
            start.at,
            trials=trials,
            power=step[0],
            node_share=NODE_SHARE,
            seed=next(self.seeds),
            host_weight=0.9 * start.slowest_s / self.host_s,
            allowed=step[1],
            limit_s=limit_s,
        )
        self.trial_s = (time.monotonic() - begun_s) / trials
        return self._evaluated(start.name, at)


def _starts(job: PlacementJob, traffic: Traffic) -> Starts:
    """Yield everything worth evaluating for a job's own grid and numbering, then along the grids that it follows."""
    yield from _grid_starts(job)
    if traffic.is_measured or len(job.grid) == 1:
        between = traffic.matrix() + traffic.matrix().T
        yield from _bisections(job, _spectral(between))
        if traffic.ranks <= GRAPH_RANKS:
            yield from _bisections(job, np.zeros((job.ranks, 1)), between)
    for grid, ranks in products.recognised(traffic, DIMENSIONS) if traffic.is_measured else ():
        cell = np.argsort(ranks)
        for name, at in _grid_starts(replace(job, grid=grid)):
            yield f"{name} of {text(grid)}", at[cell]


def _grid_starts(job: PlacementJob) -> Starts:
    """Yield what the grid determines: named orders, halvings, blocks and folds."""
    position = np.full(len(job.allocation.topology.nodes), -1, dtype=np.int32)
    position[job.allocation.indices] = np.arange(len(job.allocation.indices), dtype=np.int32)
    without_argument = replace(job, argument="")  # which is the seed of `optimised`
    starts = [order for order in orders().values() if order.start]
    for order in sorted(starts, key=lambda order: order.start):
        try:
            yield order.name, position[order.place(without_argument)]
        except InputError:
            continue  # custom, where the grid does not match the block; by-group, where there are no groups
    if job.allocation.topology.rings is None:
        slots = np.repeat(np.arange(len(job.allocation.indices), dtype=np.int32), job.ranks_per_node)
        yield "random", np.random.default_rng(0).permutation(slots)[: job.ranks]
    yield from _bisections(job)
    yield from _blocks(job)
    box = boxes.box_of(job.allocation) if job.allocation.topology.rings else None
    if box is not None and job.ranks == math.prod(box) and job.ranks <= LARGE_RANKS:
        for cells in boxes.folded(job.grid, box):
            yield "fold", position[job.allocation.topology.nodes_in(cells)]


def _blocks(job: PlacementJob) -> Starts:
    """Yield every block shape on nodes in the scheduler's order, along the snake and Hilbert curves, or by switch."""
    if job.ranks > LARGE_RANKS:
        return
    walks = {"scheduler": np.arange(len(job.allocation.indices), dtype=np.int64)}
    if job.allocation.topology.rings is None:
        walks["by switch"] = np.argsort(job.allocation.switches, kind="stable")
        walks["random"] = np.random.default_rng(0).permutation(walks["scheduler"])
    else:
        walks["snake"] = snake_walk(job.allocation)
        walks["hilbert"] = hilbert.along(job.allocation.cells)
    for shape in grids(job.ranks_per_node, len(job.grid)):
        if divides(shape, job.grid):
            node = boxes.blocked(job.grid, shape) // job.ranks_per_node
            for name, walk in walks.items():
                yield f"blocks:{text(shape)} along {name}", walk[node].astype(np.int32)


def _bisections(job: PlacementJob, places: NDArray[np.float64] | None = None, between: Any = None) -> Starts:
    """Yield the ranks halved with the nodes: by their places, shape (ranks, dimensions), the grid's or pairs' bytes."""
    nodes = job.allocation.cells.astype(np.float64)
    topology = job.allocation.topology
    points = row_major(job.grid).astype(np.float64) if places is None else places
    if places is not None or topology.rings is None or len(job.grid) == 1:
        for weights in topology.cut_weights:
            cuts = Cuts(axes=None, weights=weights)
            name = "bisection" if between is None else "graphs"
            yield name, bisection.bisect(points, nodes, job.ranks_per_node, cuts, between=between)
        return
    even, slowness = topology.cut_weights
    for axes in itertools.permutations(range(3), len(job.grid)):
        for lead, weights in ((True, even), (False, even), (False, slowness)):
            if job.ranks > LARGE_RANKS and not lead:
                continue
            cuts = Cuts(axes=axes, weights=weights, lead_by_ranks=lead)
            name = "bisection " + "".join("XYZ"[d] for d in axes) + (" by ranks" if lead else "")
            yield name, bisection.bisect(points, nodes, job.ranks_per_node, cuts)


def _spectral(between: Any) -> NDArray[np.float64]:
    """Return ranks as points: the second to seventh eigenvector of the normalised traffic; shape (ranks, up to 6).

    For traffic whose geometry is not known (a measured matrix): ranks that exchange much get points near each other.
    """
    from scipy.sparse import diags_array  # imported here: most commands optimise nothing
    from scipy.sparse.linalg import eigsh

    ranks = between.shape[0]
    if ranks < 16 or between.nnz == 0:
        return np.arange(ranks, dtype=np.float64)[:, None]
    degree = np.maximum(between.sum(axis=1), 1e-300)
    scaled = diags_array(1 / np.sqrt(degree))
    start = np.random.default_rng(0).random(ranks)
    _, vectors = eigsh(scaled @ between @ scaled, k=7, which="LA", v0=start, tol=1e-3, maxiter=2000)
    return np.asarray(vectors[:, -2::-1] / np.sqrt(degree)[:, None], dtype=np.float64)
