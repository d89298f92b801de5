"""Measure what the network counts for messages of known size: Pedretti et al., CUG'13, Figure 5."""

from __future__ import annotations

from typing import Any

import reframe as rfm
import reframe.utility.typecheck as typ
from reframe.core.builtins import variable

from checks.base import SizedCheck


class SonarCheck(SizedCheck):
    """Pings between two nodes, whose NIC counters are read before and after."""

    descr = "Bytes and packets that the NICs count for pings of known size"
    benchmark = "sonar"
    placements = ["plain"]
    grid = [2]
    launches = 1
    needs = ["NIC counters"]
    network = "kernel"  # a NIC of the user-space router counts what TCP hands over at once, not packets

    #: Kinds of ping: send, put, get.
    pings = variable(typ.List[str], value=["send"])

    #: Pings between two readings of the counters.
    #: :default: by `scale`
    count = variable(int, value=0)

    small = {"sizes": [1, 1 << 10, 1 << 16], "count": 5, "repeats": 3}
    standard = {"sizes": [1, 1 << 10, 1 << 16, 1 << 20], "count": 1000, "repeats": 10}
    large = {"count": 10000}

    case_of = {"sizes_bytes": "sizes", "repeats": "repeats"}
    case_unless = {"pings": ["send"]}
    unrecorded = ("count",)

    #: Counter group: a name of benchmarks/counters/groups, a file, or `auto`: that of the node's fabric.
    group = variable(str, value="auto")

    def case(self) -> dict[str, Any]:
        """Return the parameters; with the group `auto` the program's output alone names the group that it found."""
        # The NICs of an emulated node are network interfaces, whatever the machine has.
        emulated = self.prepared.where.origin == "emulated"
        group = "linux-net" if emulated and self.group == "auto" else self.group
        return super().case() | ({"group": group} if group != "auto" else {})


@rfm.simple_test
class sonar_efficiency(SonarCheck):
    """Efficiency of messages of every power of two up to 256 KiB."""

    studies = ["pedretti2013"]
    small = {"sizes": [1 << power for power in range(19)]}
    standard = {"sizes": [1 << power for power in range(23)]}


@rfm.simple_test
class sonar_one_sided(SonarCheck):
    """Efficiency of puts and gets."""

    studies = ["pedretti2013"]
    small = {"sizes": [1 << power for power in range(0, 19, 3)]}
    standard = {"sizes": [1 << power for power in range(0, 22, 3)]}
    pings = ["put", "get"]


@rfm.simple_test
class sonar_smoke(SonarCheck):
    """Smoke test: runs everything in seconds, with too few launches for a result."""

    tags = {"smoke"}
    small = {"repeats": 1}
