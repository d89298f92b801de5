"""Measure the table of a large archive: the first export, the next 100 records, and ten questions in SQL.

Records are copies of an example's, with other times and therefore other ids. DuckDB reads
the table.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from argparse import Namespace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
from support import pages

from perf.vtorus import console
from railyard.base.checkout import BUILD, CHECKOUT
from railyard.records import json_io, record

RECORDS, NEXT = 100_000, 100
EXAMPLES = sorted((CHECKOUT / "results/example/vcluster").glob("2026-11-21-*.json"))
SYSTEMS = 4
FIRST = datetime(2024, 1, 1, tzinfo=UTC)
#: What a process of its own prints: seconds, seconds of the processors, MiB of the largest process of it.
EXPORT = """
import resource, sys, time
from pathlib import Path
from railyard.table import parquet
begin = time.monotonic()
parquet.export(Path(sys.argv[1]), Path(sys.argv[2]), print)
own, workers = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
print(time.monotonic() - begin, own.ru_utime + own.ru_stime + workers.ru_utime + workers.ru_stime,
      max(own.ru_maxrss, workers.ru_maxrss) / 1024)
"""


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this section."""
    parser.add_argument("--records", type=int, default=RECORDS, metavar="N", help="archive: records")


def make(root: Path, first: int, count: int) -> None:
    """Write copies of the examples into an archive, an hour apart in turn on each of some systems."""
    for path in EXAMPLES:
        document = json_io.read(path)
        text, old = path.read_text(), (document["created"], document["id"], document["sha256"])
        for number in range(first, first + count):
            if EXAMPLES[number % len(EXAMPLES)] != path:
                continue
            created = (FIRST + timedelta(minutes=15 * number)).strftime("%Y-%m-%dT%H:%M:%SZ")
            system = f"site{number // len(EXAMPLES) % SYSTEMS}"
            copy = {**document, "created": created, "system": {**document["system"], "name": system}}
            digest = record.content_sha256(copy)
            new = text.replace(old[2], digest).replace(f'"{old[1]}"', f'"{digest[:12]}"').replace(old[0], created)
            new = new.replace('"name": "vcluster"', f'"name": "{system}"')
            (root / system).mkdir(exist_ok=True)
            (root / system / f"{created[:10]}-{digest[:12]}.json").write_text(new)


def exported(root: Path, folder: Path) -> dict[str, float]:
    """Return what the export of an archive takes, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", EXPORT, root, folder], cwd=CHECKOUT, capture_output=True, text=True, check=True
    )
    return dict(zip(("seconds", "processor_s", "largest_mib"), map(float, done.stdout.split()[-3:]), strict=True))


def measure(options: Namespace) -> dict[str, Any]:
    """Print and return the times of the table."""
    with tempfile.TemporaryDirectory(prefix="archive-", dir=BUILD) as name:
        root, folder = Path(name) / "results", Path(name) / "table"
        root.mkdir()
        make(root, 0, options.records)
        figures: dict[str, Any] = {"records": options.records, "first": exported(root, folder)}
        make(root, options.records, NEXT)
        figures["next"] = exported(root, folder)
        files = list(folder.rglob("*.parquet"))
        figures["table_mib"] = sum(path.stat().st_size for path in files) / 2**20
        for words in ("first", "next", "table_mib"):
            console.print(words, figures[words])
        database = duckdb.connect()
        for number, (question, sql) in enumerate(pages.questions("docs/table.md"), 1):
            begin = time.monotonic()
            rows = database.sql(sql.replace("'DIR/", f"'{folder}/")).fetchall()
            figures[f"question {number}"] = time.monotonic() - begin
            console.print(f"{number:2} {figures[f'question {number}']:6.3f} s  {len(rows):6} rows  {question}")
        figures["peak_mib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return figures
