"""Write the words of a launch before its program: the launcher, its variables, and the scripts that ranks begin with.

Models: one pure function makes the line of a job, and makes it again from a record for the strict check. A record names
neither launcher nor stack, so the check makes the line of each of them (`possible`). Leaves out: the texts of host
files and scripts (`railyard.placements.launchers`, `railyard.jobs.launching`), the program
(`railyard.records.programs`).
"""

from __future__ import annotations

import dataclasses
import itertools
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from railyard.base.errors import InputError
from railyard.placements import launchers
from railyard.placements.collectives import libraries
from railyard.placements.hosts.node import Binding
from railyard.placements.launchers import Launcher, Rendered
from railyard.placements.nics import policies, stacks, stating
from railyard.placements.nics.policies import ChosenPolicy
from railyard.placements.nics.stacks import Settings
from railyard.placements.orders.placement import Placement


class Verbatim(str):
    """Words of a command as a person wrote them, for the shell to read: a launch's line quotes none of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchLine:
    """The words of a launch before its program, and the variables before those.

    `words` are the launcher's, and `scripts` those with which ranks begin. The site's `modifier` precedes them, its
    `options` follow them.
    """

    environment: Mapping[str, str]
    words: tuple[str, ...]
    scripts: tuple[str, ...] = ()
    modifier: tuple[str, ...] = ()
    options: tuple[str, ...] = ()

    def command(self, program: Sequence[str]) -> str:
        """Return the line that launches a program, ready to be pasted."""
        exports = "".join(f"{name}={shlex.quote(value)} " for name, value in self.environment.items())
        words = [*self.modifier, *self.words, *self.options, *self.scripts, *program]
        return exports + " ".join(word if isinstance(word, Verbatim) else shlex.quote(word) for word in words if word)


def file_name(text: str) -> str:
    """Return the name of a placement or a policy as the beginning of a file name."""
    return re.sub(r"[^A-Za-z0-9.x-]+", "-", text).strip("-.") or "placement"


def wrapper(policy: str, settings: Settings) -> str:
    """Return the name of the script that sets the variables of a local rank; empty if none differ."""
    return f"{file_name(policy)}.sh" if settings.by_local_rank else ""


def binder(stem: str, binding: Binding, *, by_script: bool) -> str:
    """Return the name of the script that binds a rank; empty if the launcher binds it, or nothing does."""
    return f"{file_name(stem)}.bind.sh" if by_script and binding.is_known else ""


def rendered(placed: Placement, launcher: Launcher, stem: str, *, by_script: bool) -> Rendered:
    """Return a placement as a launcher's command and files; with `by_script` the launcher binds no rank."""
    bound = by_script and placed.binding.is_known
    unbound = dataclasses.replace(placed, binding=Binding.NONE) if bound else placed
    return launcher.rendered(unbound, file_name(stem))


def line(
    launched: Rendered,
    launcher: Launcher,
    policy: ChosenPolicy,
    settings: Settings,
    *,
    scripts: Sequence[str],
    algorithms: Mapping[str, str],
) -> LaunchLine:
    """Return the line of a launch; `scripts` are the names of the wrapper and the binder, empty for none.

    `algorithms` are the variables that choose those of collectives.
    """
    passed = launcher.pass_variables({**settings.environment, **algorithms})
    # without these variables a launcher could choose GPUs, and ranks would not see the node's numbers
    gpus = launcher.all_gpus if policy.kind.with_gpus else {}
    return LaunchLine(
        environment={**launched.environment, **passed.environment, **gpus},
        words=(*launched.command, *passed.options),
        scripts=(*(f"./{name}" for name in scripts if name), *libraries.preloaded(policy.algorithms)),
    )


def possible(
    placed: Placement,
    policy: str,
    stem: str,
    *,
    devices: Sequence[str] | None,
    first: str,
    by_script: bool,
    family: str = "",
    stated: str = "",
) -> Iterator[LaunchLine]:
    """Yield the line of every launcher whose first word is `first`, with every stack that can obey the policy.

    `stated` are the variables of a job that names its own: there are no others then. With `family`, the name of a
    launcher, `first` is the program that a site starts in its place.
    """
    topology = placed.allocation.topology
    count = topology.rails if topology.rails > 1 or not devices else len(devices)
    chosen = policies.parse(policy, count)
    on = policies.host(topology, placed.ranks_per_node, devices)
    for launcher in launchers.LAUNCHERS.values():
        try:
            launched = rendered(placed, launcher, stem, by_script=by_script)
        except InputError:
            continue
        if launcher.name == family:
            launched = dataclasses.replace(launched, command=(first, *launched.command[1:]))
        if launched.command[:1] != (first,):
            continue
        if launcher.nic_by_host:
            yield from _by_host(launched, policy)
            continue
        bind = binder(stem, placed.binding, by_script=by_script)
        both = itertools.product(
            [stating.settings(stated)] if stated else _settings(chosen, on), libraries.possible(chosen.algorithms)
        )
        for settings, algorithms in both:
            scripts = (wrapper(policy, settings), bind)
            yield line(launched, launcher, chosen, settings, scripts=scripts, algorithms=algorithms)


def _by_host(launched: Rendered, policy: str) -> Iterator[LaunchLine]:
    """Yield the lines of a launcher that reads each rank's NIC in the host file, which may be of the policy alone."""
    (before,) = (name for name in launched.files if name.endswith(".hostfile"))
    for after in (before, f"{file_name(policy)}-{before}"):
        yield LaunchLine(environment={}, words=tuple(after if word == before else word for word in launched.command))


def _settings(policy: ChosenPolicy, on: policies.Host) -> Iterator[Settings]:
    """Yield the settings of every stack that can obey a policy; the first are those of no stack."""
    if policy.kind.by_library:
        yield Settings()
    for stack in stacks.stacks().values():
        try:
            yield stack.settings(policy, on)
        except InputError:
            continue
