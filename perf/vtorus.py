"""Bring up the virtual torus gemini-4x4x4 for sections of the bench, and run `railyard` on it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console

from railyard.base.checkout import CHECKOUT
from railyard.placements.topology import catalog
from railyard.torus.plan.plan import Shape
from railyard.torus.virtual import lifecycle
from railyard.torus.virtual.lifecycle import VirtualTorus

PROGRAMS = CHECKOUT / "build/benchmarks-openmpi/bin"
NAME = "bench"
console = Console(width=110)


@contextmanager
def torus(shaped: Shape) -> Iterator[VirtualTorus]:
    """Bring up gemini-4x4x4 for the length of the block."""
    running, _ = lifecycle.up(catalog.load("gemini-4x4x4"), name=NAME, shape=shaped)
    try:
        yield running
    finally:
        lifecycle.down(NAME)


def railyard(*arguments: str, **environment: str) -> None:
    """Run `railyard` without what it prints."""
    command = [str(Path(sys.executable).with_name("railyard")), *arguments]
    subprocess.run(command, env={**os.environ, **environment}, check=True, stdout=subprocess.DEVNULL)
