"""Render a placement as each launcher's arguments, environment and files; the caller writes the files.

A module defines `LAUNCHER`, or several in a tuple `LAUNCHERS` (`railyard.placements.launchers.base`), and names its
manual. The order `scheduler` passes the launcher nothing but its own block order. What a
launcher cannot express is an InputError that names both. Leaves out NICs (`railyard.placements.nics`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal

from railyard.base.errors import InputError
from railyard.base.members import members
from railyard.placements.launchers.base import Launcher, Rendered
from railyard.placements.orders.placement import Placement

__all__ = ["LAUNCHERS", "Launcher", "Rendered", "named", "render", "selected", "variables"]


#: By name, general ones last.
LAUNCHERS: Mapping[str, Launcher] = {
    one.name: one for one in sorted(members(__name__, "LAUNCHER", "LAUNCHERS"), key=lambda one: (one.general, one.name))
}


def named(name: str) -> Launcher:
    """Return the launcher of a name; InputError lists those that exist."""
    if name not in LAUNCHERS:
        raise InputError("launcher", "", name, ", ".join(LAUNCHERS))
    return LAUNCHERS[name]


def render(name: str, placed: Placement, *, stem: str = "placement") -> Rendered:
    """Return the command and files by which this launcher starts a placement; file names begin with `stem`.

    Raises InputError for an unknown launcher, or a placement that it cannot express.
    """
    return named(name).rendered(placed, stem)


def selected(reframe_launcher: str, features: Sequence[str]) -> Launcher:
    """Return the launcher of a ReFrame partition and environment; InputError has the pairs with one of the two."""
    for launcher in LAUNCHERS.values():
        if any(name == reframe_launcher and feature in features for name, feature in launcher.selected_by):
            return launcher
    pairs = [pair for launcher in LAUNCHERS.values() for pair in launcher.selected_by]
    near = [pair for pair in pairs if pair[0] == reframe_launcher] or [p for p in pairs if p[1] in features]
    valid = " or ".join(dict.fromkeys(f"{name} with feature {feature}" for name, feature in sorted(near)))
    names = ", ".join(sorted({name for name, _ in pairs}))
    if reframe_launcher not in {name for name, _ in pairs}:
        valid = f"extras: launch: FAMILY if it wraps one of {names}" + (f"; {valid}" if valid else "")
    value = f"{reframe_launcher} with {', '.join(features) or 'no feature'}"
    raise InputError("reframe.yml", "launcher", value, valid)


def wrapper_words(words: Sequence[str]) -> tuple[str, list[str]]:
    """Return the program of a site's own launcher, and its options without those that give the number of ranks."""
    program, *rest = words
    text = re.sub(r"(?<!\S)(?:-np?|--np|--ntasks)[ =]\d+(?!\S)", "", " ".join(rest))
    return program, text.split()


def for_agent_hosts(version: str) -> tuple[Launcher, ...]:
    """Return the launchers with `on_agent_hosts` that print this text for `--version`.

    Returns those whose pattern occurs in the text. If there is none, returns all without a pattern: Hydra's text does
    not always name the MPI that it belongs to, and the variables of one are not read by another.
    """
    able = [launcher for launcher in LAUNCHERS.values() if launcher.on_agent_hosts]
    recognised = [one for one in able if one.version and re.search(one.version, version)]
    return tuple(recognised or (one for one in able if not one.version))


def variables(kind: Literal["local_rank", "node_list", "node_files"]) -> tuple[str, ...]:
    """Return the variables of a kind (`Launcher`) that all launchers have, in the order in which to read them."""
    return tuple(dict.fromkeys(name for launcher in LAUNCHERS.values() for name in getattr(launcher, kind)))


def node_commands() -> Mapping[str, tuple[str, ...]]:
    """Return the commands that print the job's nodes, by the variable that is set in such a job."""
    return {name: words for launcher in LAUNCHERS.values() for name, words in launcher.node_commands.items()}
