"""libfabric's tcp provider: FI_TCP_IFACE requests a network interface, one per rank (fi_tcp(7))."""

from __future__ import annotations

from railyard.placements.nics.stack import NicStack, one_nic, with_always

#: What makes each MPI use libfabric's tcp provider; an MPI ignores the others' variables.
OFI_OVER_TCP = {
    "OMPI_MCA_pml": "cm",
    "OMPI_MCA_mtl": "ofi",
    "OMPI_MCA_mtl_ofi_provider_include": "tcp",
    "MPIR_CVAR_CH4_NETMOD": "ofi",
    "FI_PROVIDER": "tcp",
}
STACK = NicStack(
    name="ofi-tcp",
    setters=with_always(OFI_OVER_TCP, one_nic(FI_TCP_IFACE="{nic}")),
    source="[fi_tcp(7)](https://ofiwg.github.io/libfabric/main/man/fi_tcp.7.html)",
)
