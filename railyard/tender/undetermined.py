"""List what in a record nothing else determines: the table of docs/tender.md, for who decides on a bid.

Whoever has the file can change one of these fields as far as its text states, and no rule of the strict check sees it.
`tests/records/test_rules.py` changes every other field and sees a refusal.
"""

from __future__ import annotations

from collections.abc import Mapping

#: Field of a record -> how far it may be changed.
UNDETERMINED: Mapping[str, str] = {
    "system.*": "The names of the system, its partition and its environment are the bidder's own words.",
    "launches[].series[].samples": (
        "By benchmark and figure: `results/trust.yml`, below. Two samples of a launch may be the same."
    ),
    "launches[].series[] of energy_joule, rank_sent_percent": (
        "Any, or none: nobody but the nodes counts them. They never decide whether two launches are alike."
    ),
    "launches[].ranks[].cpu, numa_node, allowed_cpus": (
        "Any processor among those that the rank may use, which the launcher chooses."
    ),
    "launches[].ranks[].host": "A domain may follow the node's name.",
    "launches[].series[].labels": "Which ranks and nodes of the launch a figure is of.",
    "launches[].guard figures": (
        "Any figures that give the same verdict, the same error bound and no link above its rate."
    ),
    "launches[].command": (
        "Warm-up iterations; options of third-party programs; folders of programs, profiler and image."
    ),
    "launches[].nic_reason": "Words for people.",
    "launches[].reported": ("What a third-party program reports besides figures, where no figure follows from it."),
    "launches[].started, elapsed_s, begun_monotonic_s, ended_monotonic_s": (
        "Half a second. All together: any time into which the samples fit."
    ),
    "launches[].nics[].tx_bytes, rx_bytes": (
        "On a real fabric: any bytes that give the same verdict. Nobody but the node counts them."
    ),
    "provenance.machine.*, mpi.*, torus.*": (
        "The bidder's own words, within limits: 8,192 CPUs, 4 PiB of memory, and a rate scale at which "
        "the NICs' bytes fit into the launch."
    ),
    "provenance.railyard.version": "The commit is checked instead.",
    "provenance.reframe.version, check": "The check's name may have parameters behind it.",
    "provenance.image": "A native launch has none.",
    "provenance.nodes.kinds": "Kinds of nodes that bindings did not tell apart.",
    "run.job, boot": "Names drawn at random.",
    "run.number, previous, session": (
        "One record cannot show that others came before it; the tender's rules `sessions` and "
        "`first-jobs` need the bid."
    ),
    "run.written.files, run.ended.files": (
        "Digests that are the same at both times: nobody but the bidder has the builds."
    ),
    "case.check, studies": "A check of a site's own belongs to no study; a tender's case names its check.",
    "case.parameters": (
        "Of third-party programs what no word of the command shows, and a `scale` from which no option follows."
    ),
    "tables.*, case.allocation.nodes": (
        "The same values in other words, such as `01` for `1`; a file that has them is refused."
    ),
    "run.written.time, run.ended.time": "Any time before the first launch; the end within a second.",
    "case.devices": "The names of the NICs' devices, where the topology has none.",
    "created": "Within a second of the job's end.",
}
