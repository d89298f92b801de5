"""The stacks of libfabric, one for each provider."""

from __future__ import annotations

from railyard.placements.nics.policies import ChosenPolicy, Host
from railyard.placements.nics.stacks import NicStack, Settings, multirail, one_nic, with_always

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


STACKS = (
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
        setters=with_always(OFI_OVER_TCP, one_nic(FI_TCP_IFACE="{nic}")),
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
        setters={**one_nic(PSM3_MULTIRAIL="0", PSM3_NIC="{nic}"), "stripe": multirail("PSM3")},
        source="libfabric, prov/psm3/psm3/psm_ep.c",
    ),
    # libfabric's verbs provider, fi_verbs(7): FI_VERBS_DEVICE_NAME names one verbs device.
    NicStack(
        name="verbs",
        setters=one_nic(FI_VERBS_DEVICE_NAME="{nic}"),
        source="[fi_verbs(7)](https://ofiwg.github.io/libfabric/main/man/fi_verbs.7.html)",
    ),
)
