"""Launch pairs of nodes by `pt2pt`, all at once, and read the rate of each.

Models: one launch in which ranks 2i and 2i + 1 are pair i, their bidirectional bandwidth at one size. A launch that
fails is halved until the pairs that do not answer are alone. Leaves out: which pairs are launched
(`railyard.admit.group_tests`).
"""

from __future__ import annotations

import functools
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import click

from railyard.admit.group_tests import Pair
from railyard.base import host_names, parent
from railyard.base.decoded import decoded
from railyard.base.errors import RunError
from railyard.base.json_files import json_object
from railyard.jobs.nodes.counted import Counted
from railyard.placements import launchers
from railyard.placements.arrays import np
from railyard.placements.hosts import naming
from railyard.placements.orders.allocation import scheduled
from railyard.placements.orders.placement import Placement
from railyard.placements.orders.rank_orders import orders
from railyard.records import benchmark
from railyard.records.folded import health
from railyard.records.folded.health import Health

#: `pt2pt` lists the rates of so many pairs; more pairs are launched in turns.
MOST_PAIRS = 1024
#: While no launch has ended well, a failed launch of so many pairs is not halved until some pairs were tried alone.
FEWEST_HALVED = 4
#: Exit status of `pt2pt` for options that it refuses.
USAGE = 2
#: The size that is chosen after the first launch: WINDOW messages take WINDOW_S at least, and none is above LAST_SIZE.
AUTO = "auto"
FIRST_SIZE, LAST_SIZE = 4096, 1 << 20
WINDOW = 64
WINDOW_S = 0.1


@dataclass(slots=True, kw_only=True)
class Launcher:
    """How pairs are launched: by `launcher`, whose first word `command` replaces, and `pt2pt` of that MPI.

    `nodes` are all nodes in the scheduler's order. `most` launches may be made; `launches` counts them. A `size` that
    is AUTO is chosen after the first launch. `counted` has, for each node and link whose counters were read, by how
    much each error counter grew in all launches.
    """

    launcher: str
    command: Sequence[str]
    program: str
    nodes: Sequence[str]
    size: str
    repeats: int
    timeout_s: float
    folder: Path
    most: int
    launches: int = 0
    has_answer: bool = False
    counted: dict[str, dict[str, int]] = field(default_factory=dict)

    def __call__(self, pairs: Sequence[Pair]) -> Mapping[Pair, float | None]:
        """Return the rate of each pair in GB/s, None for one that fails alone."""
        is_sized, self.size = self.size != AUTO, self.size.replace(AUTO, str(FIRST_SIZE))
        rates = self._in_turns(pairs)
        answers = [rate for rate in rates.values() if rate]
        if is_sized or not answers:
            return rates
        window_s = 1e-9 * WINDOW * FIRST_SIZE / float(np.median(answers))
        self.size = str(min(LAST_SIZE, FIRST_SIZE << max(0, int(np.log2(WINDOW_S / window_s)))))
        if self.size == str(FIRST_SIZE):
            return rates
        click.echo(f"launch {self.launches}: messages of {FIRST_SIZE} bytes are too small; again with {self.size}")
        return self._in_turns(pairs)

    def _in_turns(self, pairs: Sequence[Pair]) -> dict[Pair, float | None]:
        rates: dict[Pair, float | None] = {}
        for first in range(0, len(pairs), MOST_PAIRS):
            rates |= self._halved(pairs[first : first + MOST_PAIRS])
        return rates

    def _halved(self, pairs: Sequence[Pair]) -> dict[Pair, float | None]:
        problem, rates = self._launched(pairs)
        if rates is not None:
            self.has_answer = True
            return rates
        click.echo(f"launch {self.launches}: no result of {len(pairs)} pairs: {problem}")
        if self.launches >= self.most:
            raise RunError(f"admit: {self.launches} launches, and the last one failed: {problem}")
        if len(pairs) == 1:
            return {pairs[0]: None}
        middle = len(pairs) // 2
        if not self.has_answer and len(pairs) >= FEWEST_HALVED:
            for pair in (pairs[0], pairs[middle], pairs[-1]):
                problem, rates = self._launched([pair])
                self.has_answer = rates is not None
                if self.has_answer:
                    break
            else:  # the cause is not a node
                raise RunError(f"admit: {self.launches} launches, and no pair answers, not even alone: {problem}")
        return self._halved(pairs[:middle]) | self._halved(pairs[middle:])

    def _launched(self, pairs: Sequence[Pair]) -> tuple[str, dict[Pair, float | None] | None]:
        """Return the rates, or the problem of a launch that failed; RunError for options that `pt2pt` refuses."""
        self.launches += 1
        stem = f"launch-{self.launches:03}"
        rendered = launchers.render(self.launcher, self._placement(pairs), stem=stem)
        for name, text in rendered.files.items():
            (self.folder / name).write_text(text, encoding="utf-8")
        output = self.folder / f"{stem}.json"
        counting = ["env", f"RAILYARD_NICS={self.folder / stem}.nics"]
        words = [*(self.command or rendered.command[:1]), *rendered.command[1:], *counting, self.program]
        words += ["--pattern", "nearest", "--tests", "bibandwidth", "--sizes", self.size, "--json", str(output)]
        words += ["--repeats", str(self.repeats)]
        try:
            done = subprocess.run(
                words,
                cwd=self.folder,
                env={**os.environ, **rendered.environment, "RAILYARD_EVIDENCE": f"{self.folder / stem}.evidence"},
                capture_output=True,
                text=True,
                errors="replace",
                timeout=self.timeout_s,
                preexec_fn=functools.partial(parent.end_with, os.getpid(), signal.SIGTERM),
                check=False,
            )
        except subprocess.TimeoutExpired:
            return f"no end after {self.timeout_s:g} s", None
        except OSError as error:
            raise RunError(f"{words[0]}: {error.strerror}") from error
        (self.folder / f"{stem}.log").write_text(done.stdout + done.stderr, encoding="utf-8")
        if done.returncode == USAGE:
            raise RunError(f"admit: a launch was refused; see {self.folder / stem}.log")
        if done.returncode or not output.exists():
            return f"exit status {done.returncode}; see {self.folder / stem}.log", None
        self._count(stem, pairs)
        return "", _rates(output, pairs, self.nodes)

    def _count(self, stem: str, pairs: Sequence[Pair]) -> None:
        """Add what the error counters of a launch's nodes and links grew by."""
        files = Counted.read(self.folder / f"{stem}.nics")
        evidence = json_object(self.folder / f"{stem}.evidence").get("health")
        if (read := evidence or (files.document.get("health") if files else None)) is None:
            return
        changes = decoded(Health, health.document(read["read"], read["not_read"], read["events"]), "health")
        own = host_names.matched({node for pair in pairs for node in (pair.one, pair.other)}, self.nodes)
        for name in (*own.values(), *(pair.path for pair in pairs)):
            self.counted.setdefault(name, {})
        for event in changes.faults:
            node = next(iter(host_names.matched([event.node], self.nodes).values()), event.node)
            for name, where in ((node, event.nic), (event.nic, "")):
                if (counter := self.counted.get(name)) is not None:
                    text = f"{where} {event.event} ({event.unit})".strip()
                    counter[text] = counter.get(text, 0) + event.count

    def evidence(self, name: str) -> str:
        """Return what the error counters of a node or a link show, in words."""
        if (counter := self.counted.get(name)) is None:
            return "its error counters were not read"
        grown = sorted(counter.items(), key=lambda item: -item[1])
        return ", ".join(f"{text} {count:,}" for text, count in grown[:3]) or "no error counter of it grew"

    def _placement(self, pairs: Sequence[Pair]) -> Placement:
        topology = naming.flat(self.nodes)
        index = {node.name: position for position, node in enumerate(topology.nodes)}
        # The later node first: an ascending order would be left to Slurm, whose own order of nodes may be another.
        indices = np.array([index[node] for pair in pairs for node in (pair.other, pair.one)], dtype=np.int64)
        every = scheduled(topology, np.arange(len(self.nodes), dtype=np.int64))
        return Placement(order=orders()["file"], grid=(len(indices),), allocation=every, indices=indices)


def _rates(path: Path, pairs: Sequence[Pair], nodes: Sequence[str]) -> dict[Pair, float | None]:
    """Return the median rate of each pair of a launch's output; RunError where ranks ran on other nodes."""
    measured = [one for one in benchmark.load(path).series if one.fom == "pair_bandwidth_gbyte_s"]
    hosts = {str(series.labels[end]) for series in measured for end in ("from", "to")}
    by_host = {host: node for node, host in host_names.matched(nodes, hosts).items()}
    rates: dict[frozenset[str], float] = {}
    for series in measured:
        ends = frozenset(by_host.get(str(series.labels[end]), "") for end in ("from", "to"))
        rates[ends] = float(np.median(series.samples))
    if strange := [pair for pair in pairs if frozenset((pair.one, pair.other)) not in rates]:
        pair = strange[0]
        raise RunError(f"admit: no rate of {pair.one} and {pair.other}: the ranks of a launch ran on other nodes")
    return {pair: rates[frozenset((pair.one, pair.other))] for pair in pairs}
