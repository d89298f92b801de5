"""A virtual pod of four nodes with eight NICs: a real halo's bytes per NIC and leaf are the model's, or it is named."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.benchmark_runs import BIN
from support.commands import Run
from support.topology.tori import up

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="makes network namespaces as root; run as root")

TOPOLOGY, CELLS, MESSAGE_BYTES = "rail-pod-small", "16384", "131072"
#: The NIC of each local rank on all nodes, and on node n0-0-1; what is named.
SETTINGS = {
    "right": ((0, 2, 4, 6), (0, 2, 4, 6), ()),
    "half": ((0, 0, 2, 2), (0, 0, 2, 2), ("2 NICs of a node carry bytes in place of 4; idle: nic4, nic6",)),
    "crossed": ((0, 2, 4, 6), (2, 0, 4, 6), ("messages cross rails",)),
}


def test_half_of_the_nics_and_crossed_rails_are_named_and_the_right_setting_is_equal_to_the_message(
    railyard: Run, torus_name: str, tmp_path: Path
) -> None:
    """The grid's first dimension is along the nodes, so that a rank's messages stay on its rail."""
    up(railyard, torus_name, topology=TOPOLOGY)
    hosts = tmp_path / "hosts"
    hosts.write_text("".join(f"n{pod}-0-{slot}\n" * 4 for pod in (0, 1) for slot in (0, 1)))
    for name, (usual, other, words) in SETTINGS.items():
        script = tmp_path / f"{name}.sh"
        script.write_text(
            "#!/bin/sh\n"
            f"nics='{' '.join(map(str, usual))}'\n"
            f"[ $(hostname) = n0-0-1 ] && nics='{' '.join(map(str, other))}'\n"
            'set -- $nics -- "$@"\n'
            'eval "export OMPI_MCA_btl_tcp_if_include=nic\\${$((OMPI_COMM_WORLD_LOCAL_RANK + 1))}"\n'
            'shift 5\nexec "$@"\n'
        )
        script.chmod(0o755)
        before, after = tmp_path / "before", tmp_path / "after"
        before.write_text(railyard("torus", "counters", torus_name, "--json").stdout)
        launch = ["-np", "16", "--map-by", "seq", "--hostfile", str(hosts), "--bind-to", "none", str(script)]
        halo = [str(BIN / "halo"), "--grid", "4x4", "--cells", CELLS, "--repeats", "2", "--warmups", "1"]
        done = railyard("torus", "mpirun", torus_name, "--", *launch, *halo)
        assert done.returncode == 0, done.stderr
        after.write_text(railyard("torus", "counters", torus_name, "--since", str(before), "--json").stdout)
        wanted = ["--ranks-per-node", "4", "--nics", "one-per-rank", "--placements", "cart-create"]
        traffic = ["--allocation", "contiguous", "--grid", "4x4", "--sizes", MESSAGE_BYTES]
        judged = railyard("links", TOPOLOGY, *traffic, *wanted, "--counted", str(after))
        assert judged.returncode == (1 if words else 0), judged.stdout
        assert all(word in judged.stdout for word in words), judged.stdout
        assert words or "32 NICs and 16 leaves, 5 rounds: equal the model's to the message" in judged.stdout
