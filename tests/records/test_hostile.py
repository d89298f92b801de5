"""Hostile input: one clear line for each, nothing that grows, and one bad record never hides the others."""

from __future__ import annotations

import errno
import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from support import forgeries, synthetic

from railyard.analysis.text import plain
from railyard.base import yaml_io
from railyard.base.errors import InputError
from railyard.placements.hosts import hostlist
from railyard.placements.hosts.sources import tables
from railyard.placements.topology import catalog
from railyard.records import json_io, record
from railyard.records.cli import results
from railyard.records.store import archive

SMALL = synthetic.small()


def quickly(text: str, source: str) -> Any:
    return json_io.loads_bytes(text.encode(), source)


@pytest.mark.parametrize("depth", [17, 260, 500, 5000])
@pytest.mark.parametrize(
    ("begin", "inner", "end"),
    [
        ("[", "", "]"),
        ('{"a": ', "{}", "}"),
        ('[{"a": ', "[]", "}]"),
        ('["]", ', "1", ', "["]'),  # if strings counted, the brackets would be no deeper than one
    ],
)
def test_a_document_too_deep_is_refused_on_reading(depth: int, begin: str, inner: str, end: str) -> None:
    text = begin * depth + inner + end * depth
    for read in (json_io.loads, quickly):
        with pytest.raises(InputError, match="deep"):
            read(text, "r.json")


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1, "a": 1}',
        '{"a": {"b": 1, "b": 2}, "c": "{}"}',
        '{"a": 18446744073709551616}',
        '{"a": 9007199254740993.0, "b": 1.50, "c": -0, "d": -0.0}',
        '{"a": 1E5, "b": 1e-5, "c": 1e16, "d": 0.00001234}',
        '{"a": 1e999}',
        '{"a": NaN}',
        '{"b": 1,\t"a" : "\\u00e9 \\"", "c": "\u00e9\u007f"}',
        '{"a": "\\ud800"}',
        '["[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["]',
        "{}x",
        "",
    ],
)
def test_the_quick_reader_decides_as_the_strict_one(text: str) -> None:
    """The strict reader is Python's own, with each of the refusals added to it."""
    read: list[object] = []
    for reader in (json_io.loads, quickly):
        try:
            read.append(json.dumps(reader(text, "r")))
        except InputError as error:
            read.append(str(error))
    assert read[0] == read[1]


def test_many_keys_and_one_of_them_twice_take_no_quadratic_time() -> None:
    text = "{" + ",".join(f'"k{number}":0' for number in range(200_000)) + ',"k0":1}'
    begun = time.process_time()
    with pytest.raises(InputError, match="'k0' is not valid; expected each key once"):
        json_io.loads(text, "r.json")
    assert time.process_time() - begun < 60, "counted, not compared in pairs: those took hours"


@pytest.mark.parametrize(
    "text",
    ["\x1b[31mred", "a\u202eb", "zero\u200bwidth", "\ufeffbom", "line\u2028end", "e\u0301", "bell\x07", "del\x7f"],
)
@pytest.mark.parametrize(
    "place",
    [
        lambda d, text: d["case"]["parameters"].update(title=text),
        lambda d, text: d["launches"][0].update(command=text),
        lambda d, text: d["provenance"]["reframe"].update(session=text),
        lambda d, text: d["provenance"]["torus"].update({text: 1}),
        lambda d, text: d["case"].update(placements=[text], check="x"),
    ],
)
def test_text_that_is_not_what_it_looks_like_is_refused(text: str, place: Any) -> None:
    with pytest.raises(InputError) as caught:
        forgeries.changed(SMALL, lambda d: place(d, text))
    assert str(caught.value).isprintable()


def test_text_in_other_scripts_and_commands_of_several_lines_are_accepted() -> None:
    def change(document: dict[str, Any]) -> None:
        document["case"]["parameters"]["title"] = "Größe µs 日本語"
        document["launches"][0]["command"] = "mpirun \\\n\t-np 2 halo"

    assert forgeries.changed(SMALL, change)


def test_two_records_of_one_short_id_are_never_taken_for_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A short id can be searched for; here it is made by cutting it to nothing."""
    whole = record.sha256_of
    monkeypatch.setattr(record, "sha256_of", lambda written: "0" * 12 + whole(written)[12:])
    cases = ({**SMALL.document["case"], "seed": seed} for seed in (1, 2))
    one, other = (record.validate(record.sealed({**SMALL.document, "case": case}), "r") for case in cases)
    assert one.id == other.id and one.sha256 != other.sha256
    archive.add(one, tmp_path / "a")
    with pytest.raises(InputError, match="another record of the same id"):
        archive.add(other, tmp_path / "a")


def test_a_folder_that_cannot_be_synced_still_holds_the_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.fsync

    def refuse(handle: int) -> None:
        if Path(f"/proc/self/fd/{handle}").is_dir():
            raise OSError(errno.EINVAL, "Invalid argument")
        real(handle)

    monkeypatch.setattr(os, "fsync", refuse)
    assert archive.add(SMALL, tmp_path).exists()


def test_the_strict_check_answers_for_every_record_whatever_one_holds(tmp_path: Path) -> None:
    def spoil(document: dict[str, Any]) -> None:
        document["case"]["parameters"]["grid"] = {"a": 5}
        document["case"]["allocation"]["order"] = "nowhere"
        document["case"]["placements"], document["launches"][0]["placement"] = ["???"], "???"

    path = tmp_path / "odd.json"
    path.write_text(record.text(forgeries.changed(SMALL, spoil)))
    done = CliRunner().invoke(results, ["check", "--strict", str(path)])
    assert done.exit_code == 1 and "1 records checked" not in done.output and "1 refused" in done.output


ALIASES = "a: &a [x, x, x, x]\nb: &b [*a, *a, *a]\nname: [*b, *b]\n"
TOPOLOGY = """
name: NAME
tile_rates_gbyte_s: {host: 1.33, cable: RATE}
host: {tiles: 8}
hop_latency_us: LATENCY
nodes_per_router: NODES
dimensions:
  X: {extent: 2, tiles: 8, pattern: [cable]}
  Y: {extent: 2, tiles: 4, pattern: [cable]}
  Z: {extent: 2, tiles: 8, pattern: [cable]}
"""


def topology(**changes: str) -> str:
    text = TOPOLOGY
    for name, value in {"NAME": "t", "RATE": "1.0", "LATENCY": "0.1", "NODES": "1", **changes}.items():
        text = text.replace(name, value)
    return text


@pytest.mark.parametrize(
    "text",
    [
        ALIASES,
        "[" * 3000,
        "- " * 3000,
        topology(RATE=".nan"),
        topology(LATENCY=".inf"),
        topology(NAME='"a\\nb"'),
        topology(NODES="1\nnodes_per_router: 2"),
        topology(NODES="1.5"),
        "#" * (yaml_io.MOST_BYTES + 1),
    ],
)
def test_a_hostile_topology_is_one_line(text: str, tmp_path: Path) -> None:
    path = tmp_path / "t.yml"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        catalog.load(str(path))
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 500


def test_a_topology_may_write_2_as_2_0(tmp_path: Path) -> None:
    path = tmp_path / "t.yml"
    path.write_text(topology(NODES="2.0"))
    assert len(catalog.load(str(path)).nodes) == 16


@pytest.mark.parametrize("number", ["12:30:45", "12:30.5", "010", "1_000", "0b11"])
def test_a_number_of_one_version_of_yaml_alone_is_refused(number: str) -> None:
    with pytest.raises(yaml.YAMLError, match=r"YAML 1\.1"):
        yaml_io.loads(f"reference: {number}\n")
    assert yaml_io.loads(f"reference: '{number}'\n") == {"reference": number}


def test_shipped_yaml_has_neither_aliases_nor_keys_twice() -> None:
    assert all(catalog.load(name) for name in catalog.known())
    with pytest.raises(yaml.YAMLError):
        yaml_io.loads("a: 1\na: 2\n")


@pytest.mark.parametrize("name", ["", "\x1b[31m", "a\0b", "../../x", "-rf", "a b"])
def test_names_that_no_host_has_are_refused(name: str) -> None:
    with pytest.raises(InputError):
        tables.parse_csv(f'node,x,y,z\n"{name}",0,0,0\n', "c.csv")


def test_long_cells_numbers_and_lists_are_refused() -> None:
    with pytest.raises(InputError):
        tables.parse_csv("node,x,y,z\n" + "a" * 200_000 + ",0,0,0\n", "c.csv")
    with pytest.raises(InputError):
        tables.parse_coordinates("n0 " + "9" * 5000 + " 0 0\n", "c")
    for text in ("n[0-999999999]", "n[0-999][0-999][0-999]", "n[" + "9" * 5000 + "]"):
        with pytest.raises(InputError):
            hostlist.expand(text)
    assert hostlist.expand("n[0-1,07][1-2]") == ["n01", "n02", "n11", "n12", "n071", "n072"]


def test_markdown_makes_no_link_mention_or_formula_of_a_record() -> None:
    shown = plain("https://a.example www.b.example @someone $x^2$ plain text, 3:4")
    assert not any(word in shown.replace("\\$", "") for word in ("https://", "www.b", "@someone", "$x"))
    assert "plain text, 3:4" in shown
