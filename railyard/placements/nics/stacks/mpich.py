"""The stacks of MPICH and of MPIs that come from it, which choose NICs themselves."""

from __future__ import annotations

from railyard.placements.nics.policies import ChosenPolicy, Host, assign
from railyard.placements.nics.stacks import NicStack, Settings, one_nic, same


def ranks_by_nic(policy: ChosenPolicy, on: Host) -> Settings:
    """List the local ranks of each NIC: 0:0,2;1:1,3."""
    ranks: dict[int, list[str]] = {}
    for local, (nic,) in enumerate(assign(policy, on)):
        ranks.setdefault(nic, []).append(str(local))
    text = ";".join(f"{nic}:{','.join(ranks[nic])}" for nic in sorted(ranks))
    return Settings(environment={"MPICH_OFI_NIC_POLICY": "USER", "MPICH_OFI_NIC_MAPPING": text})


def nics_by_rank(policy: ChosenPolicy, on: Host) -> Settings:
    """List the NIC of every local rank: 0:0:1:1."""
    return Settings(
        environment={
            "MV2_RAIL_SHARING_POLICY": "FIXED_MAPPING",
            "MV2_PROCESS_TO_RAIL_MAPPING": ":".join(str(nic) for (nic,) in assign(policy, on)),
            "MV2_RAIL_SHARING_LARGE_MSG_THRESHOLD": "1G",
        }
    )


STACKS = (
    # Cray MPICH, intro_mpi(3): MPICH_OFI_NIC_POLICY (default BLOCK), MPICH_OFI_NUM_NICS "count:indices". A site's
    # modules often change the policy. Under a site's NUMA an unbound rank ends in MPI_Init.
    NicStack(
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
    ),
    # Cray MPICH with MPICH_OFI_NIC_POLICY=USER, intro_mpi(3): MPICH_OFI_NIC_MAPPING lists each NIC's local ranks.
    # Unbound ranks therefore have a nearest NIC, too.
    NicStack(
        name="cray-mpich-user",
        setters=dict.fromkeys(("round-robin", "nic-K", "local-nic"), ranks_by_nic),
        source="[intro_mpi(3)](https://cpe.ext.hpe.com/docs/mpt/mpich/intro_mpi.html)",
    ),
    # Intel MPI, developer reference, "NIC Pinning": I_MPI_MULTIRAIL deals a node's NICs to its ranks by their
    # nearness. A single NIC is chosen by the libfabric provider.
    NicStack(
        name="intel-mpi",
        setters={"local-nic": same(I_MPI_MULTIRAIL="1")},
        by_binding=True,
        general=True,
        source="Intel MPI developer reference, NIC Pinning",
    ),
    # MPICH's ofi netmod: MPIR_CVAR_CH4_OFI_PREF_NIC (default: the nearest by hwloc) in
    # src/mpid/ch4/netmod/ofi/ofi_nic.c. MAX_NICS and ENABLE_MULTI_NIC_STRIPING (off by default, above a threshold of
    # 1 MiB) are in doc/wiki "Multi-NIC".
    NicStack(
        name="mpich-ofi",
        setters={
            **one_nic(MPIR_CVAR_CH4_OFI_MAX_NICS="1", MPIR_CVAR_CH4_OFI_PREF_NIC="{k}"),
            "local-nic": same(MPIR_CVAR_CH4_OFI_MAX_NICS="1"),
            "stripe": same(MPIR_CVAR_CH4_OFI_MAX_NICS="{n}", MPIR_CVAR_CH4_OFI_ENABLE_MULTI_NIC_STRIPING="1"),
        },
        by_binding=True,
        source="MPICH, src/mpid/ch4/netmod/ofi/ofi_nic.c",
    ),
    # MVAPICH2 2.3 user guide, sections 11.38 to 11.40: USE_FIRST, ROUND_ROBIN, FIXED_MAPPING. Messages above
    # MV2_RAIL_SHARING_LARGE_MSG_THRESHOLD (16K) are striped over all rails under any of them.
    NicStack(
        name="mvapich2",
        setters={
            "round-robin": same(MV2_RAIL_SHARING_POLICY="ROUND_ROBIN", MV2_RAIL_SHARING_LARGE_MSG_THRESHOLD="1G"),
            "nic-K": same(MV2_NUM_HCAS="1", MV2_IBA_HCA="{nic}"),
            "local-nic": nics_by_rank,
            "stripe": same(MV2_NUM_HCAS="{n}", MV2_RAIL_SHARING_LARGE_MSG_THRESHOLD="16K"),
        },
        by_rank="local-nic",
        source="MVAPICH2 user guide 2.3, 11.38 to 11.40",
    ),
)
