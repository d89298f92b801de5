"""UCX over TCP, from UCX 1.17 on, which binds a connection to the address of its device.

It then reaches only what the device has a route to (UCX_TCP_EP_BIND_SRC_ADDR). TCP devices have no distance to a core,
so a wrapper chooses the nearest.
"""

from __future__ import annotations

from railyard.placements.nics.stack import NicStack, one_nic, same, with_always

#: What makes each MPI use UCX over TCP; an MPI ignores the others' variables.
UCX_OVER_TCP = {
    "OMPI_MCA_pml": "ucx",
    "OMPI_MCA_pml_ucx_tls": "any",
    "OMPI_MCA_pml_ucx_devices": "any",
    "MPIR_CVAR_CH4_NETMOD": "ucx",
    "UCX_TLS": "tcp,self,sm",
}
STACK = NicStack(
    name="ucx-tcp",
    setters=with_always(
        UCX_OVER_TCP,
        {
            **one_nic(UCX_NET_DEVICES="{nic}"),
            "stripe": same(UCX_NET_DEVICES="{nics}", UCX_MAX_RNDV_RAILS="{n}", UCX_MAX_EAGER_RAILS="{n}"),
        },
    ),
    source="UCX FAQ; [UCX pull request 9839](https://github.com/openucx/ucx/pull/9839)",
)
