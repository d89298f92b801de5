"""Find the parsers of third-party programs: a module with the benchmark's name and a function `parse` is one.

A site's own parser is a module in a folder `applications/programs` (railyard/base/members.py), or an entry point of the
group `railyard.applications.programs`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from railyard.applications.reading import Parser
from railyard.base.members import modules


@cache
def parsers() -> Mapping[str, Parser]:
    """Return the parsers by the names of their programs, in alphabetical order."""
    return {name: module.parse for name, module in modules(__name__, "parse").items()}
