"""The tender of docs/tender.md played through: the request, and four bids of made-up records."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from railyard.records.record import Record
from railyard.records.store import archive
from railyard.tender.cli import tender
from support import evidence, forgeries
from support.commands import CHECKOUT

PAGE = CHECKOUT / "docs" / "tender.md"
CHALLENGE = "7f3a-Sunday-rain"
BIDS = ("swift", "steady", "careless", "sly")
#: One cable at a fraction of its rate: neighbours of the plain order do not share it, scattered ranks do.
SLOW_LINK = {"random": 1.6}


def run(*arguments: object) -> Result:
    """Run `railyard tender` with these arguments."""
    return CliRunner().invoke(tender, [str(each) for each in arguments])


def bid_of(speed: float, system: str, **changes: Any) -> Record:
    """Return one job of a bid."""
    return evidence.good(origin="measured", challenge=CHALLENGE, speed=speed, system=system, **changes)


def jobs_of(speed: float, system: str, **changes: Any) -> list[Record]:
    """Return four jobs of a bid."""
    return evidence.jobs(4, origin="measured", challenge=CHALLENGE, speed=speed, system=system, **changes)


def key_of(folder: Path, name: str) -> Path:
    """Make a key for signatures; its public part has the suffix .pub."""
    path = folder / f"key-{name}"
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(path)]
    subprocess.run(command, check=True, capture_output=True)
    return path


def packed(folder: Path, name: str, *records: Record, options: Sequence[object] = ()) -> Path:
    """Pack records as the bid of a bidder; return its bag."""
    files = [archive.add(read, folder / name / "archive") for read in records]
    done = run("pack", *files, "-o", folder / name / "bag", "--bidder", name, *options)
    assert done.exit_code == 0, done.output
    return folder / name / "bag"


def copy_series(document: dict[str, Any]) -> None:
    """Give all launches the figures of the fastest."""
    best = min(document["launches"], key=lambda each: sum(each["series"][0]["samples"]))
    for launch in document["launches"]:
        launch["series"] = best["series"]


def play(folder: Path) -> None:
    """Write the request, a bag for each of `BIDS`, and the keys that the buyer knows.

    swift and steady are honest. steady is the faster machine but for one link, which the case of scattered ranks alone
    shows. careless has too few launches, and sly copies one.
    """
    (example,) = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    (folder / "tender.yml").write_text(example)
    records = {
        "swift": jobs_of(1.30, "swift"),
        "steady": jobs_of(1.34, "steady", slow=SLOW_LINK),
        "careless": [bid_of(1.6, "careless", launches=3)],
        "sly": [forgeries.changed(read, copy_series) for read in jobs_of(1.9, "sly")],
    }
    known = []
    for name in BIDS:
        files = [archive.add(read, folder / "archives" / name) for read in records[name]]
        key = key_of(folder, name)
        known.append(f"{name}@example.org {key.with_suffix('.pub').read_text()}")
        done = run("pack", *files, "-o", folder / name, "--bidder", f"{name} Ltd", "--sign", key)
        assert done.exit_code == 0 and "signed with SHA256:" in done.output, done.output
    (folder / "signers").write_text("".join(known))
