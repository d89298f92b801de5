"""PSM2, psm_ep.c and Open MPI docs "Omni-Path": HFI_UNIT fixes the unit.

PSM2_MULTIRAIL is 0 (off), 1 (all units), or 2 (those of the NUMA node); PSM2_MULTIRAIL_MAP is unit:port,... Its own
selection prefers the rank's NUMA node, so alternation needs the wrapper.
"""

from __future__ import annotations

from railyard.placements.nics.stack import NicStack, multirail, one_nic

STACK = NicStack(
    name="psm2",
    setters={**one_nic(PSM2_MULTIRAIL="0", HFI_UNIT="{k}"), "stripe": multirail("PSM2")},
    source="PSM2, psm_ep.c; Open MPI FAQ, [Omni-Path](https://www.open-mpi.org/faq/?category=opa)",
)
