"""Draw a node as a picture: its NUMA domains, each GPU beside its NIC, their distance, and the bytes of each NIC."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import matplotlib.pyplot as plt

from railyard.placements.linkload import heatmap
from railyard.placements.maps.node_map import NodeMap

COLOURS = {"PIX": "#1a7f37", "PXB": "#4b9c2d", "SYS": "#cf222e"}
OTHER, BYTES, LINE = "#9a6700", "#0969da", "#57606a"


def draw(node_map: NodeMap, sent: Mapping[str, float], path: Path) -> None:
    """Write the picture; `sent` are the bytes of the NICs by name, empty for a launch that was not counted."""
    gpus = [gpu.name for gpu in node_map.gpus]
    row = {gpu: y for y, gpu in enumerate(gpus)}
    first = {nic: row[gpu] for gpu, own in list(node_map.assigned.items())[::-1] for nic in own}
    nics = sorted((nic.name for nic in node_map.nics), key=lambda nic: first.get(nic, len(gpus)))
    row |= {nic: y for y, nic in enumerate(nics)}
    rows = max(len(gpus), len(nics), 1)
    with heatmap.style():
        figure, axes = plt.subplots(figsize=(7.5 if sent else 4.6, 0.8 + 0.36 * rows), layout="constrained")
        for device in node_map.gpus:
            domain = "" if device.numa is None else f"NUMA {device.numa}"
            axes.text(0, row[device.name], domain, va="center", color=LINE)
        for x, names in ((1.6, gpus), (3.6, nics)):
            for name in names:
                axes.text(x, row[name], name, ha="center", va="center", bbox={"fc": "#f6f8fa", "ec": LINE})
        for gpu, nic in ((gpu, nic) for gpu, own in node_map.assigned.items() for nic in own):
            distance = node_map.distances.get((gpu, nic), "")
            colour = COLOURS.get(distance, OTHER)
            axes.plot([1.6, 2.5, 3.6], [row[gpu], row[gpu], row[nic]], color=colour, zorder=0)
            axes.text(2.0, row[gpu] - 0.1, distance, color=colour, fontsize=8, va="bottom")
        most = max(sent.values(), default=0) or 1
        for nic in (nic for nic in nics if nic in sent):
            axes.barh(row[nic], 1.6 * sent[nic] / most, 0.6, 4.4, color=BYTES)
            axes.text(4.5 + 1.6 * sent[nic] / most, row[nic], f"{sent[nic] / 1e6:.4g} MB", va="center")
        axes.set(xlim=(-0.1, 7.2 if sent else 4.4), ylim=(rows - 0.4, -0.6))
        axes.axis("off")
        title = f"{node_map.node} by {node_map.kind}: GPUs, their NICs by distance"
        figure.suptitle(title + (", bytes sent" if sent else ""), x=0.01, ha="left", fontsize=10)
        heatmap.save(figure, path)
