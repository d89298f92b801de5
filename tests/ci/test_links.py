"""`tools/check_links.py` names the dead links of documents, on a server of this machine."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from support.commands import CHECKOUT


class Pages(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        statuses = {"/there": 200, "/robots": 403, "/moved": 301}
        self.send_response(statuses.get(self.path, 404))
        if self.path == "/moved":
            self.send_header("Location", "/there")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def address() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), Pages)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


def test_only_dead_links_are_named_with_their_place(tmp_path: Path, address: str) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"One\n[a]({address}/there), [b]({address}/moved).\n<{address}/robots> {address}/gone.\n")
    done = subprocess.run(
        [sys.executable, CHECKOUT / "tools/check_links.py", page], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stdout == f"{page}:3: dead link: {address}/gone; status 404\n4 links, 1 dead\n"
