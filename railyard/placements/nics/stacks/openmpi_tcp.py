"""Open MPI's btl tcp: btl_tcp_if_include, docs, "How do I tell Open MPI which IP interfaces to use?".

Several interfaces of equal btl_tcp_bandwidth share each large message. A rank binds its connections to the address of
its interface (opal/mca/btl/tcp/btl_tcp_endpoint.c), so the sender decides. btl_tcp_if_seq, which dealt interfaces to
local ranks, is gone since 4.1: hence the wrapper.
"""

from __future__ import annotations

from railyard.placements.nics.stacks import NicStack, one_nic, same

STACK = NicStack(
    name="openmpi-tcp",
    setters={**one_nic(OMPI_MCA_btl_tcp_if_include="{nic}"), "stripe": same(OMPI_MCA_btl_tcp_if_include="{nics}")},
    source="Open MPI, [networking/tcp](https://docs.open-mpi.org/en/v5.0.x/tuning-apps/networking/tcp.html)",
)
