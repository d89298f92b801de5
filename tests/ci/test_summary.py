"""The summary of the gate has the changed variables alone, and fits into a comment on GitHub."""

from __future__ import annotations

from railyard.analysis.references import judging
from railyard.records import units
from railyard.records.references import About, Entry, Past, Reference
from railyard.records.units import Better, Fom

TIME = Reference(median=100.0, tolerance=0.1, unit="µs", better=Better.LOWER)
RATE = Reference(median=100.0, tolerance=0.1, unit="GB/s", better=Better.HIGHER)


def values(**numbers: float) -> dict[Fom, float]:
    return {units.fom("iteration_us", "us", "lower").named(name): value for name, value in numbers.items()}


def entry(**references: Reference) -> Entry:
    past = Past(record="0" * 64, created="2026-11-20T10:00:00Z", commit="abcdef" * 7, launches=6)
    about = About(commit=past.commit, date="2026-11-20", launches=6, records=1)
    return Entry(about=about, references=references, history=(past,))


def test_only_variables_beyond_the_tolerance_are_rows_worse_ones_first() -> None:
    history = entry(faster=TIME, slower=TIME, equal=TIME, lost=RATE, gained=RATE)
    now = values(faster=50.0, slower=150.0, equal=105.0, lost=50.0, gained=120.0)
    changed = judging.changes("halo", now, history, {"lost", "slower"})
    assert [(change.name, change.cells[-1]) for change in changed] == [
        ("lost", "worse"),
        ("slower", "worse"),
        ("faster", "better"),
        ("gained", "better"),
    ]
    text = judging.markdown(5, changed, [], [history])
    assert "2 of 5 variables worse" in text and "| 100 µs | 150 µs | +50.0 % | +10.0 % | worse |" in text
    assert "1 record, newest of 2026-11-20 at commit abcdefabcdef" in text


def test_a_run_without_a_reference_is_not_called_green() -> None:
    assert "no variable has a reference" in judging.markdown(0, [], [], [])


def test_the_summary_fits_into_a_comment_whatever_the_archive() -> None:
    names = [f"custom/nic-{number}/{'x' * 60}_us" for number in range(5000)]
    history = entry(**dict.fromkeys(names, TIME))
    changed = judging.changes("halo", values(**dict.fromkeys(names, 200.0)), history, names)
    warnings = [f"halo: no value of {name}, which has a reference" for name in names]
    text = judging.markdown(len(names), changed, warnings, [history])
    assert len(text) < 65_536 and "more in the report" in text and "5000 of 5000 variables worse" in text
