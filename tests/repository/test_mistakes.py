"""The mistakes that a newcomer makes first: one line names the value, and what there is or what to do instead."""

from __future__ import annotations

import pytest
from click.testing import CliRunner
from support.commands import CHECKOUT

from railyard.base.errors import InputError
from railyard.cli import cli
from railyard.records import cli as listing
from railyard.records.rules.registry import Fault
from railyard.torus.virtual import lifecycle

pytestmark = pytest.mark.unit
EXAMPLE = f"--archive {CHECKOUT}/results/example"


def error_of(words: str) -> str:
    done = CliRunner().invoke(cli, words.split())
    assert done.exit_code != 0
    return str(done.exception) if isinstance(done.exception, InputError) else done.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (
            f"compare placement=bogus placement=plain {EXAMPLE}",
            "SIDE: no record has placement=bogus; expected placement=cart-create, plain, random",
        ),
        (
            f"compare nic=nic0 nic=nic-1 {EXAMPLE}",
            "SIDE: no record has nic=nic0 (did you mean 'nic-0'?); "
            "expected nic=library-default, local-nic, nic-0, nic-1, round-robin",
        ),
        (
            f"compare placement=plain,check=lulesh_profile vcluster {EXAMPLE}",
            "SIDE: no record has all of placement=plain,check=lulesh_profile; "
            "expected values that one record has together",
        ),
        (
            f"series sizes check=halo {EXAMPLE}",
            "SIDE: no record has check=halo; "
            "expected check=amg_profile, lulesh_profile, minife_profile, minighost_profile, multirail_halo",
        ),
        (
            f"report {CHECKOUT}/results/example --compare date=1987-05-04 --compare vcluster",
            "SIDE: no record has date=1987-05-04; expected date=2026-11-21, 2026-11-23",
        ),
        (
            f"results list --system vclustr {EXAMPLE}",
            "--system: no record of vclustr (did you mean 'vcluster'?); expected vcluster, vcluster-degraded",
        ),
        (
            f"results list --since 2030-01-01 {EXAMPLE}",
            "results list: no record has all of these; expected other options; "
            f"{CHECKOUT}/results/example has 6 records from 2026-11-21 to 2026-11-23",
        ),
        ("report /nonexistent", "/nonexistent: no such file or directory; expected a readable file"),
        (
            "place gemini-4x4x4 --grid 5x5x5",
            "placement: grid: 5x5x5 is 125 ranks, the nodes have 64 slots; "
            "expected at most 64 ranks, or more ranks per node",
        ),
        (
            "references show -o /nonexistent",
            "/nonexistent: no references; expected a file that `railyard references update` wrote",
        ),
        ("repor", "Error: no command 'repor' (did you mean 'report'?)"),
        ("results lst", "Error: No such command 'lst'. Did you mean 'list'?"),
        ("place gemini-4x4x4 --gird 4x4x4", "Error: No such option '--gird'. Did you mean '--grid'?"),
        ("checks --tag smok", "--tag: no check has 'smok' (did you mean 'smoke'?); expected "),
        ("topology gemini-4x4x3", "topology: 'gemini-4x4x3' is not valid (did you mean 'gemini-4x4x4'?)"),
        (
            "place gemini-4x4x4 --grid 4x4x4 --placement custm",
            "placement: 'custm' is not valid (did you mean 'custom'?)",
        ),
        (
            "links gemini-4x4x4 --grid 4x4x4 --matrix /nonexistent",
            "/nonexistent: cannot be read (No such file or directory)",
        ),
    ],
)
def test_a_mistake_is_one_line_that_tells_what_there_is(words: str, line: str) -> None:
    assert error_of(words).startswith(line)


def test_without_a_torus_the_line_has_the_command_that_makes_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lifecycle, "names", set[str])
    assert error_of("torus status nope") == (
        "torus: 'nope': no torus is up; expected one that is up; run: railyard torus up TOPOLOGY"
    )


def test_faults_that_differ_in_indices_are_one_line() -> None:
    faults = [
        Fault(f"launches[{launch}].series[{series}]", f"{1 + series % 2} samples; at least 3 are needed")
        for launch in (0, 2)
        for series in range(128)
    ]
    alone = Fault("provenance.git_commit", "no value")
    assert list(listing.fault_lines([*faults, alone])) == [
        "launches[0..2].series[0..127]: 1..2 samples; at least 3 are needed (256 times)",
        "provenance.git_commit: no value",
    ]
