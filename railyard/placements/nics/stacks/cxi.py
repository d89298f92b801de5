"""libfabric's cxi provider: FI_CXI_DEVICE_NAME restricts it to a list of devices, cxi0,cxi1 (fi_cxi(7)).

For Open MPI and MPICH; Cray MPICH has its own policies. A rank opens one device.
"""

from __future__ import annotations

from railyard.placements.nics.stack import NicStack, one_nic

STACK = NicStack(
    name="cxi",
    setters=one_nic(FI_CXI_DEVICE_NAME="{nic}"),
    source="[fi_cxi(7)](https://ofiwg.github.io/libfabric/main/man/fi_cxi.7.html)",
)
