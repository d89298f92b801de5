"""Configure Sphinx for `make docs`. Nothing is fetched; theme and search are local (docs/decisions/README.md)."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

CHECKOUT = Path(__file__).resolve().parent.parent

project = "railyard"
author = "The railyard contributors"
copyright = author
release = re.findall(r'__version__ = "(.+)"', (CHECKOUT / "railyard/__init__.py").read_text())[0]
extensions = ["myst_parser", "sphinx_click"]
# sphinx-click loads the commands, whose packages are those that `make setup` installs.
sys.path += [str(CHECKOUT), *map(str, CHECKOUT.glob(".venv/lib/python3*/site-packages"))]
source_suffix = {".md": "markdown"}
exclude_patterns = ["requirements.*"]
html_theme = "furo"
html_title = f"railyard {release}"
html_static_path = ["static"]
html_css_files = ["railyard.css"]
html_js_files = ["copy.js"]
html_theme_options = {"top_of_page_buttons": []}
html_copy_source = False
html_show_sphinx = False
myst_heading_anchors = 4
# Two dashes begin an option, also in prose.
smartquotes = False
myst_enable_extensions = ["colon_fence"]
# Text without a named language is plain, unless `with_prompts` finds commands.
highlight_language = "none"
COMMAND = re.compile(
    r"(\.venv/bin/|railyard |reframe |make\b|mpirun |mpicc |export |git |cd |sudo |tools/|containers/|module |eval |"
    r"docker |python |jq |unshare |[A-Z_]+=\S+ (\S+=\S+ )*(\.venv|railyard|reframe|make|containers|python)|\(cat |$)"
)
#: What the theme leaves out for people who use no mouse or no sight: text of a page -> text with it.
ACCESSIBLE = {
    'role="heading">': 'role="heading" aria-level="2">',
    "<pre>": '<pre tabindex="0">',
    '<div class="table-wrapper': '<div tabindex="0" class="table-wrapper',
    '<aside class="sidebar-drawer"': '<aside aria-label="Pages" class="sidebar-drawer"',
    '<aside class="toc-drawer': '<aside aria-label="On this page" class="toc-drawer',
}
#: `make links` does not ask for examples, and for names of formats that nobody serves.
linkcheck_ignore = [r"https?://(localhost|\S*example\.(org|com)|json-schema\.org/draft|\S*OWNER)"]
man_pages = [("reference/cli", "railyard", "measure placements and NIC policies on HPC interconnects", author, 1)]


def with_links(_app: Sphinx, name: str, source: list[str]) -> None:
    """Let links to the page outside docs/ that the site includes lead to it, and end each page with the glossary's."""
    if name != "programs":
        source[0] = source[0].replace("](../benchmarks/README.md", "](programs.md")
    source[0] += f"\n\n[Glossary]({'../' * name.count('/')}reference/glossary.md)\n"


def with_prompts(_app: Sphinx, doctree: nodes.document) -> None:
    """Show a prompt before each command of a block without a language that contains nothing else."""
    for block in list(doctree.findall(nodes.literal_block)):
        lines = block.astext().splitlines()
        if block.get("language", "none") not in {"none", "default"}:
            continue
        starts = [line for before, line in zip(["", *lines], lines, strict=False) if not before.endswith("\\")]
        if all(map(COMMAND.match, starts)):
            text = re.sub(r"(?m)(?<!\\\n)^(?=.)", "$ ", block.astext())
            block.replace_self(nodes.literal_block(text, text, language="console"))


def with_literal_examples(_app: Sphinx, _context: object, lines: list[str]) -> None:
    """Show the examples of a command as they are typed: sphinx-click has them as prose with line breaks."""
    if lines and lines[0].strip("| ").startswith("Example"):
        lines[:] = [f"{lines[0].strip('| ')}:", "", *(f"    {line.strip('| ')}" for line in lines[1:])]


def with_plain_paths(_app: Sphinx, _context: object, lines: list[str]) -> None:
    """Show a default that is a path as a user types it."""
    lines[:] = [re.sub(r"PosixPath\((.+?)\)", r"\1", line) for line in lines]


def make_accessible(app: Sphinx, error: Exception | None) -> None:
    """Give headings a level, what scrolls the keyboard's focus, and landmarks a name."""
    if error or app.builder.format != "html":
        return
    for page in Path(app.outdir).rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        for without, complete in ACCESSIBLE.items():
            text = text.replace(without, complete)
        page.write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Register the hooks."""
    app.connect("build-finished", make_accessible)
    app.connect("source-read", with_links)
    app.connect("env-get-outdated", lambda *_: ["reference/cli"])  # the page that is made of the commands
    app.connect("sphinx-click-process-epilog", with_literal_examples)
    app.connect("sphinx-click-process-options", with_plain_paths)
    app.connect("doctree-read", with_prompts)
