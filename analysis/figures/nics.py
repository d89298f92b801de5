"""Which NIC carried the bytes: the evidence of each NIC policy, from the counters of every node's NICs.

Models: of all bytes that the nodes sent during a launch each NIC's share, median over launches, a bar for each
combination, with the launches whose policy was proved obeyed. Leaves out: single nodes, which the records keep, and
cases whose nodes have one NIC.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from matplotlib.figure import Figure

from analysis.cases import cases
from analysis.cases.cases import Case, Combination
from analysis.figures import svg
from analysis.figures.drawing import DataTable, Drawing
from railyard.records.record import Launch, Verdict

#: These figures are no benchmark's own (`analysis.figures.registry`).
OF_ANY_CASE = True
TITLE = "Bytes sent by each NIC"
_ROW_IN = 0.42
_FEWEST_NICS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Carried:
    """One combination: NIC -> percent of all bytes sent and bytes sent, medians over launches."""

    name: str
    shares_percent: Mapping[str, float]
    sent_bytes: Mapping[str, float]
    launches: int
    obeyed: int
    cannot_tell: int


def drawings(case: Case) -> list[Drawing]:
    """One figure, where the launches counted the bytes of several NICs."""
    found = carried(case)
    if len({nic for each in found for nic in each.shares_percent}) < _FEWEST_NICS:
        return []
    return [
        Drawing(
            name="nics",
            title=TITLE,
            description=f"{TITLE}, medians over launches: {_in_words(found)}.",
            paint=lambda figure: _paint(figure, found),
            data=_data(found),
            height_in=1.45 + _ROW_IN * len(found),
            statement=f"{_in_words(found)}.",
        )
    ]


def carried(case: Case) -> list[Carried]:
    """What is known of each combination, in the case's order; launches that are no results, or sent nothing, have no
    part.
    """
    by_combination: dict[Combination, list[Launch]] = {each: [] for each in case.combinations}
    for _, launch in cases.launches(case):
        if launch.is_result and any(_sent(launch).values()):
            by_combination[cases.combination_of(launch)].append(launch)
    return [_carried(case.name(key), found) for key, found in by_combination.items() if found]


def _carried(name: str, launches: Sequence[Launch]) -> Carried:
    sent = [_sent(launch) for launch in launches]
    nics = sorted({nic for each in sent for nic in each})
    verdicts = [launch.nic_verdict for launch in launches]
    return Carried(
        name=name,
        shares_percent={
            nic: median(100 * each.get(nic, 0) / sum(each.values()) for each in sent) for nic in nics
        },
        sent_bytes={nic: median(each.get(nic, 0) for each in sent) for nic in nics},
        launches=len(launches),
        obeyed=verdicts.count(Verdict.OBEYED),
        cannot_tell=verdicts.count(Verdict.CANNOT_TELL),
    )


def _sent(launch: Launch) -> dict[str, int]:
    """NIC -> bytes that all nodes sent."""
    sent: dict[str, int] = {}
    for each in launch.nics or ():
        sent[each.nic] = sent.get(each.nic, 0) + each.tx_bytes
    return sent


def _in_words(found: Sequence[Carried]) -> str:
    return "; ".join(f"{each.name} {_shares(each)} ({_proof(each)})" for each in found)


def _shares(each: Carried) -> str:
    return ", ".join(f"{nic} {share:.1f} %" for nic, share in each.shares_percent.items())


def _proof(each: Carried) -> str:
    if each.cannot_tell == each.launches:
        return "asks for no NIC"
    return f"obeyed in {each.obeyed} of {each.launches}"


def _data(found: Sequence[Carried]) -> DataTable:
    columns = ("combination", "NIC", "bytes sent (%)", "bytes sent (MiB)", "launches", "obeyed")
    rows = [
        (
            each.name,
            nic,
            f"{share:.2f}",
            f"{each.sent_bytes[nic] / 2**20:.3f}",
            str(each.launches),
            str(each.obeyed),
        )
        for each in found
        for nic, share in each.shares_percent.items()
    ]
    return DataTable(columns=columns, rows=rows, numbers=frozenset(columns[2:]))


def _paint(figure: Figure, found: Sequence[Carried]) -> None:
    axes = figure.subplots()
    starts = [0.0] * len(found)
    for series, nic in enumerate(sorted({nic for each in found for nic in each.shares_percent})):
        widths = [each.shares_percent.get(nic, 0.0) for each in found]
        colour, alpha = svg.sentinel(series), (0.9, 0.5)[series % 2]
        axes.barh(range(len(found)), widths, 0.6, left=starts, color=colour, alpha=alpha, label=nic)
        starts = [start + width for start, width in zip(starts, widths, strict=True)]
    axes.set_yticks(range(len(found)), [svg.clean(each.name) for each in found])
    axes.set_ylim(len(found) - 0.5, -0.5)
    axes.set_xlim(0, 100)
    axes.grid(visible=False, axis="y")
    axes.set_xlabel("% of all bytes sent")
    axes.set_title(TITLE)
    figure.legend(loc="outside lower center", ncols=4)
