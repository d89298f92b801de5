"""Turns the kernel's groups of sessions off while a torus is up, where its scheduler lets one group starve the others.

With `kernel.sched_autogroup_enabled` the tasks of a session share one part of the processors, and the ranks of each
node are a session. From Linux 6.12.10 to 7.0 a group is placed too early each time its weight changes (commit
6d71a9c61604), so one whose tasks often sleep and wake can run alone: the ranks of one node kept those of the other, and
everything else, from both processors for 65 s. Linux 7.1 takes that back (101f3498b4bd), and so does a 6.18 after
6.18.44. Without the defect the setting makes no more than a difference in shares.

Leaves out groups that are cgroups (containers of the engine docker, slices of systemd), and users who are not root.
"""

from __future__ import annotations

import contextlib
import platform
import re
from pathlib import Path

SETTING = Path("/proc/sys/kernel/sched_autogroup_enabled")
#: The first Linux that is affected, and the first after it that is not; stable releases between them may be mended.
AFFECTED = ((6, 12), (7, 1))
#: Below the folder of all tori, while this setting is another than it was.
WAS = ".autogroup"


def turn_off(folder: Path) -> None:
    """Turn the groups off and note in a folder that they were on; nothing where that is not needed or not allowed."""
    if not is_affected(platform.release()) or (folder / WAS).exists() or _setting() != "1":
        return
    (folder / WAS).write_text(
        "1\n", encoding="ascii"
    )  # first: a killed command leaves nothing that `restore` misses
    try:
        SETTING.write_text("0\n", encoding="ascii")
    except OSError:
        (folder / WAS).unlink()


def restore(folder: Path) -> None:
    """Turn the groups on again where `turn_off` turned them off."""
    if (folder / WAS).exists():
        with contextlib.suppress(OSError):
            SETTING.write_text("1\n", encoding="ascii")
        (folder / WAS).unlink()


def is_affected(release: str) -> bool:
    """Return whether a kernel of this release may have the defect."""
    version = re.match(r"(\d+)\.(\d+)", release)
    return version is not None and AFFECTED[0] <= (int(version[1]), int(version[2])) < AFFECTED[1]


def _setting() -> str:
    try:
        return SETTING.read_text(encoding="ascii").strip()
    except OSError:
        return ""
