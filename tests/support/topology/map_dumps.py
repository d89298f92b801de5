"""Write dumps of nodes from short descriptions: XML of NCCL and hwloc, matrices, graphs; and spoil them in many ways.

A topology is `0(b(g0 n0:mlx5_0)) 1(...)`: NUMA domain, bridges `b`, GPU and NIC by `dev`. A device in capitals is a PCI
address without one, as in files for virtual machines. A matrix has a line per GPU: NUMA domain, then its distances.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator
from xml.etree import ElementTree

LINK = 'link_speed="32.0 GT/s PCIe" link_width="16"'
PCI = '<pci busid="{0}" class="{1}" vendor="0x1" device="0x2" ' + LINK
CLASSES = {"g": "0x030200", "n": "0x020700", "b": "0x060400"}


def nccl(text: str, speed: int = 400000) -> str:
    """Return the dump of NCCL_TOPO_DUMP_FILE."""
    lines = ['<system version="1">']
    words = re.findall(r"\d+\((?=)|b\(|\)|[gn]\d+(?::[\w-]+)?|[GN][0-9a-f:.]+", text)
    for bus, word in enumerate(words):
        address, kind = f"0000:{bus:02x}:00.0", word[0].lower()
        if word[0].isdigit():
            lines.append(f'<cpu numaid="{word[:-1]}" affinity="ff" arch="x86_64" vendor="AuthenticAMD">')
        elif word == ")":
            lines.append("</>")
        elif word == "b(":
            lines.append(PCI.format(address, CLASSES["b"]) + ">")
        elif word[0] in "GN":
            lines.append(PCI.format(word[1:], CLASSES[kind]) + "/>")
        elif kind == "g":
            inner = f'<gpu dev="{word[1:]}" sm="90" rank="{word[1:]}" gdr="1"/>'
            lines.append(PCI.format(address, CLASSES["g"]) + f">{inner}</pci>")
        else:
            number, _, name = word[1:].partition(":")
            net = f'<net name="{name}" dev="{number}" speed="{speed}" port="1" gdr="1"/>'
            lines.append(PCI.format(address, CLASSES["n"]) + f"><nic>{net}</nic></pci>")
    open_tags = list[str]()
    for index, line in enumerate(lines):
        if line == "</>":
            lines[index] = f"</{open_tags.pop()}>"
        elif re.match(r"<(cpu|pci)\b", line) and not line.endswith(("/>", "</pci>")):
            open_tags.append(line[1:4])
    return "\n".join([*lines, "</system>"]) + "\n"


def hwloc(text: str) -> str:
    """Return what lstopo writes for the node of a dump of NCCL (`nccl`): a switch has a port above and one below."""
    lines = ['<!DOCTYPE topology SYSTEM "hwloc2.dtd">\n<topology version="2.0"><object type="Machine" nodeset="0xff">']
    for part in ElementTree.fromstring(nccl(text)):
        numa = int(part.attrib["numaid"])
        lines.append(f'<object type="Package" nodeset="{1 << numa:#x}">')
        lines.append(f'<object type="NUMANode" os_index="{numa}" nodeset="{1 << numa:#x}"/>')
        lines.append(f'<object type="Bridge" bridge_type="0-1" bridge_pci="0000:[{numa}0-{numa}f]">')
        lines += _objects(part)
        lines.append("</object></object>")
    return "\n".join([*lines, "</object></topology>"])


def _objects(part: ElementTree.Element) -> Iterator[str]:
    for pci in part.findall("pci"):
        address = pci.attrib["busid"]
        yield f'<object type="Bridge" bridge_type="1-1" pci_busid="{address}p">'
        if pci.find("gpu") is not None or pci.find("nic") is not None:
            kind = "0302 [10de:2330]" if pci.find("gpu") is not None else "0207 [15b3:1021]"
            yield f'<object type="PCIDev" pci_busid="{address}" pci_type="{kind} [0000:0000] a1" pci_link_speed="63.0">'
            for net in pci.iter("net"):
                yield '<object type="OSDev" name="ib0" osdev_type="2"/>'
                yield f'<object type="OSDev" name="{net.attrib["name"]}" osdev_type="3"/>'
        else:
            yield f'<object type="Bridge" bridge_type="1-1" pci_busid="{address}">'
            yield from _objects(pci)
        yield "</object></object>"


def node_info(text: str) -> str:
    """Return the output of railyard node-info for the node of a dump of NCCL (`nccl`)."""
    gpus, nics = list[dict[str, object]](), list[dict[str, object]]()

    def below(part: ElementTree.Element, path: str, numa: int) -> None:
        for pci in part.findall("pci"):
            address = pci.attrib["busid"]
            place = f"{path}/{address}p/{address}"
            own = {"numa": numa, "pci": place}
            gpus.extend({"name": address, **own} for _ in pci.iter("gpu") if pci.find("gpu") is not None)
            if pci.find("nic") is not None:
                nics.extend({"name": net.attrib["name"], **own} for net in pci.iter("net"))
                nics.extend({"name": f"eth-{net.attrib['name']}", **own} for net in pci.iter("net"))
            below(pci, place, numa)

    for number, cpu in enumerate(ElementTree.fromstring(nccl(text))):
        below(cpu, f"pci0000:{number}0", int(cpu.attrib["numaid"]))
    return json.dumps({"host": "a", "gpus": gpus, "nics": nics})


def matrix(text: str, names: list[str], gpu_link: str = "NV18") -> str:
    """Return the output of nvidia-smi topo -m, where NICs are NODE apart."""
    rows = [line.split() for line in text.strip().splitlines()]
    gpus, nics = [f"GPU{k}" for k in range(len(rows))], [f"NIC{k}" for k in range(len(names))]
    lines = ["\t".join(["\x1b[4m", *gpus, *nics, "CPU Affinity", "NUMA Affinity", "GPU NUMA ID\x1b[0m"])]
    for at, (numa, *cells) in enumerate(rows):
        links = [" X " if at == other else gpu_link for other in range(len(rows))]
        lines.append("\t".join([gpus[at], *links, *cells, f"{16 * at}-{16 * at + 15}", numa, "N/A"]))
    for at, nic in enumerate(nics):
        own = [row[1 + at] for row in rows]
        lines.append("\t".join([nic, *own, *(" X " if at == other else "NODE" for other in range(len(nics)))]))
    legend = [f"  {nic}: {name}" for nic, name in zip(nics, names, strict=True)]
    return "\n".join([*lines, "", "Legend:", "", "  X    = Self", "", "NIC Legend:", "", *legend, ""])


def graphs(*channels: str) -> str:
    """Return the dump of NCCL_GRAPH_DUMP_FILE; a channel is `n0 g0 g1 n0`."""
    tags = {"n": "net", "g": "gpu"}
    inner = "".join(
        "<channel>" + "".join(f'<{tags[w[0]]} dev="{w[1:]}"/>' for w in channel.split()) + "</channel>"
        for channel in channels
    )
    ring = f'<graph id="0" pattern="4" crossnic="0" nchannels="{len(channels)}">{inner}</graph>'
    return f'<graphs version="1">\n{ring}\n<graph id="1" pattern="3" nchannels="0"/>\n</graphs>\n'


def rocm(numa: list[int]) -> str:
    """Return the output of rocm-smi --showtopo."""
    gpus = [f"GPU{gpu}" for gpu in range(len(numa))]
    lines = ["=== ROCm System Management Interface ==="]
    for title, far in (("Weight", "15"), ("Hops", "1"), ("Link Type", "XGMI")):
        lines += [f"==== {title} between two GPUs ====", " ".join(["      ", *gpus])]
        lines += [" ".join([gpu, *("0" if gpu == other else far for other in gpus)]) for gpu in gpus]
    for gpu, domain in enumerate(numa):
        lines.append(f"GPU[{gpu}]\t\t: (Topology) Numa Node: {domain}")
        lines.append(f"GPU[{gpu}]\t\t: (Topology) Numa Affinity: {domain}")
    return "\n".join([*lines, "==== End of ROCm SMI Log ====", ""])


def _cells(text: str, draw: random.Random) -> tuple[list[str], list[int], int]:
    lines = text.split("\n")
    rows = [at for at, line in enumerate(lines) if re.match(r"GPU\d+\t", line)]
    return lines, rows, draw.choice(rows)


def swap_nics(text: str, draw: random.Random) -> str:
    """Exchange the NICs of two GPUs, as after a BIOS moved one: in names of a dump or the rows of a matrix."""
    if "<system" in text:
        names = re.findall(r'name="([^"]+)"', text)
        if len(names) < 2:
            return narrow(text, draw)
        one, other = draw.sample(names, 2)
        return text.replace(f'"{one}"', '"?"').replace(f'"{other}"', f'"{one}"').replace('"?"', f'"{other}"')
    one, other = draw.sample(re.findall(r"NIC\d+: (\S+)", text), 2)
    return text.replace(f" {one}\n", " ?\n").replace(f" {other}\n", f" {one}\n").replace(" ?\n", f" {other}\n")


def narrow(text: str, draw: random.Random) -> str:
    """Halve the width of one device's PCIe link; of a matrix change a cell on one side alone."""
    if "<system" in text:
        places = [m.start() for m in re.finditer(r'link_width="16"(?=>\s*<(gpu|nic)|/>)', text)]
        at = draw.choice(places)
        return text[:at] + 'link_width="8"' + text[at + len('link_width="16"') :]
    lines, _, row = _cells(text, draw)
    words = lines[row].split("\t")
    column = draw.choice([at for at, word in enumerate(words) if word in ("PIX", "PXB", "PHB", "NODE", "SYS")])
    words[column] = "SYS" if words[column] != "SYS" else "PIX"
    lines[row] = "\t".join(words)
    return "\n".join(lines)


def cut(text: str, draw: random.Random) -> str:
    """End the text too early, within the devices."""
    end = text.index("</system>") if "<system" in text else text.index("\nNIC0")
    return text[: draw.randrange(end // 3, end)]


def drop(text: str, draw: random.Random) -> str:
    """Leave out a device."""
    if "<system" in text:
        found = draw.choice(list(re.finditer(r"<pci [^>]*><(?:gpu|nic)>?.*?</pci>|<pci [^>]*/>", text)))
        return text[: found.start()] + text[found.end() :]
    lines, _, row = _cells(text, draw)
    return "\n".join(lines[:row] + lines[row + 1 :])


def move(text: str, draw: random.Random) -> str:
    """Change the NUMA domain of a part of the node."""
    if "<system" in text:
        domains = re.findall(r'numaid="(\d+)"', text)
        return text.replace(f'numaid="{draw.choice(domains)}"', 'numaid="9"')
    lines, _, row = _cells(text, draw)
    words = lines[row].split("\t")
    words[-2] = "9"
    lines[row] = "\t".join(words)
    return "\n".join(lines)


SPOILT: tuple[Callable[[str, random.Random], str], ...] = (swap_nics, narrow, cut, drop, move)
