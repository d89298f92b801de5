"""Trees of files as kernels and Gemini tools show counters: made for tests; this machine has none of those networks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

#: Which link each of the 48 tiles of a Gemini belongs to: Pedretti et al., CUG'13, Figure 3.
_ROWS = (
    "Z+ Z+ X+ X+ X- X- Z- Z- Z+ Z+ X+ X+ X- X- Z- Z- Z- Z- Z- HH HH Z+ Z+ Z+ "
    "X+ X+ Z- HH HH Z+ X- X- X+ X+ Y- HH HH Y+ X- X- Y- Y- Y- HH HH Y+ Y+ Y+"
)
TILES = _ROWS.split()
TYPES = {"X+": "cable11x", "X-": "cable18x", "Y+": "mezzanine", "Y-": "cable15y", "Z+": "backplane", "Z-": "backplane"}
#: Figure 4: the six counters of each link of the Gemini (0,1,1).
FIGURE_4 = {
    "X+": (1626452284, 304999266, 101662806, 101666422, 3533598961, 2689080952),
    "X-": (100506, 38796, 9780, 12932, 83, 0),
    "Y+": (1627257610, 305156760, 101726643, 101718920, 1702270109, 0),
    "Y-": (1153554135, 216313236, 72105559, 72104412, 1925883229, 2366983378),
    "Z+": (815234359, 152948952, 50988260, 50982984, 133047991, 776502961),
    "Z-": (1743043, 378399, 156635, 126133, 580, 992022669),
    "HH": (1834489368, 344019696, 114672167, 114673232, 10585723107, 2263990777),
}
EXTENTS = (16, 12, 24)


def write(path: Path, text: str | int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{text}\n")


def net_device(root: Path, device: str, values: Mapping[str, int]) -> None:
    """`/sys/class/net/DEVICE/statistics` with all six counters of linux-net; those not given are 0."""
    for name in ("rx_bytes", "tx_bytes", "rx_packets", "tx_packets", "rx_dropped", "tx_dropped"):
        write(root / f"sys/class/net/{device}/statistics/{name}", values.get(name, 0))


def rdma_port(
    root: Path,
    device: str,
    values: Mapping[str, int],
    *,
    port: int = 1,
    state: str = "4: ACTIVE",
    link_layer: str = "InfiniBand",
) -> None:
    """`/sys/class/infiniband/DEVICE/ports/PORT` as Documentation/ABI/stable/sysfs-class-infiniband has it."""
    folder = root / f"sys/class/infiniband/{device}/ports/{port}"
    write(folder / "state", state)
    write(folder / "link_layer", link_layer)
    data = ("port_rcv_data", "port_xmit_data", "port_rcv_packets", "port_xmit_packets", "port_xmit_wait")
    errors = ("symbol_error", "link_downed", "link_error_recovery", "local_link_integrity_errors")
    for name in (*data, *errors):
        write(folder / "counters" / name, values.get(name, 0))


def efa_port(root: Path, device: str, values: Mapping[str, int]) -> None:
    """An EFA has hardware counters alone (drivers/infiniband/hw/efa/efa_verbs.c), its link layer no name."""
    folder = root / f"sys/class/infiniband/{device}/ports/1"
    write(folder / "state", "4: ACTIVE")
    write(folder / "link_layer", "Unknown")
    for name in ("tx_bytes", "tx_pkts", "rx_bytes", "rx_pkts", "rx_drops"):
        write(folder / "hw_counters" / name, values.get(name, 0))


def rapl_zone(root: Path, zone: str, name: str, microjoules: int, *, most: int = 262_143_328_850) -> Path:
    """A zone of `/sys/class/powercap` as Documentation/power/powercap/powercap.rst has it; its counter's file."""
    folder = root / f"sys/class/powercap/{zone}"
    for file, value in (("name", name), ("max_energy_range_uj", most), ("energy_uj", microjoules)):
        write(folder / file, value)
    return folder / "energy_uj"


def pm_counter(root: Path, name: str, joules: int) -> Path:
    """A file of `/sys/cray/pm_counters`: value, unit and time, as HPE's description of the counters has it."""
    path = root / f"sys/cray/pm_counters/{name}"
    write(path, f"{joules} J 1571434219423453 us")
    return path


def bonding_masters(root: Path) -> None:
    """A file among the devices, where the bonding module is loaded (Documentation/networking/bonding.rst)."""
    write(root / "sys/class/net/bonding_masters", "bond0")


def cxi_adapter(root: Path, device: str, values: Mapping[str, int]) -> None:
    for name in ("hni_sts_rx_ok_octets", "hni_sts_tx_ok_octets", "hni_rx_paused_0", "hni_tx_paused_0"):
        value = f"{values.get(name, 0)}@1700000000.123456789"
        write(root / f"sys/class/cxi/{device}/device/telemetry/{name}", value)


def interconnect(geminis: Mapping[str, tuple[int, int, int]]) -> str:
    """`rtr --interconnect` of these Geminis; their neighbours need not be among them."""
    lines = []
    for name, at in geminis.items():
        for tile, direction in enumerate(TILES):
            if direction != "HH":
                to, dimension = list(at), "XYZ".index(direction[0])
                to[dimension] = (to[dimension] + (1 if direction[1] == "+" else -1)) % EXTENTS[dimension]
                source = f"{name}l{tile // 8}{tile % 8}[({at[0]},{at[1]},{at[2]})]"
                target = f"c9-9c9s9g9l{tile // 8}{tile % 8}[({to[0]},{to[1]},{to[2]})]"
                lines.append(f"{source} {direction} -> {target} LinkType: {TYPES[direction]}\n")
    return "".join(lines)


def gpcd(links: Mapping[str, Sequence[int]]) -> str:
    """What the program of the paper's Figure 1 prints; a link's counts are spread over its tiles."""
    lines = []
    for tile, direction in enumerate(TILES):
        peers = [t for t, d in enumerate(TILES) if d == direction]
        for counter, total in enumerate(links.get(direction, (0,) * 6)):
            share = total // len(peers) + (total % len(peers) if tile == peers[0] else 0)
            name = f"GM_{tile // 8}_{tile % 8}_TILE_PERFORMANCE_COUNTERS_{counter}"
            lines.append(f"Counter {name}: Value={share}\n")
    return "".join(lines)
