"""The example archive: what the documents show is checked, compared and reported as they say."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from support.commands import CHECKOUT, Run

from railyard.records import rules
from railyard.records.store import archive

EXAMPLE = CHECKOUT / "results" / "example"
SYSTEMS = ("vcluster", "vcluster-degraded")
FILES = archive.paths(EXAMPLE)
RECORDS = list(archive.iterate(FILES))
CAMPAIGN = [record for record in RECORDS if record.case.check == "multirail_halo"]
PROFILED = [record for record in RECORDS if record.case.check.endswith("_profile")]
#: What the profiles lack: fewer launches are enough for them, and they are older than `run` and `spans`.
LACKING = ("at least", "missing", "none; the nodes have")
pytestmark = pytest.mark.skipif(not FILES, reason="results/example holds no records: tools/example-campaign makes them")


@pytest.fixture
def cache(tmp_path: Path) -> str:
    return str(tmp_path / "cache")


@pytest.fixture(scope="module")
def page(railyard: Run, tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("example") / "r.html"
    done = railyard("report", str(EXAMPLE), "--quiet", "-o", str(file))
    assert done.returncode == 0, done.stderr
    return file.read_text()


def test_it_is_small_and_holds_what_the_campaign_asks_for() -> None:
    assert sum(path.stat().st_size for path in FILES) <= 2 << 20
    assert {record.system.name for record in CAMPAIGN} == set(SYSTEMS)
    for record in CAMPAIGN:
        assert (len(record.case.placements), len(record.case.nic_policies)) == (3, 4)
        assert record.case.launches_per_combination >= 6


def test_the_campaign_passes_the_strict_check_as_a_bag(railyard: Run, tmp_path: Path) -> None:
    """Profiles say where the time goes and compare nothing: fewer launches than a decision needs will do."""
    bag = tmp_path / "bag"
    files = [record.source for record in CAMPAIGN]
    packed = railyard("tender", "pack", *files, "-o", str(bag), "--bidder", "test")
    assert packed.returncode == 0, packed.stderr
    checked = railyard("results", "check", "--strict", str(bag))
    assert checked.returncode == 0 and "2 records checked, 0 refused" in checked.stdout, checked.stdout
    for record in PROFILED:
        faults = rules.faults(record)
        assert [one for one in faults if not any(word in one.text for word in LACKING)] == [], record.source


def test_one_job_a_side_is_no_verdict_on_the_degraded_link(railyard: Run, cache: str) -> None:
    done = railyard("compare", *SYSTEMS, "--archive", str(EXAMPLE), "--json", XDG_CACHE_HOME=cache)
    rows = [row for row in json.loads(done.stdout)["rows"] if row["check"] == "multirail_halo"]
    assert {row["sides"][1]["verdict"] for row in rows} == {"n too small (needs 4 jobs)", "as iteration_us"}
    assert all(side["value_of"] == "job" for row in rows for side in row["sides"])
    assert all(row["differs"] == ["torus.faults"] for row in rows), "the fault is a difference in provenance"


def test_it_is_one_page(page: str) -> None:
    assert "Sides compared" in page and all(name in page for name in SYSTEMS)
    assert len(page) < 8 << 20


@pytest.mark.skipif(
    not PROFILED,
    reason="results/example holds no profiled application: tools/example-campaign makes them where they are built",
)
def test_profiled_applications_are_on_the_page(page: str) -> None:
    assert '<h2 id="applications">' in page
    for title in ("Share of the time spent in MPI", "Mean size of a message"):
        (label,) = re.findall(rf'aria-label="({title} of each application[^"]*)"', page)
        assert all(record.case.benchmark in label for record in PROFILED), label
    assert page.count('aria-label="Sizes of messages, each bar') == len(PROFILED)
