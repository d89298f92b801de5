"""List unit and better direction of figures that railyard's own programs and parsers write.

Models: a tender file may name such a figure without its unit, and the strict check refuses a record that declares
another unit for it. A figure that is not here declares its unit in the record alone, as each output does.
"""

from __future__ import annotations

from railyard.records import units
from railyard.records.units import Better, Fom

#: Unit -> names of figures, by the direction in which they improve.
_TABLE = {
    Better.LOWER: {
        "us": "allreduce_us communication_us delay_us exchange_us iteration_us latency_p50_us "
        "latency_p999_us latency_p99_us latency_us latest_start_us longest_delay_us max_latency_us "
        "mean_input_stall_us mean_latency_p50_us mean_latency_p999_us mean_latency_p99_us "
        "mean_latency_us mean_of_dimension_us mean_output_stall_us mean_us min_latency_us "
        "most_input_stall_us most_output_stall_us pack_us pair_latency_p50_us pair_latency_p999_us "
        "pair_latency_p99_us pair_latency_us quantum_us round_us slowest_latency_p50_us "
        "slowest_latency_p999_us slowest_latency_p99_us slowest_latency_us slowest_link_us "
        "slowest_of_dimension_us slowest_us split_us unpack_us wait_us",
        "s": "advance_s cg_s elapsed_s program_s solve_s time_s work_s",
        "bytes": "destination_received_bytes destination_sent_bytes injected_bytes message_bytes "
        "most_injected_bytes persistent_message_bytes source_received_bytes source_sent_bytes",
        "joule": "energy_joule",
    },
    Better.HIGHER: {
        "gbyte_s": "aggregate_bandwidth_gbyte_s algorithmic_bandwidth_gbyte_s bandwidth_gbyte_s "
        "bus_bandwidth_gbyte_s pair_bandwidth_gbyte_s",
        "message_s": "aggregate_rate_message_s pair_rate_message_s rate_message_s",
        "mflop_s": "cg_mflop_s",
        "gflop_s": "total_gflop_s",
        "kzone_s": "fom_kzone_s",
        "per_s": "cells_per_s fom_per_s segments_per_s setup_per_s solve_per_s tracks_per_s unknowns_per_s",
    },
    Better.NEITHER: {
        "percent": "amplification_percent collective_time_percent efficiency_percent impact_percent "
        "mean_noise_percent missing_percent mpi_time_percent overlap_percent "
        "persistent_messages_percent rank_noise_percent sent_percent under_sampled_percent "
        "worst_noise_percent",
        "count": "calls_count destination_received_packets_count destination_sent_packets_count dropped_count "
        "messages_count persistent_messages_count source_received_packets_count "
        "source_sent_packets_count",
    },
}
_DECLARED = {
    name: units.fom(name, unit, better)
    for better, by_unit in _TABLE.items()
    for unit, names in by_unit.items()
    for name in names.split()
}


def find(name: str) -> Fom | None:
    """Return railyard's own figure of this name; None if railyard writes none."""
    return _DECLARED.get(name)
