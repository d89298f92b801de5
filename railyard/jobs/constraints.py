"""Render the constraint of a partition, where its jobs' nodes are in the network, as an option of the scheduler.

Models: `extras: constraint` of a partition. Sources: sbatch(1) of Slurm, `--switches=COUNT[@TIME]`; qsub(1B) and
pbs_resources(7B) of OpenPBS, `-l place=group=RESOURCE`. Flux has `--requires=CONSTRAINT` (flux-submit(1)), a filter of
nodes by property or name; but ReFrame's backend of Flux passes no options on. Leaves out: whether the scheduler knows
switches, and whether the site has defined the resource.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from railyard.base.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Constraint:
    """A scheduler's option with `{}` for the value, the regular expression of values, and its description."""

    option: str
    form: str
    valid: str


_SLURM = Constraint(
    option="--switches={}",
    form=r"[1-9]\d{0,5}(@\d[\d:-]{0,19})?",
    valid="COUNT or COUNT@TIME, such as 1@30: the most leaf switches, and the minutes to wait for them",
)
_PBS = Constraint(
    option="-l place=group={}",
    form=r"[A-Za-z]\w{0,63}",
    valid="the name of a resource that has one value on all nodes of a job, such as switch",
)
CONSTRAINTS: Mapping[str, Constraint] = {"slurm": _SLURM, "squeue": _SLURM, "pbs": _PBS}


def option(scheduler: str, value: str, partition: str) -> str:
    """Return the scheduler's option for a constraint; InputError for a scheduler without one, or a bad value."""
    constraint, field = CONSTRAINTS.get(scheduler), f"{partition}: extras.constraint"
    if constraint is None:
        valid = f"none with the scheduler {scheduler}; {', '.join(sorted(CONSTRAINTS))} have one"
        raise InputError("reframe.yml", field, value, valid)
    if not re.fullmatch(constraint.form, value):
        raise InputError("reframe.yml", field, value, constraint.valid)
    return constraint.option.format(value)
