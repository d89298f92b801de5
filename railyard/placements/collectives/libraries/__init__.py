"""How each MPI library is set to use an algorithm: a file here for each library, with the documents it comes from.

A choice is `default`, or words such as `allreduce:ring` with + between. `allreduce:own-ring` is railyard's own ring,
which the preloaded library `railyard-collectives` executes under any MPI. `allreduce:ring@65536` is the ring from
65,536 bytes on, and the library's default below, by a file of rules.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from railyard.base import yaml_io
from railyard.base.errors import InputError
from railyard.placements.collectives import algorithms
from railyard.placements.collectives import schedule as schedules
from railyard.placements.collectives.algorithms import ALGORITHMS, Shape

DEFAULT = "default"
OWN = "own-"
#: The words before a program whose collectives are railyard's own, and the variable that names the schedules.
PRELOADED = ("railyard-witness", "own.witness")
SCHEDULES = "RAILYARD_COLLECTIVES"
#: What separates an algorithm from its least size.
FROM = "@"


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """The file of a library; `features` are names in an environment of ReFrame's configuration."""

    name: str
    features: Sequence[str]
    sources: Sequence[str]
    always: Mapping[str, str]
    variables: Mapping[str, str]
    algorithms: Mapping[str, Mapping[str, Sequence[str]]]
    components: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    #: The variable that names a file of rules, and the number of each collective in it; empty for none.
    rules_variable: str = ""
    rules_numbers: Mapping[str, int] = field(default_factory=dict)

    def names(self, collective: str) -> list[str]:
        """Return the algorithms of a collective, and the components that have it."""
        whole = [name for name, one in self.components.items() if collective in str(one["collectives"])]
        return [*self.algorithms[collective], *whole]

    def environment(self, collective: str, name: str) -> dict[str, str]:
        """Return the variables by which the library uses an algorithm; InputError for one that it does not have."""
        name, is_rule, _ = name.partition(FROM)
        if name in self.components and name in self.names(collective) and not is_rule:
            return dict(self.components[name]["variables"])  # type: ignore[call-overload,no-any-return]
        if name not in self.algorithms[collective]:
            own = [f"{OWN}{one}" for one in ALGORITHMS[collective]]
            valid = f"with {self.name}: {', '.join([*self.names(collective), *own])}"
            raise InputError("algorithms", collective, name, valid)
        if is_rule and not self.rules_variable:
            raise InputError("algorithms", collective, f"{name}{FROM}", f"no {FROM} with {self.name}: no file of rules")
        if is_rule:
            return {**self.always, self.rules_variable: ""}
        return {**self.always, self.variables[collective]: self.algorithms[collective][name][0]}

    def rules_of(self, choice: str) -> dict[str, list[tuple[int, str]]]:
        """Return the rules of a choice by collective: from how many bytes on which algorithm is used."""
        of: dict[str, list[tuple[int, str]]] = {}
        for collective, name in parse(choice):
            algorithm, is_rule, least = name.partition(FROM)
            if is_rule:
                of.setdefault(collective, []).append((int(least), algorithm))
        return of

    def rules(self, choice: str, ranks: int) -> str:
        """Return the text of Open MPI's tuning file for so many ranks; empty if the choice has no rule.

        A rule has the least bytes, the algorithm, and two zeros for the library's fan-out and segments. Algorithm 0 is
        the library's own decision.
        """
        of = self.rules_of(choice)
        lines = [str(len(of))]
        for collective, rules in of.items():
            lines += [str(self.rules_numbers[collective]), "2", str(ranks), str(len(rules) + 1), "0 0 0 0"]
            scale = 1 if collective in schedules.SPLIT else ranks
            lines += [f"{scale * least} {self.algorithms[collective][name][0]} 0 0" for least, name in sorted(rules)]
            lines += [str(ranks + 1), "1", "0 0 0 0"]
        return "\n".join(lines) + "\n" if of else ""

    def matrix(self, collective: str, name: str) -> str:
        """Return the algorithm whose matrix one of this library has; empty where railyard has none."""
        name = name.partition(FROM)[0]
        row = self.algorithms[collective].get(name, ("", ""))
        return row[1] if len(row) > 1 else name


@cache
def libraries() -> Mapping[str, Library]:
    """Return the libraries by name."""
    files = sorted(Path(__file__).parent.glob("*.yml"))
    return {file.stem: Library(name=file.stem, **yaml_io.read(file)) for file in files}


def of_features(features: Sequence[str]) -> Library:
    """Return the library of an environment; InputError if its features name none."""
    for library in libraries().values():
        if set(library.features) & set(features):
            return library
    valid = ", ".join(name for library in libraries().values() for name in library.features)
    raise InputError("reframe.yml", "environment: features", ", ".join(features), f"one of {valid}")


def parse(choice: str) -> list[tuple[str, str]]:
    """Return the collectives and algorithms of a choice; InputError for a collective that does not exist."""
    pairs = []
    for word in choice.split("+") if choice not in ("", DEFAULT) else ():
        collective, _, name = word.partition(":")
        if collective not in ALGORITHMS or not name:
            valid = f"{DEFAULT}, or COLLECTIVE:ALGORITHM of {', '.join(ALGORITHMS)}"
            raise InputError("algorithms", "", word, valid)
        if name.startswith(OWN) and name.removeprefix(OWN) not in ALGORITHMS[collective]:
            own = ", ".join(f"{OWN}{one}" for one in ALGORITHMS[collective])
            raise InputError("algorithms", collective, name, own)
        if FROM in name and not name.partition(FROM)[2].isdecimal():
            raise InputError("algorithms", collective, name, f"ALGORITHM{FROM}BYTES, such as ring{FROM}65536")
        pairs.append((collective, name))
    return pairs


def environment(choice: str, library: Library | None) -> dict[str, str]:
    """Return the variables of a choice; `library` may be None where all of its algorithms are railyard's own."""
    variables: dict[str, str] = {}
    own = [f"{collective}-{name}.schedule" for collective, name in parse(choice) if name.startswith(OWN)]
    for collective, name in parse(choice):
        if not name.startswith(OWN):
            assert library is not None
            variables |= library.environment(collective, name)
            if library.rules_variable in variables:
                variables[library.rules_variable] = rules_file(choice)
    return variables | ({SCHEDULES: ":".join(own)} if own else {})


def rules_file(choice: str) -> str:
    """Return the name of a choice's tuning file in the folder of a launch."""
    return f"{re.sub('[^a-z0-9]+', '-', choice)}.rules"


def possible(choice: str) -> Iterator[dict[str, str]]:
    """Yield the variables of a choice with every library that has its algorithms."""
    for library in libraries().values():
        try:
            yield environment(choice, library)
        except InputError:
            continue


def preloaded(choice: str) -> tuple[str, ...]:
    """Return the words before the program of a launch; empty where no collective is railyard's own."""
    return PRELOADED if any(name.startswith(OWN) for _, name in parse(choice)) else ()


def is_own(choice: str) -> bool:
    """Return whether no library needs to be known for a choice."""
    return all(name.startswith(OWN) for _, name in parse(choice))


def files(choice: str, shape: Shape, library: Library | None = None) -> dict[str, str]:
    """Return the schedules of railyard's own algorithms, by file, and the library's file of rules.

    Raises InputError for an algorithm that these ranks do not allow.
    """
    rules = library.rules(choice, shape.ranks) if library else ""
    written = {rules_file(choice): rules} if rules else {}
    for collective, name in parse(choice):
        if name.startswith(OWN):
            text = io.StringIO()
            schedules.write(text, algorithms.schedule(collective, name.removeprefix(OWN), shape))
            written[f"{collective}-{name}.schedule"] = text.getvalue()
    return written


def matrices(choice: str, library: Library | None) -> dict[str, str]:
    """Return the algorithm, by collective, whose matrix each of a choice's has; empty where railyard has none."""
    own = {one: name.removeprefix(OWN) for one, name in parse(choice) if name.startswith(OWN)}
    if library is None:
        return own
    return own | {one: library.matrix(one, name) for one, name in parse(choice) if one not in own}
