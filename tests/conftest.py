"""What the tests share: one-line topologies, the command line, tori that are taken down whatever happens."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from placements.topology import Dimension, LinkClass, Torus

CHECKOUT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
RATES = {
    LinkClass.MEZZANINE: 2.34,
    LinkClass.BACKPLANE: 1.88,
    LinkClass.CABLE: 1.17,
    LinkClass.HOST: 1.33,
}

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def gemini(extents: str, nodes_per_router: int = 1, rails: int = 1) -> Torus:
    """A Gemini torus in one line: gemini("4x2x3")."""
    x, y, z = map(int, extents.split("x"))
    alternating = (LinkClass.MEZZANINE, LinkClass.CABLE)
    cage = (LinkClass.BACKPLANE,) * 7 + (LinkClass.CABLE,)
    return Torus(
        name=f"gemini-{extents}",
        dimensions=(
            Dimension(extent=x, tiles=8, pattern=(LinkClass.CABLE,)),
            Dimension(extent=y, tiles=4, pattern=alternating),
            Dimension(extent=z, tiles=8, pattern=cage),
        ),
        tile_rates_gbyte_s=RATES,
        host_tiles=8,
        nodes_per_router=nodes_per_router,
        rails=rails,
    )


def environment(**changes: str) -> dict[str, str]:
    """The tests' own virtual environment first on the PATH."""
    return {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", "COLUMNS": "120", **changes}


@pytest.fixture(scope="session")
def railyard() -> Run:
    """Run `railyard ARGUMENTS...`; the result has its output and status."""

    def run(*arguments: str, timeout_s: float = 120, **changes: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [BIN / "railyard", *arguments],
            capture_output=True,
            text=True,
            timeout=timeout_s,
            env=environment(**changes),
            check=False,
        )

    return run


@pytest.fixture
def torus_name(railyard: Run, request: pytest.FixtureRequest) -> Iterator[str]:
    """A name for a torus of this test alone; what is up under it afterwards is taken down."""
    name = f"t{os.getpid()}-{abs(hash(request.node.name)) % 10000}"
    yield name
    railyard("torus", "down", name)


@pytest.fixture(scope="session")
def small(railyard: Run) -> Iterator[str]:
    """A 2x2x2 torus for tests that only look."""
    name = f"t{os.getpid()}-small"
    done = railyard("torus", "up", "gemini-2x2x2", "--name", name, "--rate-scale", "0.001")
    assert done.returncode == 0, done.stderr
    yield name
    railyard("torus", "down", name)
