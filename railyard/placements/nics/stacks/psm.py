"""PSM (TrueScale), psm_context.c: IPATH_HCA_SELECTION_ALG is "Round Robin" (default) or "Packed", IPATH_UNIT the unit.

No source documents that a released PSM splits one message over units.
"""

from __future__ import annotations

from railyard.placements.nics.stack import NicStack, per_rank, same

STACK = NicStack(
    name="psm",
    setters={
        "round-robin": same(IPATH_HCA_SELECTION_ALG="Round Robin"),
        "nic-K": same(IPATH_UNIT="{k}"),
        "local-nic": per_rank(IPATH_UNIT="{k}"),
    },
    by_rank="",
    source="PSM, psm_context.c",
)
