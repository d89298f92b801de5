"""Turn the kernel's autogroups off while a torus is up, if its scheduler lets one group starve the others.

With `kernel.sched_autogroup_enabled` each session is a group with one share of the processors, and the ranks of each
node are a session. Between Linux 6.12 and 7.0 the scheduler can place a group too early each time the group's
weight changes (commit 6d71a9c61604; Linux 7.1 reverts it in 101f3498b4bd, and so do stable releases from August 2026
on). A group whose tasks often sleep and wake can then run alone. On Linux 6.18.44 the ranks of one node used both
processors for 65 s, while those of the other node and everything else waited.

Leaves out groups that are cgroups (containers of the engine docker, slices of systemd), and users who are not root.
"""

from __future__ import annotations

import contextlib
import platform
import re
from pathlib import Path

SETTING = Path("/proc/sys/kernel/sched_autogroup_enabled")
#: The first release of Linux that may be affected, and the first that is not. Releases between may have the revert.
AFFECTED = ((6, 12), (7, 1))
#: A file in the folder of all tori. It exists while autogroups are off because of tori.
WAS = ".autogroup"


def turn_off(folder: Path) -> None:
    """Turn autogroups off and mark in a folder that they were on; do nothing if this is not needed or not allowed."""
    if not is_affected(platform.release()) or _setting() != "1":
        return
    try:
        (folder / WAS).touch()  # first, so that `restore` finds it after a kill at any moment
        SETTING.write_text("0\n", encoding="ascii")
    except OSError:
        (folder / WAS).unlink(missing_ok=True)


def restore(folder: Path) -> None:
    """Turn autogroups on again if `turn_off` has turned them off, as its mark in the folder shows."""
    if (folder / WAS).exists():
        with contextlib.suppress(OSError):
            SETTING.write_text("1\n", encoding="ascii")
        (folder / WAS).unlink()


def is_affected(release: str) -> bool:
    """Return whether a kernel of this release, such as `6.12.3-amd64`, may have the defect."""
    version = re.match(r"(\d+)\.(\d+)", release)
    return version is not None and AFFECTED[0] <= (int(version[1]), int(version[2])) < AFFECTED[1]


def _setting() -> str:
    """Return the kernel's setting, `0` or `1`; an empty text if it cannot be read."""
    try:
        return SETTING.read_text(encoding="ascii").strip()
    except OSError:
        return ""
