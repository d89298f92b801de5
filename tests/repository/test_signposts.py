"""Signposts lead somewhere: modules, files and sections of `perf` that text, docstrings and comments name exist."""

from __future__ import annotations

import ast
import fnmatch
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path, PurePath

from support.commands import CHECKOUT, tracked

#: What looks like a signpost and is none, by a pattern of `PAGE: NAME`, and what it is.
OTHER = {
    r": (pytest|venv|pip)$": "modules of Python and of packages",
    r": (drivers|linux|opal|prov|src)/": "sources of other projects",
    r": [\w-]+\.(conf|def|html|json|lock|sif|txt|ya?ml)$": "files that railyard reads or writes somewhere",
    r": (data/bid|records/<)": "files in a bag",
    r": (provenance|tables)\.": "fields of a record",
    r": code\.(begun|ended|WHEN)$": "files of a stage directory",
    r": railyard\.Placed$": "an attribute of the package, made by its `__getattr__`",
    r"setup\.py: railyard/suite$": "files in the wheel",
    r": topology\.nodes$": "an attribute of a variable",
    r": railyard\.TORUS\.HOST$": "a network namespace",
    r"containers.*: railyard[./]": "an image, or a label of one",
    r"docs/.*: (checks/applications/hpccg|ci/swap)\.py$": "a file that the page has its reader write",
    r"CHANGELOG\.md: (perf[./].+|rivals|checks\.lulesh|torus/bin)$": "former names, with the present ones",
}


FOLDERS = {folder for name in tracked() for folder in PurePath(name).parents}
PATHS = {*tracked(), *map(str, FOLDERS)}
#: Code names what is near by its last parts.
ENDS = {path.split("/", start)[-1] for path in PATHS for start in range(path.count("/") + 1)}
MODULES: dict[str, list[Path]] = defaultdict(list)
for path in tracked("*.py"):
    module = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    for start in range(module.count(".") + 1):
        MODULES[module.split(".", start)[-1]].append(CHECKOUT / path)
SECTIONS = set(re.findall(r'^    "([\w-]+)": \(', (CHECKOUT / "perf/__main__.py").read_text(), re.MULTILINE))


@cache
def names(file: Path) -> set[str]:
    """Return what a module and its classes define and import."""
    tree = ast.parse(file.read_text())
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    return {
        str(getattr(node, key, ""))
        for body in (tree.body, *(one.body for one in classes))
        for top in body
        for node in ([top] if isinstance(top, ast.ClassDef | ast.FunctionDef) else ast.walk(top))
        for key in ("name", "asname", "id")
    }


def is_module(name: str) -> bool:
    """Return whether a dotted name is a module, or is defined in one; the first packages may be left out."""
    words = name.split(".")
    return any(
        set(words[length:]) <= names(file)
        for length in range(1, len(words) + 1)
        for file in MODULES.get(".".join(words[:length]), ())
    )


def is_path(name: str, page: str) -> bool:
    """Return whether a path is in git. Documents name it from the checkout; NAME and <name> stand for any word."""
    pattern = re.sub(r"<[^>]*>|[A-Z]{3,}", "*", name.rstrip("/"))
    if page.endswith(".md"):
        return any(fnmatch.filter(PATHS, str(base / pattern)) for base in (PurePath(), PurePath(page).parent))
    return bool(fnmatch.filter(ENDS, pattern))


def signposts(page: str, text: str) -> Iterator[tuple[str, bool]]:
    """Yield the signposts of a page, each with whether it leads somewhere; `NAME` of commit HASH is history."""
    text = re.sub(r"`[^`]+`\s+of\s+commit\s+[0-9a-f]{7}", "", text)
    for words in re.findall(r"python -m perf\s+([a-z][a-z-]*(?: [a-z][a-z-]*)*)", text):
        yield from ((word, word in SECTIONS) for word in words.split())
    dotted = set(re.findall(r"`([A-Za-z_]\w*(?:\.\w+)+)(?=[`(])", text))
    dotted = {name for name in dotted if name.split(".")[0] in {"results", *MODULES} and name not in ENDS}
    yield from ((name, is_module(name)) for name in dotted | set(re.findall(r"python -m ([\w.]+)", text)))
    quoted = " ".join(re.findall(r"`[^`\n]+`", text))
    paths = set(re.findall(r"(?<=[` ])[\w.-]+/[\w./<>*-]+(?=[`:, ])", quoted))
    paths = {path for path in paths if path.split("/")[0] in {folder.name for folder in FOLDERS}}
    prose = "" if page.startswith("tests/") else re.sub("#include.*", "", text)
    paths.update(re.findall(r"(?<![\w./{}$<-])[\w-]+/[\w./-]+\.(?:py|[ch]|[ch]pp|sh)\b", prose))
    yield from ((path, is_path(path, page)) for path in paths)


def test_every_signpost_leads_somewhere() -> None:
    pages = tracked("*.py", "*.[ch]", "*.[ch]pp", "*.sh", "*.md", ".ci", "containers", "tools")
    texts = {page: (CHECKOUT / page).read_text() for page in pages}
    dead = [f"{page}: {name}" for page in pages for name, leads in signposts(page, texts[page]) if not leads]
    assert [line for line in dead if not any(re.search(pattern, line) for pattern in OTHER)] == []
    assert [pattern for pattern in OTHER if not any(re.search(pattern, line) for line in dead)] == []
