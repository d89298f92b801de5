"""A disk that is really full, a small tmpfs: one line, nothing half written, and what was there stays readable."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from support.commands import CHECKOUT, HUNG_S

RECORD = CHECKOUT / "tests/data/records/small.json"
MOUNTED = 'mount -t tmpfs -o size="$1" none "$2" && shift 2 && exec "$@"'
NAMESPACE = ["unshare", "-Urm", "sh", "-c", MOUNTED, "sh"]

#: Adds the record under one seed after another until the disk is full, and then writes a bag and the index.
PROGRAM = """
import json, sys
from pathlib import Path
from railyard.base.errors import InputError, RunError
from railyard.records import record; from railyard.records.store import archive, bag, index
source, disk = Path(sys.argv[1]), Path(sys.argv[2])
root, said = disk / "archive", ""
document = json.loads(source.read_text())
for added in range(1000):
    document["case"]["seed"] = 1000 + added
    document = record.sealed(document)
    try:
        archive.add(record.validate(document, "made"), root)
    except RunError as error:
        said = str(error)
        break
files = [path for path in root.rglob("*") if path.is_file()]
found = {"said": said, "added": added, "files": len(files), "records": len(archive.load_all(root))}
def refused(write):
    try:
        write()
    except RunError as error:
        return str(error)
    return ""
packed = refused(lambda: bag.write(disk / "bag", [source], bag.Bid(bidder="test", tier="baseline")))
entries = len(list(index.read(root).entries()))
left = [path.name for path in disk.rglob("*") if path.is_file() and path.parent.parent != root]
print(json.dumps({**found, "packed": packed, "entries": entries, "left": left}))
"""


def test_an_archive_on_a_full_disk_keeps_what_it_has(tmp_path: Path) -> None:
    """A bag is refused in one line; the index is a cache and does without its file."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run([*NAMESPACE, "64k", disk, "true"], capture_output=True).returncode:
        pytest.skip("this machine lets nobody mount a tmpfs in a namespace of its own")
    done = subprocess.run(
        [*NAMESPACE, "64k", disk, sys.executable, "-c", PROGRAM, RECORD, disk],
        capture_output=True,
        text=True,
        cwd=CHECKOUT,
        env={"PATH": "/usr/bin:/bin", "XDG_CACHE_HOME": str(disk / "cache")},
        timeout=HUNG_S,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    for line in (found["said"], found["packed"]):
        assert "No space left on device" in line and "\n" not in line
    assert found["files"] == found["records"] == found["added"] == found["entries"] > 3
    assert found["left"] == []
