"""Read a JSON file, which may be cut off because its writer was interrupted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def json_object(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file; empty if the file is missing, cut off, or holds something else."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return document if isinstance(document, dict) else {}
