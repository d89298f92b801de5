"""Build the wheel that reads: the commands for records, reports, comparisons and tenders, without checks and programs.

The modules are those of the checkout, unchanged. Files that they read, such as schemas, are in `railyard/suite`, at the
paths that they have in the checkout. An editable installation is the checkout itself.
"""

import hashlib
import shutil
import subprocess
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

ROOMS = ("base", "placements", "records", "applications", "jobs", "torus", "analysis", "table", "tender")
#: Parts of these rooms that run something or write into the checkout, and nothing that reads imports.
LEFT_OUT = (
    *("torus/cli", "torus/simulated/cli.py", "torus/modelled/cli.py", "jobs/cli.py", "jobs/nodes/node_cli.py"),
    "analysis/references/cli.py",
)
#: Files that are read and not run. The strict check reads names from the sources of checks and benchmarks.
READ = (
    "results/schema/*",
    "results/studies/*",
    "results/presets/*",
    "results/trust.yml",
    "placements/topologies/*",
    "checks/**/*.py",
    "benchmarks/*/*.c",
    "benchmarks/counters/groups/*",
)


class ReadingWheel(build_py):
    """Copy the rooms that read."""

    def run(self):
        """Write the folder that becomes the wheel."""
        if self.editable_mode:
            return
        shutil.rmtree(self.build_lib, ignore_errors=True)
        package = Path(self.build_lib, "railyard")
        without = shutil.ignore_patterns("__pycache__", "*.c", "*.h", "*.cpp", "bin")
        for room in ROOMS:
            shutil.copytree(f"railyard/{room}", package / room, ignore=without)
        for file in Path("railyard").glob("*.py"):
            shutil.copy(file, package)
        for path in (package / part for part in LEFT_OUT):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        suite = package / "suite"
        for file in sorted(file for pattern in READ for file in Path().glob(pattern) if file.is_file()):
            (suite / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, suite / file)
        self.name_version(package, suite / "railyard")

    def name_version(self, package, folder):
        """Write the commit, if git reports one, and a digest of the code, on which saved judgements depend."""
        (folder / "base").mkdir(parents=True)
        commit = Path("railyard/base/commit.txt").read_text(encoding="utf-8").strip()
        if Path(".git").exists() and not subprocess.run(["git", "diff", "--quiet", "HEAD"], check=False).returncode:
            commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout
        (folder / "base/commit.txt").write_text(f"{commit.strip()}\n", encoding="utf-8")
        code = b"".join(path.read_bytes() for path in sorted(package.rglob("*.py")))
        (folder / "code.json").write_text(f'"{hashlib.sha256(code).hexdigest()}"\n', encoding="utf-8")


setup(cmdclass={"build_py": ReadingWheel}, options={"build": {"build_base": "build/wheel"}})
