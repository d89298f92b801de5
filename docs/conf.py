"""Configure Sphinx for `make docs`. Nothing is fetched; theme and search are local (docs/decisions/0005-site.md)."""

from __future__ import annotations

import re
from pathlib import Path

from sphinx.application import Sphinx

CHECKOUT = Path(__file__).resolve().parent.parent

project = "railyard"
author = "The railyard contributors"
copyright = author
release = re.findall(r'__version__ = "(.+)"', (CHECKOUT / "railyard/__init__.py").read_text())[0]
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["requirements.*"]
html_theme = "furo"
html_title = f"railyard {release}"
html_static_path = ["static"]
html_css_files = ["railyard.css"]
html_show_sphinx = False
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]
# Text without a named language is shell or plain text: no colours.
highlight_language = "none"
man_pages = [
    ("reference/cli", "railyard", "measure placements and NIC policies on HPC interconnects", author, 1)
]

#: Pages outside docs/ that the site includes: path from docs/ -> page of the site.
INCLUDED = {"../containers/README.md": "node-image.md", "../benchmarks/README.md": "programs.md"}


def link_to_included_pages(_app: Sphinx, name: str, source: list[str]) -> None:
    """Let links that lead out of docs/ lead to the site's own page."""
    for path, page in INCLUDED.items():
        if f"{name}.md" != page:
            source[0] = source[0].replace(f"]({path}", f"]({page}")


def setup(app: Sphinx) -> None:
    """Register the hook."""
    app.connect("source-read", link_to_included_pages)
