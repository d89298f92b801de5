"""Read variables that a job states in place of a stack's own, and name those that do not fit its policy. Pure.

Leaves out the proof: the bytes of the NICs decide (`railyard.placements.nics.evidence`), and this module explains their
verdict.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping

from railyard.base.errors import InputError
from railyard.placements.nics import policies, stacks
from railyard.placements.nics.policies import ChosenPolicy, Host
from railyard.placements.nics.stacks import Settings

_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)


def settings(text: str) -> Settings:
    """Return the variables in a text such as `NCCL_IB_HCA==mlx5_0 NCCL_CROSS_NIC=0`; InputError for another word."""
    variables = {}
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise InputError("nic_settings", "", text, f"words of a shell: {error}") from error
    for word in words:
        match = _ASSIGNMENT.fullmatch(word)
        if match is None or match[1].startswith("LD_"):
            raise InputError("nic_settings", "", word, "NAME=VALUE, with blanks between")
        variables[match[1]] = match[2]
    return Settings(environment=variables)


def explained(policy: str, stack: str, on: Host, stated: str) -> str:
    """Return which variables were set for a policy, and which of those stated are wrong; empty if none was set."""
    chosen = policies.parse(policy, len(on.nics))
    if stack not in stacks.stacks() or chosen.kind.by_library:
        return ""
    try:
        needed = _shown(stacks.settings(chosen, stack, on))
    except InputError:
        needed = {}
    if not stated:
        return f"{stack} was set by {_list(needed)}" if needed else ""
    given, own, texts = settings(stated).environment, _variables(stack, on), []
    for name, value in given.items():
        if name not in own:
            texts.append(f"{name} is no variable by which {stack} chooses NICs")
        elif value != needed.get(name, value):
            texts.append(f"{name}={value} is wrong")
    texts = texts or [f"{stack} was set by {_list(given)}"]
    if lacking := {name: value for name, value in needed.items() if given.get(name) != value}:
        texts.append(f"{policy} needs {_list(lacking)}")
    return "; ".join(texts)


def _variables(stack: str, on: Host) -> set[str]:
    """Return the names of all variables that a stack sets for any policy."""
    names: set[str] = set()
    for policy in stacks.stacks()[stack].policies():
        try:
            nic = 0 if policy.name.endswith("-K") else None
            names |= _shown(stacks.settings(ChosenPolicy(kind=policy, nic=nic), stack, on)).keys()
        except InputError:
            continue
    return names


def _shown(chosen: Settings) -> dict[str, str]:
    """Return the variables of settings; one that differs by local rank has all its values, with | between."""
    shown = dict(chosen.environment)
    for name in {name: None for own in chosen.by_local_rank for name in own}:
        shown[name] = "|".join(dict.fromkeys(own[name] for own in chosen.by_local_rank if name in own))
    return shown


def _list(variables: Mapping[str, str]) -> str:
    return " ".join(f"{name}={shlex.quote(value) if ' ' in value else value}" for name, value in variables.items())
