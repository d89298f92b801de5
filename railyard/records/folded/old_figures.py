"""List the figures that railyard wrote before version 2.1 of the record, whose records declare no units.

Models: the unit and the direction of each name, for those records, and for tender files and references that name such
a figure without them. This table is closed: no figure is added to it, because newer records declare their figures.
Leaves out: figures of other people's programs in such records. They are shown without a unit, and nothing wins by them.
"""

from __future__ import annotations

from railyard.records import units
from railyard.records.units import Better, Fom

_TABLE = {
    (
        "us",
        Better.LOWER,
    ): "allreduce_us communication_us delay_us exchange_us iteration_us latency_p50_us latency_p999_us "
    "latency_p99_us latency_us latest_start_us longest_delay_us max_latency_us mean_input_stall_us "
    "mean_latency_p50_us mean_latency_p999_us mean_latency_p99_us mean_latency_us mean_of_dimension_us "
    "mean_output_stall_us mean_us min_latency_us most_input_stall_us most_output_stall_us pack_us "
    "pair_latency_p50_us pair_latency_p999_us pair_latency_p99_us pair_latency_us quantum_us round_us "
    "slowest_latency_p50_us slowest_latency_p999_us slowest_latency_p99_us slowest_latency_us slowest_link_us "
    "slowest_of_dimension_us slowest_us split_us unpack_us wait_us",
    ("s", Better.LOWER): "advance_s cg_s elapsed_s program_s solve_s time_s work_s",
    (
        "bytes",
        Better.LOWER,
    ): "destination_received_bytes destination_sent_bytes injected_bytes message_bytes most_injected_bytes "
    "persistent_message_bytes source_received_bytes source_sent_bytes",
    (
        "gbyte_s",
        Better.HIGHER,
    ): "aggregate_bandwidth_gbyte_s algorithmic_bandwidth_gbyte_s bandwidth_gbyte_s bus_bandwidth_gbyte_s "
    "pair_bandwidth_gbyte_s",
    ("message_s", Better.HIGHER): "aggregate_rate_message_s pair_rate_message_s rate_message_s",
    ("mflop_s", Better.HIGHER): "cg_mflop_s",
    ("gflop_s", Better.HIGHER): "total_gflop_s",
    ("kzone_s", Better.HIGHER): "fom_kzone_s",
    (
        "per_s",
        Better.HIGHER,
    ): "cells_per_s fom_per_s segments_per_s setup_per_s solve_per_s tracks_per_s unknowns_per_s",
    ("joule", Better.LOWER): "energy_joule",
    (
        "percent",
        Better.NEITHER,
    ): "amplification_percent collective_time_percent efficiency_percent impact_percent mean_noise_percent "
    "missing_percent mpi_time_percent overlap_percent persistent_messages_percent rank_noise_percent "
    "sent_percent under_sampled_percent worst_noise_percent",
    (
        "count",
        Better.NEITHER,
    ): "destination_received_packets_count destination_sent_packets_count dropped_count messages_count "
    "persistent_messages_count source_received_packets_count source_sent_packets_count",
}
_DECLARED = {
    name: units.fom(name, unit, better) for (unit, better), names in _TABLE.items() for name in names.split()
}


#: Names that declared a wrong unit: LULESH's figure was called zones per second, and is thousands of them.
RENAMED = {"fom_zone_s": "fom_kzone_s"}


def find(name: str) -> Fom | None:
    """Return the figure of this name in old records; None if railyard wrote none."""
    return _DECLARED.get(RENAMED.get(name, name))


def read(name: str) -> Fom:
    """Return the figure of this name in old records; one that railyard did not write has an undeclared unit."""
    return find(name) or Fom(name, units.UNDECLARED, Better.NEITHER)
