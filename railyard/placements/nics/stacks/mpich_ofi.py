"""MPICH's ofi netmod: MPIR_CVAR_CH4_OFI_PREF_NIC (default: the nearest by hwloc) in src/mpid/ch4/netmod/ofi/ofi_nic.c.

MAX_NICS and ENABLE_MULTI_NIC_STRIPING (off by default, above a threshold of 1 MiB) are in doc/wiki "Multi-NIC".
"""

from __future__ import annotations

from railyard.placements.nics.stack import NicStack, one_nic, same

STACK = NicStack(
    name="mpich-ofi",
    setters={
        **one_nic(MPIR_CVAR_CH4_OFI_MAX_NICS="1", MPIR_CVAR_CH4_OFI_PREF_NIC="{k}"),
        "local-nic": same(MPIR_CVAR_CH4_OFI_MAX_NICS="1"),
        "stripe": same(MPIR_CVAR_CH4_OFI_MAX_NICS="{n}", MPIR_CVAR_CH4_OFI_ENABLE_MULTI_NIC_STRIPING="1"),
    },
    by_binding=True,
    source="MPICH, src/mpid/ch4/netmod/ofi/ofi_nic.c",
)
