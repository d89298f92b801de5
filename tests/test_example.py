"""The example archive: what the documents show is checked, compared and reported as they say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import CHECKOUT, Run

from results import archive

EXAMPLE = CHECKOUT / "results" / "example"
SYSTEMS = ("vcluster", "vcluster-degraded")
FILES = archive.paths(EXAMPLE)
pytestmark = pytest.mark.skipif(
    not FILES, reason="results/example holds no records: tools/example-campaign makes them"
)


@pytest.fixture
def cache(tmp_path: Path) -> str:
    return str(tmp_path / "cache")


def test_it_is_small_and_holds_what_the_campaign_asks_for() -> None:
    assert sum(path.stat().st_size for path in FILES) <= 2 << 20
    records = list(archive.iterate(FILES))
    assert {record.system.name for record in records} == set(SYSTEMS)
    for record in records:
        assert (len(record.case.placements), len(record.case.nic_policies)) == (3, 4)
        assert record.case.launches_per_combination >= 10


def test_it_passes_the_strict_check_as_a_bundle(railyard: Run, tmp_path: Path) -> None:
    bundle = tmp_path / "example.tar.gz"
    packed = railyard("results", "pack", str(EXAMPLE), "-o", str(bundle), "--signed-off-by", "test")
    assert packed.returncode == 0, packed.stderr
    checked = railyard("results", "check", "--strict", str(bundle))
    assert checked.returncode == 0, checked.stdout


def test_the_degraded_link_is_found(railyard: Run, cache: str) -> None:
    done = railyard("compare", *SYSTEMS, "--archive", str(EXAMPLE), "--json", XDG_CACHE_HOME=cache)
    found = json.loads(done.stdout)
    verdicts = [row["sides"][1]["verdict"] for row in found["rows"]]
    assert "worse" in verdicts and verdicts.count("better") <= verdicts.count("worse")
    assert all("torus" in row["differs"] for row in found["rows"]), "the fault is a difference in provenance"


def test_it_is_one_page(railyard: Run, tmp_path: Path) -> None:
    done = railyard("report", str(EXAMPLE), "--quiet", "-o", str(tmp_path / "r.html"))
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "r.html").read_text()
    assert "Sides compared" in page and all(name in page for name in SYSTEMS)
    assert len(page) < 8 << 20
