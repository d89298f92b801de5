"""Forgeries of an honest record, each a valid record of its own digests, and random changes of single fields."""

from __future__ import annotations

import copy
import functools
import random
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from railyard.base.errors import InputError
from railyard.records import json_io, record, rules
from railyard.records.record import Origin, Record
from railyard.records.rules.figures import RATES
from support import evidence
from support.records.rows import of_rows, with_rows

Document = dict[str, Any]
Change = Callable[[Document], object]


@dataclass(frozen=True, slots=True)
class Forgery:
    """What is changed, the rule that must find it, and words of its fault."""

    rule: str
    words: str
    change: Change


def changed(of: Record, change: Change) -> Record:
    """A record with something changed, and the digests that fit."""
    document = with_rows(of)
    change(document)
    return of_rows(document, "forged")


def forged(of: Record, name: str) -> Record:
    return changed(of, {**ALL, **ON_A_TORUS}[name].change)


def first(document: Document) -> Document:
    launch: Document = document["launches"][0]
    return launch


def policy(document: Document, name: str) -> Document:
    """The first launch under a NIC policy."""
    return next(each for each in document["launches"] if each["nic_policy"] == name)


def of_placement(document: Document, name: str) -> Document:
    return next(each for each in document["launches"] if each["placement"] == name)


def set_all(name: str, value: Any) -> Change:
    return lambda document: [each.update({name: value}) for each in document["launches"]]


def in_first(**values: Any) -> Change:
    return lambda document: first(document).update(values)


def in_guard(**values: Any) -> Change:
    return lambda document: first(document)["guard"].update(values)


def copy_first(document: Document) -> None:
    """One launch, copied over all others of its combination."""
    for launch in document["launches"][1:]:
        launch["series"], launch["nics"] = copy.deepcopy(first(document)["series"]), first(document)["nics"]


def scale_samples(fom: str, factor: float, launches: int = 1) -> Change:
    def change(document: Document) -> None:
        for launch in document["launches"][:launches]:
            for series in launch["series"]:
                if series["fom"] == fom:
                    series["samples"] = [each * factor for each in series["samples"]]

    return change


def add_series(labels: dict[str, Any], fom: str = "iteration_us") -> Change:
    """Another series in each launch, of half the times."""

    def change(document: Document) -> None:
        for launch in document["launches"]:
            samples = [sample / 2 for sample in launch["series"][0]["samples"]]
            launch["series"].append({"fom": fom, "labels": labels, "samples": samples})

    return change


def constant_samples(document: Document) -> None:
    for series in first(document)["series"]:
        series["samples"] = series["samples"][:1] * len(series["samples"])


def alike_but_one(document: Document) -> None:
    for series in first(document)["series"]:
        series["samples"] = [*series["samples"][:1] * (len(series["samples"]) - 1), series["samples"][-1]]


def node_of_another_machine(document: Document) -> None:
    """A measured job of which one node, wherever it is named, has a name as of another machine."""
    name = nodes(document)[-1]["name"]
    document.update(orjson.loads(orjson.dumps(document).replace(f'"{name}"'.encode(), b'"gpu17"')), origin="measured")


def late_packets(document: Document) -> None:
    """A launch whose packets the router delivered 12 % late, and which is said to be ok."""
    guard = first(document)["guard"]
    guard["error_bound"].update(lateness_percent=12.0, percent=13.25)
    guard["lateness"]["mean_percent"] = 12.0
    guard["error_bound_percent"] = 13.25


def label_of_first(document: Document) -> None:
    first(document)["series"][0]["labels"] = {"variant": "copy"}


def pair_of_another_machine(document: Document) -> None:
    first(document)["series"][0]["labels"] = {"from": "elsewhere"}


def without_bandwidth(document: Document) -> None:
    for launch in document["launches"]:
        launch["series"] = [each for each in launch["series"] if each["fom"] != "bandwidth_gbyte_s"]
        launch["not_measured"] = [{"fom": "bandwidth_gbyte_s", "labels": {}, "reason": "none"}]


def swap_ranks(document: Document) -> None:
    ranks = of_placement(document, "plain")["ranks"]
    ranks[0]["host"], ranks[1]["host"] = ranks[1]["host"], ranks[0]["host"]


def swap_placements(document: Document) -> None:
    one, other = of_placement(document, "plain"), of_placement(document, "random")
    one["ranks"], other["ranks"] = other["ranks"], one["ranks"]


def other_nic(document: Document) -> None:
    """Local-nic is said to be obeyed, and every byte left by the other NIC."""
    for nic in policy(document, "local-nic")["nics"]:
        nic["nic"] = {"nic0": "nic1", "nic1": "nic0"}[nic["nic"]]


def swap_launches(document: Document) -> None:
    """The figures in another order, the positions renumbered."""
    launches = document["launches"]
    other = next(place for place, each in enumerate(launches) if each["placement"] != launches[0]["placement"])
    launches[0], launches[other] = launches[other], launches[0]
    for index, launch in enumerate(launches):
        launch["index"] = index


def same_start(document: Document) -> None:
    for launch in document["launches"]:
        launch["started"] = first(document)["started"]


def no_monotonic(document: Document) -> None:
    set_all("begun_monotonic_s", None)(document)
    set_all("ended_monotonic_s", None)(document)


def overlap(document: Document) -> None:
    no_monotonic(document)
    first(document)["elapsed_s"] = 60.0


def then(*changes: Change) -> Change:
    return lambda document: [each(document) for each in changes]


def move_rank(document: Document) -> None:
    first(document)["ranks"][0]["host"] = "login1"


def ten_years_ago(document: Document) -> None:
    text = orjson.dumps(document).replace(b"2026-11-2", b"2016-11-2")
    document.update(orjson.loads(text))


def all_on_one(document: Document) -> None:
    for rank in first(document)["ranks"]:
        rank["host"] = "n0-0"


def replace_in_commands(old: str, new: str) -> Change:
    def change(document: Document) -> None:
        for launch in document["launches"]:
            launch["command"] = launch["command"].replace(old, new)

    return change


def change_commands(document: Document, change: Callable[[str], str]) -> None:
    for launch in document["launches"]:
        launch["command"] = change(launch["command"])


def start_by(program: str, also: Change = bool) -> Change:
    """As a site that has a program in the launcher's place; `also` is changed, too."""

    def change(document: Document) -> None:
        also(document)
        document["provenance"]["reframe"].update(wrapper=program, launcher="openmpi4")
        change_commands(document, lambda line: re.sub(r"\bmpirun\b", program, line, count=1))

    return change


def count_nics(document: Document) -> None:
    """As where the ranks count the NICs, whose bytes then prove less."""
    for launch in document["launches"]:
        counted = f" env RAILYARD_NICS=launch-{launch['index']:03d}.nics halo "
        launch["command"] = launch["command"].replace(" halo ", counted, 1)


def nodes(document: Document) -> list[Document]:
    found: list[Document] = document["case"]["allocation"]["nodes"]
    return found


def same_bytes(document: Document) -> None:
    document["launches"][1]["nics"] = copy.deepcopy(first(document)["nics"])


def late(document: Document) -> None:
    """As if made in the year 9999."""
    document["created"] = "9999-01-01T00:00:00Z"


def one_failed(document: Document) -> None:
    document["launches"][-1].update(status="failed", reason="killed")
    document.update(status="failed", reason="1 of 24 launches failed: killed")


def five_rounds(document: Document) -> None:
    document["case"]["launches_per_combination"] = 5
    document["launches"] = [launch for launch in document["launches"] if launch["repeat"] < 5]


#: Of a record of 16 nodes with two NICs each, orders plain and random, policies library-default and local-nic.
UNREAD: dict[str, Any] = {
    "read": {},
    "not_read": {},
    "events": [
        {"node": "n0-0-0", "nic": "nic0", "event": "LINK_DOWNS", "unit": "events"}
        | {"kind": "count", "before": 0, "after": 1}
    ],
}

ALL: Mapping[str, Forgery] = {
    "a program of which no digest could be made": Forgery(
        "program-digest",
        "no digest of halo",
        lambda d: [d["run"][when]["files"].update(halo=None) for when in ("written", "ended")],
    ),
    "a measurement started by the model": Forgery(
        "command",
        "begins with 'railyard', which no launcher of railyard writes for",
        lambda d: change_commands(
            d, lambda line: re.sub("mpirun .*? halo ", "railyard model --hostfile a t.yml halo ", line)
        ),
    ),
    "a file of no launch": Forgery(
        "command",
        "not one plain command",
        lambda d: change_commands(d, lambda line: line.replace("launch-000.", "launch-N.")),
    ),
    "a source that nobody checked": Forgery(
        "source",
        "without the recipe's checksum",
        lambda d: d["case"]["parameters"].update(spack_source="unchecked: v1.tar.gz"),
    ),
    "a launch that failed": Forgery("ended", "failed: 1 of 24", one_failed),
    "a launch that no guard watched": Forgery("guarded", "no guard watched", in_first(guard=None)),
    "five rounds of six": Forgery("launches", "at least 6 are needed", five_rounds),
    "a single sample": Forgery(
        "samples",
        "1 samples; at least",
        lambda d: [series.update(samples=series["samples"][:1]) for series in first(d)["series"]],
    ),
    "data that was not verified": Forgery("verified", "did not verify", set_all("verified", None)),
    "another unit in one launch": Forgery(
        "one-unit", "mixed units", lambda d: d["launches"][1]["series"][0].update(fom="iteration_s")
    ),
    "a series that one launch lacks": Forgery(
        "same-series", "not the figures of the first", lambda d: d["launches"][1]["series"].pop()
    ),
    "ranks without CPUs": Forgery(
        "placed", "ranks' CPUs", lambda d: [rank.update(cpu=None, allowed_cpus=None) for rank in first(d)["ranks"]]
    ),
    "a policy without NICs": Forgery(
        "nic-evidence", "no evidence of the NICs", lambda d: policy(d, "local-nic").update(nics=None)
    ),
    "a checkout that was changed": Forgery(
        "provenance", "the checkout was changed", lambda d: d["provenance"]["railyard"].update(git_dirty=True)
    ),
    "the program of another check": Forgery(
        "benchmark", "halo_3d runs halo", lambda d: d["case"].update(benchmark="noise", parameters={})
    ),
    "the program's own number of cells": Forgery(
        "parameters", "missing; halo needs it", lambda d: d["case"]["parameters"].pop("cells")
    ),
    "cells of which no figure can be worked out": Forgery(
        "parameters",
        "[2048.0, 2048.0] is not a list of whole numbers",
        lambda d: d["case"]["parameters"].update(cells=[2048.0, 2048.0]),
    ),
    "faster iterations between other hosts": Forgery(
        "series", "has the label from, which halo never writes", add_series({"from": "a", "to": "b"})
    ),
    "faster iterations of a variant": Forgery(
        "contradiction", "no variant of the case", add_series({"variant": "copy"})
    ),
    "a label of one launch": Forgery("same-points", "is not as often there as in launch 0", label_of_first),
    "a pair of another machine": Forgery("ends", "{'from': 'elsewhere'} is not in the launch", pair_of_another_machine),
    "a figure of another program": Forgery(
        "series", "allreduce_us is no figure of halo", add_series({}, fom="allreduce_us")
    ),
    "a figure that was not measured": Forgery(
        "contradiction", "no bandwidth_gbyte_s, which the program always writes", without_bandwidth
    ),
    "a check whose name begins alike": Forgery(
        "check-name", "halo_3dx; the case names", lambda d: d["provenance"]["reframe"].update(check="halo_3dx")
    ),
    "nodes on fewer switches": Forgery("spans", "the nodes have", lambda d: first(d)["spans"].update(switches=1)),
    "no spread named": Forgery("spans", "none; the nodes have", in_first(spans=None)),
    "one launch copied": Forgery("no-two-alike", "this launch has the same samples as launch 0", copy_first),
    "NIC bytes copied": Forgery("no-two-alike", "the same bytes as those of launch 0", same_bytes),
    "launches reordered": Forgery("launch-order", "draws", swap_launches),
    "another seed": Forgery("launch-order", "draws", lambda d: d["case"].update(seed=77)),
    "a seed that the challenge does not give": Forgery(
        "challenge", "the challenge gives", lambda d: d["case"].update(challenge="other")
    ),
    "a study left out": Forgery("studies", "belongs to the study", lambda d: d["case"].update(studies=[])),
    "a study that is none": Forgery("studies", "is no study", lambda d: d["case"]["studies"].append("mine")),
    "a topology of a shipped name": Forgery(
        "topology", "dual-rail-small has", lambda d: d["case"]["topology"].update(sha256="ab" * 32)
    ),
    "a topology with another rail": Forgery(
        "topology", "dual-rail-small has", lambda d: d["case"]["topology"].update(rails=3)
    ),
    "a topology with other extents": Forgery(
        "topology", "dual-rail-small has", lambda d: d["case"]["topology"].update(extents=[8, 1, 1])
    ),
    "a shipped topology of another name": Forgery(
        "topology", "is that of", lambda d: d["case"]["topology"].update(name="mine")
    ),
    "no nodes": Forgery("nodes", "no node", lambda d: d["case"]["allocation"].update(nodes=[])),
    "one node sixteen times": Forgery(
        "nodes", "16 times", lambda d: d["case"]["allocation"].update(nodes=[nodes(d)[0]] * 16)
    ),
    "a node outside the topology": Forgery(
        "nodes", "outside 4x1x1", lambda d: nodes(d)[0].update(coordinate=[9, 0, 0])
    ),
    "too many nodes of a router": Forgery(
        "nodes", "where 4 can be", lambda d: nodes(d)[15].update(coordinate=[0, 0, 0])
    ),
    "a node elsewhere": Forgery("coordinates", "n0-0 is at", lambda d: nodes(d)[0].update(coordinate=[3, 0, 0])),
    "nodes in another order": Forgery("allocation", "not the nodes", lambda d: nodes(d).reverse()),
    "two nodes of a router swapped": Forgery(
        "allocation", "not in the order", lambda d: nodes(d).__setitem__(slice(0, 2), nodes(d)[1::-1])
    ),
    "another allocation's order": Forgery(
        "allocation", "not the nodes", lambda d: d["case"]["allocation"].update(order="random")
    ),
    "an order that is none": Forgery("allocation", "known", lambda d: d["case"]["allocation"].update(order="best")),
    "an allocation of another seed": Forgery(
        "allocation", "the case's seed", lambda d: d["case"]["allocation"].update(seed=5)
    ),
    "another block": Forgery("allocation", "", lambda d: d["case"].update(block=[2, 1, 1])),
    "fewer ranks": Forgery("ranks", "15 ranks", lambda d: first(d)["ranks"].pop()),
    "one rank": Forgery("ranks", "1 ranks", lambda d: first(d).update(ranks=first(d)["ranks"][:1])),
    "another grid": Forgery("ranks", "the parameter says", lambda d: d["case"].update(grid=[2, 8])),
    "all ranks on one node": Forgery("ranks", "16 ranks on n0-0", all_on_one),
    "a rank outside the allocation": Forgery("hosts", "login1 is no node", move_rank),
    "two ranks swapped": Forgery("placement", "plain gives", swap_ranks),
    "placements swapped": Forgery("placement", "gives", swap_placements),
    "a placement renamed": Forgery(
        "placement",
        "cart-create gives",
        lambda d: (
            d["case"].update(placements=["cart-create", "random"]),
            [e.update(placement="cart-create") for e in d["launches"] if e["placement"] == "plain"],
        ),
    ),
    "a placement that cannot be": Forgery(
        "placement",
        "cannot be on these nodes",
        lambda d: (
            d["case"].update(placements=["blocks:3x3", "random"]),
            [e.update(placement="blocks:3x3") for e in d["launches"] if e["placement"] == "plain"],
        ),
    ),
    "a placement that nobody saw": Forgery("placement", "not proved", in_first(placement_verdict="cannot-tell")),
    "a CPU that is not allowed": Forgery("processors", "not among them", lambda d: first(d)["ranks"][0].update(cpu=77)),
    "no allowed CPU": Forgery(
        "processors", "0 allowed", lambda d: first(d)["ranks"][0].update(cpu=-1, allowed_cpus=[])
    ),
    "a NIC twice": Forgery("nic-names", "2 times", lambda d: first(d)["nics"].append(first(d)["nics"][0])),
    "a NIC of no node": Forgery("nic-names", "is no node", lambda d: first(d)["nics"][0].update(node="login1")),
    "a NIC that is none": Forgery("nic-names", "is none of", lambda d: first(d)["nics"][0].update(nic="eth0")),
    "a NIC left out": Forgery("nic-names", "no nic0 of n0-0", lambda d: first(d)["nics"].pop(0)),
    "NIC bytes that nobody sent": Forgery(
        "nic-bytes", "received", lambda d: first(d)["nics"][1].update(rx_bytes=10**9)
    ),
    "fewer bytes than the faces": Forgery(
        "payload",
        "by the figures",
        lambda d: [
            nic.update(tx_bytes=nic["tx_bytes"] // 100, rx_bytes=nic["rx_bytes"] // 100)
            for launch in d["launches"]
            for nic in launch["nics"]
        ],
    ),
    "a figure left out of all launches": Forgery(
        "contradiction",
        "no pack_us, which the program always writes",
        lambda d: [launch.update(series=launch["series"][:3]) for launch in d["launches"]],
    ),
    "an exchange of half the time": Forgery(
        "contradiction", "exchange_us is", scale_samples("exchange_us", 0.5, launches=99)
    ),
    "a node that sent nothing": Forgery(
        "nic-bytes", "sent nothing", lambda d: [e.update(tx_bytes=0) for e in first(d)["nics"][:2]]
    ),
    "bytes by the other NIC": Forgery("nic-verdict", "the bytes say not-obeyed", other_nic),
    "an obeyed policy where none is": Forgery(
        "nic-verdict", "the bytes say cannot-tell", lambda d: policy(d, "library-default").update(nic_verdict="obeyed")
    ),
    "an unproved policy": Forgery(
        "nic-verdict", "is not proved", lambda d: policy(d, "local-nic").update(nic_verdict="cannot-tell")
    ),
    "drops beside ok": Forgery("guard-verdict", "the figures say void", in_guard(drops=9999)),
    "lost bytes beside ok": Forgery("guard-verdict", "the figures say void", in_guard(conserved=False)),
    "held back beside ok": Forgery(
        "guard-verdict", "the figures say void", in_guard(host_limited_s=2.4, traffic_s=2.5)
    ),
    "reasons beside ok": Forgery("guard-verdict", "1 reasons for ok", in_guard(reasons=["busy"])),
    "not watched beside ok": Forgery(
        "guard-verdict", "the figures say cannot-tell", in_guard(watched_s=0.0, traffic_s=0.0, host_limited_s=0.0)
    ),
    "a guard without figures": Forgery(
        "guard-figures", "lacks", lambda d: first(d).update(guard={"verdict": "ok", "reasons": []})
    ),
    "figures that are words": Forgery("guard-figures", "no numbers", in_guard(drops="none")),
    "a share above 1": Forgery("guard-figures", "is no share", in_guard(idle_share=1.5)),
    "watched longer than it ran": Forgery("guard-figures", "do not rise", in_guard(watched_s=500.0)),
    "more traffic than was watched": Forgery("guard-figures", "do not rise", in_guard(traffic_s=3.95)),
    "no start": Forgery("started", "no start", set_all("started", None)),
    "no duration": Forgery("started", "is no duration", in_first(elapsed_s=0.0)),
    "all at the same second": Forgery("one-after-another", "before the launches before it ended", same_start),
    "launches that overlap": Forgery("one-after-another", "before the launches before it ended", overlap),
    "created in the future": Forgery("created", "in the future", late),
    "created before it ended": Forgery(
        "created", "before the last launch ended", lambda d: d.update(created="2026-11-20T00:00:00Z")
    ),
    "a session after its launches": Forgery(
        "session",
        "after the first launch",
        lambda d: d["provenance"]["reframe"].update(session="2026-11-27T00:59:59Z-1"),
    ),
    "another session": Forgery("session", "another session", lambda d: d["run"].update(session="mine")),
    "other monotonic times": Forgery("monotonic", "the monotonic times differ", in_first(begun_monotonic_s=4999.0)),
    "a moved launch": Forgery(
        "monotonic", "against the monotonic times", lambda d: d["launches"][3].update(started="2026-11-27T00:58:00Z")
    ),
    "no monotonic times": Forgery("monotonic", "no monotonic times", no_monotonic),
    "monotonic times that overlap": Forgery(
        "monotonic",
        "before the launch before it ended",
        lambda d: d["launches"][1].update(begun_monotonic_s=5000.0, ended_monotonic_s=5004.2),
    ),
    "a wait longer than its exchange": Forgery("contradiction", "wait_us is longer", scale_samples("wait_us", 1.3)),
    "a report beside the figures": Forgery("series", "reports sample_begun_s alone", in_first(reported={"fast": 1})),
    "times of 0": Forgery("above-zero", "iteration_us is 0", scale_samples("iteration_us", 0.0)),
    "rates of 0": Forgery("above-zero", "bandwidth_gbyte_s is 0", scale_samples("bandwidth_gbyte_s", 0.0)),
    "a sample longer than its launch": Forgery(
        "within-the-launch",
        "in a launch of",
        then(scale_samples("iteration_us", 1e4), scale_samples("bandwidth_gbyte_s", 1e-4)),
    ),
    "faster times alone": Forgery("contradiction", "bytes in an iteration", scale_samples("iteration_us", 0.9)),
    "higher rates alone": Forgery("contradiction", "bytes in an iteration", scale_samples("bandwidth_gbyte_s", 1.1)),
    "higher rates in all launches": Forgery(
        "contradiction",
        "196608 bytes in an iteration; expected 131072",
        scale_samples("bandwidth_gbyte_s", 1.5, launches=99),
    ),
    "lower times in all launches": Forgery(
        "contradiction", "bytes in an iteration; expected 131072", scale_samples("iteration_us", 0.6, launches=99)
    ),
    "a sample less": Forgery("contradiction", "not as many samples", lambda d: first(d)["series"][2]["samples"].pop()),
    "a part longer than the whole": Forgery(
        "contradiction", "longer than the iteration", scale_samples("exchange_us", 2.0)
    ),
    "repeats that were not made": Forgery(
        "contradiction", "repeats is 20", lambda d: [s.update(samples=s["samples"][:10]) for s in first(d)["series"]]
    ),
    "a command that runs nothing": Forgery("command", "begins with 'true'", in_first(command="true")),
    "another benchmark": Forgery("command", "does not run hops: halo", lambda d: d["case"].update(benchmark="hops")),
    "other cells": Forgery("command", "give '--cells 1x1'", lambda d: d["case"]["parameters"].update(cells=[1, 1])),
    "a parameter that no command has": Forgery(
        "command", "no option gives", lambda d: d["case"]["parameters"].update(turbo=1)
    ),
    "a smaller run": Forgery("command", "'--cells 1x1'", replace_in_commands("2048x2048", "1x1")),
    "a second option": Forgery(
        "command", "'--cells 16x16' again", replace_in_commands(" --json", " --cells 16x16 --json")
    ),
    "a second option with a sign": Forgery(
        "command", "'--cells=16x16 --json' again", replace_in_commands(" --json", " --cells=16x16 --json")
    ),
    "an option that no parameter names": Forgery(
        "command", "'--face-memory 1B', which no", replace_in_commands(" --json", " --face-memory 1B --json")
    ),
    "an iteration that sends nothing": Forgery(
        "command", "'--variants copy', which no", replace_in_commands(" --json", " --variants copy --json")
    ),
    "a line that only names the program": Forgery(
        "command", "not one plain command", lambda d: change_commands(d, lambda line: f"echo {line}; ./fast")
    ),
    "a program whose name begins alike": Forgery(
        "command", "does not run halo: /tmp/halo-fast", replace_in_commands(" halo ", " /tmp/halo-fast ")
    ),
    "a library in front": Forgery(
        "command",
        "replaces libraries of the program: LD_PRELOAD=",
        lambda d: change_commands(d, lambda line: f"LD_PRELOAD=/tmp/fastclock.so {line}"),
    ),
    "a library that the launcher passes": Forgery(
        "command", "replaces libraries", replace_in_commands("mpirun ", "mpirun -x LD_PRELOAD=/tmp/f.so ")
    ),
    "a variable in front": Forgery(
        "command", "sets the variables", lambda d: change_commands(d, lambda line: f"OMPI_MCA_btl=self {line}")
    ),
    "another transport": Forgery(
        "command",
        "options of its own: --mca btl self,vader",
        replace_in_commands(" halo ", " --mca btl self,vader halo "),
    ),
    "words that count NICs": Forgery("command", "options of its own: env RAILYARD_NICS=launch-N.nics", count_nics),
    "words that count NICs, by a launcher of its own": Forgery(
        "command", "options of its own: env RAILYARD_NICS=launch-N.nics", start_by("site-run", count_nics)
    ),
    "a wrapper of its own": Forgery("command", "FASTRUN, a launcher of its own", start_by("FASTRUN")),
    "a shell in the launcher's place": Forgery("command", "sh, a launcher of its own", start_by("sh")),
    "another clock": Forgery(
        "command", "options of its own: faketime -f 0.5x", replace_in_commands(" halo ", " faketime -f 0.5x halo ")
    ),
    "another clock before the launcher": Forgery(
        "command",
        "options of its own: unshare --time --monotonic 99",
        lambda d: change_commands(d, lambda line: f"unshare --time --monotonic 99 {line}"),
    ),
    "a shell before the program": Forgery(
        "command", "options of its own: sh -c ./fast", replace_in_commands(" halo ", " sh -c ./fast halo ")
    ),
    "a second program": Forgery(
        "command", "options of its own: -np 1 ./fast :", replace_in_commands(" halo ", " -np 1 ./fast : halo ")
    ),
    "a container that no field names": Forgery(
        "command",
        "options of its own: apptainer exec --bind",
        replace_in_commands(" halo ", " apptainer exec --bind /fast:/usr/bin/halo x.sif halo "),
    ),
    "the output of another launch": Forgery(
        "command", "give '--json launch-N.json'", replace_in_commands("launch-000", "launch-009")
    ),
    "the hosts of another placement": Forgery(
        "command", "the case gives 'plain.hostfile", replace_in_commands("plain.hostfile", "random.hostfile")
    ),
    "another number of ranks": Forgery("command", "'2 --map-by'", replace_in_commands("-np 16", "-np 2")),
    "another NIC in the command": Forgery(
        "command",
        "'nic1 halo'; the case gives 'nic0'",
        lambda d: (
            d["case"].update(nic_policies=["library-default", "nic-0"]),
            [
                e.update(
                    nic_policy="nic-0", command=e["command"].replace("./local-nic.sh", "--mca btl_tcp_if_include nic1")
                )
                for e in d["launches"]
                if e["nic_policy"] == "local-nic"
            ],
        ),
    ),
    "measured on nodes that share one kernel": Forgery(
        "own-kernels",
        "nodes have 1 boots",
        lambda d: (
            d.update(origin="measured"),
            d["provenance"].update(nodes={"described": len(nodes(d)), "kinds": 1, "boots": 1}),
        ),
    ),
    "measured on a virtual torus": Forgery("origin", "a torus of netns", lambda d: d.update(origin="measured")),
    "measured, the torus removed": Forgery(
        "origin", "guard watched", lambda d: (d.update(origin="measured"), d["provenance"].update(torus=None))
    ),
    "simulated by namespaces": Forgery(
        "origin", "simulated, with the engine netns", lambda d: d.update(origin="simulated")
    ),
    "an emulated job, said to be modelled": Forgery(
        "computed-again", "is not computed", lambda d: (d.update(origin="modelled"), d["provenance"].update(torus=None))
    ),
    "two answers of one simulation": Forgery(
        "computed-once",
        "differs from another",
        lambda d: (d.update(origin="simulated"), d["provenance"]["torus"].update(engine="SimGrid 3")),
    ),
    "a commit that nobody has": Forgery(
        "commit", "is not known here", lambda d: d["provenance"]["railyard"].update(git_commit="deadbeef" * 5)
    ),
    "dated before its own commit": Forgery("commit-first", "was committed at", ten_years_ago),
    "another check": Forgery("check-name", "the case names other", lambda d: d["case"].update(check="other")),
    "an event of a counter that nobody read": Forgery(
        "health", "LINK_DOWNS was not read", lambda d: first(d).update(health=UNREAD)
    ),
    "parts of an error bound, which the sum lacks": Forgery(
        "error-bound", "the rest gives 20", lambda d: first(d)["guard"]["error_bound"].update(waiting_percent=90.0)
    ),
    "an error bound beside its own": Forgery("error-bound", "error_bound has 1.5", in_guard(error_bound_percent=0.1)),
    "no error bound": Forgery("error-bound", "a part is missing", in_guard(error_bound=None)),
    "an error bound above what makes a launch void": Forgery("error-bound", "no launch is ok", late_packets),
    "a busiest link above its rate": Forgery("busiest-link", "9 of its rate", in_guard(busiest_link_share=9.0)),
    "a torus a thousand times as fast": Forgery(
        "rate-scale", "the NICs sent", lambda d: d["provenance"]["torus"].update(rate_scale=0.5)
    ),
    "a torus too slow for its bytes": Forgery(
        "rate-scale", "bytes need", lambda d: d["provenance"]["torus"].update(rate_scale=1e-5)
    ),
    "a key of ReFrame's that nobody writes": Forgery(
        "known-keys",
        "reframe.note: railyard writes no such key",
        lambda d: d["provenance"]["reframe"].update(note="fast"),
    ),
    "a key of the guard that nobody writes": Forgery(
        "known-keys", "guard.note: railyard writes no such key", in_guard(note="fast")
    ),
    "more CPUs than Linux has": Forgery(
        "machine", "Linux has at most 8192", lambda d: d["provenance"]["machine"].update(cpus=10**15)
    ),
    "more memory than a processor addresses": Forgery(
        "machine", "from 64 MiB to 4 PiB", lambda d: d["provenance"]["machine"].update(memory_bytes=2**63)
    ),
    "more CPUs allowed than the machine has": Forgery(
        "machine",
        "64 CPUs allowed, where the machine has 2",
        lambda d: [rank.update(allowed_cpus=list(range(64))) for rank in first(d)["ranks"]],
    ),
    "iterations that all took the same time": Forgery("clock-digits", "all alike", constant_samples),
    "a node of another machine": Forgery("node-names", "and gpu# in one job", node_of_another_machine),
    "iterations of which one took another time": Forgery("clock-digits", "19 of 20 alike", alike_but_one),
    "iterations whose parts take three times as long": Forgery(
        "contradiction",
        "together are 2.",
        then(scale_samples("pack_us", 8.9, 24), scale_samples("unpack_us", 11.0, 24)),
    ),
    "no boot of the kernel": Forgery("run", "run.boot: missing", lambda d: d["run"].update(boot=None)),
    "no job": Forgery("run", "run: missing", lambda d: d.update(run=None)),
    "no grid": Forgery("run", "case.grid: missing", lambda d: d["case"].pop("grid")),
    "another commit at the end": Forgery(
        "code-before-and-after", "provenance says", lambda d: d["run"]["ended"].update(git_commit="1f" * 20)
    ),
    "changed while it ran": Forgery(
        "code-before-and-after", "provenance says", lambda d: d["run"]["ended"].update(git_dirty=True)
    ),
    "another program at the end": Forgery(
        "code-before-and-after", "not the file", lambda d: d["run"]["ended"]["files"].update(halo="00" * 32)
    ),
    "a library that was added": Forgery(
        "code-before-and-after", "not the file", lambda d: d["run"]["ended"]["files"].update({"fast.so": "00" * 32})
    ),
    "a job that did not end": Forgery(
        "code-before-and-after",
        "not summed again, because the job did not end: ",
        lambda d: d["run"]["ended"]["files"].pop(next(n for n in sorted(d["run"]["ended"]["files"]) if n != "halo")),
    ),
    "no code at the beginning": Forgery(
        "code-before-and-after", "is not known", lambda d: d["run"].update(written=None)
    ),
    "no digest of the program": Forgery(
        "program-digest",
        "no digest of halo",
        lambda d: [d["run"][when]["files"].pop("halo") for when in ("written", "ended")],
    ),
    "written after the first launch": Forgery(
        "job-times", "after the first launch", lambda d: d["run"]["written"].update(time="2026-11-27T00:59:00Z")
    ),
    "ended before the last launch": Forgery(
        "job-times", "before the last launch", lambda d: d["run"]["ended"].update(time="2026-11-27T00:58:00Z")
    ),
    "created after the job": Forgery(
        "job-times", "the job ended at", lambda d: d.update(created="2026-11-27T03:00:00Z")
    ),
    "a chain without its beginning": Forgery("chain", "for record 4", lambda d: d["run"].update(number=4)),
}

#: Of a record of a 2x2x2 torus under the orders plain, cart-create, custom, random:7 and hilbert.
ON_A_TORUS: Mapping[str, Forgery] = {
    "custom is cart-create": Forgery(
        "placement", "custom gives", lambda d: of_placement(d, "custom").update(ranks=of_placement(d, "plain")["ranks"])
    ),
    "random of another seed": Forgery(
        "placement",
        "random:8 gives",
        lambda d: (
            d["case"].update(placements=[p.replace("7", "8") for p in d["case"]["placements"]]),
            [e.update(placement="random:8") for e in d["launches"] if e["placement"] == "random:7"],
        ),
    ),
    "hilbert on other nodes": Forgery(
        "placement",
        "hilbert gives",
        lambda d: of_placement(d, "hilbert")["ranks"][0].update(host=of_placement(d, "hilbert")["ranks"][7]["host"]),
    ),
    "nodes in rows, said to be a snake": Forgery(
        "allocation", "not the nodes", lambda d: nodes(d).sort(key=lambda e: e["coordinate"])
    ),
}

_LAUNCH = r"launches\.\d+\."
_OF_GUARD = r"watched_s|traffic_s|host_limited_s|.*_share|packets_per_s|busiest_link|lateness\.(?!mean).*"
_TIMES = "started|elapsed_s|begun_monotonic_s|ended_monotonic_s"
#: Fields that nothing else in the record determines, or only as far as a rule goes (a domain behind a host's name, less
#: than the clocks' resolution), by their name in the table of docs/tender.md.
FREE: Mapping[str, re.Pattern[str]] = {
    name: re.compile(pattern)
    for name, pattern in {
        "system.*": r"system\..*",
        "launches[].series[].samples": rf"{_LAUNCH}series\.[1345]\.samples\.\d+",
        "launches[].ranks[].cpu, numa_node, allowed_cpus": (
            rf"{_LAUNCH}ranks\.(cpu|numa_node|allowed_cpus)|tables\.cpu_sets\.\d+"
        ),
        "launches[].ranks[].host": r"tables\.hosts\.\d+",
        "launches[].guard figures": rf"{_LAUNCH}guard\.({_OF_GUARD})",
        "launches[].command": rf"{_LAUNCH}command",
        "launches[].nic_reason": rf"{_LAUNCH}nic_reason",
        "launches[].reported": rf"{_LAUNCH}reported\..*",
        "launches[].started, elapsed_s, begun_monotonic_s, ended_monotonic_s": rf"{_LAUNCH}({_TIMES})",
        "provenance.machine.*, mpi.*, torus.*": r"provenance\.(machine|mpi|torus)\..*",
        "provenance.railyard.version": r"provenance\.railyard\.version",
        "provenance.reframe.version, check": r"provenance\.reframe\.(version|check)",
        "provenance.image": r"provenance\.image",
        "provenance.nodes.kinds": r"provenance\.nodes\.kinds",
        "run.job, boot": r"run\.(job|boot)",
        "run.written.time, run.ended.time": r"run\.(written|ended)\.time",
        "case.devices": r"case\.devices",
        "created": r"created",
    }.items()
}
#: The same where packets crossed a real fabric, on which nobody but the sender counts.
FREE_ON_A_FABRIC: Mapping[str, re.Pattern[str]] = {
    "launches[].nics[].tx_bytes, rx_bytes": re.compile(rf"{_LAUNCH}nics\.[rt]x_bytes\.\d+")
}
Path = tuple[str | int, ...]
#: Share of the changes that add a key, and what such a key had before.
ADDED, ABSENT = 0.02, "absent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutated:
    """One changed field; `is_free` where nothing determines it, `is_refused` where the checker found it."""

    path: str
    change: str
    is_free: bool
    is_refused: bool


def mutated(good: Record, chance: random.Random, before: frozenset[tuple[str, str]] = frozenset()) -> Mutated:
    """Change a scalar of a record, or add a key beside it, and ask the strict check; faults in `before` are old."""
    document: Document = orjson.loads(_content(good))
    path, value = chance.choice(_leaves_of(_content(good)))
    part: Any = document
    for step in path[:-1]:
        part = part[step]
    if isinstance(part, dict) and chance.random() < ADDED:
        path, value = (*path[:-1], "unknown"), ABSENT
    part[path[-1]] = _other(value, chance)
    name, change = ".".join(map(str, path)), f"{value!r} -> {part[path[-1]]!r}"[:200]
    free = [*FREE.values(), *(FREE_ON_A_FABRIC.values() if good.origin is Origin.MEASURED else ())]
    is_free = any(each.fullmatch(name) for each in free) or name in _free_columns(good)
    is_refused = not json_io.validator("record-v2.json").quick.is_valid(document)  # why takes a hundred times as long
    is_refused = is_refused or refuses(document, before)
    return Mutated(path=name, change=change, is_free=is_free, is_refused=is_refused)


def refuses(document: Document, before: frozenset[tuple[str, str]]) -> bool:
    """Whether a document with digests that fit is no valid record, or has a fault that is not in `before`."""
    try:
        read = record.validate(record.sealed(document), "mutant")
    except InputError:
        return True
    return bool(faults_of(read) - before)


def scaled(good: Record, fom: str, factor: float, *, scope: str, chance: random.Random) -> Document | None:
    """Scale a figure in a sample, a launch or all launches; for no figure all of them, rates by the inverse.

    None where nothing changed, because all samples are 0.
    """
    document: Document = orjson.loads(_content(good))
    measures = {str(series.fom): series.fom.unit.measures for series in good.launches[0].series}
    launches = document["launches"]
    for launch in launches if scope == "launches" else [chance.choice(launches)]:
        own = [series for series in launch["series"] if not fom or series["fom"] == fom]
        if scope == "sample":
            samples = chance.choice(own)["samples"]
            samples[chance.randrange(len(samples))] *= factor
            continue
        for series in own:
            measure = measures[series["fom"]]
            by = factor if fom or measure == "time" else 1 / factor if measure in RATES else 1.0
            series["samples"] = [by * sample for sample in series["samples"]]
    return document if document != good.document else None


def _free_columns(good: Record) -> set[str]:
    """The columns of CPUs and NUMA nodes, which nothing else determines; a column may also be one of hosts."""
    document = good.document
    hosts = {launch["ranks"]["host"] for launch in document["launches"] if launch["ranks"]}
    hosts |= {each[name] for each in document["tables"]["nics"].values() for name in ("node", "nic")}
    return {f"tables.columns.{name}" for name in document["tables"]["columns"].keys() - hosts}


def _content(of: Record) -> bytes:
    return orjson.dumps(of.document)


@functools.lru_cache(maxsize=8)
def _leaves_of(content: bytes) -> list[tuple[Path, Any]]:
    document = orjson.loads(content)
    return list(_leaves({key: value for key, value in document.items() if key not in record.DERIVED}))


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """A kind of forgery, the rule that must find it, and whether its words were among the faults."""

    name: str
    rule: str
    is_refused: bool


def tried() -> list[Tried]:
    """Every kind of forgery, tried on the honest record that it is a change of."""
    found = []
    for of, table in ((evidence.good(), ALL), (evidence.on_a_torus(), ON_A_TORUS)):
        for name, kind in table.items():
            shown = [f"{field}: {text}" for field, text in faults_of(forged(of, name))]
            is_refused = any(kind.words in each for each in shown)
            found.append(Tried(name=name, rule=kind.rule, is_refused=is_refused))
    return found


def faults_of(read: Record) -> frozenset[tuple[str, str]]:
    """What the strict check finds in a record."""
    return frozenset((each.field, each.text) for each in rules.faults(read))


def _leaves(part: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    if isinstance(part, dict):
        for key, value in part.items():
            yield from _leaves(value, (*path, key))
    elif isinstance(part, list):
        for place, value in enumerate(part):
            yield from _leaves(value, (*path, place))
    else:
        yield path, part


def _other(value: Any, chance: random.Random) -> Any:
    """Another value of the same kind, near or far."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return chance.choice([value + 1, max(0, value - 1) if value else 2, value * 10 + 1])
    if isinstance(value, float):
        return value * chance.choice([0.5, 0.9, 0.99, 1.01, 1.1, 2.0]) + (0.25 if value == 0 else 0)
    if value is None:
        return chance.choice([0, "x", True])
    place = chance.randrange(len(value) + 1)
    other = value[:place] + chance.choice("0123456789abcxyz") + value[place + chance.randrange(2) :]
    return other if other != value else f"{value}x"
