"""Intel MPI, developer reference, "NIC Pinning": I_MPI_MULTIRAIL deals a node's NICs to its ranks by their nearness.

A single NIC is chosen by the libfabric provider.
"""

from __future__ import annotations

from railyard.placements.nics.stack import NicStack, same

STACK = NicStack(
    name="intel-mpi",
    setters={"local-nic": same(I_MPI_MULTIRAIL="1")},
    by_binding=True,
    general=True,
    source="Intel MPI developer reference, NIC Pinning",
)
