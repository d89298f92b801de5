"""What public reports, documents and recorded outputs of real sites have: each a folder of tests/data/public.

`case.yaml` has what it is, its source, the reader, and the right value or the error. The texts are our own, of the same
shape. tests/data/public/outputs has outputs of programs.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.commands import CHECKOUT
from support.inputs import outputs

from railyard.applications import launch
from railyard.applications.cli import record_rules
from railyard.base import sysfs
from railyard.base.errors import InputError
from railyard.doctor import inventory
from railyard.jobs import complaints
from railyard.jobs.nodes import allocated_nodes
from railyard.placements.hosts import in_job, sources
from railyard.records import record
from railyard.records.store import imported
from railyard.table import foreign

PUBLIC = CHECKOUT / "tests/data/public"
CASES = sorted(path.parent for path in PUBLIC.glob("**/case.yaml"))
BYTE_ORDER_MARK = b"\xef\xbb\xbf"

Case = dict[str, Any]
#: What editors and spreadsheets do to a text that must not change its value.
SAVED: dict[str, Callable[[bytes], bytes]] = {
    "as it is": bytes,
    "with a byte order mark": lambda content: BYTE_ORDER_MARK + content,
    "with CRLF": lambda content: content.replace(b"\n", b"\r\n"),
    "without a last newline": lambda content: content.rstrip(b"\n"),
}


def coordinates(case: Case, path: Path) -> Case:
    located = sources.read(path)
    wanted = case.get("value", {}).get("coordinates", {})
    return {
        "kind": located.kind,
        "dimensions": list(located.dimensions),
        "coordinates": {name: list(located.coordinates.get(name, ())) for name in wanted},
        "nodes": len(located.coordinates),
        "passed_over": len(located.passed_over),
    }


def hosts(case: Case, path: Path) -> list[str]:
    return allocated_nodes.names({case["variable"]: str(path)})


def nics(case: Case, path: Path) -> list[str]:
    """Make the tree of the case, where `->` is a link, and return the NICs; the others are compared here."""
    for name, content in case["tree"].items():
        entry = path.parent / "tree" / name
        entry.parent.mkdir(parents=True, exist_ok=True)
        if str(content).startswith("-> "):
            target = path.parent / "tree" / content.removeprefix("-> ")
            target.mkdir(parents=True, exist_ok=True)
            entry.symlink_to(target)
        elif content == "(folder)":
            entry.mkdir()
        else:
            entry.write_text(f"{content}\n")
    every = sysfs.devices(path.parent / "tree")
    left_out = {one.name: one.why_not for one in every if one.why_not not in inventory.UNLISTED}
    assert left_out == case["left_out"]
    chosen = [one for one in every if not one.why_not]
    assert sysfs.ports_of_one_card(chosen) == case.get("together", sysfs.ports_of_one_card(chosen))
    return [f"{one.name} {one.fabric}" for one in chosen]


def address(case: Case, path: Path) -> dict[str, list[int]]:
    described = {host: {"switches": text, "pattern": case["pattern"]} for host, text in case["addresses"].items()}
    located = in_job.coordinates(described)
    assert list(located.dimensions if located else ()) == case["dimensions"]
    return {host: list(at) for host, at in located.coordinates.items()} if located else {}


def sinfo(case: Case, path: Path) -> list[str]:
    return [
        f"{partition.fullname} {partition.nodes}{' default' * partition.default}"
        for partition in inventory._partitions(path.read_text())
    ]


def stderr(case: Case, path: Path) -> str:
    return complaints.first(path)


def environment(case: Case, path: Path) -> list[str]:
    return allocated_nodes.names(case["environment"])


def output(case: Case, path: Path) -> dict[str, Any]:
    """Return of a program's output what the case names; its figures are compared here."""
    value = case.get("value", {})
    reading = outputs.parse(case, path.with_name("output.txt").read_text())
    if case["reader"] != "mpip":  # a part of another program's output
        record_rules(case["reader"], reading, "output.txt")
    measured = {(str(one.fom), *sorted(one.labels.items())): list(one.samples) for one in reading.series}
    for name, labels, wanted in value.get("figures", ()):
        samples = wanted if isinstance(wanted, list) else [wanted]
        assert measured[(name, *sorted(labels.items()))] == pytest.approx(samples, rel=1e-9)
    assert bool(measured) is bool(value.get("figures")), "a run that is not verified has no figure"
    assert bool(reading.fault) is ("fault" in value) and value.get("fault", "") in reading.fault, reading.fault
    if "not_measured" in value:
        assert {str(one.fom) for one in reading.not_measured} == set(value["not_measured"])
    parameters = {name: reading.parameters.get(name) for name in value.get("parameters", ())}
    read = {"ranks": reading.ranks, "parameters": parameters}
    return {**value, **{name: part for name, part in read.items() if name in value}}


def import_(case: Case, path: Path) -> dict[str, Any]:
    """Return what is stored of another tool's results; the figures that the case names must be among them."""
    results, content = foreign.results(path, stated={"system": "s"}, units={})
    documents = [imported.document(result, path.name, content) for result in results]
    for document in documents:
        record.check(document, path.name, imported.SCHEMA)
    points = [point for one in documents for point in one["launches"][0]["figures"]]
    there = [[point[name] for name in ("fom", "labels", "value", "unit")] for point in points]
    wanted = case["value"]["figures"]
    return {
        "tool": documents[0]["source"]["tool"],
        "system": documents[0]["system"],
        "level": documents[0]["level"],
        "results": len(documents),
        "figures": [one for one in wanted if one in there],
    }


READERS: dict[str, Callable[[Case, Path], Any]] = {
    reader.__name__: reader for reader in (coordinates, hosts, nics, address, sinfo, stderr, environment)
} | {"import": import_}


@pytest.mark.parametrize("folder", CASES, ids=lambda folder: folder.name)
def test_what_a_site_has_is_read_or_refused_with_a_reason(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    case = yaml.safe_load((folder / "case.yaml").read_text())
    reader: Callable[[Case, Path], Any] = READERS.get(case["reader"], output)
    file = case.get("file", "case.yaml")
    is_output = folder.parent.name == "outputs"
    assert case["what"] and (is_output or re.match(r"https?://", case["source"]))
    for number, (how, saved) in enumerate(
        SAVED.items() if reader in (coordinates, hosts, import_) else [("as it is", bytes)]
    ):
        path = tmp_path / str(number) / file
        path.parent.mkdir()
        path.write_bytes(saved((folder / file).read_bytes()))
        if is_output:
            path.with_name("output.txt").write_bytes((folder / "output.txt").read_bytes())
        if "error" in case:
            with pytest.raises(InputError) as caught:
                reader(case, path)
            assert case["error"] in str(caught.value) and "\n" not in str(caught.value), how
        else:
            assert reader(case, path) == case["value"], how
    assert case.get("note", "") in capsys.readouterr().err


def test_there_are_enough_of_each_kind() -> None:
    cases = [yaml.safe_load((folder / "case.yaml").read_text()) for folder in CASES]
    readers = [case["reader"] for case in cases]
    assert all(readers.count(name) >= 5 for name in ("coordinates", "hosts", "nics", "address"))
    kinds = {case["value"]["kind"] for case in cases if case["reader"] == "coordinates" and "value" in case}
    assert kinds >= {"slurm", "slurm-yaml", "topograph", "ibnetdiscover", "iblinkinfo", "opareport", "xtdb2proc"}


def test_the_corpus_has_a_case_of_every_program_without_a_check() -> None:
    """A parser without a check of railyard's own has no recording of a real run in tests/data/applications."""
    recorded = {path.name.rpartition("-")[0] for path in outputs.DATA.glob("*.out")}
    programs = {name for name in launch.names_of_programs() if not name.startswith("osu_")}
    assert programs <= recorded | {outputs.load(path)["reader"] for path in outputs.CASES}
