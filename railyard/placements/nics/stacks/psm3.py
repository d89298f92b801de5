"""PSM3, prov/psm3/psm3/psm_ep.c and psm_ep_multirail.c: PSM3_NIC fixes the NIC by name or unit.

PSM3_MULTIRAIL and PSM3_MULTIRAIL_MAP are PSM2's.
"""

from __future__ import annotations

from railyard.placements.nics.stack import NicStack, multirail, one_nic

STACK = NicStack(
    name="psm3",
    setters={**one_nic(PSM3_MULTIRAIL="0", PSM3_NIC="{nic}"), "stripe": multirail("PSM3")},
    source="libfabric, prov/psm3/psm3/psm_ep.c",
)
