"""One verdict per comparison: sentence, table, score and exports say the same of the same launches."""

from __future__ import annotations

import dataclasses

from hypothesis import given, settings
from hypothesis import strategies as st
from support import synthetic

from analysis.cases import cases, comparison, scoreboard, tables
from analysis.cases.judgement import judge_all
from analysis.report import exports, summary
from analysis.stats import ranktest, verdicts
from analysis.stats.verdicts import Finding
from railyard.records.record import Record

VALUES = st.lists(st.floats(90, 110), min_size=8, max_size=8)


def record(groups: list[list[float]]) -> Record:
    """Return a record of a halo exchange whose iteration takes the times of each placement, launch by launch."""
    made = synthetic.halo(launches=8)
    placements = list(made.case.placements)
    taken = dict.fromkeys(placements, 0)
    launches = []
    for launch in made.launches:
        place = placements.index(launch.placement)
        value = groups[place][taken[launch.placement]]
        taken[launch.placement] += 1
        series = [
            dataclasses.replace(each, samples=(value,))
            for each in launch.series
            if each.fom == "iteration_us"
        ]
        launches.append(dataclasses.replace(launch, series=tuple(series)))
    return dataclasses.replace(made, launches=tuple(launches))


@settings(max_examples=60, deadline=None)
@given(st.lists(VALUES, min_size=3, max_size=3), st.integers(0, 2), st.sampled_from([1.0, 1.1, 1.4]))
def test_sentence_table_score_and_exports_never_disagree(
    groups: list[list[float]], slow: int, factor: float
) -> None:
    groups[slow] = [factor * value for value in groups[slow]]
    made = record(groups)
    (case,) = cases.group([made])
    (found,) = comparison.comparisons(case)
    best, sentence = found.verdict.best, comparison.sentence(found)
    assert best is not None
    findings = {group.name: group.finding for group in found.groups if group.name != found.baseline}
    printed = {row.name: row.verdict for row in tables.rows(found) if row.name != found.baseline}
    assert printed == {name: str(finding) for name, finding in findings.items()}
    scores = {each.combination: each.score for each in scoreboard.standings([(case, [found])])}
    assert {name.split(" + ")[0]: score.finding for name, score in scores.items() if score} == findings
    exported = summary.summary(judge_all([made]))["cases"]
    assert all(f'"verdict": "{finding}"' in str(exported).replace("'", '"') for finding in findings.values())
    assert all(str(finding) in exports.markdown(judge_all([made])) for finding in findings.values())
    # The sentence ranks against the best group, the table against the baseline: the two agree where both speak.
    if best == found.baseline:
        assert {name for name, each in findings.items() if each is Finding.WORSE} == set(found.verdict.apart)
    elif found.baseline in found.verdict.apart:
        assert findings[best] is Finding.BETTER and "significant" in sentence
    else:
        assert findings[best] is Finding.NO_DIFFERENCE and "No difference shown" in sentence


def test_a_score_of_several_cases_names_no_winner_that_a_case_contradicts() -> None:
    interval = (1.1, 1.3)
    assert verdicts.overall(1.2, interval, [Finding.BETTER, Finding.NO_DIFFERENCE]) is Finding.BETTER
    assert verdicts.overall(1.2, interval, [Finding.BETTER, Finding.WORSE]) is Finding.MIXED
    assert verdicts.overall(1.2, interval, [Finding.NO_DIFFERENCE] * 2) is Finding.NO_DIFFERENCE
    assert verdicts.overall(1.2, (0.9, 1.3), [Finding.BETTER, Finding.NO_DIFFERENCE]) is Finding.NO_DIFFERENCE
    assert verdicts.overall(1.2, None, [Finding.BETTER, Finding.BETTER]) is Finding.TOO_FEW


def test_a_p_value_above_the_level_is_never_rounded_to_it() -> None:
    assert comparison.p_text(ranktest.ALPHA + 0.0003) == "= 0.0303"
    assert comparison.p_text(0.0124) == "= 0.012"
