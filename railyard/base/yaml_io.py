"""Read YAML that a stranger may have written: small, shallow, without aliases, each key once, finite numbers."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import yaml

MOST_BYTES = 1 << 20
MOST_DEPTH = 16
#: Tag of a number -> its form in every version of YAML.
NUMBERS = {
    "tag:yaml.org,2002:int": re.compile(r"[-+]?(0|[1-9][0-9]*)|0x[0-9a-fA-F]+"),
    "tag:yaml.org,2002:float": re.compile(
        r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.inf|\.nan", re.IGNORECASE
    ),
}


class _Loader(yaml.SafeLoader):
    """Refuses what can make a small file large or ambiguous."""

    depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """Compose a node, if it is not an alias and not too deep."""
        event = self.peek_event()  # type: ignore[no-untyped-call]
        if isinstance(event, yaml.AliasEvent):
            raise yaml.MarkedYAMLError(problem="an alias", problem_mark=_mark(event))
        if self.depth >= MOST_DEPTH:
            raise yaml.MarkedYAMLError(problem="nested too deep", problem_mark=_mark(event))
        self.depth += 1
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Construct a mapping, if it has each key once."""
        seen = set()
        for key, _ in node.value:
            if key.value in seen:
                raise yaml.MarkedYAMLError(problem="a key twice", problem_mark=key.start_mark)
            if isinstance(key, yaml.ScalarNode):
                seen.add(key.value)
        return super().construct_mapping(node, deep=deep)

    def construct_scalar(self, node: Any) -> Any:
        """Construct a scalar, if it is not a number that YAML 1.2 reads otherwise: 12:30:45, 010 and 1_000."""
        if node.tag in NUMBERS and not NUMBERS[node.tag].fullmatch(node.value):
            problem = f"{node.value}, which is a number in YAML 1.1 alone; quote it, or write it in decimal"
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark)
        return super().construct_scalar(node)


def _mark(event: yaml.Event) -> yaml.Mark | None:
    mark = event.start_mark
    return mark if isinstance(mark, yaml.Mark) else None


def loads(text: str) -> Any:
    """Return the document in a text; raises yaml.YAMLError for text that is not YAML, or that is unsafe to load."""
    try:
        document = yaml.load(text, Loader=_Loader)  # a subclass of SafeLoader
    except (RecursionError, ValueError, TypeError) as error:
        raise yaml.MarkedYAMLError(problem="a value that cannot be read") from error
    _check_numbers(document)
    return document


def read(path: Path) -> Any:
    """Return the document in a file; raises OSError, UnicodeDecodeError, yaml.YAMLError."""
    with path.open("rb") as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise yaml.MarkedYAMLError(problem=f"more than {MOST_BYTES:,} bytes")
    return loads(content.decode("utf-8"))


def _check_numbers(part: Any) -> None:
    if isinstance(part, dict):
        part = list(part.values())
    if isinstance(part, list):
        for inner in part:
            _check_numbers(inner)
    elif isinstance(part, float) and not math.isfinite(part):
        raise yaml.MarkedYAMLError(problem=f"{part} is no finite number")
