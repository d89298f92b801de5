"""Draw the network of a case: links as wide as their predicted load, and nodes as large as the bytes that they sent.

Models: the bytes of one exchange between neighbours in the grid of ranks, with the nodes that the ranks ran on, by the
link-load model (`railyard.placements.linkload`). A torus is unrolled into planes, a tree has a row per level, a
dragonfly a ring of routers per group. Networks of many routers are drawn by blocks of routers, a block by its busiest
link. Where the launch counted the bytes of its NICs, a second panel of the placement shows them. A link with a fault
has a mark and its fault in words, with the times of one that came and went. Leaves out: counted bytes of links between
routers, which records do not have; second rails that are networks of their own; programs whose traffic is not known.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from railyard.analysis.cases import cases
from railyard.analysis.cases.cases import Case
from railyard.analysis.figures import svg
from railyard.analysis.figures.drawing import DataTable, Drawing
from railyard.base.errors import InputError
from railyard.placements.arrays import Ints, np
from railyard.placements.linkload import model, traffic
from railyard.placements.linkload.model import LinkLoads
from railyard.placements.linkload.patterns import make
from railyard.placements.linkload.rails import RankNics
from railyard.placements.linkload.traffic import Traffic
from railyard.placements.nics import policies
from railyard.placements.topology.base import Router, Topology
from railyard.placements.topology.dragonflies.grouped import Grouped
from railyard.records.record import Case as Request
from railyard.records.record import Launch
from railyard.records.rules import rebuilt

#: These figures are no benchmark's own (`railyard.analysis.figures.registry`).
OF_ANY_CASE = True
TITLE = "Load of the network"
#: The traffic pattern of each benchmark whose traffic is known.
PATTERNS = {"halo": "stencil6", "minighost": "stencil27"}
#: The most routers that are drawn singly; of more, neighbours are one block.
MOST_CELLS = 256
#: Only the most loaded lines of a panel are drawn.
MOST_LINES = 1000
_MOST_PANELS = 6
_COLUMNS = 3
_WIDEST_PT = 4.5
#: More lines than this are drawn narrower.
_MOST_WIDE = 400

#: What is drawn as one dot: a router, or a block of routers.
Cell = tuple[int, ...]
Point = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One placement: its loads, and the index in `topology.nodes` of the node of each rank; shape (ranks,).

    `counted_bytes` are those that the NICs of each node with ranks sent during the launch, by the same index and 0; by
    the rail of each NIC where all rails are one network. `faults` are those of links, in words, by the link's name.
    """

    placement: str
    nodes: Ints
    loads: LinkLoads
    counted_bytes: Mapping[tuple[int, int], int] = field(default_factory=dict)
    faults: Mapping[str, str] = field(default_factory=dict)

    @property
    def most_counted(self) -> float:
        """Return what the busiest node sent over the mean of the nodes that ran ranks; 0 if nothing was counted."""
        of_nodes = Counter[int]()
        for (node, _), sent in self.counted_bytes.items():
            of_nodes[node] += sent
        total = of_nodes.total()
        return max(of_nodes.values()) * len(of_nodes) / total if total else 0.0

    @property
    def most_predicted(self) -> float:
        """Return the same ratio by the model."""
        out = self.loads.host_out_bytes
        sent = out.reshape(-1, out.shape[-1]).sum(axis=0)[np.unique(self.nodes)]
        return float(sent.max() / sent.mean()) if sent.sum() else 0.0


def drawings(case: Case) -> list[Drawing]:
    """Return one figure if the traffic, the topology and the nodes of the ranks are known."""
    shown = panels(case)[:_MOST_PANELS]
    return [drawing(shown)] if any(panel.loads.slowest_s for panel in shown) else []


def panels(case: Case) -> list[Panel]:
    """Return the loads of each placement, by its first launch that is a result and has the node of each rank.

    There are none if traffic, topology or the nodes of the ranks are not known.
    """
    request = case.first.case
    results = [launch for _, launch in cases.launches(case) if launch.is_result]
    topology, sent = rebuilt.topology_of(request), _traffic(request, {len(launch.ranks) for launch in results})
    if topology is None or sent is None:
        return []
    index = _node_indices(request, topology)
    first: dict[str, tuple[Launch, Ints]] = {}
    for launch in results:
        if launch.placement not in first and len(nodes := _nodes_of(launch, index)) == sent.ranks:
            first[launch.placement] = launch, nodes
    # Faults are listed as `NAME: WORDS`; names of nodes are not links, so they are not drawn.
    faults = (line.partition(": ") for line in (case.first.provenance["torus"] or {}).get("faults", ()))
    words_of = {name: words for name, _, words in faults}
    shown = []
    for placement in (name for name in request.placements if name in first):
        launch, nodes = first[placement]
        nics = _rank_nics(topology, launch, nodes) if topology.is_fabric else None
        by_nic, used = _counted(launch, index, by_rail=topology.is_fabric), set(nodes.tolist())
        shown.append(
            Panel(
                placement=placement,
                nodes=nodes,
                loads=model.load(topology, nodes, sent, model.PROTOCOLS["payload"], nics=nics),
                counted_bytes={key: of_nic for key, of_nic in by_nic.items() if key[0] in used},
                faults=words_of,
            )
        )
    return shown


def drawing(panels: Sequence[Panel]) -> Drawing:
    """Return the figure of the panels of one topology, all on the scale of the slowest link of any.

    There is at least one panel. Counted loads are drawn below predicted ones, or next to them.
    """
    topology = panels[0].loads.topology
    drawn = layout(topology)
    width, height = drawn.size
    worst = max(panel.loads.slowest_s for panel in panels)
    most = max((sent for panel in panels for sent in panel.counted_bytes.values()), default=0)
    columns = min(_COLUMNS, len(panels)) if width / height < 3 else 1
    rows, along = -(-len(panels) // columns), 1 if columns == 1 else 0
    if most:
        rows, columns = (rows, 2) if along else (2 * rows, columns)
    panel_in = (7.6 if len(panels) > 1 or columns > 1 else 4.6) / columns

    def paint(figure: Figure) -> None:
        grid = figure.subplots(rows, columns, squeeze=False)
        for axes in grid.ravel():
            axes.set_axis_off()
        predicted, counted = np.split(grid, 2, axis=along) if most else (grid, grid[:0])
        for axes, panel in zip(predicted.ravel(), panels, strict=False):
            _paint_panel(axes, panel, drawn, worst)
            _finish(axes, panel, f"slowest link {_micro(panel.loads.slowest_s)}", columns)
        for axes, panel in zip(counted.ravel(), panels, strict=False):
            _paint_counted(axes, panel, drawn, most)
            busiest = max(panel.counted_bytes.values(), default=0)
            _finish(axes, panel, f"counted, at most {busiest / 1e6:,.1f} MB", columns)
        figure.suptitle(TITLE, x=0.01, ha="left", fontsize=10.5)

    return Drawing(
        name="network",
        title=TITLE,
        description=f"{TITLE}: {topology.name}. {_in_words(panels)}.",
        paint=paint,
        data=_data(panels),
        width_in=panel_in * columns,
        height_in=0.35 + rows * (0.55 + min(3.6, max(1.0, panel_in * height / width))),
        statement=f"{_in_words(panels)}." if len(panels) > 1 else "",
    )


def _traffic(request: Request, ranks: Collection[int]) -> Traffic | None:
    """Return what a launch sends in one exchange; None if that is not known, or no launch has the grid's ranks."""
    grid, cells = request.parameters.get("grid"), request.parameters.get("cells")
    first = cells[0] if isinstance(cells, list) and cells else cells
    values = request.parameters.get("values", 1)
    if request.benchmark not in PATTERNS or not isinstance(grid, list):
        return None
    if not isinstance(first, int) or not all(isinstance(number, int) for number in [values, *grid]):
        return None
    if min(first, values, *grid) < 1 or math.prod(grid) not in ranks:
        return None
    size = traffic.face_bytes(first, len(grid), 8 * values)
    return make(PATTERNS[request.benchmark], tuple(grid), size_bytes=size)


def _rank_nics(topology: Topology, launch: Launch, nodes: Ints) -> RankNics:
    """Return the NICs of a launch's ranks by its policy; one per rank where the library or a GPU decides."""
    on = policies.host(topology, int(np.bincount(nodes).max()))
    try:
        return policies.rank_nics(policies.parse(launch.nic_policy, topology.rails), on)
    except InputError:
        return policies.rank_nics(policies.parse("one-per-rank", topology.rails), on)


def _counted(launch: Launch, index: Mapping[str, int], *, by_rail: bool) -> Mapping[tuple[int, int], int]:
    """Return the bytes that the NICs of each known node sent; NICs are listed in the order of rails."""
    sent, rail = Counter[tuple[int, int]](), Counter[str]()
    for nic in launch.nics or ():
        if nic.node in index:
            sent[index[nic.node], rail[nic.node]] += nic.tx_bytes
            rail[nic.node] += by_rail
    return sent


def _node_indices(request: Request, topology: Topology) -> Mapping[str, int]:
    """Return the index in `topology.nodes` of each granted node; the nodes of a router take its slots in order."""
    routers = {coordinate: index for index, coordinate in enumerate(topology.coordinates)}
    taken, indices = Counter[Cell](), dict[str, int]()
    for node in request.allocation["nodes"]:
        coordinate = tuple(node["coordinate"] or ())
        if coordinate in routers and taken[coordinate] < topology.nodes_at(coordinate):
            indices[str(node["name"])] = int(topology.first_node[routers[coordinate]]) + taken[coordinate]
            taken[coordinate] += 1
    return indices


def _nodes_of(launch: Launch, index: Mapping[str, int]) -> Ints:
    """Return the node of each rank in the order of ranks; shape (ranks,), empty where a node is not known."""
    ranks = launch.ranks
    if not all(host in index for host in ranks.hosts):
        return np.zeros(0, dtype=np.int64)
    nodes = np.array([index[host] for host in ranks.hosts], dtype=np.int64)
    return nodes[np.array(ranks.host_of, dtype=np.int64)]


def _in_words(panels: Sequence[Panel]) -> str:
    slowest = ", ".join(f"{_micro(panel.loads.slowest_s)} under {panel.placement}" for panel in panels)
    hosts = sorted({_micro(panel.loads.slowest_host_s) for panel in panels})
    text = f"The model predicts that the slowest link takes {slowest} per exchange, a node's own {' to '.join(hosts)}"
    counted = ", ".join(
        f"{panel.most_counted:.2f} times the mean under {panel.placement}" for panel in panels if panel.most_counted
    )
    if counted:
        text += f". By the NICs' counters, the busiest node sent {counted}"
    links = {link.name for link in panels[0].loads.topology.links()} if panels[0].faults else set()
    faults = "; ".join(f"{name} {words}" for name, words in panels[0].faults.items() if name in links)
    return f"{text}. These links had faults: {faults}" if faults else text


def _micro(seconds: float) -> str:
    return f"{1e6 * seconds:,.3g} \N{MICRO SIGN}s"


def _data(panels: Sequence[Panel]) -> DataTable:
    """Return the loads of each panel: its busiest and its slowest link, the mean, and the links that a byte travels."""
    columns = (
        "placement",
        "busiest link (bytes)",
        "slowest link (us)",
        "mean of links (us)",
        "links per byte",
        "busiest node, of the mean, predicted",
        "counted",
        "counted in all (bytes)",
    )
    rows = [
        (
            panel.placement,
            f"{panel.loads.link_bytes.max(initial=0.0):,.0f}",
            f"{1e6 * panel.loads.slowest_s:,.3f}",
            f"{1e6 * panel.loads.mean_s:,.3f}",
            f"{panel.loads.mean_dilation:.2f}",
            f"{panel.most_predicted:.2f}",
            f"{panel.most_counted:.2f}" if panel.counted_bytes else "not counted",
            f"{sum(panel.counted_bytes.values()):,}" if panel.counted_bytes else "not counted",
        )
        for panel in panels
    ]
    return DataTable(columns=columns, rows=rows, numbers=frozenset(columns[1:]))


# Where routers are drawn.


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The cell of each router of the first rail, and the place of each cell; `is_large` if cells are blocks."""

    cell_of: Mapping[Router, Cell]
    points: Mapping[Cell, Point]
    is_large: bool

    @property
    def size(self) -> Point:
        """Return width and height of the picture, in the unit of its points."""
        xs, ys = zip(*self.points.values(), strict=True)
        return max(xs) - min(xs) + 2.0, max(ys) - min(ys) + 2.0


def layout(topology: Topology) -> Layout:
    """Return where the routers of the first rail, or of all rails where they are one network, are drawn.

    A cell is a router, or a block of neighbours if there are many.
    """
    routers = [router for router in topology.routers if topology.plane_of(router) == 0]
    is_large = len(routers) > MOST_CELLS
    if topology.rings is not None:
        cell_of, points = _torus(topology, routers)
    elif isinstance(topology, Grouped):
        cell_of = {
            router: (router.coordinate[0],) if is_large else (router.level, at) for at, router in enumerate(routers)
        }
        points = _groups(cell_of)
    else:
        block = -(-len(routers) // MOST_CELLS)
        cell_of = {router: (router.level, at // block) for at, router in enumerate(routers)}
        points = _levels(cell_of)
    return Layout(cell_of=cell_of, points=points, is_large=is_large)


def _torus(topology: Topology, routers: Sequence[Router]) -> tuple[dict[Router, Cell], dict[Cell, Point]]:
    """Return cells that are blocks along each axis, and planes of them next to each other along the third axis."""
    factor = 1
    while math.prod(-(-extent // factor) for extent in topology.extents) > MOST_CELLS:
        factor += 1
    cell_of = {router: tuple(at // factor for at in router.coordinate) for router in routers}
    width = -(-topology.extents[0] // factor) + 1.0
    height = max((*cell, 0)[1] for cell in cell_of.values()) + 1.5
    points: dict[Cell, Point] = {}
    for cell in cell_of.values():
        x, y, z = (*cell, 0, 0)[:3]
        points[cell] = x + width * z, y + height * sum(cell[3:])
    return cell_of, points


def _groups(cell_of: Mapping[Router, Cell]) -> dict[Cell, Point]:
    """Return the places of cells: those of a group are a small ring around the group's place on a large one."""
    members: dict[int, dict[Cell, None]] = {}
    for router, cell in cell_of.items():
        members.setdefault(router.coordinate[0], {})[cell] = None
    points: dict[Cell, Point] = {}
    for group, of_group in enumerate(members.values()):
        count, angle = len(of_group), 2 * math.pi * group / len(members)
        large, small = max(3.0, len(members) * (1.0 if count > 1 else 0.3)), 0.0 if count == 1 else 1.6
        for at, cell in enumerate(of_group):
            turn = angle + 2 * math.pi * at / count
            x, y = (large * along(angle) + small * along(turn) for along in (math.cos, math.sin))
            points[cell] = x, y
    return points


def _levels(cell_of: Mapping[Router, Cell]) -> dict[Cell, Point]:
    """Return the places of cells in rows, a row per level."""
    levels: dict[int, list[Cell]] = {}
    for cell in dict.fromkeys(cell_of.values()):
        levels.setdefault(cell[0], []).append(cell)
    widest = max(map(len, levels.values()))
    return {
        cell: ((at + 0.5) * widest / len(row), 0.28 * widest * level)
        for level, row in levels.items()
        for at, cell in enumerate(row)
    }


# How a panel is painted.


def _finish(axes: Axes, panel: Panel, text: str, columns: int) -> None:
    """Scale and name a panel; the name has two lines if several panels share a row."""
    axes.set_aspect("equal")
    axes.margins(0.06)
    axes.set_title(f"{svg.clean(panel.placement)}{chr(10) if columns > 1 else ': '}{text}")


def _paint_counted(axes: Axes, panel: Panel, drawn: Layout, most: int) -> None:
    """Draw each cell as large as the bytes that its busiest node sent."""
    topology = panel.loads.topology
    sent: dict[Cell, int] = dict.fromkeys(drawn.points, 0)
    for (node, rail), of_node in panel.counted_bytes.items():
        cell = drawn.cell_of[Router(coordinate=topology.nodes[node].coordinate, rail=rail)]
        sent[cell] = max(sent[cell], of_node)
    axes.scatter(
        [x for x, _ in drawn.points.values()],
        [y for _, y in drawn.points.values()],
        s=[9 + 90 * sent[cell] / most for cell in drawn.points],
        color=[svg.sentinel(2 if sent[cell] else 5) for cell in drawn.points],
        alpha=0.8,
        linewidths=0,
    )


def _paint_panel(axes: Axes, panel: Panel, drawn: Layout, worst: float) -> None:
    cell_of, points = drawn.cell_of, drawn.points
    topology = panel.loads.topology
    between: dict[tuple[Cell, Cell], float] = {}
    within: dict[Cell, float] = {}
    seconds = panel.loads.link_s.ravel().tolist()
    rates = panel.loads.rate_gbyte_s.ravel().tolist()
    for position, (link_s, rate) in enumerate(zip(seconds, rates, strict=True)):
        if rate <= 0:
            continue
        link = topology.link_at(position)
        ends = sorted((cell_of[link.source], cell_of[link.target]))
        share = link_s / worst
        if ends[0] == ends[1] or (topology.rings is not None and ends[0][2:] != ends[1][2:]):
            for cell in ends:
                within[cell] = max(within.get(cell, 0.0), share)
        else:
            key = ends[0], ends[1]
            between[key] = max(between.get(key, 0.0), share)
    _draw_links(axes, between, points)
    _mark_faults(axes, panel, drawn)
    if topology.is_fabric and not drawn.is_large:
        _name_rails(axes, drawn)
    at, rails = (topology.nodes[node].coordinate for node in set(panel.nodes.tolist())), range(topology.rails)
    used = {cell_of[r] for c in at for k in rails if (r := Router(coordinate=c, rail=k)) in cell_of}
    for is_used in (False, True):
        chosen = [cell for cell in points if (cell in used) is is_used]
        axes.scatter(
            [points[cell][0] for cell in chosen],
            [points[cell][1] for cell in chosen],
            s=[9 + 60 * within.get(cell, 0.0) for cell in chosen],
            color=svg.sentinel(0 if is_used else 5),
            alpha=0.95 if is_used else 0.35,
            linewidths=0,
            zorder=3,
        )


def _draw_links(axes: Axes, between: Mapping[tuple[Cell, Cell], float], points: Mapping[Cell, Point]) -> None:
    """Draw each link as a line whose width and strength are its share; one that closes a ring as two short ends."""
    lines, shares = [], []
    for (one, other), share in sorted(between.items(), key=lambda pair: -pair[1])[:MOST_LINES]:
        start, end = points[one], points[other]
        if _closes(one, other, points):
            away = [0.45 * (a > b) - 0.45 * (a < b) for a, b in zip(start, end, strict=True)]
            lines += [(start, (start[0] + away[0], start[1] + away[1])), (end, (end[0] - away[0], end[1] - away[1]))]
            shares += [share, share]
        else:
            lines.append((start, end))
            shares.append(share)
    widest_pt = _WIDEST_PT * min(1.0, _MOST_WIDE / len(lines)) if lines else 0.0
    for is_loaded, colour in ((False, svg.sentinel(5)), (True, svg.sentinel(1))):
        chosen = [at for at, share in enumerate(shares) if (share > 0) is is_loaded]
        if not chosen:  # matplotlib takes no empty list of strengths
            continue
        axes.add_collection(
            LineCollection(
                [lines[at] for at in chosen],
                linewidths=[0.1 * widest_pt + widest_pt * shares[at] for at in chosen],
                alpha=[0.4 + 0.55 * shares[at] for at in chosen] if is_loaded else 0.3,
                colors=colour,
                zorder=2,
            )
        )


def _name_rails(axes: Axes, drawn: Layout) -> None:
    """Write the number of each rail below its leaves."""
    below: dict[int, list[Point]] = {}
    for router, cell in drawn.cell_of.items():
        if not router.level:
            below.setdefault(router.rail, []).append(drawn.points[cell])
    for rail, points in below.items():
        middle = sum(x for x, _ in points) / len(points), min(y for _, y in points)
        axes.annotate(
            f"rail {rail}", middle, xytext=(0, -7), textcoords="offset points", ha="center", va="top", fontsize=6
        )


def _mark_faults(axes: Axes, panel: Panel, drawn: Layout) -> None:
    """Mark each cable with a fault by a cross and the fault in words; both directions are one cable."""
    marks: dict[Point, str] = {}
    for link in panel.loads.topology.first_rail if panel.faults else ():
        if link.name in panel.faults:
            one, other = sorted((drawn.cell_of[link.source], drawn.cell_of[link.target]))
            start, end = drawn.points[one], drawn.points[other]
            is_short = not _closes(one, other, drawn.points)
            middle = ((start[0] + end[0]) / 2, (start[1] + end[1]) / 2) if is_short else start
            marks[middle] = panel.faults[link.name]
    for (x, y), words in marks.items():
        axes.scatter([x], [y], marker="x", s=46, linewidths=2, color=svg.sentinel(3), zorder=4)
        axes.annotate(words, (x, y), xytext=(5, 4), textcoords="offset points", fontsize=10, zorder=5)


def _closes(one: Cell, other: Cell, points: Mapping[Cell, Point]) -> bool:
    """Return whether a line between two cells of a torus would cross others: the link that closes a ring."""
    if len(one) < 3:
        return False
    return abs(points[one][0] - points[other][0]) > 1.5 or abs(points[one][1] - points[other][1]) > 1.5
