"""`railyard nics`: what a NIC policy means for each rank of a node, and the settings of a stack for it."""

from __future__ import annotations

import json
import shlex

import click

from railyard.base.commands import COUNT, example, json_option, option
from railyard.placements.nics import policies
from railyard.placements.nics.stacks import settings, stacks
from railyard.placements.topology import catalog


@click.command(epilog=example("railyard nics", "railyard nics --stack ucx --policy round-robin"))
@click.argument("topology", required=False)
@option("--policy", f"NIC policy: {', '.join(policies.policies())}.", metavar="POLICY")
@option("--stack", f"Software that chooses NICs: {', '.join(stacks())}.", metavar="STACK")
@option("--ranks-per-node", "Ranks of each node.", COUNT, 2)
@option("--devices", "Names of a node's NICs, by rail, as mlx5_0:1,mlx5_2:1.  [default: nic0,nic1,...]")
@json_option("Print JSON: variables, by local rank, and the wrapper script.")
def nics(
    *,
    topology: str | None,
    policy: str | None,
    stack: str | None,
    ranks_per_node: int,
    devices: str | None,
    as_json: bool,
) -> None:
    """Print the settings that make STACK obey POLICY on the nodes of TOPOLOGY (default catalyst-dual-rail).

    Without --policy or --stack: which stack can express which policy.
    """
    if policy is None or stack is None:
        from rich import box
        from rich.console import Console
        from rich.table import Column, Table

        table = Table(Column("stack", no_wrap=True), "policies that it can express", box=box.SIMPLE_HEAD)
        for name, own in stacks().items():
            table.add_row(name, ", ".join(str(kind) for kind in own.policies() if not kind.by_library))
        Console().print(table)
        return
    topo = catalog.load(topology or "catalyst-dual-rail")
    on = policies.host(topo, ranks_per_node, devices.split(",") if devices else None)
    chosen_policy = policies.parse(policy, topo.rails)
    variables = settings(chosen_policy, stack, on)
    assigned = policies.assign(chosen_policy, on)
    if as_json:
        document = {
            "environment": dict(variables.environment),
            "by_local_rank": [dict(own) for own in variables.by_local_rank],
            "nics": [[on.nics[nic] for nic in chosen] for chosen in assigned],
            "wrapper": variables.wrapper(),
        }
        click.echo(json.dumps(document))
        return
    for local, chosen in enumerate(assigned):
        names = ",".join(on.nics[nic] for nic in chosen) or "the library's choice"
        click.echo(f"# local rank {local}: {names}")
    for name, value in variables.environment.items():
        click.echo(f"export {name}={shlex.quote(value)}")
    click.echo(variables.wrapper(), nl=False)
