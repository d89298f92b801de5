"""Walk a page: the commands of its first block, as a person would type them, in one shell.

What the walk replaces is what no page can know: the address of the repository, the site's modules, the machine's name.
`make setup` finds what this checkout has built, because a virtual environment and the benchmarks take minutes to make,
and whoever runs the tests has just made them by the same command.
"""

from __future__ import annotations

import itertools
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from support.commands import CHECKOUT, executable, program

#: The pretended site: its module of Open MPI hides the other MPI and sets what this Slurm needs (docs/torus.md).
SITE = """\
set -euo pipefail
module() {{
    export LD_PRELOAD={checkout}/build/lib/railyard-fence.so PATH={hidden}:$PATH
}}
hand_over() {{
    {python} -P -c 'import sys; sys.path.insert(0, "{tests}"); from support import walk; walk.hand_over()'
}}
cd {folder}
"""


def commands(page: Path) -> list[str]:
    """Return the commands of a page's first indented block, without their remarks; `\\` joins two lines."""
    block = re.search(r"\n\n((?:    .*\S.*\n)+)", page.read_text())
    assert block, f"{page}: no block of commands"
    lines = block[1].replace("\\\n", "").splitlines()
    return [re.sub(r"\s+#.*", "", line).strip() for line in lines]


def script(pages: Sequence[Path], folder: Path, name: str) -> str:
    """Return the pages' commands as a script that a person's shell in a folder would run; `name` is the machine's."""
    hidden = folder / "hidden"
    for other in ("mpicc.mpich", "mpichversion"):
        program(hidden, other, "exit 1")
    head = SITE.format(checkout=CHECKOUT, hidden=hidden, python=sys.executable, tests=CHECKOUT / "tests", folder=folder)
    typed = []
    for command in itertools.chain.from_iterable(map(commands, pages)):
        own = re.sub(r"\bNAME\b", name, command.replace("git clone URL", f"git clone -q {CHECKOUT}"))
        typed += [own, *(["hand_over"] if command.startswith("git clone") else [])]
    return head + "\n".join(typed) + "\n"


def hand_over(clone: Path | None = None) -> None:
    """Give a fresh clone this checkout's packages and builds, newer than the clone's files."""
    clone = clone or Path.cwd()
    environment = clone / ".venv"
    base = Path(sys.base_prefix, "bin", f"python3.{sys.version_info.minor}")
    subprocess.run([base, "-m", "venv", "--without-pip", environment], check=True)
    (packages,) = environment.glob("lib/python3.*/site-packages")
    theirs = next((CHECKOUT / ".venv").glob("lib/python3.*/site-packages"))
    (packages / "handed-over.pth").write_text(f"{clone}\n{theirs}\n")
    for name in ("railyard", "reframe"):
        lines = (CHECKOUT / ".venv/bin" / name).read_text().splitlines()
        executable(environment / "bin" / name, "\n".join([f"#!{environment}/bin/python", *lines[1:]]) + "\n")
    for built in ("bin", "lib", "stamps", "benchmarks-openmpi", "benchmarks-mpich", "benchmarks-simgrid"):
        if (CHECKOUT / "build" / built).is_dir():
            shutil.copytree(CHECKOUT / "build" / built, clone / "build" / built, copy_function=shutil.copy)
