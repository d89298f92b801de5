"""Read the log of NCCL or RCCL: algorithm, protocol and channels of each collective, and the NICs of each rank. Pure.

Models: the lines of NCCL_DEBUG=INFO with NCCL_DEBUG_SUBSYS=INIT,NET,TUNING in the program's own output. `AllReduce:
BYTES Bytes -> Algo RING proto SIMPLE channel{Lo..Hi}={0..23}`, or with numbers in place of words in early releases,
which name no channels. `Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA` gives a rank's NIC, `NET/IB : Using
[0]mlx5_0:1/IB` its name on that host. Leaves out: NCCL_DEBUG_FILE, and receiving NICs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from railyard.records.json_io import Json

#: NCCL's numbers of algorithms and protocols (NCCL_ALGO, NCCL_PROTO in its user guide).
ALGORITHMS = ("TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE", "PAT")
PROTOCOLS = ("LL", "LL128", "SIMPLE")
_HOST = r"^(?:.*?[ >])?([\w.-]+):\d+(?::\d+)? \[\d+\] NCCL INFO "
_CHOICE = re.compile(
    r"NCCL INFO (\w+): (\d+) Bytes -> Algo (\w+) proto (\w+)(?:.*?channel\{Lo\.\.Hi\}=\{(\d+)\.\.(\d+)\})?"
)
_SEND = re.compile(
    _HOST + r"Channel \d+(?:/\d+)? : (\d+)\[\w+\] -> \d+\[\w+\] \[send\] via NET/\w+/(\d+)", re.MULTILINE
)
_USING = re.compile(_HOST + r"NET/\w+ ?: Using (\[0\].*)$", re.MULTILINE)
_NIC = re.compile(r"\[(\d+)\](?:=\{\[\d+\] )?([\w.-]+)")
_CHANNELS = re.compile(r"NCCL INFO (\d+) coll channels")


def reported(text: str) -> dict[str, Json]:
    """Return what a log has of `collectives`, `channels` and `nics_of_ranks`; empty without a log."""
    collectives = list[Json]()
    for name, size, algorithm, protocol, low, high in dict.fromkeys(_CHOICE.findall(text)):
        entry: dict[str, Json] = {
            "collective": name,
            "size_bytes": int(size),
            "algorithm": _word(algorithm, ALGORITHMS),
            "protocol": _word(protocol, PROTOCOLS),
        }
        collectives.append(entry | ({"channels": int(high) - int(low) + 1} if high else {}))
    names = {host: dict(_NIC.findall(nics)) for host, nics in _USING.findall(text)}
    nics = _nics_of_ranks(text, names)
    channels = sorted({int(count) for count in _CHANNELS.findall(text)})
    return {
        **({"collectives": collectives} if collectives else {}),
        **({"channels": channels[0] if len(channels) == 1 else list[Json](channels)} if channels else {}),
        **({"nics_of_ranks": nics} if nics else {}),
    }


def _nics_of_ranks(text: str, names: Mapping[str, Mapping[str, str]]) -> dict[str, Json]:
    nics: dict[int, list[str]] = {}
    for host, rank, number in _SEND.findall(text):
        name = names.get(host, {}).get(number, f"net{number}")
        if name not in nics.setdefault(int(rank), []):
            nics[int(rank)].append(name)
    return {str(rank): list[Json](nics[rank]) for rank in sorted(nics)}


def _word(text: str, words: tuple[str, ...]) -> str:
    """Return an algorithm or protocol in capitals; a number is one of the words."""
    return words[int(text)] if text.isdecimal() and int(text) < len(words) else text.upper()
