"""Communication stacks: the environment variables by which a library obeys each NIC policy.

A module of this folder that defines `STACK`, or several in a tuple `STACKS`, is found by `stacks`; nothing else must be
edited to add one. `Setter`s make the settings: `same` for every rank, `per_rank`, `one_nic`. What a stack cannot
express is an InputError that names both and lists what it can.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache

from railyard.base.errors import InputError
from railyard.base.members import members
from railyard.placements import launchers
from railyard.placements.hosts import node
from railyard.placements.nics.policies import ChosenPolicy, Host, NicPolicy, assign, gpus, policies


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Variables for every rank, and variables by local rank (empty: none differ)."""

    environment: Mapping[str, str] = field(default_factory=dict)
    by_local_rank: tuple[Mapping[str, str], ...] = ()

    def wrapper(self) -> str:
        """Return a shell script that sets its local rank's variables and executes the program; empty if none differ."""
        if not self.by_local_rank:
            return ""
        cases = [
            f"export {' '.join(f'{name}={shlex.quote(value)}' for name, value in variables.items())}"
            for variables in self.by_local_rank
        ]
        local_rank = launchers.variables("local_rank")
        return node.script("Which NIC a rank uses", "nic wrapper", cases, local_rank) + 'exec "$@"\n'


Setter = Callable[[ChosenPolicy, Host], Settings]


@dataclass(frozen=True, slots=True, kw_only=True)
class NicStack:
    """One stack.

    `setters` has the policies that it can express, by name. `by_rank` is the policy whose setter passes each rank the
    NIC that any policy assigns to it (empty: none does). `by_binding`: the stack itself chooses the nearest NIC, by
    the CPUs that a rank may run on. `always` are variables beside those of every setter; `default` are those that
    restore the library's own choice where a site's modules often change it. A `general` stack is selected only if an
    environment names no other. `source` is the document that the variables come from, as Markdown.
    """

    name: str
    setters: Mapping[str, Setter]
    source: str
    by_rank: str = "round-robin"
    by_binding: bool = False
    always: Mapping[str, str] = field(default_factory=dict)
    default: Mapping[str, str] = field(default_factory=dict)
    general: bool = False

    def policies(self) -> list[NicPolicy]:
        """Return the policies that the stack can express."""
        return [policy for policy in policies().values() if policy.by_library or self._setter(policy)]

    def settings(self, policy: ChosenPolicy, on: Host) -> Settings:
        """Return the settings for a policy; InputError if the stack cannot express it."""
        if policy.kind.by_library:
            return Settings(environment=self.default)
        setter = self._setter(policy.kind)
        if setter is None:
            able = ", ".join(map(str, self.policies()))
            raise InputError("nics", "policy", str(policy), f"with {self.name}: {able}")
        settings = setter(policy, on)
        settings = replace(settings, environment={**self.always, **settings.environment})
        if not policy.kind.with_gpus:
            return settings
        # Every launcher passes on in the same way the variable that shows each rank its GPU.
        runtime = on.gpus_for(str(policy)).runtime
        by_rank = tuple(
            {**variables, **runtime.always, runtime.variable: gpu}
            for variables, gpu in zip(settings.by_local_rank or ({},) * on.ranks, gpus(policy, on), strict=True)
        )
        return replace(settings, by_local_rank=by_rank)

    def _setter(self, policy: NicPolicy) -> Setter | None:
        """Return the setter of a policy; one by GPU or number needs a stack that is passed each rank's NIC."""
        other = self.setters.get(self.by_rank) if policy.with_gpus or policy.by_number else None
        return self.setters.get(policy.name, other)


def same(**environment: str) -> Setter:
    """Set the same variables for every rank.

    `{k}` is the policy's NIC, `{nic}` its name, `{n}` the number of NICs, `{nics}` their names with commas between,
    `{ports}` the first port of each unit, 0:1,1:1.
    """

    def make(policy: ChosenPolicy, on: Host) -> Settings:
        k, n = policy.nic or 0, len(on.nics)
        ports = ",".join(f"{unit}:1" for unit in range(n))
        words = {"k": k, "nic": on.nics[k], "n": n, "nics": ",".join(on.nics), "ports": ports}
        return Settings(environment={name: value.format(**words) for name, value in environment.items()})

    return make


def per_rank(**environment: str) -> Setter:
    """Set variables by local rank. `{k}` is the NIC that the policy assigns to it, `{nic}` its name."""

    def make(policy: ChosenPolicy, on: Host) -> Settings:
        return Settings(
            by_local_rank=tuple(
                {name: value.format(k=nic, nic=on.nics[nic]) for name, value in environment.items()}
                for (nic,) in assign(policy, on)
            )
        )

    return make


def one_nic(**environment: str) -> dict[str, Setter]:
    """Return the setters of a stack whose ranks use one NIC each, by variables that name it."""
    return {"round-robin": per_rank(**environment), "nic-K": same(**environment), "local-nic": per_rank(**environment)}


@cache
def stacks() -> Mapping[str, NicStack]:
    """Return the stacks by name, general ones last."""
    every = members(__name__, "STACK", "STACKS")
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
