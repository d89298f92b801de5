"""`railyard site`: a page of machines from bags of several sites, in which nobody can harm another."""

from __future__ import annotations

import dataclasses
import json
import math
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import sync_playwright
from support.commands import CHECKOUT, Run, refused
from tender.test_tender_demo import CHROMIUM

from railyard.records.record import Origin, Record
from railyard.records.store.levels import Level
from railyard.tender import machines, site
from railyard.tender.machines import Machine, Value

EXAMPLES = CHECKOUT / "results" / "tender-example"


def pack(railyard: Run, folder: Path, name: str, records: str, *, signer: str, limit: int | None = None) -> None:
    key = folder / f"key-{signer}"
    if not key.exists():
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", signer, "-f", key], check=True)
        with (folder / "signers").open("a") as signers:
            signers.write(f"{signer}@example.org {Path(f'{key}.pub').read_text()}")
    files = sorted((EXAMPLES / records).iterdir(), key=lambda path: json.loads(path.read_bytes())["created"])[:limit]
    done = railyard("tender", "pack", *files, "-o", folder / name, "--bidder", f"{signer} Ltd", "--sign", key)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, railyard: Run) -> Path:
    """Return a folder with bags: two honest ones, and one of each kind that is refused."""
    folder = tmp_path_factory.mktemp("sites")
    pack(railyard, folder, "brisk", "brisk", signer="brisk")
    pack(railyard, folder, "steady", "steady", signer="steady")
    pack(railyard, folder, "old", "brisk", signer="brisk", limit=2)
    pack(railyard, folder, "copied", "steady", signer="copycat")
    shutil.copytree(folder / "steady", folder / "twice")
    forged = shutil.copytree(folder / "brisk", folder / "forged")
    record = next(path for path in forged.rglob("*.json") if path.name != "bid.json")
    record.write_bytes(record.read_bytes().replace(b"iteration_us", b"iteratioN_us", 1))
    unsigned = shutil.copytree(folder / "brisk", folder / "unsigned")
    (unsigned / "tagmanifest-sha256.txt.sig").unlink()
    return folder


BAGS = ("old", "brisk", "steady", "copied", "twice", "forged", "unsigned")


@pytest.fixture(scope="module")
def made(railyard: Run, folder: Path) -> Callable[..., Any]:
    """Return the document of a page that the command writes."""

    def run(name: str, *bags: str, reports: str = "--no-reports") -> Any:
        words = [*(folder / bag for bag in bags), "-o", folder / name, "--allowed-signers", folder / "signers"]
        done = railyard("site", *words, reports)
        assert done.returncode == 0, done.stderr
        return json.loads((folder / name / "machines.json").read_bytes())

    return run


def test_each_machine_has_a_row_and_each_refused_bag_its_reason(folder: Path, made: Callable[..., Any]) -> None:
    document = made("page", *BAGS, reports="--reports")
    assert [(one["system"], one["signer"], one["level"]) for one in document["machines"]] == [
        ("brisk", "brisk@example.org", 4),
        ("steady", "steady@example.org", 4),
    ]
    reasons = {one["bag"]: one["reason"] for one in document["refused"]}
    assert "in steady of steady Ltd, which came before" in reasons["copied"]
    assert reasons["twice"] == "the same bag as steady"
    assert reasons["old"] == "brisk: brisk has newer records of this machine"
    assert "another sha256" in reasons["forged"]
    assert reasons["unsigned"] == "not signed"
    page = (folder / "page" / "index.html").read_text()
    assert all(reason in page for reason in reasons.values())
    assert len(list((folder / "page").glob("*-gemini-2x2x2-*.html"))) == 2


def test_the_page_is_the_same_bytes_again_older_bags_lose_in_any_order_and_the_worse_cable_shows(
    folder: Path, made: Callable[..., Any]
) -> None:
    document = made("one", *BAGS)
    made("two", *BAGS)
    one, two = ({path.name: path.read_bytes() for path in (folder / name).iterdir()} for name in ("one", "two"))
    assert one == two
    assert made("turned", "brisk", "steady", "old")["machines"] == document["machines"]
    brisk, steady = (one["values"] for one in document["machines"])
    cost, share = "random order", "halo, 1 to 128 nodes"
    assert 1 < brisk[cost]["low"] < brisk[cost]["value"] < brisk[cost]["high"] < steady[cost]["low"]
    assert steady[share]["high"] < brisk[share]["low"] < brisk[share]["high"] < 100, "no more than its NICs carry"
    assert brisk[cost]["jobs"] == 4


def test_what_is_no_bag_is_one_line(railyard: Run, folder: Path) -> None:
    refused(railyard("site", EXAMPLES, "-o", folder / "none"), str(EXAMPLES), "no bag")
    assert not (folder / "none").exists()


def machine(number: int) -> Machine:
    """Return a machine of one of 200 sites; the first measured nothing."""
    value = 50 + 40 * math.sin(number)
    values = {measure.name: Value(value, 0.98 * value, 1.02 * value, 4, "halo, plain") for measure in machines.MEASURES}
    return Machine(
        system=f"machine-{number}",
        network="gemini-2x2x2",
        nodes=number + 1,
        site=f"Site {number} & <Sons>",
        signer=f"site-{number}@example.org",
        level=Level.SIGNED,
        origin=Origin.MEASURED,
        created=("2026-11-28T10:00:00Z", "2026-11-29T10:00:00Z"),
        records=(),
        bag=f"{number:064x}",
        values=values if number else {},
    )


@pytest.mark.browser
@pytest.mark.parametrize(("width", "scheme"), [(400, "light"), (1280, "dark")])
def test_200_machines_sort_and_filter_without_a_server(tmp_path: Path, width: int, scheme: str) -> None:
    rows = [machine(number) for number in range(200)]
    page = site._page(rows, [("bag", "x", "not signed")], [""] * 200)
    assert len(page.encode()) < 1_000_000
    (tmp_path / "index.html").write_text(page)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        opened = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)  # type: ignore[arg-type]
        errors: list[str] = []
        opened.on("console", lambda message: errors.append(message.text))
        opened.goto((tmp_path / "index.html").as_uri())
        assert opened.evaluate("document.documentElement.scrollWidth") <= width
        column = 3 + next(at for at, one in enumerate(machines.MEASURES) if one.name == "pairs")
        first = f"document.querySelector('.machines tbody tr').cells[{column}].textContent"
        last = "[...document.querySelectorAll('.machines tbody tr')].pop().cells[0].textContent"
        head = opened.locator(".machines thead button").nth(column)
        head.click()
        assert opened.evaluate(first).startswith("90.0"), "the highest share comes first"
        assert opened.evaluate(last) == "machine-0", "a machine without a value comes last"
        head.click()
        assert opened.evaluate(first).startswith("10.0")
        assert opened.evaluate(last) == "machine-0"
        opened.locator("input[type=search]").fill("site-17@")
        assert opened.locator(".machines tbody tr:visible").count() == 1
        assert not errors
        browser.close()


def value_of(read: Callable[[Record], Iterator[machines._Sample]], *checks: str) -> Value:
    """Return the value of a measure over a record of each check, of which a measure needs to know no more."""
    measure, allocation = dataclasses.replace(machines.MEASURES[0], read=read), {"nodes": [0] * 8}
    cases = [SimpleNamespace(check=check, parameters={}, allocation=allocation) for check in checks]
    records: list[Any] = [SimpleNamespace(created="", case=case) for case in cases]
    value = machines._value(measure, records)
    assert value
    return value


def test_bounds_of_four_jobs_are_those_of_the_machine() -> None:
    """Jobs of one machine differ by 2 %, their launches by 0.2 %: bounds by launches would miss the machine."""
    rng = np.random.default_rng(20131)
    outside = 0
    for _ in range(400):
        jobs = 80 * np.exp(0.02 * rng.standard_normal(4))
        samples = [
            machines._Sample(str(at), list(job * np.exp(0.002 * rng.standard_normal(6))), (), "")
            for at, job in enumerate(jobs)
        ]
        value = value_of(lambda _, samples=samples: iter(samples), "halo")  # type: ignore[misc]
        assert value.low and value.high
        outside += not value.low <= 80 <= value.high
    assert outside <= 0.07 * 400


def test_a_measure_is_of_one_work_that_of_most_jobs_and_not_the_best() -> None:
    jobs = {"small": ["1", "2"], "large": ["3", "4", "5"]}
    values = {"small": 90.0, "large": 40.0}

    def read(record: Record) -> Iterator[machines._Sample]:
        check = record.case.check
        yield from (machines._Sample(job, [values[check]] * 6, (), check) for job in jobs[check])

    value = value_of(read, "small", "large")
    assert (round(value.value, 6), value.jobs, value.of) == (40.0, 3, "large")
