"""Name the verdict on a request, by its evidence: whether a launch obeyed its placement, or its NIC policy."""

from __future__ import annotations

from enum import StrEnum


class Verdict(StrEnum):
    """Whether ranks ran on the hosts of their placement, or sent by the NICs of their policy, as a record has it."""

    OBEYED = "obeyed"
    NOT_OBEYED = "not-obeyed"
    CANNOT_TELL = "cannot-tell"
