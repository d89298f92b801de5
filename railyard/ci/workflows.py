"""Return workflows as text: GitHub or GitLab, on a virtual torus or on a site's own runner with its scheduler.

Models: actions of others are pinned as in railyard's own workflow `smoke.yml`, which an updater of pins sees. Leaves
out what the job does: `tools/smoke` on a virtual torus, ReFrame on a cluster.
"""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path

from railyard.base.checkout import CHECKOUT
from railyard.base.errors import InputError

#: The rates of the torus as a share of the modelled ones, as in action.yml: a slower runner has the same references.
RATE_SCALE = "0.0001"
#: The workflow of railyard that uses every action of others that a printed one uses.
PINNED = CHECKOUT / ".github/workflows/smoke.yml"
TEMPLATES = Path(__file__).resolve().parent / "templates"


class Service(StrEnum):
    """The CI services for which a workflow can be written."""

    GITHUB = "github"
    GITLAB = "gitlab"


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """What the workflow runs.

    `checks` is a folder of the caller's own checks, and `programs` one of programs that the command `build` makes. Both
    may be empty, and so may `select`, ReFrame's options that choose checks. `source` and `ref` name railyard's
    repository and version. With `system`, the jobs go to that system's scheduler from the runner with the label
    `runner`. Without it, they run on a virtual torus of `topology`.
    """

    source: str
    ref: str
    topology: str
    checks: str
    programs: str
    build: str
    select: str
    runner: str
    system: str


def workflow(service: Service, choices: Choices) -> str:
    """Return the workflow file of a service."""
    import jinja2  # here, because the help of `railyard ci` needs no library

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        undefined=jinja2.StrictUndefined,
        variable_start_string="<<",  # Jinja's own signs are those of GitHub's expressions
        variable_end_string=">>",
        block_start_string="<%",
        block_end_string="%>",
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["json"] = json.dumps
    return environment.get_template(f"{service}.yml.j2").render(
        **asdict(choices), pin=_pin, steps=_cluster_steps(choices) if choices.system else _virtual_steps(choices)
    )


def _pin(action: str) -> str:
    """Return an action with its commit and version, as railyard's own workflow uses it."""
    try:
        match = re.search(rf"uses: ({action}@[0-9a-f]{{40}}  # \S+)", PINNED.read_text(encoding="utf-8"))
    except OSError:
        match = None
    if match is None:
        raise InputError(str(PINNED), "", problem=f"no commit of {action}", valid="a checkout of railyard")
    return match[1]


def _virtual_steps(choices: Choices) -> list[str]:
    folders = {"CHECKS": choices.checks, "PROGRAMS": choices.programs}
    optional = "".join(f' {name}="$CI_PROJECT_DIR/{folder}"' for name, folder in folders.items() if folder)
    select = f" SELECT={shlex.quote(choices.select)}" if choices.select else ""
    return [
        *([choices.build] if choices.programs else []),
        'case "$CI_COMMIT_MESSAGE" in *"[accept]"*) export ACCEPT=true ;; esac',
        f"make -C railyard smoke TOPOLOGY={choices.topology} RAILYARD_RATE_SCALE={RATE_SCALE} LAUNCHES=6"
        f' BASELINE="$CI_PROJECT_DIR/baseline"{optional}{select}',
        "rm -rf baseline && cp -r railyard/baseline baseline",
    ]


def _cluster_steps(choices: Choices) -> list[str]:
    checks = f" -c ../{choices.checks}" if choices.checks else ""
    return [
        "cd railyard && make setup",
        f"tools/measure results/{choices.system} -C reframe.yml -C ../mine.yml"
        f" --system {choices.system} -c checks{checks} {choices.select or '-t smoke'} -S launches=6 -r",
        f".venv/bin/railyard report --quiet -o report.html results/{choices.system}",
    ]
