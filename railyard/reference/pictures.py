"""Draw the pictures of README.md: what each placement does to a network, and ratios with their intervals.

    python -m railyard.reference --tables

The first is the link-load model's, the second is of the records of `results/example`. A test compares both files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from railyard.analysis.cases import modelled
from railyard.analysis.figures import network
from railyard.analysis.figures.drawing import svg_file
from railyard.analysis.judge.judged import judge
from railyard.analysis.report import answer
from railyard.base.checkout import CHECKOUT, RESULTS
from railyard.placements.linkload import model, traffic
from railyard.placements.linkload.patterns import make
from railyard.placements.orders.allocation import allocate
from railyard.placements.orders.placement import place
from railyard.placements.topology import catalog
from railyard.records.store import archive

GRID, CELLS = (4, 4, 4), 64
TOPOLOGY, PLACEMENTS = "gemini-4x4x4", ("cart-create", "random:1")
SYSTEM = "vcluster"


def write() -> None:
    """Write the pictures into docs/."""
    for path, draw in PICTURES.items():
        path.write_text(draw())


def _network() -> str:
    topology = catalog.load(TOPOLOGY)
    granted, sent = (allocate(topology, "contiguous"), make("stencil6", GRID, size_bytes=traffic.face_bytes(CELLS, 3)))
    panels = []
    for name in PLACEMENTS:
        nodes = place(name, granted, GRID).indices
        loads = model.load(topology, nodes, sent, model.PROTOCOLS["payload"])
        panels.append(network.Panel(placement=name, nodes=nodes, loads=loads))
    return svg_file(network.drawing(panels))


def _ratios() -> str:
    records = [one for one in archive.load_all(RESULTS / "example") if one.system.name == SYSTEM]
    drawing = answer.drawing(judge(modelled.records(records)))
    assert drawing is not None  # the example compares twelve combinations
    return svg_file(drawing)


PICTURES: Mapping[Path, Callable[[], str]] = {
    CHECKOUT / "docs" / "network.svg": _network,
    CHECKOUT / "docs" / "ratios.svg": _ratios,
}
