"""Write the table of every check's performance variables, by one example of its points for each benchmark.

Models: figures of merit with labels as the smoke check of the benchmark writes them, or the recording of a third-party
program in the tests. `railyard.records.watched` makes the names. Leaves out: placements, NIC policies and software,
which begin the name of a variable, and what a check's own sizes, splits or pairs change.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from railyard.base import check_sources
from railyard.records import units, watched
from railyard.records.benchmark import Label, Labels
from railyard.records.units import Fom
from railyard.reference import checks
from railyard.reference.markdown import code, table

Points = Mapping[tuple[Fom, Labels], Sequence[float]]

HEAD = """# Performance variables

What each check gives ReFrame, its perflog and the references, by example: the points of the smoke check of each
benchmark, or a recorded output. Other splits, pairs, hops or sizes have other words and numbers in their names. A
figure with more points than its share of 16 has `FIGURE@mean` and `FIGURE@worst` instead
([the rule](../report.md#performance-variables)).

Before each name are the placement with its load, the NIC policy if there are several, and `image` for launches from
one: `plain/iteration_us`. A launch that mpiP profiles also has `mpi_time_percent` and `message_bytes@CLASS`.

"""


def _times(names: str, unit: str = "us") -> list[Fom]:
    """Return figures of which lower is better."""
    return [units.fom(name, unit, "lower") for name in names.split()]


def _rates(names: str, unit: str = "GB/s") -> list[Fom]:
    """Return figures of which higher is better."""
    return [units.fom(name, unit, "higher") for name in names.split()]


def _shares(names: str) -> list[Fom]:
    """Return figures that only describe."""
    return [units.fom(name, "%", "neither") for name in names.split()]


def _points(foms: Sequence[Fom], **axes: Sequence[Label]) -> Points:
    """Return the points of figures of merit at every combination of labels."""
    labels = itertools.product(*([(name, value) for value in axes[name]] for name in sorted(axes)))
    return {(fom, point): [1.0] for point in labels for fom in foms}


_LATENCY = _times("slowest_latency_us mean_latency_us pair_latency_us")
_BANDWIDTH = _rates("aggregate_bandwidth_gbyte_s pair_bandwidth_gbyte_s")
_PAIRS = (1, 8192, 65536)
_RANKS = (4, 8192, 16384)
_VICTIMS = ("RR Two-sided Lat (8 B)", "Multiple Allreduce (8 B)")
_UNDER: Mapping[str, Sequence[Label]] = {"load": ("alone", "loaded"), "statistic": ("average", "p99")}
_RING: Mapping[str, Sequence[Label]] = {
    "pattern": ("ring",),
    "per_node": (1,),
    "size_bytes": (8, 1 << 14),
    "step": (1,),
}
_GROUPS: Mapping[str, Sequence[Label]] = {"pairs_per_node": (1,), "round": (0,), "size_bytes": (256,)}

#: Checks that write no record; their few figures have no labels.
WITHOUT_RECORD = frozenset({"admission"})

#: Class of checks -> the points of a combination; derived checks have those of the nearest base class.
EXAMPLES: Mapping[str, Points] = {
    "AmgCheck": _points(_rates("fom_per_s setup_per_s solve_per_s", "1/s")),
    "Amg2023Check": _points(_rates("fom_per_s setup_per_s solve_per_s", "1/s")),
    "CclCheck": {
        **_points(_rates("average_bus_bandwidth_gbyte_s")),
        **_points(
            _times("time_us"),
            size_bytes=(1 << 16, 1 << 17),
            type=("float",),
            redop=("sum",),
            place=("in-place",),
        ),
    },
    "ComdCheck": _points(_times("loop_s", "s")),
    "ContentionCheck": {
        **_points(_LATENCY, test=("latency",), **_GROUPS),
        **_points(_BANDWIDTH, test=("bandwidth", "bibandwidth"), **_GROUPS),
    },
    "fit_any": _points(_times("elapsed_s", "s")),
    "HaloCheck": _points(
        [*_times("iteration_us pack_us unpack_us exchange_us wait_us"), *_rates("bandwidth_gbyte_s")]
    ),
    "HopsCheck": {
        **_points(_times("latency_us"), dimension="XYZ", hops=(1,), size_bytes=(0, 1024), test=("latency",)),
        **_points(
            _rates("bandwidth_gbyte_s"),
            dimension="XYZ",
            hops=(1,),
            size_bytes=(1024,),
            test=("bandwidth", "bibandwidth"),
        ),
    },
    "HpcgCheck": _points([*_rates("rating_gflop_s raw_gflop_s", "GFLOP/s"), *_times("time_s", "s")]),
    "LuleshCheck": _points([*_rates("fom_kzone_s", "kzones/s"), *_times("elapsed_s", "s")]),
    "McbCheck": _points([*_rates("tracks_per_s", "1/s"), *_times("advance_s", "s")]),
    "MinifeCheck": _points([*_rates("cg_mflop_s", "Mflop/s"), *_times("cg_s program_s", "s")]),
    "MinighostCheck": _points([*_rates("total_gflop_s", "Gflop/s"), *_times("time_s", "s")]),
    "NoiseCheck": _points(
        [
            *_times("quantum_us longest_delay_us allreduce_us iteration_us delay_us"),
            *_shares("mean_noise_percent worst_noise_percent amplification_percent"),
        ]
    ),
    "OsuCheck": _points([*_times("latency_us"), *_rates("bandwidth_gbyte_s")], size_bytes=_PAIRS),
    "OsuCollectives": {
        **_points(
            [*_times("latency_us"), *_rates("bandwidth_gbyte_s"), *_rates("rate_message_s", "messages/s")],
            size_bytes=_RANKS,
        ),
        **_points(_times("latency_us")),
    },
    "PathsCheck": _points(
        _BANDWIDTH, dimension="XYZ", hops=(1,), paths=(1, 2), size_bytes=(8192,), test=("bandwidth",)
    ),
    "Pt2ptVictim": _points(
        _LATENCY, pattern=("random",), per_node=(1,), size_bytes=(8,), step=(1,), test=("latency",)
    ),
    "QuicksilverCheck": _points(_rates("segments_per_s", "1/s")),
    "RowcolCheck": _points(
        [
            *_times("slowest_us mean_us split_us"),
            *_rates("algorithmic_bandwidth_gbyte_s bus_bandwidth_gbyte_s"),
        ],
        collective=("allgather", "allreduce", "alltoall", "bcast"),
        split=("X", "YZ"),
    ),
    "SnapCheck": _points([*_rates("cells_per_s", "1/s"), *_times("solve_s", "s")]),
    "SonarCheck": _points(
        _times(
            "source_sent_bytes source_received_bytes destination_sent_bytes destination_received_bytes",
            "bytes",
        ),
        payload=("random", "zero"),
        ping=("send",),
        size_bytes=(1, 65536),
    ),
    "StencilModel": {
        **_points([*_times("injected_bytes most_injected_bytes", "bytes"), *_times("slowest_link_us")]),
        **_points(_times("slowest_of_dimension_us mean_of_dimension_us"), dimension="XYZ"),
    },
    "TopoBwCheck": _points(
        _rates("bandwidth_gbyte_s"),
        **{"class": ("backplane", "cable", "mezzanine"), "link": tuple(map(str, range(watched.MOST)))},
    ),
    "UmtCheck": _points([*_rates("unknowns_per_s", "1/s"), *_times("work_s", "s")]),
    "canary": {
        **_points(_LATENCY, test=("latency",), **_RING),
        **_points(_BANDWIDTH, test=("bandwidth",), **_RING),
    },
    "congestion_bandwidth": _points(
        _BANDWIDTH, pattern=("random",), per_node=(1,), size_bytes=(4096,), step=(1,), test=("bandwidth",)
    ),
    "congestion_allreduce": _points(
        [*_times("round_us"), *_rates("aggregate_bandwidth_gbyte_s")], pattern=("allreduce",), size_bytes=(8,)
    ),
    "gpcnet": {
        **_points(_times("latency_us"), test=_VICTIMS, **_UNDER),
        **_points(_rates("bandwidth_gbyte_s"), test=("RR Two-sided BW+Sync (8192 B)",), **_UNDER),
    },
    "osu_nonblocking": {
        **_points(_times("latency_us communication_us"), size_bytes=_RANKS),
        **_points([*_times("latency_us communication_us"), *_shares("overlap_percent")]),
    },
    "osu_start": _points(_times("init_s min_init_s max_init_s", "s")),
}


def page() -> str:
    """Return the page: a row for each example, with all checks that have its points."""
    owners = {one.name: owner(one.name) for one in checks.checks()}
    rows = [
        (
            ", ".join(code(name) for name, of in owners.items() if of == example),
            ", ".join(map(code, of_example(example))),
        )
        for example in dict.fromkeys(owners.values())
        if example
    ]
    return HEAD + table(["checks", "variables"], rows)


def of_check(check: str) -> list[str]:
    """Return the names of a check's variables in its example; none for a check without one."""
    return of_example(owner(check))


def of_example(example: str) -> list[str]:
    """Return the names of the variables of an example."""
    return list(watched.variables(EXAMPLES.get(example, {})))


def owner(check: str) -> str:
    """Return the class that has a check's example: the check itself or its nearest base; empty for none."""
    ancestors = [check]
    for name in ancestors:
        if name in EXAMPLES:
            return name
        ancestors += check_sources.classes().get(name, ((), {}))[0]
    return ""
