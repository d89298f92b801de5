"""Define the ReFrame variables that every check of railyard has: those of the mixin, and the other fields of a job."""

from __future__ import annotations

import types
from typing import Any

import reframe as rfm

from railyard.jobs.job import spec
from railyard.placed.mixin import Placed
from railyard.placed.variables import define_others

KNOBS = tuple(name for name, _, _ in spec.variables())

Knobs: Any = types.new_class("Knobs", (rfm.RunOnlyRegressionTest, Placed), exec_body=define_others)
