"""`railyard why`: say of each slow launch of a record what may have made it slow, and on which evidence."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import click

from railyard.analysis.cases import slow
from railyard.analysis.cases.slow import SlowLaunch
from railyard.base.checkout import ARCHIVE
from railyard.base.commands import PATH, example, json_option, option, print_json
from railyard.records.cli import find
from railyard.records.record import Guarded, Record, Verdict
from railyard.records.store import archive

#: Counters of heat, as benchmarks/counters/groups/node.txt names them.
HOT = "HOT_CORES"
Answer = Literal["yes", "no", "unknown"]
_OBEYED: Mapping[Verdict, Answer] = {
    Verdict.OBEYED: "no",
    Verdict.NOT_OBEYED: "yes",
    Verdict.CANNOT_TELL: "unknown",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect:
    """A possible cause of a slow launch: whether it was one, and the evidence in a line."""

    cause: str
    answer: Answer
    evidence: str


def suspects(one: SlowLaunch) -> Iterator[Suspect]:
    """Yield what may have made a launch slow, the surest evidence first."""
    launch, health = one.launch, one.launch.health
    moved, strayed = _OBEYED[launch.placement_verdict], _OBEYED[launch.nic_verdict]
    yield Suspect(cause="ranks elsewhere", answer=moved, evidence=f"placement {launch.placement_verdict}")
    reason = f": {launch.nic_reason}" if launch.nic_reason else ""
    yield Suspect(cause="other NICs", answer=strayed, evidence=f"NIC policy {launch.nic_verdict}{reason}")
    if one.causes:
        yield Suspect(cause="errors", answer="yes", evidence="; ".join(event.text() for event in one.causes))
    elif health is None:
        yield Suspect(cause="errors", answer="unknown", evidence="no error counter was read")
    else:
        count = sum(map(len, health.read.values()))
        lacking = ", ".join(sorted({name for names in health.not_read.values() for name in names}))
        other = "; others grew in other launches as well" if health.events else ""
        blind = f"; not read: {lacking}" if lacking else ""
        yield Suspect(cause="errors", answer="no", evidence=f"{count} counters were read{other}{blind}")
    if health is not None and any(HOT in names for names in health.read.values()):
        hot = any(event.event == HOT for event in health.events)
        yield Suspect(cause="heat", answer="yes" if hot else "no", evidence=f"counter {HOT}")
    else:
        yield Suspect(cause="heat", answer="unknown", evidence="no core has a readable counter")
    names = ", ".join(role.name for role in launch.roles or ())
    yield Suspect(
        cause="other programs",
        answer="unknown" if launch.roles is None else "yes",
        evidence=f"in the same job: {names or 'none'}; other jobs are not seen",
    )
    if (guard := launch.guard) is not None:
        bound = guard.figures.get("error_bound_percent")
        load = "its error bound is not known" if bound is None else f"its times may be {bound:.1f} % too long"
        answer: Answer = "yes" if (bound or 0.0) >= one.percent else "no"
        yield Suspect(
            cause="this machine", answer=answer if guard.verdict is not Guarded.VOID else "yes", evidence=load
        )
        share = 100 * guard.figures.get("busiest_link_share", 0.0)
        evidence = f"{guard.figures.get('busiest_link', 'no link')} sent at {share:.0f} % of its rate"
        yield Suspect(cause="a full link", answer="yes" if share > 90 else "no", evidence=evidence)
    else:
        yield Suspect(cause="a full link", answer="unknown", evidence="no link's counters were read")
    yield Suspect(cause="noise", answer="unknown", evidence="the check `noise` measures each core")


@click.command(epilog=example("railyard why 9f1c2ab0"))
@click.argument("name")
@option("--archive root", "Folder of the archive.", PATH, ARCHIVE)
@json_option("Print JSON.")
def why(name: str, root: Path, *, as_json: bool) -> None:
    """Say why launches of the record NAME were slow: a file, or an id (or its beginning) in the archive.

    A launch is slow beside the launches of its combination in the same job. Each possible cause is answered with yes,
    no or unknown, and its evidence; the first yes is the likely one.
    """
    (read,) = archive.iterate([find(name, root)])
    found = slow.launches(read)
    if as_json:
        print_json([_document(one) for one in found])
    else:
        click.echo("\n".join(_lines(read, found)))


def _document(one: SlowLaunch) -> dict[str, object]:
    return {
        "launch": one.launch.index,
        "placement": one.launch.placement,
        "nic_policy": one.launch.nic_policy,
        "slower_percent": one.percent,
        "of": one.of,
        "events": [dataclasses.asdict(event) for event in one.causes],
        "suspects": [dataclasses.asdict(suspect) for suspect in suspects(one)],
    }


def _lines(read: Record, found: list[SlowLaunch]) -> Iterator[str]:
    results = sum(launch.is_result for launch in read.launches)
    yield f"{read.case.check} on {read.system.name}: {len(found)} of {results} launches slow beside their like"
    for one in found:
        launch = one.launch
        yield f"\n{launch.placement}, {launch.nic_policy}: {one.text()}"
        for suspect in suspects(one):
            yield f"  {suspect.cause:<16} {suspect.answer:<8} {suspect.evidence}"
