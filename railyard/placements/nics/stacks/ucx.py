"""UCX over verbs: FAQ, "How to specify which devices to use", "What is the default number of rails".

UCX_NET_DEVICES takes DEVICE:PORT; rendezvous uses UCX_MAX_RNDV_RAILS devices (default 2), eager UCX_MAX_EAGER_RAILS
(default 1), the nearest first.
"""

from __future__ import annotations

from railyard.placements.nics.stack import NicStack, one_nic, same

STACK = NicStack(
    name="ucx",
    setters={
        **one_nic(UCX_NET_DEVICES="{nic}"),
        "local-nic": same(UCX_NET_DEVICES="{nics}", UCX_MAX_RNDV_RAILS="1"),
        "stripe": same(UCX_NET_DEVICES="{nics}", UCX_MAX_RNDV_RAILS="{n}"),
    },
    by_binding=True,
    source="[UCX FAQ](https://openucx.readthedocs.io/en/master/faq.html)",
)
