"""What docs/howto/monitoring.md configures: each figure of a real run is posted with its unit and its record's digest.

The link-load model is in the machine's place, so that the run takes seconds; ReFrame's part of the way is the same.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from support.commands import CHECKOUT
from support.reframe import assert_passed, into, records, reframe_in

from railyard.records import references
from railyard.records.store import entries

PAGE = CHECKOUT / "docs/howto/monitoring.md"
CHECK = "halo_smoke"


class Service(ThreadingHTTPServer):
    """A service on loopback that accepts every document."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Receiver)
        self.documents: list[dict[str, Any]] = []


class Receiver(BaseHTTPRequestHandler):
    server: Service

    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        self.server.documents.append({"path": self.path, **json.loads(self.rfile.read(length))})
        self.send_response(201)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def service() -> Iterator[Service]:
    with Service() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def test_every_figure_of_a_run_is_posted_and_logged_with_its_record(service: Service, tmp_path: Path) -> None:
    (block,) = re.findall(r"^```yaml\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    address = f"http://127.0.0.1:{service.server_port}"
    (tmp_path / "monitoring.yml").write_text(block.replace("http://localhost:9200", address))
    options = ["-C", str(tmp_path / "monitoring.yml"), "--system", "linkload", *into(tmp_path)]
    assert_passed(reframe_in(tmp_path)("-r", "-n", CHECK, *options))
    (record,) = records(tmp_path)
    values = references.medians(entries.of_record(record))
    wanted = sorted((CHECK, name, value, name.unit.text, record.sha256) for name, value in values.items())
    posted = [
        tuple(document[f"check_{name}"] for name in ("name", "perf_var", "perf_value", "perf_unit", "record_sha256"))
        for document in service.documents
    ]
    assert wanted and sorted(posted) == wanted
    assert {document["path"] for document in service.documents} == {"/railyard/_doc"}
    header, *lines = (tmp_path / f"perflogs/linkload/{CHECK}.log").read_text().splitlines()
    rows = [dict(zip(header.split("|"), line.split("|"), strict=True)) for line in lines]
    logged = [
        (row["display_name"], row["perf_var"], float(row["perf_value"]), row["perf_unit"], row["record_sha256"])
        for row in rows
    ]
    assert sorted(logged) == wanted
