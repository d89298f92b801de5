"""The file of persistent sends: recorded, cut off and hostile; what it adds to mpiP's report."""

from __future__ import annotations

import copy
import json
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from railyard.applications import launch, mpip
from railyard.applications.mpip import Amount, Sends
from railyard.base.errors import InputError
from railyard.records.benchmark import Series

DATA = Path(__file__).parents[1] / "data/applications"
#: Two ranks: 10 messages of 1000 bytes, and one that is empty.
WHOLE: dict[str, Any] = {
    "format": "railyard-persistent/1",
    "ranks": [{"rank": 0, "messages": 10, "bytes": 10000}, {"rank": 1, "messages": 1, "bytes": 0}],
    "sizes": [{"size_bytes": 0, "messages": 1, "bytes": 0}, {"size_bytes": 1023, "messages": 10, "bytes": 10000}],
}


def figure(series: Sequence[Series], fom: str, **labels: str | int) -> float:
    (found,) = [each for each in series if each.fom == fom and each.labels == labels]
    return found.samples[0]


def test_a_file_is_read_by_size() -> None:
    sends = mpip.parse_persistent(WHOLE, "x", 2)
    assert sends.sizes == {0: Amount(messages=1), 1023: Amount(messages=10, size_bytes=10000)}
    assert sends.total == Amount(messages=11, size_bytes=10000)


def test_a_file_that_is_absent_or_cut_off_is_refused_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "launch-000.persistent"
    with pytest.raises(InputError, match=r"launch-000\.persistent: persistent sends: no such file: the program"):
        mpip.load_persistent(path, 2)
    text = json.dumps(WHOLE)
    for length in range(len(text)):
        path.write_text(text[:length])
        with pytest.raises(InputError) as refused:
            mpip.load_persistent(path, 2)
        assert "\n" not in str(refused.value)
    path.write_text(text)
    assert mpip.load_persistent(path, 2).total.messages == 11


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        (("format",), "railyard-persistent/2", "format: 'railyard-persistent/2' is not valid"),
        (("ranks",), None, "ranks: no list"),
        (("ranks",), [], "ranks: 0 ranks; expected ranks 0 to 1 in order"),
        (("ranks", 1, "rank"), 0, "ranks: 2 ranks; expected ranks 0 to 1 in order"),
        (("ranks", 1), 7, r"ranks\[1\]: rank: no value"),
        (("ranks", 1), {"messages": 1}, r"ranks\[1\]: rank: no value"),
        (("ranks", 0, "messages"), -1, r"ranks\[0\]: messages: -1 is not valid"),
        (("ranks", 0, "messages"), True, r"ranks\[0\]: messages: True is not valid"),
        (("ranks", 0, "bytes"), 1e4, r"ranks\[0\]: bytes: 10000.0 is not valid"),
        (("ranks", 0, "bytes"), "10000", r"ranks\[0\]: bytes: '10000' is not valid"),
        (("ranks", 0, "bytes"), 10**19, r"ranks\[0\]: bytes: 10000000000000000000 is not valid"),
        (("ranks", 0, "bytes"), 10001, "sizes: 11 messages of 10000 bytes; expected 11 messages of 10001 bytes"),
        (("sizes",), {}, "sizes: no list"),
        (("sizes",), [], "sizes: 0 messages of 0 bytes; expected 11 messages of 10000 bytes"),
        (("sizes", 1, "size_bytes"), 1024, r"sizes\[1\]: size_bytes: 1024 is not valid; expected one less"),
        (("sizes", 1, "size_bytes"), 0, r"sizes\[1\]: size_bytes: 0 is not valid; expected one less"),
        (("sizes", 1, "size_bytes"), 511, r"sizes\[1\]: bytes: 10 messages of 10000 bytes; expected .* 256 to 511"),
        (("sizes", 0, "messages"), 0, r"sizes\[0\]: bytes: 0 messages of 0 bytes"),
    ],
)
def test_numbers_that_cannot_be_are_named(place: tuple[str | int, ...], value: object, words: str) -> None:
    document = copy.deepcopy(WHOLE)
    within: Any = document
    for step in place[:-1]:
        within = within[step]
    within[place[-1]] = value
    with pytest.raises(InputError, match=words):
        mpip.parse_persistent(document, "launch-000.persistent", 2)


def report() -> str:
    return (DATA / "lulesh-8.mpiP").read_text()


def test_persistent_sends_are_messages_from_point_to_point() -> None:
    """LULESH sends 25004 messages of 14599936 bytes by MPI_Isend; a tenth as many of 1 MB each are added."""
    more = Amount(messages=2500, size_bytes=2500 * 1_000_000)
    sends = Sends(sizes={2**20 - 1: more})
    alone = mpip.parse(report(), "x").series
    both = mpip.parse(report(), "x", sends).series
    between = {"class": "point-to-point"}
    assert figure(alone, mpip.MESSAGES, **between) == 25004
    assert figure(both, mpip.MESSAGES, **between) == 27504
    assert figure(alone, mpip.SIZE, **between) == pytest.approx(583.904, abs=1e-3)
    assert figure(both, mpip.SIZE, **between) == pytest.approx((14599936 + more.size_bytes) / 27504)
    together = {"class": "collective"}
    assert figure(both, mpip.SIZE, **together) == figure(alone, mpip.SIZE, **together) == 8
    assert figure(both, mpip.SHARE) == figure(alone, mpip.SHARE), "mpiP has the time of persistent sends"
    assert figure(both, mpip.PERSISTENT) == 2500 and figure(both, mpip.PERSISTENT_SIZE) == 1_000_000
    assert figure(both, mpip.PERSISTENT_SIZES, size_bytes=2**20 - 1) == 100
    assert not {each.fom for each in alone} & {mpip.PERSISTENT, mpip.PERSISTENT_SIZE, mpip.PERSISTENT_SIZES}


def test_nearly_all_that_umt_sends_is_persistent() -> None:
    """Recorded on 8 ranks. Each persistent send has its persistent receive, and mpiP counted the starts of both."""
    text = (DATA / "umt-8.mpiP").read_text()
    sends = mpip.load_persistent(DATA / "umt-8.persistent", 8)
    (starts,) = re.findall(r"^Start +\d+ .* (\d+)$", text, re.MULTILINE)
    assert 2 * sends.total.messages == int(starts) == 11520
    alone, both = mpip.parse(text, "x").series, mpip.parse(text, "x", sends).series
    between = {"class": "point-to-point"}
    assert figure(alone, mpip.SIZE, **between) == 336
    assert figure(both, mpip.MESSAGES, **between) == 672 + 5760
    assert figure(both, mpip.SIZE, **between) == pytest.approx((225792 + 5760 * 8192) / (672 + 5760))
    assert figure(both, mpip.SENT, size_bytes=16383) == pytest.approx(99.377, abs=1e-3)


def test_the_histogram_of_bytes_weighs_both_by_their_bytes() -> None:
    """As many bytes as LULESH's own, collectives included, in a bin that it has; 20 of them in the smallest bin."""
    whole = 14599936 + 14720 + 64
    few = dict.fromkeys((3, 7), Amount(messages=5, size_bytes=10))
    sends = Sends(sizes={**few, 1023: Amount(messages=whole // 1000, size_bytes=whole - 20)})
    alone, both = mpip.parse(report(), "x").series, mpip.parse(report(), "x", sends).series
    before = figure(alone, mpip.SENT, size_bytes=1023)
    assert figure(both, mpip.SENT, size_bytes=1023) == pytest.approx(before / 2 + 50, abs=0.01)
    assert figure(both, mpip.SENT, size_bytes=2047) == pytest.approx(
        figure(alone, mpip.SENT, size_bytes=2047) / 2, abs=0.01
    )
    assert figure(both, mpip.SENT, size_bytes=7) == pytest.approx(0, abs=0.001), "of mpiP's smallest bin"
    sent = [each.samples[0] for each in both if each.fom == mpip.SENT]
    assert math.isclose(sum(sent), 100, abs_tol=0.5)
    by_number = {each.labels["size_bytes"]: each.samples[0] for each in both if each.fom == mpip.PERSISTENT_SIZES}
    assert set(by_number) == {7, 1023} and math.isclose(sum(by_number.values()), 100, abs_tol=0.01)


def test_no_persistent_sends_change_nothing_and_are_reported() -> None:
    series = mpip.parse(report(), "x", Sends(sizes={})).series
    added = [each for each in series if each not in mpip.parse(report(), "x").series]
    assert [(each.fom, each.samples) for each in added] == [(mpip.PERSISTENT, (0,))]


def profiled(folder: Path) -> tuple[str, dict[str, float]]:
    """Read a launch of LULESH that was profiled; why it is no result, and its figures without labels."""
    seen = {"format": "railyard-witness/1", "mpi": {"ranks": 8}, "ranks": []}
    (folder / "launch-000.witness").write_text(json.dumps(seen))
    (folder / "launch-000.out").write_text((DATA / "lulesh-8.out").read_text())
    (folder / "launch-000.mpiP").write_text(report())
    fault = launch.read(folder, "launch-000", "lulesh", parameters={"profiled_by": launch.PROFILER}, ranks=8)
    output = folder / "launch-000.json"
    series = json.loads(output.read_text())["series"] if output.exists() else []
    return fault, {each["fom"]: each["samples"][0] for each in series if not each["labels"]}


def test_a_profiled_launch_needs_its_file_of_persistent_sends(tmp_path: Path) -> None:
    fault, figures = profiled(tmp_path)
    assert fault.startswith("launch-000.persistent: persistent sends: no such file") and not figures
    ranks = [{"rank": rank, "messages": 0, "bytes": 0} for rank in range(8)]
    made = {"format": mpip.FORMAT, "ranks": ranks, "sizes": []}
    (tmp_path / "launch-000.persistent").write_text(json.dumps(made))
    fault, figures = profiled(tmp_path)
    assert not fault and figures[mpip.PERSISTENT] == 0 and figures[mpip.SHARE] == 95.97
