"""Faults in the words of `railyard torus fault`: one fault more, or one less, from the options or from a line.

Pure: `torus fault` applies the result to a torus, `railyard sim --faults` to a simulation.
"""

from __future__ import annotations

import argparse
import dataclasses
import re
import shlex
from dataclasses import dataclass
from typing import NoReturn, get_args, get_type_hints

from railyard.base.errors import InputError
from railyard.placements.topology.base import Link, Topology
from railyard.placements.topology.faults import Faults, find_link, find_node
from railyard.placements.topology.troubles import Trouble, microseconds

KINDS = ("--lanes-lost", "--down", "--injection", "--flap", "--errors", "--jitter", "--restore")
#: The router counts nanoseconds up to 1e15, those of jitter divided by the rate scale.
MOST_SPELL_US, MOST_JITTER_US = 1e11, 1e4


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """The argument and the options of `railyard torus fault`, as the user wrote them."""

    link: str | None = None
    lanes_lost: int | None = None
    lanemask: int | None = None
    of_tiles: str | None = None
    down: bool = False
    injection: float | None = None
    flap: bool = False
    errors: float | None = None
    jitter: str | None = None
    at: str | None = None
    lasting: str | None = None
    every: str | None = None
    restore: bool = False


def changed(topology: Topology, faults: Faults, words: Words) -> Faults:
    """Return the faults after one more, or one less; InputError names what is wrong with the words."""
    if words.lanemask is not None:
        if words.lanes_lost is not None:
            raise InputError("--lanemask", "", words.lanemask, "no --lanes-lost beside it")
        # A mask of working lanes of one tile, as netwatch prints it (Ezell, CUG'13, II.F).
        whole = 2**topology.lanes_per_tile - 1
        if not 0 < words.lanemask < whole:
            lanes = "a bit for each lane that works; for all lanes: --restore, for none: --lanes-lost"
            raise InputError("--lanemask", "", words.lanemask, f"1 to {whole - 1}, {lanes}")
        lost = topology.lanes_per_tile - words.lanemask.bit_count()
        words = dataclasses.replace(words, lanes_lost=lost, lanemask=None, of_tiles=words.of_tiles or "1")
    trouble = _trouble(words)
    wanted = [words.lanes_lost is not None, words.down, words.injection is not None, words.restore]
    if sum(wanted) + (trouble is not None) != 1:
        raise InputError("torus fault", "", "", f"one of {', '.join(KINDS)}")
    if words.of_tiles is not None and words.lanes_lost is None:
        raise InputError("--of-tiles", "", words.of_tiles, "an addition to --lanes-lost")
    if words.injection is not None:
        if not 0 < words.injection <= 100:
            raise InputError("--injection", "", words.injection, "above 0, at most 100 percent")
        nodes = (find_node(topology, words.link),) if words.link else topology.nodes
        return faults.throttle(nodes, words.injection)
    if words.restore and words.link is None:
        return Faults()
    if words.link is None:
        raise InputError("torus fault", "LINK", "", "a link, such as 'X+ 0,0,0>1,0,0'")
    link = find_link(topology, words.link)
    if words.restore:
        return faults.restore(topology, link)
    if trouble is not None:
        return faults.trouble(topology, link, trouble)
    if words.lanes_lost is None:
        return faults.take_down(topology, link)
    return faults.lose_lanes(topology, link, words.lanes_lost, _tiles(words.of_tiles, link))


def parse(topology: Topology, text: str, *, source: str = "--faults", before: Faults | None = None) -> Faults:
    """Return the faults of a line of arguments of `railyard torus fault`, separated by semicolons.

    The options are the fields of `Words` but `link`. The faults are added to those `before`. Raises InputError that
    names `source` and the arguments that are wrong.
    """
    faults, parser = before or Faults(), _Parser(add_help=False, allow_abbrev=False)
    parser.add_argument("link", nargs="?")
    for name, kind in list(get_type_hints(Words).items())[1:]:
        option = f"--{'for' if name == 'lasting' else name.replace('_', '-')}"
        if kind is bool:
            parser.add_argument(option, dest=name, action="store_true")
        else:
            parser.add_argument(option, dest=name, type=get_args(kind)[0])
    for line in filter(None, map(str.strip, text.split(";"))):
        try:
            words = Words(**vars(parser.parse_args(shlex.split(line))))
        except ValueError as error:
            raise InputError(source, "", line, "LINK and options of `railyard torus fault`") from error
        faults = changed(topology, faults, words)
    return faults


def _trouble(words: Words) -> Trouble | None:
    """Return the trouble that the words describe, None if they describe none."""
    spell = {"--at": words.at, "--for": words.lasting, "--every": words.every}
    if not words.flap and words.errors is None and words.jitter is None:
        for option, text in spell.items():
            if text is not None:
                raise InputError(option, "", text, "an addition to --flap, --errors or --jitter")
        return None
    if words.flap and words.lasting is None:
        raise InputError("--for", "", "", "how long the link is silent, such as 2s, with --flap")
    at_s, for_s, every_s = (_time_us(option, text) / 1e6 for option, text in spell.items())
    return Trouble(
        at_s=at_s,
        for_s=for_s,
        every_s=every_s,
        silent=words.flap,
        errors_percent=words.errors or 0.0,
        jitter_us=_time_us("--jitter", words.jitter, most_us=MOST_JITTER_US),
    )


def _time_us(option: str, text: str | None, *, most_us: float = MOST_SPELL_US) -> float:
    if text is None:
        return 0.0
    time_us = microseconds(text)
    if time_us is None or not 0 < time_us <= most_us:
        raise InputError(option, "", text, f"a time, such as 2s, 50ms or 10us, above 0 and up to {most_us / 1e6:g}s")
    return time_us


def _tiles(text: str | None, link: Link) -> int:
    """Return `3/8` as 3; the link must have that many tiles."""
    if text is None:
        return link.tiles
    match = re.fullmatch(r"(\d+)(?:/(\d+))?", text)
    if match is None or (match[2] is not None and int(match[2]) != link.tiles):
        raise InputError("--of-tiles", "", text, f"1/{link.tiles} to {link.tiles}/{link.tiles}, of {link.name}")
    return int(match[1])


class _Parser(argparse.ArgumentParser):
    """Raises ValueError where argparse would end the process."""

    def error(self, message: str) -> NoReturn:
        raise ValueError(message)
