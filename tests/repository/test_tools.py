"""Tools that remove things remove their own alone."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from support.commands import CHECKOUT, program, ran


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


def test_clean_root_takes_a_relative_folder_and_a_half_made_root_is_made_anew(tmp_path: Path) -> None:
    """useradd takes absolute paths alone, and the last step that create does is the one that tells a whole root."""
    for name, script in {
        "apt-get": "echo http://debian.invalid/debian",
        "debootstrap": 'mkdir -p "$4/etc/ssl/certs" "$4/etc/sudoers.d"; touch "$4/etc/os-release"; echo made >&2',
        "useradd": 'echo "$2" >"$2/etc/passwd"',
        "cp": ":",
    }.items():
        program(tmp_path / "bin", name, script)
    root = tmp_path / "roots/trixie"

    def create() -> subprocess.CompletedProcess[str]:
        words = [str(CHECKOUT / "tools/clean-root"), "create", "trixie", "roots/trixie"]
        return ran(*words, cwd=tmp_path, env={"PATH": f"{tmp_path}/bin:/usr/bin:/bin"})

    done = create()
    assert done.returncode == 0, done.stderr
    assert (root / "etc/passwd").read_text() == f"{root}\n"
    assert "a root already" in create().stderr
    (root / "etc/sudoers.d/runner").unlink()
    assert create().returncode == 0
