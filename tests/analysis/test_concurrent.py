"""Records with companions: read, accepted by the strict check, and shown as impact factors and as copies."""

from __future__ import annotations

import re
import shlex
from typing import Any

import pytest
from matplotlib.figure import Figure
from support import evidence, forgeries

from railyard.analysis.cases import cases, impacts
from railyard.analysis.figures import concurrent
from railyard.analysis.stats.verdicts import Finding
from railyard.base.decoded import decoded
from railyard.jobs import launching
from railyard.jobs.job.spec import JobSpec
from railyard.jobs.roles import Roles, placed, victims
from railyard.jobs.roles import program as program_of
from railyard.placements import launchers
from railyard.placements.orders.allocation import allocate
from railyard.placements.orders.placement import Placement, place
from railyard.placements.topology import catalog
from railyard.records import rules
from railyard.records.record import Record

INCAST = {"name": "incast", "role": "congestor", "program": ["congestor"], "again": False}
COPY = {"name": "copy", "role": "copy", "program": [], "again": False}


def role(launch: dict[str, Any], name: str, kind: str, slower: float) -> dict[str, Any]:
    series = [{**each, "samples": [slower * value for value in each["samples"]]} for each in launch["series"]]
    nics = [{"node": "n1-0-0", "nic": "nic0", "tx_bytes": 4_000_000_000, "rx_bytes": 0}]
    return {
        "name": name,
        "role": kind,
        "command": "mpirun congestor",
        "status": "ok",
        "reason": "",
        "exit_status": 0,
        "starts": 1,
        "begun_s": -1.0,
        "ended_s": 4.5,
        "victim_s": 4.0,
        "hosts": ["n1-0-0"],
        "ranks": [],
        "placement_verdict": "cannot-tell",
        "series": series,
        "reported": {},
        "nics": nics,
    }


def loaded(load: str, companion: dict[str, Any], *, times: float, copies: tuple[float, ...] = ()) -> Record:
    """A halo on the first four of eight nodes, alone and under a load that makes it so many times slower."""

    def change(document: dict[str, Any]) -> None:
        document["case"]["roles"] = {"rule": "contiguous", "victim_nodes": 4, "loads": {load: [companion]}}
        for launch in document["launches"]:
            launch["roles"] = None
            if not launch["placement"].endswith(f"+{load}"):
                continue
            for series in launch["series"]:
                factor = 1 / times if series["fom"].endswith("gbyte_s") else times
                series["samples"] = [factor * value for value in series["samples"]]
            made = [role(launch, f"copy-{k}", "copy", slower) for k, slower in enumerate(copies, 1)]
            launch["roles"] = made or [role(launch, "incast", "congestor", 1.0)]

    names = ["plain", f"plain+{load}"]
    good = evidence.good(
        origin="measured", topology="gemini-2x2x2", grid=[2, 2, 1], placements=names, nic_policies=["library-default"]
    )
    return forgeries.changed(good, change)


def test_the_page_shows_the_factor_and_what_the_load_sent() -> None:
    """A statistic that no row has is not in the legend, such as p99.9 where launches have few samples."""
    (case,) = cases.group([loaded("incast", INCAST, times=3.0)])
    (found,) = impacts.impacts(case)
    average = found.headline
    assert average.value == pytest.approx(3.0, rel=0.1) and average.finding is Finding.WORSE
    assert average.low is not None and average.high is not None and average.low < 3.3 and average.high > 2.7
    assert found.sent_gbyte_s == pytest.approx(1.0)
    (drawing,) = concurrent.drawings(case)
    assert "under incast is on average" in drawing.statement and "a difference is shown" in drawing.statement
    values = {str(each.statistic): each.value for each in found.factors}
    assert {row[4] for row in drawing.data.rows} == {*values} == {"average", "p99", "p99.9"} and values["p99.9"] is None
    figure = Figure()
    drawing.paint(figure)
    legend = figure.axes[0].get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == [name for name, value in values.items() if value]


def test_loads_with_too_few_launches_share_one_sentence() -> None:
    """Before, each had a sentence of its own, all with the same ending."""

    def change(document: dict[str, Any]) -> None:
        document["case"] |= {"placements": ["plain", "plain+incast", "plain+alltoall"], "launches_per_combination": 1}
        loads = document["case"]["roles"]["loads"]
        loads["alltoall"] = loads["incast"]
        first: dict[str, Any] = {}
        for launch in document["launches"]:
            first.setdefault(launch["placement"], launch)
        more = {**first["plain+incast"], "placement": "plain+alltoall", "index": 2}
        document["launches"] = [{**each, "index": at} for at, each in enumerate([*first.values(), more])]

    (case,) = cases.group([forgeries.changed(loaded("incast", INCAST, times=3.0), change)])
    (drawing,) = concurrent.drawings(case)
    assert drawing.statement.count("impact factors of") == 1
    assert re.search(r"incast [23]\.\d\d, alltoall [23]\.\d\d; without an interval", drawing.statement)
    assert drawing.statement.endswith("without an interval no difference is shown (n = 1 launch).")


def test_a_figure_with_several_samples_a_launch_counts_before_one_with_a_single_one() -> None:
    """Before, an allreduce of 8 B under load was judged by its one rate, and had no percentile."""

    def change(document: dict[str, Any]) -> None:
        for launch in document["launches"]:
            for series in launch["series"]:
                if series["fom"] == "iteration_us":
                    series["samples"] = series["samples"][:1]

    (case,) = cases.group([forgeries.changed(loaded("incast", INCAST, times=3.0), change)])
    assert {found.fom for found in impacts.impacts(case)} == {"bandwidth_gbyte_s"}


def test_the_slowest_copy_counts_against_one_alone() -> None:
    (case,) = cases.group([loaded("copies", COPY, times=1.0, copies=(1.5, 1.2))])
    (found,) = impacts.copies(case)
    assert found.count == 3
    assert found.slowest.median == pytest.approx(1.5 * found.alone.median, rel=0.1)
    assert found.median.median == pytest.approx(1.2 * found.alone.median, rel=0.1)
    assert "3 copies at once" in concurrent.drawings(case)[0].statement


def test_the_strict_check_works_out_the_victim_s_nodes() -> None:
    good = loaded("incast", INCAST, times=3.0)
    assert [each for each in rules.faults(good) if "ranks" in each.field] == []
    moved = forgeries.changed(good, lambda document: document["case"]["roles"].update(rule="interleaved"))
    assert any("plain gives" in each.text for each in rules.faults(moved))


def rendered(launcher: str, load: str, companion: dict[str, Any], copies: tuple[float, ...] = ()) -> Record:
    """A record with the lines that a job writes for its launches and the programs beside them."""

    def change(document: dict[str, Any]) -> None:
        roles = decoded(Roles, read.case.roles or {}, "roles")
        granted = allocate(catalog.load("gemini-2x2x2"), "snake", block=None, seed=read.case.seed)
        request = JobSpec(name="check", benchmark="halo", grid=(2, 2, 1), seed=read.case.seed)
        for launch in document["launches"]:
            name, stem = launch["placement"], f"launch-{launch['index']:03d}"
            program = [*launch["command"].partition(" halo ")[1:]]
            program = ["env", f"RAILYARD_NICS={stem}.nics", *shlex.split("".join(program))]
            own = place(name, victims(roles, granted), (2, 2, 1), ranks_per_node=1, seed=read.case.seed)
            launch["command"] = line(own, launcher, name, program)
            beside = placed(roles, granted, name, request)
            for role, (one, where) in zip(launch["roles"] or (), beside, strict=True):
                words = program_of(one, program, stem, counts_nics=True)
                role["command"] = line(where, launcher, f"{name}.{one.name}", words)

    read = loaded(load, companion, times=2.0, copies=copies)
    return forgeries.changed(read, change)


def line(placement: Placement, launcher: str, stem: str, program: list[str]) -> str:
    on = launchers.named(launcher)
    made = launching.render(placement, "library-default", on, ["linux-net"], stem=stem, by_script=True)
    return made.command(program)


def commands_of(read: Record) -> list[str]:
    return [f"{fault.field}: {fault.text}" for fault in rules.faults(read) if "command" in fault.field]


MANY = {**INCAST, "program": ["congestor", "--pattern", "incast"]}
LOADS = {"incast": (MANY, ()), "copies": (COPY, (1.5,)), "program": ({**MANY, "again": True}, ())}


@pytest.mark.parametrize("launcher", ["openmpi4", "mpich", "slurm", "pals", "flux", "jsrun"])
@pytest.mark.parametrize("load", LOADS)
def test_lines_of_programs_beside_the_measured_one_are_those_of_a_job(launcher: str, load: str) -> None:
    companion, copies = LOADS[load]
    assert commands_of(rendered(launcher, load, companion, copies)) == []


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("congestor ", "true congestor ", "'true' before the program; expected words of the launcher"),
        ("mpirun", "LD_PRELOAD=/f.so mpirun", "'LD_PRELOAD=/f.so' before the program"),
        ("mpirun", "true", "'true' before the program"),
        (" congestor ", " /tmp/congestor ", "ends in '/tmp/congestor"),
        ("incast --ready", "none --ready", "the case gives 'congestor --pattern incast --ready"),
        ("--stop launch", "--stop /etc/hosts launch", "ends in "),
        ("mpirun", "echo; mpirun", "ends in "),
    ],
)
def test_other_words_in_the_line_of_a_load_are_refused(old: str, new: str, words: str) -> None:
    """Nobody read them: a load that never ran passed."""

    def change(document: dict[str, Any]) -> None:
        for role in (role for launch in document["launches"] for role in launch["roles"] or ()):
            assert old in role["command"]
            role["command"] = role["command"].replace(old, new, 1)

    refused = commands_of(forgeries.changed(rendered("openmpi4", "incast", MANY), change))
    assert refused and all(".roles[0].command: " in each and words in each for each in refused), refused


def test_a_launch_under_a_load_has_all_of_its_programs() -> None:
    good = rendered("openmpi4", "incast", MANY)
    alone = forgeries.changed(good, lambda document: [one.update(roles=None) for one in document["launches"]])
    assert any("[]; the load of plain+incast has ['incast']" in fault.text for fault in rules.faults(alone))
