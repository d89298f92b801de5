"""Any output is figures or one line for its parser, and the lines of other programs change nothing."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st
from support.inputs import outputs, texts

from railyard.applications import launch
from railyard.applications.reading import Parser
from railyard.base.errors import InputError

#: Lines of schedulers, launchers, libraries and tools that stand between those of a program.
FOREIGN = (
    "srun: job 4410 queued and waiting for resources",
    "[cn01:30888] MCW rank 0 bound to socket 0[core 0[hwt 0]]: [B/././.]",
    "[1700000000.123456] [cn01:1234 :0]  ucp_context.c:1774 UCX  INFO UCP version is 1.15.0",
    "libfabric:5479:170:cxi:mr:cxip_do_map():90<warn> n1: no hybrid descriptor",
    "2026-11-26 22:00:01 INFO  node health: all services are up",
    "WARNING: There was an error initializing an OpenFabrics device.",
    "",
    'Lmod is automatically replacing "gcc/12" with "nvhpc/24": done',
)
SAMPLES = outputs.samples()
#: Samples whose own lines have no labels of a launcher: more than half of the lines must have them.
PLAIN = [name for name in SAMPLES if not name.endswith("-labels")]


def check(parse: Parser, text: str, left: str) -> None:
    """Assert that a parser returns figures or raises an error of one line, and nothing else."""
    try:
        reading = parse(text, left, "launch-000.out")
    except InputError as error:
        assert str(error).isprintable()
    else:
        assert reading.fault.isprintable()
        assert reading.fault or reading.series or reading.not_measured


@pytest.mark.parametrize("name", SAMPLES)
def test_a_damaged_output_is_figures_or_one_line(name: str) -> None:
    parse, text, left = SAMPLES[name]

    @seed(1)
    @settings(max_examples=6, database=None)
    @given(chance=st.randoms(use_true_random=True))
    def run(chance: random.Random) -> None:
        damage_text = bool(text) and (not left or chance.random() < 0.5)
        check(
            parse,
            texts.changed(text, chance) if damage_text else text,
            left if damage_text else texts.changed(left, chance),
        )

    run()


@seed(1)
@settings(max_examples=20, database=None)
@given(text=st.text(max_size=200))
def test_any_text_is_one_line_for_every_program(text: str) -> None:
    for program in launch.names_of_programs():
        check(launch.parser(program, {"sizes_bytes": [1]}), text, text)


@pytest.mark.parametrize("name", PLAIN)
def test_foreign_lines_carriage_returns_and_a_byte_order_mark_change_no_value(name: str) -> None:
    parse, text, left = SAMPLES[name]
    whole = parse(text, left, "launch-000.out")
    lines = text.split("\n")
    step = max(1, len(lines) // len(FOREIGN))
    for index, line in enumerate(FOREIGN):
        lines.insert(min(len(lines) - 1, index * (step + 1)), line)
    for changed, file in (
        (text.replace("\n", "\r\n"), left.replace("\n", "\r\n")),
        ("\ufeff" + text, "\ufeff" + left if left else ""),
        ("\n".join(lines) if text else "", left),
    ):
        assert parse(changed, file, "launch-000.out") == whole


@pytest.mark.parametrize("label", ["{rank:2}: ", "[{rank}] ", "[prterun-1@1,{rank}]<stdout>: "])
@pytest.mark.parametrize("name", [name for name in PLAIN if SAMPLES[name][1]])
def test_labels_of_launchers_change_no_value(name: str, label: str) -> None:
    parse, text, left = SAMPLES[name]
    labelled = "".join(label.format(rank=0) + line for line in text.splitlines(keepends=True))
    assert parse("srun: job 4410 queued\n" + labelled, left, "launch-000.out") == parse(text, left, "launch-000.out")
