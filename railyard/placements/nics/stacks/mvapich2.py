"""MVAPICH2 2.3 user guide, sections 11.38 to 11.40: USE_FIRST, ROUND_ROBIN, FIXED_MAPPING.

Messages above MV2_RAIL_SHARING_LARGE_MSG_THRESHOLD (16K) are striped over all rails under any of them.
"""

from __future__ import annotations

from railyard.placements.nics.policies import ChosenPolicy, Host, assign
from railyard.placements.nics.stack import NicStack, Settings, same


def mapping(policy: ChosenPolicy, on: Host) -> Settings:
    """List the NIC of every local rank: 0:0:1:1."""
    return Settings(
        environment={
            "MV2_RAIL_SHARING_POLICY": "FIXED_MAPPING",
            "MV2_PROCESS_TO_RAIL_MAPPING": ":".join(str(nic) for (nic,) in assign(policy, on)),
            "MV2_RAIL_SHARING_LARGE_MSG_THRESHOLD": "1G",
        }
    )


STACK = NicStack(
    name="mvapich2",
    setters={
        "round-robin": same(MV2_RAIL_SHARING_POLICY="ROUND_ROBIN", MV2_RAIL_SHARING_LARGE_MSG_THRESHOLD="1G"),
        "nic-K": same(MV2_NUM_HCAS="1", MV2_IBA_HCA="{nic}"),
        "local-nic": mapping,
        "stripe": same(MV2_NUM_HCAS="{n}", MV2_RAIL_SHARING_LARGE_MSG_THRESHOLD="16K"),
    },
    by_rank="local-nic",
    source="MVAPICH2 user guide 2.3, 11.38 to 11.40",
)
