"""Every link of the torus, tested and judged (Ezell, CUG'13): one that is slow, down or routed around is a failure."""

from __future__ import annotations

import shlex
from pathlib import Path

import reframe as rfm
from reframe.core.builtins import run_after, run_before, variable

from checks.base import REAL, RepeatedCheck
from railyard.placements.launchers import files


class TopoBwCheck(RepeatedCheck):
    """One rank per node on the whole torus. The benchmark itself decides, by its exit status and one line of output."""

    descr = "Rate of every link between neighbouring routers, and a verdict on each"
    benchmark = "topobw"
    needs_coordinates = True
    placements = ["plain"]
    launches = 1
    rate_scale = "auto*4"  # each node sends to one other, and what looks slow is tested again

    #: Bytes of one message.
    #: :default: by `scale`
    message_bytes = variable(int, value=0)

    #: Messages of one transfer.
    #: :default: by `scale`
    messages = variable(int, value=0)

    # With fewer messages the rates of 64 nodes at once spread further.
    small = {"message_bytes": 1 << 16, "messages": 4, "repeats": 3}
    standard = {"message_bytes": 1 << 20, "messages": 64, "repeats": 5}
    large = {"message_bytes": 1 << 22, "messages": 300, "repeats": 10}

    #: How far below its peers a sound link may be, in percent.
    tolerance_percent = variable(float, value=3.0)

    #: The rail whose links are tested, where all rails are one network (docs/rails.md).
    rail = variable(int, value=0)

    #: A fault to put on the virtual torus first, as `railyard torus fault` takes it: LINK and options.
    fault = variable(str, value="")

    case_of = {"size_bytes": "message_bytes", "messages": "messages", "repeats": "repeats"}
    case_of |= {"tolerance_percent": "tolerance_percent"}
    case_unless = {"rail": 0}

    @run_after("init")
    def choose_nic(self) -> None:
        """Let MPI use the NIC on the rail."""
        if self.rail:
            self.nics = [f"nic-{self.rail}"]

    @run_after("setup")
    def put_fault(self) -> None:
        """Put the fault on the torus before the first launch."""
        if self.fault:
            words = shlex.join(shlex.split(self.fault))
            command = f'railyard torus fault "$RAILYARD_TORUS" {words} || exit 1'
            self.preparations = [f"export RAILYARD_FAULTS={shlex.quote(words)}" if self._is_simulated() else command]

    @run_before("run")
    def write_links(self) -> None:
        """Write a file with each link's class and expected rate, next to the coordinates."""
        Path(self.stagedir, "links").write_text(files.links(self.prepared.topology, self.rail))


@rfm.simple_test
class topobw_links(TopoBwCheck):
    """All links of a torus with one node per router."""

    studies = ["ezell2013"]
    tags = {"topobw", "production"}


@rfm.simple_test
class topobw_shared(TopoBwCheck):
    """All links of a torus with two nodes per router, which share each link: simulated, at Gemini's own rates."""

    valid_systems = ["+torus +simulated"]
    studies = ["ezell2013"]
    tags = {"topobw"}
    torus = "gemini-4x4x4-two-nodes"
    small = {"message_bytes": 1 << 18, "repeats": 1}
    tolerance_percent = 15.0  # the nodes of a router send 8.24 GB/s together, not Z's 9.55 (Ezell, Figure 6)


@rfm.simple_test
class topobw_rails(TopoBwCheck):
    """All links of one rail of a rail-optimised network; -S rail=3 tests those of the fourth."""

    tags = {"topobw", "multirail"}
    torus = "rail-pod-small"
    rail = 5


@rfm.simple_test
class topobw_titan(TopoBwCheck):
    """A ring of 24 of Titan's routers along Z, with its backplane links and all its cables, shared by two nodes."""

    valid_systems = ["+torus +simulated"]
    studies = ["ezell2013"]
    tags = {"topobw"}
    torus = "titan"
    block = [1, 1, 24]
    small = {"message_bytes": 1 << 18, "repeats": 1}
    tolerance_percent = 15.0


@rfm.simple_test
class topobw_beside(TopoBwCheck):
    """Rates of all links alone and under a load on the second node of every router (Ezell, CUG'13, section III.G).

    Other jobs send through the nodes of the test, so that a sound link looks slow. The verdict is left out: the
    tolerance lets every link pass that answers. docs/topobw.md has verdicts at the usual tolerance.
    """

    valid_systems = ["+torus %origin=emulated", REAL]
    tags = {"topobw", "congestion"}
    torus = "gemini-4x2x6-two-nodes"
    block = [4, 2, 2]
    loads = ["permutation", "incast"]
    launches = 6
    tolerance_percent = 95.0


@rfm.simple_test
class topobw_smoke(TopoBwCheck):
    """Smoke test: runs in seconds, and finds only links at less than half their rate."""

    tags = {"smoke"}
    small = {"message_bytes": 1 << 13, "repeats": 1}
    tolerance_percent = 50.0
