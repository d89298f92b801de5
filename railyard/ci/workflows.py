"""Return workflows as text: GitHub or GitLab, on a virtual torus or on a site's own runner with its scheduler.

Leaves out what the job does: `tools/smoke` on a virtual torus, ReFrame on a cluster.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

CHECKOUT_ACTION = "actions/checkout@11bd71901bbe5b1630ceea73d27597364c9af683  # v4.2.2"
CACHE = "actions/cache{part}@1bd1e32a3bdc45362d1e726936510720a7c30a57  # v4.2.0"
#: What programs of MPI are built with.
PACKAGES = "gcc g++ make libopenmpi-dev openmpi-bin"
#: The rates of the torus as a share of the modelled ones, as in action.yml: a slower runner has the same references.
RATE_SCALE = "0.0001"
UPLOAD = "actions/upload-artifact@ea165f8d65b6e75b540449e92b4886f43607fa02  # v4.6.2"


class Service(StrEnum):
    """The CI services for which a workflow can be written."""

    GITHUB = "github"
    GITLAB = "gitlab"


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """What the workflow runs.

    `checks` is a folder of the caller's own checks, and `programs` one of programs that the command `build` makes. Both
    may be empty. `source` and `ref` name railyard's repository and version. With `system`, the jobs go to that system's
    scheduler from the runner with the label `runner`. Without it, they run on a virtual torus of `topology`.
    """

    source: str
    ref: str
    topology: str
    checks: str
    programs: str
    build: str
    runner: str
    system: str


def workflow(service: Service, choices: Choices) -> str:
    """Return the workflow file of a service."""
    return WRITERS[service](choices)


def _github(choices: Choices) -> str:
    job = _github_cluster(choices) if choices.system else _github_virtual(choices)
    return GITHUB_HEAD + job


def _github_virtual(choices: Choices) -> str:
    inputs = {"checks": choices.checks, "programs": choices.programs}
    optional = "".join(f"          {name}: {folder}\n" for name, folder in inputs.items() if folder)
    build = (
        GITHUB_BUILD.format(commands=_indented(_build_steps(choices, "sudo "), 10))
        if choices.programs
        else ""
    )
    return GITHUB_VIRTUAL.format(
        runner=choices.runner or "ubuntu-24.04",
        checkout=CHECKOUT_ACTION,
        restore=CACHE.format(part="/restore"),
        save=CACHE.format(part="/save"),
        upload=UPLOAD,
        source=choices.source,
        ref=choices.ref,
        topology=choices.topology,
        build=build,
        optional=optional,
    )


def _build_steps(choices: Choices, root: str) -> list[str]:
    """Return the commands that build the caller's programs; `root` precedes those that need it."""
    return [
        f"{root}apt-get update && {root}apt-get install -y --no-install-recommends {PACKAGES}",
        choices.build,
    ]


def _github_cluster(choices: Choices) -> str:
    return GITHUB_CLUSTER.format(
        runner=f"[self-hosted, {choices.runner}]" if choices.runner else "self-hosted",
        checkout=CHECKOUT_ACTION,
        upload=UPLOAD,
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
            f"    - |\n      {step}\n"
            for step in (_cluster_steps if choices.system else _virtual_steps)(choices)
        ),
        cache="" if choices.system else GITLAB_CACHE,
        system=choices.system or "vtorus",
    )


def _virtual_steps(choices: Choices) -> list[str]:
    folders = {"CHECKS": choices.checks, "PROGRAMS": choices.programs}
    optional = "".join(f' {name}="$CI_PROJECT_DIR/{folder}"' for name, folder in folders.items() if folder)
    return [
        *(_build_steps(choices, "") if choices.programs else []),
        'case "$CI_COMMIT_MESSAGE" in *"[accept]"*) export ACCEPT=true ;; esac',
        f"make -C railyard smoke TOPOLOGY={choices.topology} RAILYARD_RATE_SCALE={RATE_SCALE} LAUNCHES=6"
        f' BASELINE="$CI_PROJECT_DIR/baseline"{optional}',
        "rm -rf baseline && cp -r railyard/baseline baseline",
    ]


def _cluster_steps(choices: Choices) -> list[str]:
    checks = f" -c ../{choices.checks}" if choices.checks else ""
    return [
        "cd railyard && make setup",
        ".venv/bin/reframe -C reframe.yml -C ../mine.yml"
        f" --system {choices.system} -c checks{checks} -t smoke -S launches=6 -r",
        f".venv/bin/railyard report --quiet -o report.html results/{choices.system}",
    ]


def _indented(lines: list[str], width: int) -> str:
    return "".join(f"{' ' * width}{line}\n" for line in lines)


GITHUB_HEAD = """\
# Written by `railyard ci github`. Smoke checks of MPI programs and placements.
name: railyard
on:
  push: {branches: [main]}
  pull_request:
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
{build}      - id: smoke
        uses: {source}@{ref}
        with:
          topology: {topology}
{optional}          baseline: baseline
          # An intended change: [accept] in the commit's message, or the label "accept" of the pull request.
          accept: >-
            ${{{{ contains(github.event.head_commit.message, '[accept]')
            || contains(github.event.pull_request.labels.*.name, 'accept') }}}}
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

GITHUB_BUILD = """\
      - name: build the programs
        run: |
{commands}"""

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
{cache}  script:
    - git clone "https://github.com/{source}" railyard && git -C railyard checkout {ref}
{steps}  artifacts:
    when: always
    paths: [railyard/report.html, railyard/results/{system}/]
"""

#: Records of the default branch: merge requests read them, the default branch replaces them.
GITLAB_CACHE = """\
  cache:
    key: railyard
    paths: [baseline/]
    policy: $CACHE_POLICY
"""

WRITERS = {Service.GITHUB: _github, Service.GITLAB: _gitlab}
