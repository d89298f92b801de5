"""Check a machine's network in one minute, for example every hour: each node sends to near and distant ones."""

from __future__ import annotations

from typing import Any

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import sanity_function, variable
from reframe.core.logging import getlogger

from checks.base import RepeatedCheck
from railyard.jobs import canary as judgement


@rfm.simple_test
class canary(RepeatedCheck):
    """All nodes of the allocation in a ring, all pairs at once: latency and bandwidth by the proximity of two nodes."""

    descr = "Every node with the next in a minute: pairs that stand out among those of their proximity"
    tags = {"canary", "production"}
    benchmark = "pt2pt"
    torus = "dual-rail-small"
    placements = ["plain"]
    launches = 1

    #: How many times worse than the median pair of the same proximity a pair must be to fail the check.
    #: :default: ``2``
    factor = variable(float, value=judgement.FACTOR)

    #: Bytes of the messages that measure bandwidth.
    #: :default: by `scale`
    size = variable(int, value=0)

    small = {"size": 1 << 14, "repeats": 5}
    standard = {"size": 1 << 20, "repeats": 100}

    def case(self) -> dict[str, Any]:
        return {"pattern": "ring", "sizes_bytes": [8, self.size], "repeats": self.repeats}

    @sanity_function
    def no_pair_stands_out(self) -> Any:
        """Fail for the first thing that is wrong with the launches, then for pairs that stand out."""
        if self.is_dry_run():
            return True
        sn.evaluate(self.every_launch_is_good())
        for group in judgement.judge(self.record, self.factor):
            getlogger().info(f"canary: {group.text}")
        wrong = judgement.fault(self.record, self.factor)
        return sn.assert_eq(wrong, "", msg=f"{wrong} (record: {self.record_path})")
