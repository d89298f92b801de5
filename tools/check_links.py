"""Ask for every external link of the documents and data files, and print those that are dead.

    .venv/bin/python tools/check_links.py [FILE...]        by default every tracked document and data file

Needs the internet, so no test runs it over the project's own links: a workflow does once a week.
Leaves out the links between documents, which the unit tests check.
"""

from __future__ import annotations

import re
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
PATTERNS = ["*.md", "*.cff", "*.yml", "*.yaml", ":!tests/data", ":!.github"]
LINK = re.compile(r"https?://[^\s<>()\[\]`\"'|\\]+")
#: Names of formats and placeholders, which nobody serves.
NAMES = re.compile(
    r"//(localhost|json-schema\.org/draft|www\.w3\.org|purl\.org|w3id\.org/ro/crate)|OWNER|\{|example\.(org|com)"
)
TIMEOUT_S = 30
TRIES = 3


def files() -> list[Path]:
    """Return the tracked files that hold links."""
    listed = subprocess.run(
        ["git", "ls-files", *PATTERNS], cwd=CHECKOUT, capture_output=True, text=True, check=True
    )
    return [CHECKOUT / name for name in listed.stdout.splitlines()]


def links(paths: list[Path]) -> dict[str, str]:
    """Return every link and the first place that has it, as FILE:LINE."""
    places: dict[str, str] = {}
    for path in paths:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            for link in LINK.findall(line):
                name = path.relative_to(CHECKOUT) if path.is_relative_to(CHECKOUT) else path
                places.setdefault(link.rstrip(".,;:*"), f"{name}:{number}")
    return {link: where for link, where in places.items() if not NAMES.search(link)}


def problem(link: str) -> str:
    """Return why a link is dead, or nothing. A server that refuses programs (403, 429) counts as alive."""
    wrong = ""
    for _ in range(TRIES):
        request = urllib.request.Request(link, headers={"User-Agent": "Mozilla/5.0 (railyard link check)"})
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_S):
                return ""
        except urllib.error.HTTPError as error:
            if error.code in (403, 429):
                return ""
            wrong = f"status {error.code}"
            if error.code == 404:
                return wrong
        except (OSError, ValueError) as error:
            wrong = str(error)
    return wrong


def dead(places: dict[str, str]) -> Iterator[str]:
    """Yield a line for each dead link."""
    with ThreadPoolExecutor(8) as pool:
        for (link, where), wrong in zip(places.items(), pool.map(problem, places), strict=True):
            if wrong:
                yield f"{where}: dead link: {link}; {wrong}"


def main(words: list[str]) -> int:
    """Print the dead links of the named files, or of all; return 1 if there are any."""
    places = links([Path(word).resolve() for word in words] or files())
    lines = list(dead(places))
    print(*lines, f"{len(places)} links, {len(lines)} dead", sep="\n")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
