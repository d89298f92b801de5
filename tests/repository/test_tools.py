"""Tools that remove things remove their own alone."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from support.commands import CHECKOUT


def test_with_docker_removes_the_control_groups_of_its_own_engine_and_no_others(tmp_path: Path) -> None:
    """Engine 12's name is the beginning of engine 123's."""
    script = (CHECKOUT / "tools/with-docker").read_text()
    line = next(line for line in script.splitlines() if re.search(r"find /sys/fs/cgroup .* rmdir", line))
    for name in ("railyard-docker.12/node", "deep/railyard-docker.12", "railyard-docker.123/node"):
        (tmp_path / name).mkdir(parents=True)
    here = line.replace("/sys/fs/cgroup", str(tmp_path))
    subprocess.run(["sh", "-c", here, "sh", "/run/railyard-docker.12"], check=True)
    left = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*"))
    assert left == ["deep", "railyard-docker.123", "railyard-docker.123/node"]
