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


def in_policy(name: str, **values: Any) -> Change:
    return lambda document: policy(document, name).update(values)


def of_placement(document: Document, name: str) -> Document:
    return next(each for each in document["launches"] if each["placement"] == name)


def put(path: str, /, **values: Any) -> Change:
    """Set values of the object at a path such as `launches.0.guard`, which is empty for the whole document."""

    def change(document: Document) -> None:
        part: Any = document
        for step in path.split(".") if path else ():
            part = part[int(step) if isinstance(part, list) else step]
        part.update(copy.deepcopy(values))

    return change


def set_all(name: str, value: Any) -> Change:
    return lambda document: [each.update({name: value}) for each in document["launches"]]


def in_first(**values: Any) -> Change:
    return put("launches.0", **values)


def in_ranks(**values: Any) -> Change:
    return lambda document: [rank.update(values) for rank in first(document)["ranks"]]


def in_guard(**values: Any) -> Change:
    return put("launches.0.guard", **values)


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


def in_samples(change: Callable[[list[float]], list[float]]) -> Change:
    """Replace the samples of each series of the first launch."""
    return lambda document: [each.update(samples=change(each["samples"])) for each in first(document)["series"]]


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


def renamed(old: str, new: str) -> Change:
    """Give a placement another name in the case and in the launches."""

    def change(document: Document) -> None:
        document["case"]["placements"] = [new if name == old else name for name in document["case"]["placements"]]
        for launch in document["launches"]:
            launch["placement"] = new if launch["placement"] == old else launch["placement"]

    return change


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


def then(*changes: Change) -> Change:
    return lambda document: [each(document) for each in changes]


no_monotonic = then(set_all("begun_monotonic_s", None), set_all("ended_monotonic_s", None))


def ten_years_ago(document: Document) -> None:
    text = orjson.dumps(document).replace(b"2026-11-2", b"2016-11-2")
    document.update(orjson.loads(text))


def commands(change: Callable[[str], str]) -> Change:
    return lambda document: [each.update(command=change(each["command"])) for each in document["launches"]]


def in_commands(old: str, new: str) -> Change:
    return commands(lambda line: line.replace(old, new))


def before_launcher(words: str) -> Change:
    return commands(lambda line: f"{words} {line}")


def before_program(words: str) -> Change:
    return in_commands(" halo ", f" {words} halo ")


def more_options(words: str) -> Change:
    return in_commands(" --json", f" {words} --json")


def start_by(program: str, also: Change = bool) -> Change:
    """As a site that has a program in the launcher's place; `also` is changed, too."""

    def change(document: Document) -> None:
        also(document)
        document["provenance"]["reframe"].update(wrapper=program, launcher="openmpi4")
        commands(lambda line: re.sub(r"\bmpirun\b", program, line, count=1))(document)

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


def one_failed(document: Document) -> None:
    document["launches"][-1].update(status="failed", reason="killed")
    document.update(status="failed", reason="1 of 24 launches failed: killed")


def five_rounds(document: Document) -> None:
    document["case"]["launches_per_combination"] = 5
    document["launches"] = [launch for launch in document["launches"] if launch["repeat"] < 5]


UNREAD: dict[str, Any] = {
    "read": {},
    "not_read": {},
    "events": [
        {"node": "n0-0-0", "nic": "nic0", "event": "LINK_DOWNS", "unit": "events"}
        | {"kind": "count", "before": 0, "after": 1}
    ],
}

#: Rule -> name -> words of its fault, and change: of a record of 16 nodes with two NICs each, orders plain and random,
#: policies library-default and local-nic.
_ALL: Mapping[str, Mapping[str, tuple[str, Change]]] = {
    "program-digest": {
        "a program of which no digest could be made": (
            "no digest of halo",
            then(*(put(f"run.{when}.files", halo=None) for when in ("written", "ended"))),
        ),
        "no digest of the program": (
            "no digest of halo",
            lambda d: [d["run"][when]["files"].pop("halo") for when in ("written", "ended")],
        ),
    },
    "command": {
        "a measurement started by the model": (
            "begins with 'railyard', which no launcher of railyard writes for",
            commands(lambda line: re.sub("mpirun .*? halo ", "railyard model --hostfile a t.yml halo ", line)),
        ),
        "a file of no launch": ("not one plain command", in_commands("launch-000.", "launch-N.")),
        "a command that runs nothing": ("begins with 'true'", in_first(command="true")),
        "another benchmark": ("does not run hops: halo", put("case", benchmark="hops")),
        "other cells": ("give '--cells 1x1'", put("case.parameters", cells=[1, 1])),
        "a parameter that no command has": ("no option gives", put("case.parameters", turbo=1)),
        "a smaller run": ("'--cells 1x1'", in_commands("2048x2048", "1x1")),
        "a second option": ("'--cells 16x16' again", more_options("--cells 16x16")),
        "a second option with a sign": ("'--cells=16x16 --json' again", more_options("--cells=16x16")),
        "an option that no parameter names": ("'--face-memory 1B', which no", more_options("--face-memory 1B")),
        "an iteration that sends nothing": ("'--variants copy', which no", more_options("--variants copy")),
        "a line that only names the program": ("not one plain command", commands(lambda line: f"echo {line}; ./fast")),
        "a program whose name begins alike": ("does not run halo: /tmp", in_commands(" halo ", " /tmp/halo-fast ")),
        "a library in front": ("replaces libraries of the program: LD", before_launcher("LD_PRELOAD=/tmp/f.so")),
        "a library by the launcher": ("replaces libraries", in_commands("mpirun ", "mpirun -x LD_PRELOAD=/f.so ")),
        "a variable in front": ("sets the variables", before_launcher("OMPI_MCA_btl=self")),
        "another transport": ("options of its own: --mca btl self,vader", before_program("--mca btl self,vader")),
        "words that count NICs": ("options of its own: env RAILYARD_NICS=launch-N.nics", count_nics),
        "words that count NICs, by another launcher": ("its own: env RAILYARD_NICS", start_by("site-run", count_nics)),
        "a wrapper of its own": ("FASTRUN, a launcher of its own", start_by("FASTRUN")),
        "a shell in the launcher's place": ("sh, a launcher of its own", start_by("sh")),
        "another clock": ("options of its own: faketime -f 0.5x", before_program("faketime -f 0.5x")),
        "another clock before the launcher": (
            "of its own: unshare --time",
            before_launcher("unshare --time --monotonic 99"),
        ),
        "a shell before the program": ("options of its own: sh -c ./fast", before_program("sh -c ./fast")),
        "a second program": ("options of its own: -np 1 ./fast :", before_program("-np 1 ./fast :")),
        "a container of its own": (
            "of its own: apptainer exec",
            before_program("apptainer exec --bind /f:/bin/halo x.sif"),
        ),
        "the output of another launch": ("give '--json launch-N.json'", in_commands("launch-000", "launch-009")),
        "the hosts of another placement": ("the case gives 'plain.", in_commands("plain.hostfile", "random.hostfile")),
        "another number of ranks": ("'2 --map-by'", in_commands("-np 16", "-np 2")),
        "another NIC in the command": (
            "'nic1 halo'; the case gives 'nic0'",
            lambda d: (
                d["case"].update(nic_policies=["library-default", "nic-0"]),
                [
                    e.update(
                        nic_policy="nic-0",
                        command=e["command"].replace("./local-nic.sh", "--mca btl_tcp_if_include nic1"),
                    )
                    for e in d["launches"]
                    if e["nic_policy"] == "local-nic"
                ],
            ),
        ),
    },
    "source": {
        "a source that nobody checked": ("without the recipe's", put("case.parameters", spack_source="unchecked: v1"))
    },
    "ended": {"a launch that failed": ("failed: 1 of 24", one_failed)},
    "guarded": {"a launch that no guard watched": ("no guard watched", in_first(guard=None))},
    "launches": {"five rounds of six": ("at least 6 are needed", five_rounds)},
    "samples": {"a single sample": ("1 samples; at least", in_samples(lambda samples: samples[:1]))},
    "verified": {"data that was not verified": ("did not verify", set_all("verified", None))},
    "one-unit": {"another unit in one launch": ("mixed units", put("launches.1.series.0", fom="iteration_s"))},
    "same-series": {
        "a series that one launch lacks": ("not the figures of the first", lambda d: d["launches"][1]["series"].pop())
    },
    "placed": {"ranks without CPUs": ("ranks' CPUs", in_ranks(cpu=None, allowed_cpus=None))},
    "nic-evidence": {"a policy without NICs": ("no evidence of the NICs", in_policy("local-nic", nics=None))},
    "provenance": {
        "a checkout that was changed": ("the checkout was changed", put("provenance.railyard", git_dirty=True))
    },
    "benchmark": {"the program of another check": ("halo_3d runs halo", put("case", benchmark="noise", parameters={}))},
    "parameters": {
        "the program's own number of cells": ("missing; halo needs it", lambda d: d["case"]["parameters"].pop("cells")),
        "cells that are no whole numbers": ("[2.0, 2.0] is not a list", put("case.parameters", cells=[2.0, 2.0])),
    },
    "series": {
        "faster iterations between other hosts": ("has the label from, which", add_series({"from": "a", "to": "b"})),
        "a figure of another program": ("allreduce_us is no figure of halo", add_series({}, fom="allreduce_us")),
        "a report beside the figures": ("reports sample_begun_s alone", in_first(reported={"fast": 1})),
    },
    "contradiction": {
        "faster iterations of a variant": ("no variant of the case", add_series({"variant": "copy"})),
        "a figure that was not measured": ("no bandwidth_gbyte_s, which the program always writes", without_bandwidth),
        "a figure left out of all launches": (
            "no pack_us, which the program always writes",
            lambda d: [launch.update(series=launch["series"][:3]) for launch in d["launches"]],
        ),
        "an exchange of half the time": ("exchange_us is", scale_samples("exchange_us", 0.5, launches=99)),
        "a wait longer than its exchange": ("wait_us is longer", scale_samples("wait_us", 1.3)),
        "faster times alone": ("bytes in an iteration", scale_samples("iteration_us", 0.9)),
        "higher rates alone": ("bytes in an iteration", scale_samples("bandwidth_gbyte_s", 1.1)),
        "higher rates in all launches": ("196608 bytes in an iteration", scale_samples("bandwidth_gbyte_s", 1.5, 99)),
        "lower times in all launches": ("iteration; expected 131072", scale_samples("iteration_us", 0.6, 99)),
        "a sample less": ("not as many samples", lambda d: first(d)["series"][2]["samples"].pop()),
        "a part longer than the whole": ("longer than the iteration", scale_samples("exchange_us", 2.0)),
        "repeats that were not made": ("repeats is 20", in_samples(lambda samples: samples[:10])),
        "iterations whose parts take three times as long": (
            "together are 2.",
            then(scale_samples("pack_us", 8.9, 24), scale_samples("unpack_us", 11.0, 24)),
        ),
    },
    "same-points": {
        "a label of one launch": ("is not as often there", put("launches.0.series.0", labels={"variant": "copy"}))
    },
    "ends": {
        "a pair of another machine": ("not in the launch", put("launches.0.series.0", labels={"from": "elsewhere"}))
    },
    "check-name": {
        "a check whose name begins alike": ("halo_3dx; the case names", put("provenance.reframe", check="halo_3dx")),
        "another check": ("the case names other", put("case", check="other")),
    },
    "spans": {
        "nodes on fewer switches": ("the nodes have", put("launches.0.spans", switches=1)),
        "no spread named": ("none; the nodes have", in_first(spans=None)),
    },
    "no-two-alike": {
        "one launch copied": ("this launch has the same samples as launch 0", copy_first),
        "NIC bytes copied": ("the same bytes as those of launch 0", same_bytes),
    },
    "launch-order": {"launches reordered": ("draws", swap_launches), "another seed": ("draws", put("case", seed=77))},
    "challenge": {"a seed that the challenge does not give": ("the challenge gives", put("case", challenge="other"))},
    "studies": {
        "a study left out": ("belongs to the study", put("case", studies=[])),
        "a study that is none": ("is no study", lambda d: d["case"]["studies"].append("mine")),
    },
    "topology": {
        "a topology of a shipped name": ("dual-rail-small has", put("case.topology", sha256="ab" * 32)),
        "a topology with another rail": ("dual-rail-small has", put("case.topology", rails=3)),
        "a topology with other extents": ("dual-rail-small has", put("case.topology", extents=[8, 1, 1])),
        "a shipped topology of another name": ("is that of", put("case.topology", name="mine")),
    },
    "nodes": {
        "no nodes": ("no node", put("case.allocation", nodes=[])),
        "one node sixteen times": ("16 times", lambda d: nodes(d).__setitem__(slice(0, 16), nodes(d)[:1] * 16)),
        "a node outside the topology": ("outside 4x1x1", put("case.allocation.nodes.0", coordinate=[9, 0, 0])),
        "too many nodes of a router": ("where 4 can be", put("case.allocation.nodes.15", coordinate=[0, 0, 0])),
    },
    "coordinates": {"a node elsewhere": ("n0-0 is at", put("case.allocation.nodes.0", coordinate=[3, 0, 0]))},
    "allocation": {
        "nodes in another order": ("not the nodes", lambda d: nodes(d).reverse()),
        "two nodes of a router swapped": ("not in the order", lambda d: nodes(d).insert(0, nodes(d).pop(1))),
        "another allocation's order": ("not the nodes", put("case.allocation", order="random")),
        "an order that is none": ("known", put("case.allocation", order="best")),
        "an allocation of another seed": ("the case's seed", put("case.allocation", seed=5)),
        "another block": ("", put("case", block=[2, 1, 1])),
    },
    "ranks": {
        "fewer ranks": ("15 ranks", lambda d: first(d)["ranks"].pop()),
        "one rank": ("1 ranks", lambda d: first(d)["ranks"].__delitem__(slice(1, None))),
        "another grid": ("the parameter says", put("case", grid=[2, 8])),
        "all ranks on one node": ("16 ranks on n0-0", in_ranks(host="n0-0")),
    },
    "hosts": {"a rank outside the allocation": ("login1 is no node", put("launches.0.ranks.0", host="login1"))},
    "placement": {
        "two ranks swapped": ("plain gives", swap_ranks),
        "placements swapped": ("gives", swap_placements),
        "a placement renamed": ("cart-create gives", renamed("plain", "cart-create")),
        "a placement that cannot be": ("cannot be on these nodes", renamed("plain", "blocks:3x3")),
        "a placement that nobody saw": ("not proved", in_first(placement_verdict="cannot-tell")),
    },
    "processors": {
        "a CPU that is not allowed": ("not among them", put("launches.0.ranks.0", cpu=77)),
        "no allowed CPU": ("0 allowed", put("launches.0.ranks.0", cpu=-1, allowed_cpus=[])),
    },
    "nic-names": {
        "a NIC twice": ("2 times", lambda d: first(d)["nics"].append(first(d)["nics"][0])),
        "a NIC of no node": ("is no node", put("launches.0.nics.0", node="login1")),
        "a NIC that is none": ("is none of", put("launches.0.nics.0", nic="eth0")),
        "a NIC left out": ("no nic0 of n0-0", lambda d: first(d)["nics"].pop(0)),
    },
    "nic-bytes": {
        "NIC bytes that nobody sent": ("received", put("launches.0.nics.1", rx_bytes=10**9)),
        "a node that sent nothing": ("sent nothing", lambda d: [e.update(tx_bytes=0) for e in first(d)["nics"][:2]]),
    },
    "payload": {
        "fewer bytes than the faces": (
            "by the figures",
            lambda d: [
                nic.update(tx_bytes=nic["tx_bytes"] // 100, rx_bytes=nic["rx_bytes"] // 100)
                for launch in d["launches"]
                for nic in launch["nics"]
            ],
        )
    },
    "nic-verdict": {
        "bytes by the other NIC": ("the bytes say not-obeyed", other_nic),
        "an obeyed policy where none is": ("bytes say cannot-tell", in_policy("library-default", nic_verdict="obeyed")),
        "an unproved policy": ("is not proved", in_policy("local-nic", nic_verdict="cannot-tell")),
    },
    "guard-verdict": {
        "drops beside ok": ("the figures say void", in_guard(drops=9999)),
        "lost bytes beside ok": ("the figures say void", in_guard(conserved=False)),
        "held back beside ok": ("the figures say void", in_guard(host_limited_s=2.4, traffic_s=2.5)),
        "reasons beside ok": ("1 reasons for ok", in_guard(reasons=["busy"])),
        "not watched beside ok": ("say cannot-tell", in_guard(watched_s=0.0, traffic_s=0.0, host_limited_s=0.0)),
    },
    "guard-figures": {
        "a guard without figures": ("lacks", in_first(guard={"verdict": "ok", "reasons": []})),
        "figures that are words": ("no numbers", in_guard(drops="none")),
        "a share above 1": ("is no share", in_guard(idle_share=1.5)),
        "watched longer than it ran": ("do not rise", in_guard(watched_s=500.0)),
        "more traffic than was watched": ("do not rise", in_guard(traffic_s=3.95)),
    },
    "started": {
        "no start": ("no start", set_all("started", None)),
        "no duration": ("is no duration", in_first(elapsed_s=0.0)),
    },
    "one-after-another": {
        "all at the same second": ("before the launches before", lambda d: set_all("started", first(d)["started"])(d)),
        "launches that overlap": ("before the launches before it ended", then(no_monotonic, in_first(elapsed_s=60.0))),
    },
    "created": {
        "created in the future": ("in the future", put("", created="9999-01-01T00:00:00Z")),
        "created before it ended": ("before the last launch ended", put("", created="2026-11-20T00:00:00Z")),
    },
    "session": {
        "a session after its launches": (
            "the first launch",
            put("provenance.reframe", session="2026-11-27T00:59:59Z-1"),
        ),
        "another session": ("another session", put("run", session="mine")),
    },
    "monotonic": {
        "other monotonic times": ("the monotonic times differ", in_first(begun_monotonic_s=4999.0)),
        "a moved launch": ("against the monotonic times", put("launches.3", started="2026-11-27T00:58:00Z")),
        "no monotonic times": ("no monotonic times", no_monotonic),
        "monotonic times that overlap": (
            "before the launch before it ended",
            put("launches.1", begun_monotonic_s=5000.0, ended_monotonic_s=5004.2),
        ),
    },
    "above-zero": {
        "times of 0": ("iteration_us is 0", scale_samples("iteration_us", 0.0)),
        "rates of 0": ("bandwidth_gbyte_s is 0", scale_samples("bandwidth_gbyte_s", 0.0)),
    },
    "within-the-launch": {
        "a sample longer than its launch": (
            "in a launch of",
            then(scale_samples("iteration_us", 1e4), scale_samples("bandwidth_gbyte_s", 1e-4)),
        )
    },
    "own-kernels": {
        "measured on nodes that share one kernel": (
            "nodes have 1 boots",
            then(put("", origin="measured"), put("provenance", nodes={"described": 16, "kinds": 1, "boots": 1})),
        )
    },
    "origin": {
        "measured on a virtual torus": ("a torus of netns", put("", origin="measured")),
        "measured, the torus removed": (
            "guard watched",
            then(put("", origin="measured"), put("provenance", torus=None)),
        ),
        "simulated by namespaces": ("simulated, with the engine netns", put("", origin="simulated")),
    },
    "computed-again": {
        "emulated, said to be modelled": (
            "not computed",
            then(put("", origin="modelled"), put("provenance", torus=None)),
        )
    },
    "computed-once": {
        "two answers of one simulation": (
            "differs from another",
            then(put("", origin="simulated"), put("provenance.torus", engine="SimGrid 3")),
        )
    },
    "commit": {
        "a commit that nobody has": ("is not known here", put("provenance.railyard", git_commit="deadbeef" * 5))
    },
    "commit-first": {"dated before its own commit": ("was committed at", ten_years_ago)},
    "health": {"an event of a counter that nobody read": ("LINK_DOWNS was not read", in_first(health=UNREAD))},
    "error-bound": {
        "parts that the error bound lacks": (
            "rest gives 20",
            put("launches.0.guard.error_bound", waiting_percent=90.0),
        ),
        "an error bound beside its own": ("error_bound has 1.5", in_guard(error_bound_percent=0.1)),
        "no error bound": ("a part is missing", in_guard(error_bound=None)),
        "an error bound above what makes a launch void": ("no launch is ok", late_packets),
    },
    "busiest-link": {"a busiest link above its rate": ("9 of its rate", in_guard(busiest_link_share=9.0))},
    "rate-scale": {
        "a torus a thousand times as fast": ("the NICs sent", put("provenance.torus", rate_scale=0.5)),
        "a torus too slow for its bytes": ("bytes need", put("provenance.torus", rate_scale=1e-5)),
    },
    "known-keys": {
        "a key of ReFrame's that nobody writes": ("reframe.note: railyard", put("provenance.reframe", note="fast")),
        "a key of the guard that nobody writes": ("guard.note: railyard writes no such key", in_guard(note="fast")),
    },
    "machine": {
        "more CPUs than Linux has": ("Linux has at most 8192", put("provenance.machine", cpus=10**15)),
        "more memory than a processor addresses": ("64 MiB to 4 PiB", put("provenance.machine", memory_bytes=2**63)),
        "more CPUs allowed than the machine has": ("64 CPUs allowed", in_ranks(allowed_cpus=list(range(64)))),
    },
    "clock-digits": {
        "iterations that all took the same time": ("all alike", in_samples(lambda samples: samples[:1] * len(samples))),
        "iterations alike but one": (
            "19 of 20 alike",
            in_samples(lambda samples: [*samples[:1] * (len(samples) - 1), samples[-1]]),
        ),
    },
    "node-names": {"a node of another machine": ("and gpu# in one job", node_of_another_machine)},
    "run": {
        "no boot of the kernel": ("run.boot: missing", put("run", boot=None)),
        "no job": ("run: missing", put("", run=None)),
        "no grid": ("case.grid: missing", lambda d: d["case"].pop("grid")),
    },
    "code-before-and-after": {
        "another commit at the end": ("provenance says", put("run.ended", git_commit="1f" * 20)),
        "changed while it ran": ("provenance says", put("run.ended", git_dirty=True)),
        "another program at the end": ("not the file", put("run.ended.files", halo="00" * 32)),
        "a library that was added": ("not the file", put("run.ended.files", **{"fast.so": "00" * 32})),
        "a job that did not end": (
            "not summed again, because the job did not end: ",
            lambda d: d["run"]["ended"]["files"].pop(
                next(n for n in sorted(d["run"]["ended"]["files"]) if n != "halo")
            ),
        ),
        "no code at the beginning": ("is not known", put("run", written=None)),
    },
    "job-times": {
        "written after the first launch": ("after the first launch", put("run.written", time="2026-11-27T00:59:00Z")),
        "ended before the last launch": ("before the last launch", put("run.ended", time="2026-11-27T00:58:00Z")),
        "created after the job": ("the job ended at", put("", created="2026-11-27T03:00:00Z")),
    },
    "chain": {"a chain without its beginning": ("for record 4", put("run", number=4))},
}

#: Of a record of a 2x2x2 torus under the orders plain, cart-create, custom, random:7 and hilbert.
_ON_A_TORUS: Mapping[str, Mapping[str, tuple[str, Change]]] = {
    "placement": {
        "custom is cart-create": (
            "custom gives",
            lambda d: of_placement(d, "custom").update(ranks=of_placement(d, "plain")["ranks"]),
        ),
        "random of another seed": ("random:8 gives", renamed("random:7", "random:8")),
        "hilbert on other nodes": (
            "hilbert gives",
            lambda d: of_placement(d, "hilbert")["ranks"][0].update(
                host=of_placement(d, "hilbert")["ranks"][7]["host"]
            ),
        ),
    },
    "allocation": {
        "nodes in rows, said to be a snake": ("not the nodes", lambda d: nodes(d).sort(key=lambda e: e["coordinate"]))
    },
}
ALL, ON_A_TORUS = (
    {name: Forgery(rule, *row) for rule, of_rule in table.items() for name, row in of_rule.items()}
    for table in (_ALL, _ON_A_TORUS)
)

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
    document: Document = copy.deepcopy(dict(good.document))
    path, value = chance.choice(_leaves_of(orjson.dumps(good.document)))
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
    document: Document = copy.deepcopy(dict(good.document))
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


@functools.lru_cache(maxsize=8)
def _leaves_of(content: bytes) -> list[tuple[Path, Any]]:
    document = orjson.loads(content)
    return list(_leaves({key: value for key, value in document.items() if key not in record.DERIVED}))


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
