"""The stacks of railyard, each a row: those of MPIs, of the libraries below them, and of machine learning."""

from __future__ import annotations

from railyard.placements.nics.policies import ChosenPolicy, Host, assign
from railyard.placements.nics.stacks import NicStack, Settings, one_nic, per_rank, same


def ranks_by_nic(policy: ChosenPolicy, on: Host) -> Settings:
    """List the local ranks of each NIC: 0:0,2;1:1,3."""
    ranks: dict[int, list[str]] = {}
    for local, (nic,) in enumerate(assign(policy, on)):
        ranks.setdefault(nic, []).append(str(local))
    text = ";".join(f"{nic}:{','.join(ranks[nic])}" for nic in sorted(ranks))
    return Settings(environment={"MPICH_OFI_NIC_MAPPING": text})


def nics_by_rank(policy: ChosenPolicy, on: Host) -> Settings:
    """List the NIC of every local rank: 0:0:1:1."""
    return Settings(
        environment={
            "MV2_RAIL_SHARING_POLICY": "FIXED_MAPPING",
            "MV2_PROCESS_TO_RAIL_MAPPING": ":".join(str(nic) for (nic,) in assign(policy, on)),
            "MV2_RAIL_SHARING_LARGE_MSG_THRESHOLD": "1G",
        }
    )


#: What makes each MPI use UCX over TCP; an MPI ignores the others' variables.
UCX_OVER_TCP = {
    "OMPI_MCA_pml": "ucx",
    "OMPI_MCA_pml_ucx_tls": "any",
    "OMPI_MCA_pml_ucx_devices": "any",
    "MPIR_CVAR_CH4_NETMOD": "ucx",
    "UCX_TLS": "tcp,self,sm",
}

#: What makes each MPI use libfabric's tcp provider; an MPI ignores the others' variables.
OFI_OVER_TCP = {
    "OMPI_MCA_pml": "cm",
    "OMPI_MCA_mtl": "ofi",
    "OMPI_MCA_mtl_ofi_provider_include": "tcp",
    "MPIR_CVAR_CH4_NETMOD": "ofi",
    "FI_PROVIDER": "tcp",
}


def by_numa(policy: ChosenPolicy, on: Host) -> Settings:
    """List numa:UNIT:NODE for each NUMA node (a socket each)."""
    nics = [socket * len(on.nics) // on.sockets for socket in range(on.sockets)]
    text = ",".join(f"numa:{nic}:{socket}" for socket, nic in enumerate(nics))
    return Settings(environment={"FI_OPX_HFI_SELECT": text})


NCCL_SOURCE = "[NCCL user guide](https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html)"

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
        always={"MPICH_OFI_NIC_POLICY": "USER"},
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
    # Open MPI's btl tcp: btl_tcp_if_include, docs, "How do I tell Open MPI which IP interfaces to use?". Several
    # interfaces of equal btl_tcp_bandwidth share each large message. A rank binds its connections to the address of its
    # interface (opal/mca/btl/tcp/btl_tcp_endpoint.c), so the sender decides. btl_tcp_if_seq, which dealt interfaces to
    # local ranks, is gone since 4.1: hence the wrapper.
    NicStack(
        name="openmpi-tcp",
        setters={**one_nic(OMPI_MCA_btl_tcp_if_include="{nic}"), "stripe": same(OMPI_MCA_btl_tcp_if_include="{nics}")},
        source="Open MPI, [networking/tcp](https://docs.open-mpi.org/en/v5.0.x/tuning-apps/networking/tcp.html)",
    ),
    # UCX over verbs: FAQ, "How to specify which devices to use", "What is the default number of rails".
    # UCX_NET_DEVICES takes DEVICE:PORT; rendezvous uses UCX_MAX_RNDV_RAILS devices (default 2), eager
    # UCX_MAX_EAGER_RAILS (default 1), the nearest first.
    NicStack(
        name="ucx",
        setters={
            **one_nic(UCX_NET_DEVICES="{nic}"),
            "local-nic": same(UCX_NET_DEVICES="{nics}", UCX_MAX_RNDV_RAILS="1"),
            "stripe": same(UCX_NET_DEVICES="{nics}", UCX_MAX_RNDV_RAILS="{n}"),
        },
        by_binding=True,
        source="[UCX FAQ](https://openucx.readthedocs.io/en/master/faq.html)",
    ),
    # UCX over TCP, from UCX 1.17 on, which binds a connection to the address of its device. It then reaches only what
    # the device has a route to (UCX_TCP_EP_BIND_SRC_ADDR). TCP devices have no distance to a core, so a wrapper
    # chooses the nearest.
    NicStack(
        name="ucx-tcp",
        setters={
            **one_nic(UCX_NET_DEVICES="{nic}"),
            "stripe": same(UCX_NET_DEVICES="{nics}", UCX_MAX_RNDV_RAILS="{n}", UCX_MAX_EAGER_RAILS="{n}"),
        },
        always=UCX_OVER_TCP,
        source="UCX FAQ; [UCX pull request 9839](https://github.com/openucx/ucx/pull/9839)",
    ),
    # UCX over TCP before 1.17, which leaves the NIC of a connection to the routing table. Ranks that open one device
    # connect to a peer's one address, and the table decides. With two lanes to one peer nothing makes the second
    # leave by the second device.
    NicStack(
        name="ucx-tcp-unbound",
        setters=one_nic(UCX_NET_DEVICES="{nic}"),
        always=UCX_OVER_TCP,
        source="`ucx-tcp`'s, before UCX 1.17",
    ),
    # libfabric's cxi provider: FI_CXI_DEVICE_NAME restricts it to a list of devices, cxi0,cxi1 (fi_cxi(7)). For Open
    # MPI and MPICH; Cray MPICH has its own policies. A rank opens one device.
    NicStack(
        name="cxi",
        setters=one_nic(FI_CXI_DEVICE_NAME="{nic}"),
        source="[fi_cxi(7)](https://ofiwg.github.io/libfabric/main/man/fi_cxi.7.html)",
    ),
    # libfabric's efa provider, fi_efa(7): FI_EFA_IFACE lists the devices that an application sees.
    NicStack(
        name="efa",
        setters=one_nic(FI_EFA_IFACE="{nic}"),
        source="[fi_efa(7)](https://ofiwg.github.io/libfabric/main/man/fi_efa.7.html)",
    ),
    # libfabric's tcp provider: FI_TCP_IFACE requests a network interface, one per rank (fi_tcp(7)).
    NicStack(
        name="ofi-tcp",
        setters=one_nic(FI_TCP_IFACE="{nic}"),
        always=OFI_OVER_TCP,
        source="[fi_tcp(7)](https://ofiwg.github.io/libfabric/main/man/fi_tcp.7.html)",
    ),
    # libfabric's opx provider, fi_opx(7): FI_OPX_HFI_SELECT is UNIT, or TYPE:UNIT:DATA selectors.
    NicStack(
        name="opx",
        setters={**one_nic(FI_OPX_HFI_SELECT="{k}"), "local-nic": by_numa},
        by_binding=True,
        source="[fi_opx(7)](https://ofiwg.github.io/libfabric/main/man/fi_opx.7.html)",
    ),
    # PSM3, prov/psm3/psm3/psm_ep.c and psm_ep_multirail.c: PSM3_NIC fixes the NIC by name or unit. PSM3_MULTIRAIL and
    # PSM3_MULTIRAIL_MAP are PSM2's.
    NicStack(
        name="psm3",
        setters={
            **one_nic(PSM3_MULTIRAIL="0", PSM3_NIC="{nic}"),
            "stripe": same(PSM3_MULTIRAIL="1", PSM3_MULTIRAIL_MAP="{ports}"),
        },
        source="libfabric, prov/psm3/psm3/psm_ep.c",
    ),
    # libfabric's verbs provider, fi_verbs(7): FI_VERBS_DEVICE_NAME names one verbs device.
    NicStack(
        name="verbs",
        setters=one_nic(FI_VERBS_DEVICE_NAME="{nic}"),
        source="[fi_verbs(7)](https://ofiwg.github.io/libfabric/main/man/fi_verbs.7.html)",
    ),
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
        setters={
            **one_nic(PSM2_MULTIRAIL="0", HFI_UNIT="{k}"),
            "stripe": same(PSM2_MULTIRAIL="1", PSM2_MULTIRAIL_MAP="{ports}"),
        },
        source="PSM2, psm_ep.c; Open MPI FAQ, [Omni-Path](https://www.open-mpi.org/faq/?category=opa)",
    ),
    # PyTorch's Gloo: GLOO_SOCKET_IFNAME lists network interfaces, which collectives take in turn.
    NicStack(
        name="gloo",
        setters={**one_nic(GLOO_SOCKET_IFNAME="{nic}"), "stripe": same(GLOO_SOCKET_IFNAME="{nics}")},
        source="[torch.distributed](https://pytorch.org/docs/stable/distributed.html#choosing-the-network-interface-to-use)",
    ),
    # NCCL (RCCL reads the same): NCCL_IB_HCA, NCCL_CROSS_NIC, or over TCP NCCL_SOCKET_IFNAME; = begins exact names. A
    # GPU takes its nearest NICs of those listed, so there is no variable that deals NICs to ranks in turn. With PXN
    # data go to the GPU beside the receiver's rail first; RCCL has it off (src/graph/paths.cc at 0cbce2a: 1 disables).
    NicStack(
        name="nccl",
        setters={
            "nic-K": same(NCCL_IB_HCA="={nic}"),
            "local-nic": same(NCCL_IB_HCA="={nics}", NCCL_CROSS_NIC="0"),
            "nearest": same(NCCL_IB_HCA="={nics}", NCCL_CROSS_NIC="0"),
            "on-rail": same(NCCL_IB_HCA="={nics}", NCCL_CROSS_NIC="0", NCCL_PXN_DISABLE="1"),
            "rail-local": same(NCCL_IB_HCA="={nics}", NCCL_CROSS_NIC="0", NCCL_PXN_DISABLE="0", NCCL_P2P_PXN_LEVEL="2"),
        },
        source=NCCL_SOURCE,
    ),
    NicStack(
        name="nccl-socket",
        setters={**one_nic(NCCL_SOCKET_IFNAME="={nic}"), "stripe": same(NCCL_SOCKET_IFNAME="={nics}")},
        always={"NCCL_NET": "Socket"},
        source=NCCL_SOURCE,
    ),
)
