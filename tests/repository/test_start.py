"""What a command loads at its start: a launch on a torus must not wait for libraries that it never calls."""

from __future__ import annotations

import subprocess
import sys

import pytest
from support.commands import CHECKOUT

#: A command's module, and what it does without until it is needed.
LIGHT = {
    "railyard.records.cli": ("numpy", "scipy", "matplotlib", "placements", "analysis"),
    "railyard.torus.cli.torus": ("numpy", "scipy", "matplotlib", "analysis", "docker", "rich"),
    "railyard.torus.simulated.cli": ("numpy", "scipy", "matplotlib", "analysis"),
    "railyard.jobs.cli": ("numpy", "scipy", "matplotlib"),
    "railyard.jobs.nodes.node_cli": ("numpy", "yaml", "placements", "analysis"),
    "placements.cli.place": ("numpy", "scipy", "matplotlib", "analysis"),
    "railyard.doctor.cli": ("numpy", "scipy", "matplotlib", "analysis"),
    "railyard.tender.cli": ("scipy", "matplotlib"),
}


@pytest.mark.parametrize("module", LIGHT)
def test_a_command_loads_no_library_before_it_needs_it(module: str) -> None:
    code = f"import sys, {module}; print(*sorted({{name.partition('.')[0] for name in sys.modules}}))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=CHECKOUT, capture_output=True, text=True, check=True, timeout=120
    )
    assert set(done.stdout.split()).isdisjoint(LIGHT[module])
