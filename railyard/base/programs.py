"""Run a program whose text is read, so that neither the language of a user nor odd bytes change the text."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence


def run(command: Sequence[str], timeout_s: float | None = None) -> subprocess.CompletedProcess[str]:
    """Return what a program printed under the locale C; bytes that are not UTF-8 become U+FFFD.

    Raises OSError for a program that is missing, subprocess.TimeoutExpired for one that takes too long.
    """
    return subprocess.run(
        command,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        timeout=timeout_s,
        check=False,
        env={**os.environ, "LC_ALL": "C"},
    )
