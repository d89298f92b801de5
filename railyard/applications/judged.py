"""Read what a ReFrame test's own functions computed of a launch, from the file of `railyard.placed.figures`."""

from __future__ import annotations

import json

from railyard.applications.reading import Parser, Reading, single
from railyard.base.errors import InputError
from railyard.records import units

#: The key of a job's `read_by` that selects this reader; its value is the name of the program.
KEY = "reframe"


def parser(program: str) -> Parser:
    """Return a parser of the file that the functions' results are in."""

    def read(text: str, left: str, source: str) -> Reading:
        del text
        if not left:
            raise InputError(
                source, "", problem="ReFrame did not judge this launch", valid="a job that ReFrame waited for"
            )
        judged = json.loads(left)
        series = [
            single(units.fom(name, figure["unit"], figure["better"]), figure["value"])
            for name, figure in judged["figures"].items()
        ]
        fault = judged["fault"] or ("" if series else "no performance function of the test gave a number")
        version = "unknown"
        return Reading(program=program, version=version, ranks=None, series=series, fault=fault)

    return read
