"""Draw a node as a picture (SVG): its NUMA domains, each GPU beside its NIC, and the bytes that each NIC sent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape

from railyard.placements.maps.node_map import NodeMap

ROW, LEFT, WIDTH = 34, 20, 640
COLOURS = {"PIX": "#1a7f37", "PXB": "#4b9c2d", "PHB": "#bf8700", "NODE": "#bf8700", "SYS": "#cf222e"}


def draw(node_map: NodeMap, sent: Mapping[str, float]) -> str:
    """Return the picture; `sent` are the bytes of the NICs by name, empty for a launch that was not counted."""
    gpu_row = {gpu.name: row for row, gpu in enumerate(node_map.gpus)}
    nics = [nic.name for nic in node_map.nics]
    nics.sort(
        key=lambda nic: (min((gpu_row[g] for g, own in node_map.assigned.items() if nic in own), default=99),)
    )
    rows = max(len(node_map.gpus), len(nics), 1)
    height = 70 + rows * ROW
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        f'<text x="{LEFT}" y="24" font-size="15" font-weight="bold">{escape(node_map.node)}</text>',
        f'<text x="{LEFT + 120}" y="24" fill="#57606a">by {escape(node_map.kind)}; nearest NICs by distance</text>',
        *_domains(node_map),
        *_wires(node_map, gpu_row, nics),
        *(_box(LEFT + 70, row, gpu.name) for row, gpu in enumerate(node_map.gpus)),
        *(_box(330, row, nic) for row, nic in enumerate(nics)),
        *_bars(nics, sent),
    ]
    return "\n".join([*lines, "</svg>"]) + "\n"


def _y(row: float) -> float:
    return 44 + row * ROW


def _box(x: float, row: int, name: str) -> str:
    y = _y(row)
    return (
        f'<rect x="{x}" y="{y}" width="100" height="24" rx="4" fill="#f6f8fa" stroke="#57606a"/>'
        f'<text x="{x + 50}" y="{y + 16}" text-anchor="middle">{escape(name)}</text>'
    )


def _domains(node_map: NodeMap) -> Iterator[str]:
    """Yield a bar for each run of GPUs of one NUMA domain."""
    first = 0
    for row, gpu in enumerate(node_map.gpus):
        last = row + 1 == len(node_map.gpus) or node_map.gpus[row + 1].numa != gpu.numa
        if last and gpu.numa is not None:
            top, high = _y(first), (row - first) * ROW + 24
            yield f'<rect x="{LEFT}" y="{top}" width="56" height="{high}" rx="4" fill="#ddf4ff"/>'
            yield f'<text x="{LEFT + 28}" y="{top + high / 2 + 4}" text-anchor="middle">NUMA {gpu.numa}</text>'
        if last:
            first = row + 1


def _wires(node_map: NodeMap, gpu_row: Mapping[str, int], nics: list[str]) -> Iterator[str]:
    for gpu, own in node_map.assigned.items():
        for nic in own:
            name = node_map.distances.get((gpu, nic), "")
            start, end = _y(gpu_row[gpu]) + 12, _y(nics.index(nic)) + 12
            colour = COLOURS.get(name, "#57606a")
            yield f'<line x1="190" y1="{start}" x2="330" y2="{end}" stroke="{colour}" stroke-width="2"/>'
            yield f'<text x="200" y="{start - 3}" font-size="10" fill="{colour}">{name}</text>'


def _bars(nics: list[str], sent: Mapping[str, float]) -> Iterator[str]:
    most = max(sent.values(), default=0.0)
    for row, nic in enumerate(nics):
        if nic in sent:
            wide = 110 * sent[nic] / most if most else 0
            yield f'<rect x="440" y="{_y(row) + 5}" width="{wide:.1f}" height="14" fill="#0969da"/>'
            yield f'<text x="{446 + wide:.1f}" y="{_y(row) + 16}">{sent[nic] / 1e6:.4g} MB</text>'
