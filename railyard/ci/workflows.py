"""Return workflows as text: GitHub or GitLab, on a virtual torus or on a site's own runner with its scheduler.

Models: actions of others are pinned as in railyard's own workflow `smoke.yml`, which an updater of pins sees. Leaves
out what the job does: `tools/smoke` on a virtual torus, ReFrame on a cluster.
"""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass
from enum import StrEnum

from railyard.base.checkout import CHECKOUT
from railyard.base.errors import InputError

#: What a runner without railyard's action needs: to fetch railyard, and to build programs of MPI.
TO_START = "ca-certificates git make python3-venv"
TO_BUILD = "gcc g++ libopenmpi-dev openmpi-bin"
#: The rates of the torus as a share of the modelled ones, as in action.yml: a slower runner has the same references.
RATE_SCALE = "0.0001"
#: The workflow of railyard that uses every action of others that a printed one uses.
PINNED = CHECKOUT / ".github/workflows/smoke.yml"


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
    return WRITERS[service](choices)


def _github(choices: Choices) -> str:
    job = _github_cluster(choices) if choices.system else _github_virtual(choices)
    return GITHUB_HEAD + job


def _pin(action: str) -> str:
    """Return an action with its commit and version, as railyard's own workflow uses it."""
    try:
        match = re.search(rf"uses: ({action}@[0-9a-f]{{40}}  # \S+)", PINNED.read_text(encoding="utf-8"))
    except OSError:
        match = None
    if match is None:
        raise InputError(str(PINNED), "", problem=f"no commit of {action}", valid="a checkout of railyard")
    return match[1]


def _github_virtual(choices: Choices) -> str:
    inputs = {"checks": choices.checks, "programs": choices.programs, "select": choices.select}
    inputs |= {"build": choices.build} if choices.programs else {}
    optional = "".join(f"          {name}: {json.dumps(text)}\n" for name, text in inputs.items() if text)
    return GITHUB_VIRTUAL.format(
        runner=choices.runner or "ubuntu-24.04",
        checkout=_pin("actions/checkout"),
        restore=_pin("actions/cache/restore"),
        save=_pin("actions/cache/save"),
        upload=_pin("actions/upload-artifact"),
        source=choices.source,
        ref=choices.ref,
        topology=choices.topology,
        optional=optional,
    )


def _github_cluster(choices: Choices) -> str:
    return GITHUB_CLUSTER.format(
        runner=f"[self-hosted, {choices.runner}]" if choices.runner else "self-hosted",
        checkout=_pin("actions/checkout"),
        upload=_pin("actions/upload-artifact"),
        source=choices.source,
        ref=choices.ref,
        steps=_indented(_cluster_steps(choices), 10),
        system=choices.system,
    )


def _gitlab(choices: Choices) -> str:
    return GITLAB.format(
        tags=f"  tags: [{choices.runner}]\n" if choices.runner else "",
        source=choices.source,
        ref=choices.ref,
        steps="".join(
            f"    - |\n      {step}\n" for step in (_cluster_steps if choices.system else _virtual_steps)(choices)
        ),
        virtual="" if choices.system else GITLAB_VIRTUAL.format(packages=_packages(choices)),
        system=choices.system or "vtorus",
        kept="" if choices.system else ", baseline/",
    )


def _packages(choices: Choices) -> str:
    return f"{TO_START} {TO_BUILD}" if choices.programs else TO_START


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


def _indented(lines: list[str], width: int) -> str:
    return "".join(f"{' ' * width}{line}\n" for line in lines)


GITHUB_HEAD = """\
# Written by `railyard ci github`. Smoke checks of MPI programs and placements.
name: railyard
on:
  push: {branches: [main]}
  pull_request: {types: [opened, synchronize, reopened, labeled, unlabeled]}
permissions: {}
concurrency:
  group: ${{ github.workflow }}-${{ github.ref }}
  cancel-in-progress: true
"""

GITHUB_VIRTUAL = """\
jobs:
  smoke:
    runs-on: {runner}
    timeout-minutes: 45
    permissions:
      contents: read
      pull-requests: read  # the label `accept`
    steps:
      - uses: {checkout}
        with:
          persist-credentials: false
      - name: records of the main branch
        uses: {restore}
        with:
          path: baseline
          key: railyard-${{{{ github.sha }}}}
          restore-keys: railyard-
      - id: smoke
        uses: {source}@{ref}
        with:
          topology: {topology}
{optional}          baseline: baseline
          accept: event  # an intended change: [accept] in a commit's message, or the label "accept" of the pull request
      - uses: {upload}
        if: always()
        with:
          name: railyard
          path: |
            ${{{{ steps.smoke.outputs.report }}}}
            ${{{{ steps.smoke.outputs.records }}}}
            ${{{{ steps.smoke.outputs.baseline }}}}
      - name: these records become the baseline
        if: github.ref == 'refs/heads/main'
        env:
          NEXT: ${{{{ steps.smoke.outputs.baseline }}}}
        run: rm -rf baseline && cp -r "$NEXT" baseline
      - uses: {save}
        if: github.ref == 'refs/heads/main'
        with:
          path: baseline
          key: railyard-${{{{ github.sha }}}}
"""

GITHUB_CLUSTER = """\
jobs:
  smoke:
    # A label of your own runner, on a login node. mine.yml is written by `railyard doctor --fragment`.
    runs-on: {runner}
    timeout-minutes: 120
    # Never run the code of strangers on a cluster.
    if: github.event_name == 'push' || github.event.pull_request.head.repo.full_name == github.repository
    permissions:
      contents: read
    steps:
      - uses: {checkout}
        with:
          persist-credentials: false
      - uses: {checkout}
        with:
          repository: {source}
          ref: {ref}
          path: railyard
          persist-credentials: false
      - name: checks
        run: |
{steps}      - uses: {upload}
        if: always()
        with:
          name: railyard
          path: |
            railyard/report.html
            railyard/results/{system}/
"""

GITLAB = """\
# Written by `railyard ci gitlab`. Smoke checks of MPI programs and placements.
railyard:
  stage: test
{tags}  timeout: 2 hours
  rules:
    - if: $CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH
      variables: {{CACHE_POLICY: pull-push}}
    - if: $CI_PIPELINE_SOURCE == "merge_request_event"
      variables: {{CACHE_POLICY: pull}}
{virtual}  script:
    - git clone "https://github.com/{source}" railyard && git -C railyard checkout {ref}
{steps}  artifacts:
    when: always
    paths: [railyard/report.html, railyard/results/{system}/{kept}]
"""

#: The cache has records of the default branch: merge requests read them, the default branch replaces them.
GITLAB_VIRTUAL = """\
  image: debian:12  # of a Docker executor, which must be privileged
  cache:
    key: railyard
    paths: [baseline/]
    policy: $CACHE_POLICY
  before_script:
    - apt-get update && apt-get install -y --no-install-recommends {packages}
"""

WRITERS = {Service.GITHUB: _github, Service.GITLAB: _gitlab}
