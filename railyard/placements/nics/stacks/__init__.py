"""Communication stacks, one module each: `STACK`, maybe `OTHER`, is a `NicStack` of `railyard.placements.nics.stack`.

What a stack cannot express is an InputError that names both and lists what it can.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from railyard.base.errors import InputError
from railyard.base.members import members
from railyard.placements.nics.policies import ChosenPolicy, Host
from railyard.placements.nics.stack import NicStack, Settings

__all__ = ["NicStack", "Settings", "needs_binding", "settings", "stacks"]


@cache
def stacks() -> Mapping[str, NicStack]:
    """Return the stacks by name, general ones last."""
    every = [*members(__name__, "STACK"), *members(__name__, "OTHER")]
    ordered = sorted(every, key=lambda stack: (stack.general, stack.name))
    return {stack.name: stack for stack in ordered}


def settings(policy: ChosenPolicy, stack: str, on: Host) -> Settings:
    """Return the settings with which a stack obeys a policy.

    Raises InputError for a stack that does not exist, and for a policy that the stack cannot express.
    """
    if stack not in stacks():
        raise InputError("nics", "stack", stack, ", ".join(stacks()))
    return stacks()[stack].settings(policy, on)


def needs_binding(policy: ChosenPolicy, stack: str) -> bool:
    """Return whether a stack finds the nearest NIC by where the rank may run: an unbound rank has none."""
    return policy.kind.nearest and stack in stacks() and stacks()[stack].by_binding
