"""`tools/accepted` on the payloads of GitHub's events: labels and messages accept, also after the merge."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.commands import CHECKOUT, Run, ran

LABEL = [{"id": 1, "name": "accept"}]
OTHER = [{"id": 2, "name": "accepted"}, {"id": 3, "name": "bug"}]
MARKED = {"message": "halo: twice is right\n\n[accept]"}


def pull(action: str, *labels: dict[str, Any]) -> dict[str, Any]:
    """Return the event of a pull request, whose `head_commit` is null."""
    return {"action": action, "pull_request": {"number": 7, "labels": [*labels]}, "head_commit": None}


@pytest.mark.parametrize(
    ("event", "api", "expected"),
    [
        (pull("opened"), {}, "false"),
        (pull("labeled", *LABEL), {}, "true"),
        (pull("labeled", *OTHER), {"issues/7/labels": OTHER}, "false"),
        (pull("synchronize"), {"issues/7/labels": LABEL}, "true"),
        (pull("opened"), {"pulls/7/commits?per_page=100": [{"commit": MARKED}]}, "true"),
        ({"commits": [{"message": "a"}, MARKED, {"message": "Merge #7"}]}, {}, "true"),
        ({"commits": [{"message": "Merge #7"}]}, {"commits/abc/pulls": [{"labels": LABEL}]}, "true"),
        ({"commits": [{"message": "Merge #7"}]}, {"commits/abc/pulls": [{"labels": OTHER}]}, "false"),
        ({"schedule": "17 4 * * 1"}, {"commits/abc/pulls": [{"labels": LABEL}]}, "false"),
    ],
)
def test_a_change_is_accepted_by_its_label_or_a_message(
    tmp_path: Path, event: dict[str, Any], api: dict[str, Any], expected: str
) -> None:
    (tmp_path / "event.json").write_text(json.dumps(event))
    for path, answer in api.items():
        file = tmp_path / "repos/o/r" / path
        file.parent.mkdir(parents=True)
        file.write_text(json.dumps(answer))
    kinds = ("pull_request", "schedule", "push")
    variables = {
        "GITHUB_EVENT_NAME": next(name for name in kinds if name in event or name == "push"),
        "GITHUB_EVENT_PATH": str(tmp_path / "event.json"),
        "GITHUB_API_URL": tmp_path.as_uri(),
        "GITHUB_REPOSITORY": "o/r",
        "GITHUB_SHA": "abc",
    }
    done = ran(sys.executable, CHECKOUT / "tools/accepted", env=variables)
    assert done.stdout == f"{expected}\n", done.stderr


def test_a_label_starts_the_workflows_and_they_may_read_it(railyard: Run) -> None:
    printed = railyard("ci", "github", "--source", "o/r", "--ref", "v1").stdout
    for text in (printed, (CHECKOUT / ".github/workflows/smoke.yml").read_text()):
        document = yaml.load(text, yaml.BaseLoader)
        assert {"labeled", "synchronize"} <= {*document["on"]["pull_request"]["types"]}
        assert document["jobs"]["smoke"]["permissions"]["pull-requests"] == "read"
    assert "accept: event" in printed
