"""The stacks of UCX: over verbs, and over TCP in two generations."""

from __future__ import annotations

from railyard.placements.nics.stacks import NicStack, one_nic, same, with_always

#: What makes each MPI use UCX over TCP; an MPI ignores the others' variables.
UCX_OVER_TCP = {
    "OMPI_MCA_pml": "ucx",
    "OMPI_MCA_pml_ucx_tls": "any",
    "OMPI_MCA_pml_ucx_devices": "any",
    "MPIR_CVAR_CH4_NETMOD": "ucx",
    "UCX_TLS": "tcp,self,sm",
}


STACKS = (
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
        setters=with_always(
            UCX_OVER_TCP,
            {
                **one_nic(UCX_NET_DEVICES="{nic}"),
                "stripe": same(UCX_NET_DEVICES="{nics}", UCX_MAX_RNDV_RAILS="{n}", UCX_MAX_EAGER_RAILS="{n}"),
            },
        ),
        source="UCX FAQ; [UCX pull request 9839](https://github.com/openucx/ucx/pull/9839)",
    ),
    # UCX over TCP before 1.17, which leaves the NIC of a connection to the routing table. Ranks that open one device
    # connect to a peer's one address, and the table decides. With two lanes to one peer nothing makes the second
    # leave by the second device.
    NicStack(
        name="ucx-tcp-unbound",
        setters=with_always(UCX_OVER_TCP, one_nic(UCX_NET_DEVICES="{nic}")),
        source="`ucx-tcp`'s, before UCX 1.17",
    ),
)
