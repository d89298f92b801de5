"""Decide after which rounds a job with `until` looks at its ratios, and what having looked costs.

Models: a fixed-width sequential interval (Chow and Robbins, Ann. Math. Stat. 36, 1965). A job ends at the first look at
which the interval of every ratio is as narrow as requested. A sample whose spread is small by chance ends a job too
early, so that its interval covers less often than one of a fixed number of launches. The level is therefore divided by
`TESTS`. The rule looks at widths alone, never at the ratios, so that a job does not end because a difference looks
large. Leaves out: the interval (`railyard.analysis.stats.contrast`); `python -m perf statistics` measures its coverage.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from railyard.base.errors import InputError
from railyard.records.json_io import Json

#: The parameter of a case that states the rule, such as `2%`.
UNTIL = "until"
#: The fewest rounds: an interval of a ratio needs 4 launches of each combination, that of a median 6.
FIRST = 6
#: The number of tests that having looked counts as.
TESTS = 1.25


def rounds(most: int) -> list[int]:
    """Return the numbers of rounds after which a job of at most `most` rounds looks: each a quarter more, from 6."""
    planned = []
    count = FIRST
    while count < most:
        planned.append(count)
        count += math.ceil(count / 4)
    return planned


def half_width_percent(text: str) -> float:
    """Return the number of a rule such as `2%`; raises InputError for any other text."""
    try:
        percent = float(text.removesuffix("%"))
    except ValueError:
        percent = math.nan
    if not (text.endswith("%") and 0 < percent <= 100):
        raise InputError(UNTIL, "", text, "a percentage such as 2%, or nothing for a fixed number of launches")
    return percent


def tests(parameters: Mapping[str, Json]) -> float:
    """Return how many tests an interval of a case with these parameters counts as."""
    return TESTS if parameters.get(UNTIL) else 1.0
