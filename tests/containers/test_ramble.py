"""Ramble's definitions of railyard's programs read what the programs print.

Ramble is in no registry, so its functions record here what they are called with. Both definitions were run with Ramble
e2d88e8 of October 2024: halo without a torus, and topobw on a virtual one, whose outputs these are.
"""

from __future__ import annotations

import re
import runpy
import sys
from types import ModuleType
from typing import Any

import pytest
from support.commands import CHECKOUT

HALO = """\
every ghost cell verified; times are the maximum over ranks

fom                unit  samples    median       min       max
iteration_us       us          3  10902.44   3969.45  13996.00
exchange_us        us          3  10901.31   3968.38  13994.97
wait_us            us          3  10899.35   3966.16  13991.98
bandwidth_gbyte_s  GB/s        3  0.000094  0.000073  0.000258
"""
TOPOBW = """\
n1-0-1  n1-0-0  Z- 1,0,1>1,0,0      unknown     exclusive      0.1034    0.005070    0.005070  sound

X  links 8  min 0.004476 on X+ 0,0,1>1,0,1  max 0.004483 on X- 1,1,0>0,1,0  avg 0.004480 GB/s

verdict: rates sound; losses not seen: below 3 % on X
"""


@pytest.mark.parametrize(
    ("name", "output", "figures"),
    [
        (
            "railyard-halo",
            HALO,
            {
                "iteration_us": "10902.44",
                "exchange_us": "10901.31",
                "wait_us": "10899.35",
                "bandwidth_gbyte_s": "0.000094",
            },
        ),
        (
            "railyard-topobw",
            TOPOBW,
            {"verdict": "rates sound", "min": "0.004476", "max": "0.004483", "avg": "0.004480"},
        ),
    ],
)
def test_figures_and_success_are_read_from_the_output(
    name: str, output: str, figures: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    patterns: dict[str, tuple[str, str]] = {}
    wanted: list[str] = []
    appkit: Any = ModuleType("ramble.appkit")
    appkit.ExecutableApplication = object
    for function in ("tags", "software_spec", "executable", "workload", "workload_group", "workload_variable"):
        setattr(appkit, function, lambda *_, **__: None)
    appkit.figure_of_merit_context = lambda _, regex, output_format: wanted.append(regex)
    appkit.figure_of_merit = lambda fom, fom_regex, group_name, **_: patterns.update({fom: (fom_regex, group_name)})
    appkit.success_criteria = lambda _, mode, match, file: wanted.append(match)
    monkeypatch.setitem(sys.modules, "ramble", ModuleType("ramble"))
    monkeypatch.setitem(sys.modules, "ramble.appkit", appkit)
    runpy.run_path(str(CHECKOUT / "containers/ramble-repo/applications" / name / "application.py"))
    lines = output.splitlines()
    assert wanted and all(any(re.match(pattern, line) for line in lines) for pattern in wanted)
    read = {
        fom: [match[group] for line in lines if (match := re.match(regex, line))]
        for fom, (regex, group) in patterns.items()
    }
    assert read == {fom: [value] for fom, value in figures.items()}
