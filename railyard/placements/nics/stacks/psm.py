"""The stacks of PSM, for TrueScale and Omni-Path; PSM3 is a provider of `libfabric`."""

from __future__ import annotations

from railyard.placements.nics.stacks import NicStack, multirail, one_nic, per_rank, same

STACKS = (
    # PSM (TrueScale), psm_context.c: IPATH_HCA_SELECTION_ALG is "Round Robin" (default) or "Packed", IPATH_UNIT the
    # unit. No source documents that a released PSM splits one message over units.
    NicStack(
        name="psm",
        setters={
            "round-robin": same(IPATH_HCA_SELECTION_ALG="Round Robin"),
            "nic-K": same(IPATH_UNIT="{k}"),
            "local-nic": per_rank(IPATH_UNIT="{k}"),
        },
        by_rank="",
        source="PSM, psm_context.c",
    ),
    # PSM2, psm_ep.c and Open MPI docs "Omni-Path": HFI_UNIT fixes the unit. PSM2_MULTIRAIL is 0 (off), 1 (all units),
    # or 2 (those of the NUMA node); PSM2_MULTIRAIL_MAP is unit:port,... Its own selection prefers the rank's NUMA
    # node, so alternation needs the wrapper.
    NicStack(
        name="psm2",
        setters={**one_nic(PSM2_MULTIRAIL="0", HFI_UNIT="{k}"), "stripe": multirail("PSM2")},
        source="PSM2, psm_ep.c; Open MPI FAQ, [Omni-Path](https://www.open-mpi.org/faq/?category=opa)",
    ),
)
