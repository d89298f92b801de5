"""What people write: faults in the words of `railyard torus fault`, and host files with nodes or NICs."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.topology.topologies import gemini

from railyard.base.errors import InputError
from railyard.placements.hosts import hostfile
from railyard.placements.topology import fault_words

TOPOLOGY = gemini("4x2x2", rails=2)


def test_a_line_of_faults_adds_up() -> None:
    text = "'X+ 0,0,0>1,0,0' --lanes-lost 1 --of-tiles 2/8; '1,0,0>2,0,0' --down; n0-0-0 --injection 50"
    faults = fault_words.parse(TOPOLOGY, text)
    assert faults.lost["X+ 0,0,0>1,0,0"].tiles == 2
    assert faults.down == {"X+ 1,0,0>2,0,0", "X- 2,0,0>1,0,0"}
    assert faults.injection_percent == {"n0-0-0": 50}
    assert not fault_words.parse(TOPOLOGY, text + "; --restore")


def test_a_line_of_faults_is_added_to_those_that_are_there() -> None:
    before = fault_words.parse(TOPOLOGY, "--injection 50")
    both = fault_words.parse(TOPOLOGY, "0,0,0>1,0,0 --down", source="RAILYARD_FAULTS", before=before)
    assert both.injection_percent == before.injection_percent and len(both.down) == 2


@pytest.mark.parametrize(("mask", "lost"), [(3, 1), (5, 1), (6, 1), (1, 2), (2, 2), (4, 2)])
def test_a_lanemask_is_of_one_tile_and_has_a_bit_for_each_lane_that_works(mask: int, lost: int) -> None:
    """Ezell, CUG'13, sections II.D and II.F: netwatch prints a mask for each tile, such as c0-0c1s1g0l17."""
    line = f"'X+ 0,0,0>1,0,0' --lanemask {mask}"
    link = TOPOLOGY.links_by_name["X+ 0,0,0>1,0,0"]
    faults = fault_words.parse(TOPOLOGY, line)
    assert faults.rate_gbyte_s(TOPOLOGY, link) == pytest.approx(9.36 * (1 - lost / 3 / 8))
    faults = fault_words.parse(TOPOLOGY, f"{line} --of-tiles 8/8")
    assert faults.rate_gbyte_s(TOPOLOGY, link) == pytest.approx(9.36 * (1 - lost / 3))


@pytest.mark.parametrize("text", ["0,0,0>1,0,0 --down # note", "--injection 50 && true"])
def test_what_a_shell_would_have_run_is_a_wrong_line(text: str) -> None:
    with pytest.raises(InputError, match="RAILYARD_FAULTS"):
        fault_words.parse(TOPOLOGY, text, source="RAILYARD_FAULTS")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("'X+ 0,0,0>1,0,0' --broken", ["--faults", "--broken"]),
        ("'X+ 0,0,0>1,0,0", ["--faults"]),
        ("'X+ 0,0,0>1,0,0' --lanes-lost many", ["--faults", "many"]),
        ("'X+ 0,0,0>1,0,0' --lanemask 7", ["--lanemask", "1 to 6", "for all lanes: --restore"]),
        ("'X+ 0,0,0>1,0,0' --lanemask 3 --lanes-lost 1", ["--lanemask", "no --lanes-lost"]),
        ("--lanes-lost 1", ["LINK"]),
        ("--injection 0", ["--injection", "above 0"]),
        ("'X+ 0,0,0>1,0,0'", ["one of --lanes-lost"]),
        ("'X+ 0,0,0>1,0,0' --lanes-lost 1 --of-tiles 3/4", ["--of-tiles", "3/4", "8/8"]),
    ],
)
def test_a_wrong_line_of_faults_is_one_line(text: str, words: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        fault_words.parse(TOPOLOGY, text)
    assert all(word in str(caught.value) for word in words) and "\n" not in str(caught.value)


def test_a_rank_is_on_a_node_or_on_one_of_its_nics(tmp_path: Path) -> None:
    path = tmp_path / "ranks"
    path.write_text("n0-0-0\nn1-0-0.nic1  # far\n\nn0-0-0 slots=2\n")
    assert [(nic.node.name, nic.rail) for nic in hostfile.read_nics(path, TOPOLOGY)] == [
        ("n0-0-0", 0),
        ("n1-0-0", 1),
        ("n0-0-0", 0),
    ]


@pytest.mark.parametrize("line", ["n9-9-9", "n0-0-0.nic2", "n0-0-0.nicx", ".nic1"])
def test_a_nic_that_does_not_exist_is_named_with_its_line(line: str, tmp_path: Path) -> None:
    path = tmp_path / "ranks"
    path.write_text(f"n0-0-0\n{line}\n")
    with pytest.raises(InputError, match="line 2"):
        hostfile.read_nics(path, TOPOLOGY)


@pytest.mark.parametrize("form", ["cn01 {}", "cn01 slots={}", "cn01:{}", "rank {}=cn01", "cn01 2 cn02 {}"])
def test_a_number_with_more_digits_than_python_converts_is_named_with_its_line(form: str) -> None:
    with pytest.raises(InputError, match="line 2"):
        hostfile.parse("cn00\n" + form.format("9" * 5000), "hosts")
