"""Draw which NIC transferred the bytes: the evidence of each NIC policy, from the counters of every node's NICs.

Models: of all bytes that the nodes sent during a launch each NIC's share, median over launches, a bar for each
combination, with the launches whose policy was proved obeyed. Leaves out: single nodes, which the records keep, and
cases whose nodes have one NIC.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from matplotlib.figure import Figure

from railyard.analysis.cases import cases
from railyard.analysis.cases.cases import Case, Combination
from railyard.analysis.figures import painting
from railyard.analysis.figures.drawing import DataTable, Drawing
from railyard.records.record import Launch, Verdict

#: These figures are no benchmark's own (`railyard.analysis.figures.registry`).
OF_ANY_CASE = True
TITLE = "Bytes sent by each NIC"
_ROW_IN = 0.42
_FEWEST_NICS = 2
#: More combinations than this are counted in the sentence, and named in the figure alone.
MANY = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Carried:
    """One combination: NIC -> percent of all bytes sent and bytes sent, medians over launches.

    `is_requested` is whether its NIC policy names NICs, so that a launch has a verdict on it.
    """

    name: str
    shares_percent: Mapping[str, float]
    sent_bytes: Mapping[str, float]
    launches: int
    obeyed: int
    is_requested: bool


def drawings(case: Case) -> list[Drawing]:
    """Return one figure if the launches counted the bytes of several NICs."""
    rows = carried(case)
    if len({nic for row in rows for nic in row.shares_percent}) < _FEWEST_NICS:
        return []
    columns = ("combination", "NIC", "bytes sent (%)", "bytes sent (MiB)", "launches", "obeyed")
    cells = [
        (row.name, nic, f"{share:.2f}", f"{row.sent_bytes[nic] / 2**20:.3f}", str(row.launches), str(row.obeyed))
        for row in rows
        for nic, share in row.shares_percent.items()
    ]
    return [
        Drawing(
            name="nics",
            title=TITLE,
            description=f"{TITLE}, medians over launches: {_in_words(rows)}.",
            paint=lambda figure: _paint(figure, rows),
            data=DataTable(columns=columns, rows=cells, numbers=frozenset(columns[2:])),
            height_in=1.45 + _ROW_IN * len(rows),
            statement=_statement(rows),
        )
    ]


def carried(case: Case) -> list[Carried]:
    """Return a row for each combination with launches that are results and sent something, in the case's order."""
    by_combination: dict[Combination, list[Launch]] = {combination: [] for combination in case.combinations}
    for _, launch in cases.launches(case):
        if launch.is_result and launch.nics and any(launch.nics.tx_bytes):
            by_combination[cases.combination_of(launch)].append(launch)
    return [_carried(case.name(key), launches) for key, launches in by_combination.items() if launches]


def _carried(name: str, launches: Sequence[Launch]) -> Carried:
    sent = [Counter[str]() for _ in launches]  # NIC -> bytes that all nodes sent
    for by_nic, launch in zip(sent, launches, strict=True):
        for (_, nic), tx_bytes in launch.nics.sent.items() if launch.nics else ():
            by_nic[nic] += tx_bytes
    nics = sorted({nic for by_nic in sent for nic in by_nic})
    verdicts = [launch.nic_verdict for launch in launches]
    return Carried(
        name=name,
        shares_percent={nic: median(100 * by_nic[nic] / by_nic.total() for by_nic in sent) for nic in nics},
        sent_bytes={nic: median(by_nic[nic] for by_nic in sent) for nic in nics},
        launches=len(launches),
        obeyed=verdicts.count(Verdict.OBEYED),
        is_requested=set(verdicts) != {Verdict.CANNOT_TELL},
    )


def _statement(rows: Sequence[Carried]) -> str:
    """Return in words the shares of a few combinations; for many, how many obeyed, and the shares of the rest."""
    if len(rows) <= MANY:
        return f"{_in_words(rows)}."
    requested = [row for row in rows if row.is_requested]
    rest = [row for row in requested if row.obeyed < row.launches]
    text = f"{len(requested) - len(rest)} of {len(requested)} combinations obeyed their NIC policy in every launch"
    return f"{text}; these did not: {_in_words(rest)}." if rest else f"{text}."


def _in_words(rows: Sequence[Carried]) -> str:
    parts = []
    for row in rows:
        shares = ", ".join(f"{share:.1f} % through {nic}" for nic, share in row.shares_percent.items())
        proof = f"obeyed in {row.obeyed} of {row.launches}" if row.is_requested else "no NIC was requested"
        parts.append(f"{row.name} sent {shares} ({proof})")
    return "; ".join(parts)


def _paint(figure: Figure, rows: Sequence[Carried]) -> None:
    nics = sorted({nic for row in rows for nic in row.shares_percent})
    shares = {nic: [row.shares_percent.get(nic, 0.0) for row in rows] for nic in nics}
    axes = painting.stacked_bars(figure, [row.name for row in rows], shares, alphas=(0.9, 0.5))
    axes.set_xlim(0, 100)
    axes.set_xlabel("% of all bytes sent")
    axes.set_title(TITLE)
