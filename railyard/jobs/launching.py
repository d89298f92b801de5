"""Render a placement and a NIC policy as the command of a launch.

Models: the communication stack comes from the environment's features in ReFrame's configuration. Leaves out how the
job is written (`railyard.jobs.submission`), and whether a launch obeyed (`railyard.jobs.job.launched`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from railyard.base.errors import InputError
from railyard.jobs.nodes import kinds as node_kinds
from railyard.jobs.nodes.kinds import NodeKind
from railyard.placements import launchers
from railyard.placements.collectives import libraries
from railyard.placements.collectives.algorithms import Shape
from railyard.placements.hosts import node as node_layout
from railyard.placements.hosts.gpus import any_pairs, pairs
from railyard.placements.hosts.node import NodeLayout
from railyard.placements.launchers import Launcher, Rendered
from railyard.placements.nics import lines, policies, stacks, stating
from railyard.placements.nics.lines import LaunchLine, Verbatim, file_name
from railyard.placements.orders.placement import Placement
from railyard.placements.topology.base import Topology


@dataclass(frozen=True, slots=True, kw_only=True)
class Combination:
    """One combination of a placement and a NIC policy, rendered for a launcher; every repeat of it uses the same.

    `files` and `scripts` (executable) are texts by file name, which the command reads.
    """

    line: LaunchLine
    files: Mapping[str, str]
    scripts: Mapping[str, str]

    def command(self, program: Sequence[str]) -> str:
        """Return the line that launches a program, ready to be pasted."""
        return self.line.command(program)


def stack_of(features: Sequence[str]) -> str:
    """Return the communication stack that an environment names in its features.

    Raises InputError where it names none: a variable of the wrong stack changes nothing and fails nowhere.
    """
    if stack := named_stack(features):
        return stack
    valid = f"a NIC policy needs the environment's stack among its features: {', '.join(stacks.stacks())}"
    raise InputError("reframe.yml", "environment: features", ", ".join(features), valid)


def named_stack(features: Sequence[str]) -> str:
    """Return the stack among an environment's features; empty where there is none."""
    return next((name for name in stacks.stacks() if name in features), "")


def render(
    placed: Placement,
    policy: str,
    launcher: Launcher,
    features: Sequence[str],
    *,
    stem: str,
    devices: Sequence[str] | None = None,
    kinds: Sequence[NodeKind] = (),
    by_script: bool = False,
    modifier: Sequence[str] = (),
    options: Sequence[str] = (),
    program: str = "",
    stated: str = "",
) -> Combination:
    """Render a placement and a NIC policy for a launcher; `stem` begins the names of the files.

    The site's `modifier` precedes the launcher, its `options` follow the launcher's own, and its `program` replaces the
    launcher's where the site wraps that. `stated` are variables in place of those of the stack.

    With `by_script` a script binds each rank, in the same way under every launcher, and the launcher binds none. The
    script needs the `kinds` of nodes, which only the job knows; its command is the same for all. `devices` are the
    names of a node's NICs, in the order of rails, where they are not nic0, nic1, ...

    Raises InputError for a placement or a policy that cannot be expressed there, or not on every node.
    """
    rendered = lines.rendered(placed, launcher, stem, by_script=by_script)
    if program:
        rendered = dataclasses.replace(rendered, command=(program, *rendered.command[1:]))
    chosen = policies.parse(policy, rails(placed.allocation.topology, devices))
    choice, per_node = chosen.algorithms, placed.ranks_per_node
    shape = Shape(ranks=len(placed.indices), per_node=per_node, grid=tuple(placed.grid))
    if choice and launcher.nic_by_host:
        raise InputError("algorithms", "", choice, f"{libraries.DEFAULT} where {launcher.name} launches")
    library = None if libraries.is_own(choice) else libraries.of_features(features)
    if launcher.nic_by_host:
        return _simulated(placed, chosen, rendered, file_name(policy))
    kinds = node_kinds.among(kinds, {node.name for node in placed.nodes})
    hosts, binders, variables = [], [], launchers.variables("local_rank")
    binder = lines.binder(stem, placed.binding, by_script=by_script)
    for kind in kinds:
        with node_kinds.naming(kind):
            hosts.append(host(placed, devices, kind.layout))
            if binder:
                binders.append(node_layout.binder(kind.layout, per_node, placed.binding, variables))
    hosts = hosts or [host(placed, devices, None, by_script=by_script)]
    own = [stating.settings(stated)] * len(hosts) if stated else []
    settings = own or [_settings(placed, chosen, features, node) for node in hosts]
    _same_on_all(chosen, settings, hosts, kinds)
    wrapper = lines.wrapper(policy, settings[0])
    scripts = node_kinds.one_script(wrapper, [setting.wrapper() for setting in settings], kinds) if wrapper else {}
    scripts |= node_kinds.one_script(binder, binders, kinds) if binders else {}
    return Combination(
        line=dataclasses.replace(
            lines.line(
                rendered,
                launcher,
                chosen,
                settings[0],
                scripts=(wrapper, binder),
                algorithms=libraries.environment(choice, library),
            ),
            modifier=tuple(map(Verbatim, modifier)),
            options=tuple(map(Verbatim, options)),
        ),
        files={**rendered.files, **libraries.files(choice, shape, library)},
        scripts=scripts,
    )


def _same_on_all(
    policy: policies.ChosenPolicy,
    settings: Sequence[stacks.Settings],
    hosts: Sequence[policies.Host],
    kinds: Sequence[NodeKind],
) -> None:
    """Raise InputError if kinds of nodes need different variables for a policy: one command sets one."""
    for kind, words, host_of_kind in zip(kinds, settings, hosts, strict=False):
        if words.environment != settings[0].environment:
            problem = f"{policy} needs other variables on {kind.some()}"
            raise InputError("nics", "policy", problem=problem, valid="nodes whose NICs are near to the same ranks")
        if policy.kind.nearest and host_of_kind.is_described != hosts[0].is_described:
            unknown = kind if hosts[0].is_described else kinds[0]
            problem = f"no NUMA domain of a NIC on {unknown.some()}"
            raise InputError("nics", "policy", problem=problem, valid=f"a description of every NIC for {policy}")


def rails(topology: Topology, devices: Sequence[str] | None) -> int:
    """Return the number of NICs per node: as many as the configuration names, or the topology's rails."""
    return topology.rails if topology.rails > 1 or not devices else len(devices)


def host(
    placed: Placement, devices: Sequence[str] | None, node: NodeLayout | None, *, by_script: bool = False
) -> policies.Host:
    """Return the NICs and GPUs of a placement's nodes, nearest ones by the node's description if there is one.

    Without a description, a job that writes its own script gets stand-in GPUs, which only the command line needs.
    """
    if not node or not devices:
        any_gpus = any_pairs(placed.ranks_per_node) if by_script and not node else None
        return policies.host(placed.allocation.topology, placed.ranks_per_node, devices, gpus=any_gpus)
    ranks, binding = placed.ranks_per_node, placed.binding
    near, gpus = node.nearest(devices, ranks, binding), pairs(node, devices, ranks, binding)
    return policies.host(placed.allocation.topology, ranks, devices, near, gpus=gpus)


def _settings(
    placed: Placement, policy: policies.ChosenPolicy, features: Sequence[str], on: policies.Host
) -> stacks.Settings:
    """Return the settings that a stack needs for a policy; the policy `library-default` needs none without a stack.

    Raises InputError for a policy that needs bound ranks on a placement that binds none.
    """
    if policy.kind.by_library and not named_stack(features):
        return stacks.Settings()
    stack = stack_of(features)
    if stacks.needs_binding(policy, stack) and not placed.binding.is_known:
        valid = f"with {stack} a placement that binds ranks, such as {placed.order}/numa"
        problem = f"{policy} on ranks that railyard does not bind"
        raise InputError("nics", "policy", problem=problem, valid=valid)
    return stacks.settings(policy, stack, on)


def _simulated(placed: Placement, policy: policies.ChosenPolicy, rendered: Rendered, stem: str) -> Combination:
    """Return a simulated launch: each line of its host file names a rank's node and NIC, by default that of rail 0."""
    if policy.kind.striped:
        raise InputError("nics", "policy", str(policy), "for smpi a policy with one NIC per rank")
    assigned = policies.assign(policy, policies.host(placed.allocation.topology, placed.ranks_per_node))
    rails = [assigned[local][0] if assigned[local] else 0 for local in placed.local_ranks.tolist()]
    hosts = [f"{node.name}.nic{rail}" if rail else node.name for node, rail in zip(placed.nodes, rails, strict=True)]
    (before,) = (name for name in rendered.files if name.endswith(".hostfile"))
    after = before if not any(rails) else f"{stem}-{before}"
    files = {name: text for name, text in rendered.files.items() if name != before}
    command = tuple(after if word == before else word for word in rendered.command)
    text = "".join(f"{host}\n" for host in hosts)
    return Combination(line=LaunchLine(environment={}, words=command), files={**files, after: text}, scripts={})
