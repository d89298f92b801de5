"""What containers/spack-sources prints of each package and what it refuses, with a stand-in for Spack's own modules."""

from __future__ import annotations

import contextlib
import runpy
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from support.commands import executable

from railyard.base.checkout import CHECKOUT

SCRIPT = CHECKOUT / "containers/spack-sources"
PLACE = "_source-cache/git/example/umt.git/commit.tar.gz"
GIT = ["git", "-c", "user.name=n", "-c", "user.email=e@example.org"]


def git(folder: Path, *words: str) -> str:
    done = subprocess.run([*GIT, "-C", folder, *words], check=True, capture_output=True, text=True)
    return done.stdout.strip()


class Stage(list[Any]):
    """Spack's stage of one archive, which it does not fetch again where an earlier build left it."""

    def __init__(self, mirror: Path, left: Path) -> None:
        super().__init__([SimpleNamespace(mirror_layout=SimpleNamespace(path=PLACE), archive_file=None)])
        self.mirror, self.left = mirror, left

    def destroy(self) -> None:
        self.left.unlink(missing_ok=True)

    def fetch(self) -> None:
        if not self.left.exists():
            self.left.write_bytes(self.mirror.read_bytes())
        self[0].archive_file = str(self.left)


class Site:
    """A repository with one commit, a mirror with its archive, Spack's source cache, and the trees that are known."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.monkeypatch, self.capsys = monkeypatch, capsys
        self.repository, self.mirror, self.cache = folder / "umt", folder / "mirror" / PLACE, folder / "sources" / PLACE
        self.trees, self.configuration = folder / "trees", {"config:source_cache": str(folder / "sources")}
        self.fetches: Callable[[], None] = lambda: None
        for place in (self.repository / "src/deep", self.mirror.parent, self.trees):
            place.mkdir(parents=True)
        (self.repository / "src/deep/figure.c").write_text("double rate = 1.0;\n")
        (self.repository / "src.h").write_text("")
        executable(self.repository / "configure", "#!/bin/sh\n")
        (self.repository / "link").symlink_to("src.h")
        git(folder, "init", "--quiet", str(self.repository))
        git(self.repository, "add", ".")
        git(self.repository, "commit", "--quiet", "--message=one")
        self.commit = git(self.repository, "rev-parse", "HEAD")
        (self.trees / self.commit).write_text(git(self.repository, "rev-parse", "HEAD^{tree}") + "\n")
        self.pack()

    def pack(self) -> None:
        """Pack the repository's files as Spack does: below one folder, without .git."""
        with tarfile.open(self.mirror, "w:gz") as archive:
            archive.add(self.repository, "spack-src", filter=lambda one: None if "/.git" in one.name else one)

    def forge(self) -> None:
        """Make the archive of the mirror print ten times the figure."""
        (self.repository / "src/deep/figure.c").write_text("double rate = 10.0;\n")
        self.pack()

    def run(self, *words: str, refused: bool = False) -> Any:
        """Run the script, which ends with an error if it is `refused`; return what it printed, `out` and `err`."""
        self.monkeypatch.setattr(sys, "argv", [str(SCRIPT), str(self.trees), *words])
        self.monkeypatch.setattr(sys, "dont_write_bytecode", True)
        with pytest.raises(SystemExit) if refused else contextlib.nullcontext():
            runpy.run_path(str(SCRIPT))
        return self.capsys.readouterr()


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Site:
    """An environment of UMT, whose recipe names a commit, and of the benchmarks of a checkout."""
    made = Site(tmp_path, monkeypatch, capsys)
    names = ("spack", "spack.config", "spack.environment", "spack.error", "spack.util", "spack.util.path")
    modules: dict[str, Any] = {name: ModuleType(name) for name in names}
    stage = Stage(made.mirror, tmp_path / "staged.tar.gz")
    stage.fetch()
    made.fetches = stage.fetch
    specs = []
    for name, fetcher in (
        ("umt", {"commit": made.commit, "git": "https://example.org/UMT.git"}),
        ("railyard-benchmarks", {}),
    ):
        spec = SimpleNamespace(name=name, external=False, installed=True, dag_hash=lambda name=name: name)
        spec.traverse = lambda spec=spec: [spec]
        spec.package = SimpleNamespace(
            spec=spec,
            git=made.repository.as_uri(),
            fetcher=SimpleNamespace(**fetcher),
            stage=stage,
            do_fetch=lambda: made.fetches(),
        )
        specs.append(spec)
    modules["spack.environment"].active_environment = lambda: SimpleNamespace(
        concretized_specs=lambda: [(spec.name, spec) for spec in specs]
    )
    modules["spack.config"].get = made.configuration.get
    modules["spack.util.path"].canonicalize_path = str
    modules["spack.error"].SpackError = RuntimeError
    for name, module in modules.items():
        parent, _, last = name.rpartition(".")
        if parent:
            setattr(modules[parent], last, module)
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setenv("MIRROR", str(tmp_path / "mirror"))
    return made


def test_a_source_with_its_commits_tree_is_that_commit(site: Site) -> None:
    """Files in folders, an executable one and a link: git gives them the same tree."""
    assert site.run().out.splitlines() == [
        f"railyard.source.railyard-benchmarks checkout {site.commit}",
        f"railyard.source.umt commit {site.commit}",
    ]


def test_a_forged_source_is_refused_and_does_not_stay(site: Site) -> None:
    """Before, a source that prints ten times the figure was labelled as the honest commit."""
    honest = site.mirror.read_bytes()
    site.forge()
    printed = site.run("--fetch", refused=True)
    assert f"umt: {site.mirror} is not commit {site.commit}: its tree is " in printed.err
    assert not site.cache.exists()
    assert "railyard.source.umt" not in printed.out
    site.mirror.write_bytes(honest)
    assert f"railyard.source.umt commit {site.commit}" in site.run("--fetch").out
    assert site.cache.read_bytes() == honest


@pytest.mark.parametrize(
    ("error", "told"),
    [
        # Spack names the version alone.
        (
            "sha256 checksum failed for v2.0\n    Expected 12 but got 34",
            "sha256 checksum failed for v2.0 Expected 12 but got 34; from {mirror}/" + PLACE,
        ),
        (
            "All fetchers failed for spack-stage-umt-2013",
            "no source: https://example.org/UMT.git does not answer, and MIRROR ({mirror}) does not have it; "
            "expected a network, or MIRROR=FOLDER that containers/carry filled",
        ),
    ],
)
def test_a_source_that_is_another_or_missing_is_named_with_its_package(
    site: Site, tmp_path: Path, error: str, told: str
) -> None:
    def fail() -> None:
        raise RuntimeError(error)

    site.fetches = fail
    line = f"==> Error: umt: {told.format(mirror=tmp_path / 'mirror')}\n"
    assert site.run("--fetch", refused=True).err == line


@pytest.mark.parametrize("checksum", [False, True])
def test_without_checksums_a_forged_source_is_unchecked_and_so_is_a_commit_whose_tree_nobody_told(
    checksum: bool, site: Site
) -> None:
    if checksum:
        (site.trees / site.commit).unlink()
    else:
        site.forge()
    site.configuration["config:checksum"] = checksum  # type: ignore[assignment]
    assert f"railyard.source.umt unchecked commit {site.commit}, tree " in site.run("--fetch").out


@pytest.mark.parametrize("name", ["../out", "other/file", "spack-src"])
def test_an_archive_with_files_beside_its_folder_has_no_tree(name: str, site: Site) -> None:
    with tarfile.open(site.mirror, "w:gz") as archive:
        archive.add(site.repository / "src.h", "spack-src/src.h")
        archive.add(site.repository / "src.h", name)
    assert f"unchecked commit {site.commit}, tree unreadable" in site.run().out


def test_every_commit_of_a_recipe_in_a_lock_has_a_tree() -> None:
    """Without one an honest archive of it would be refused by strict."""
    recipe = (CHECKOUT / "containers/spack-repo/packages/umt/package.py").read_text()
    (commit,) = [line.split(chr(34))[5] for line in recipe.splitlines() if "commit=" in line]
    assert f"umt {commit} " in (CHECKOUT / "containers/spack-repo/locks/trees").read_text()
