"""Cray MPICH, intro_mpi(3): MPICH_OFI_NIC_POLICY (default BLOCK), MPICH_OFI_NUM_NICS "count:indices".

A site's modules often change the policy. Under a site's NUMA an unbound rank ends in MPI_Init.
"""

from __future__ import annotations

from railyard.placements.nics.stack import NicStack, same

STACK = NicStack(
    name="cray-mpich",
    setters={
        "round-robin": same(MPICH_OFI_NIC_POLICY="ROUND-ROBIN"),
        "nic-K": same(MPICH_OFI_NUM_NICS="1:{k}"),
        "local-nic": same(MPICH_OFI_NIC_POLICY="NUMA"),
        "gpu-nearest": same(MPICH_OFI_NIC_POLICY="GPU", MPICH_GPU_SUPPORT_ENABLED="1"),
    },
    by_rank="",
    by_binding=True,
    default={"MPICH_OFI_NIC_POLICY": "BLOCK"},
    general=True,
    source="[intro_mpi(3)](https://cpe.ext.hpe.com/docs/mpt/mpich/intro_mpi.html)",
)
