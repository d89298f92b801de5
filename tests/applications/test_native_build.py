"""containers/build-native with a stub for Spack: where things go, what stays as it was, what a failure prints.

The stub does to an environment what Spack does to it: it rewrites spack.yaml and the lock. The workflow `image` runs
the real one.
"""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
import time
from pathlib import Path

import pytest
from support.commands import CHECKOUT, HUNG_S, executable, ran

SPACK = """\
#!/bin/sh
echo "$LOGNAME $*" >>"$STUB/calls"
case " $* " in
*" install "*)
    echo "==> Installing lulesh-2.0.3-nzhonfypstbv6gyug4s7h2xslmxojtrd [5/5]"
    [ ! -e "$STUB/waits" ] || until [ -e "$STUB/go" ]; do sleep 0.1; done
    for word; do [ ! -e "$word/mirrors.yaml" ] || cat "$word/mirrors.yaml" >>"$STUB/caches"; done
    [ ! -e "$STUB/fails" ] || { cat "$STUB/fails"; exit 1; }
    sed -i 's/^    - /  - /' spack.yaml
    echo "  compilers: []" >>spack.yaml
    echo "rewritten by Spack" >spack.lock
    mkdir -p build/spack/view/bin && touch build/spack/view/bin/lulesh2.0
    ;;
*" python "*) cat "$STUB/source" ;;
esac
[ "$1" != --version ] || echo 0.23.1
"""


def system() -> str:
    """The operating system as Spack calls it."""
    release = platform.freedesktop_os_release()
    return f"{release['ID']}{release.get('VERSION_ID', '')}"


class Stubbed:
    """A stub of Spack in a folder, with environments of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.environments = folder, folder / "environments"
        program = folder / "spack/bin/spack"
        executable(program, SPACK)
        (folder / "scope").mkdir()
        (folder / "scope/packages.yaml").write_text("packages:\n  all: {}\n")
        (folder / "source").write_text("railyard.source.lulesh commit 46c2a1\n")
        self.lock = folder / "of.lock"
        kept = (CHECKOUT / "containers/spack-repo/locks/debian12-x86_64-openmpi.lock").read_text()
        self.lock.write_text(kept.replace("debian12", system()))

    def build(self, **changes: str) -> subprocess.CompletedProcess[str]:
        """Build by the stub, without the variables of a login."""
        begun = self.begin(**changes)
        out, errors = begun.communicate(timeout=HUNG_S)
        return subprocess.CompletedProcess(begun.args, begun.returncode, out, errors)

    def begin(self, **changes: str) -> subprocess.Popen[str]:
        """Start such a build."""
        given = {
            "SCOPE": f"{self.folder}/scope",
            "LOCK": str(self.lock),
            "STUB": str(self.folder),
            "RAILYARD_ENVIRONMENTS": str(self.environments),
        }
        kept = {name: value for name, value in os.environ.items() if name not in {"LOGNAME", "SPACK_ROOT", "MPI"}}
        command = [str(CHECKOUT / "containers/build-native"), str(self.folder / "spack")]
        pipe = subprocess.PIPE
        return subprocess.Popen(
            command, env=kept | given | changes, stdout=pipe, stderr=pipe, text=True, cwd=self.folder
        )

    def calls(self) -> list[str]:
        """What Spack was called with, after the user's name that it saw."""
        return (self.folder / "calls").read_text().splitlines()


@pytest.fixture
def stubbed(tmp_path: Path) -> Stubbed:
    return Stubbed(tmp_path)


def kept() -> str:
    """What git sees of the checkout's spack.yaml, and of files that nobody committed at its top."""
    text = hashlib.sha256((CHECKOUT / "spack.yaml").read_bytes()).hexdigest()
    return text + str((CHECKOUT / "spack.lock").exists())


def test_spack_rewrites_a_copy_and_two_mpis_stand_side_by_side(stubbed: Stubbed) -> None:
    """Before, Spack rewrote the tracked spack.yaml, and the second MPI took the first one's place."""
    before = kept()
    for mpi in ("openmpi", "mpich"):
        done = stubbed.build(MPI=mpi)
        assert done.returncode == 0, done.stderr
        assert "package 5 of 5: lulesh-2.0.3\n" in done.stderr
        assert (stubbed.environments / mpi / "view/bin/lulesh2.0").is_file()
    assert kept() == before
    names = sorted(path.name for path in stubbed.environments.iterdir() if path.is_dir() and not path.is_symlink())
    assert [name.split("-")[0] for name in names] == ["mpich", "openmpi"]
    labels = (stubbed.environments / "openmpi/labels").read_text()
    assert f"railyard.spack-lock {hashlib.sha256(stubbed.lock.read_bytes()).hexdigest()}" in labels
    assert "railyard.source.lulesh commit 46c2a1" in labels
    assert {call.split()[0] for call in stubbed.calls() if " install " in call} == {"root"}, "mpiP needs a user's name"


def test_the_second_of_two_sessions_waits_and_builds_nothing(stubbed: Stubbed) -> None:
    """The first is done by the committed script: an edit of the checkout's file ended a build with a syntax error."""
    (stubbed.folder / "waits").touch()
    first = stubbed.begin()
    assert first.stderr is not None
    assert "progress in" in first.stderr.readline()
    second = stubbed.begin()
    assert second.stderr is not None
    assert "waits for another build of openmpi" in second.stderr.readline()
    while not any(" install " in call for call in stubbed.calls()):
        time.sleep(0.05)
    words = ran("ps", "-ww", "-eo", "args").stdout
    (stubbed.folder / "go").touch()
    first.communicate(timeout=HUNG_S)
    assert first.returncode == 0
    (context,) = stubbed.environments.glob("openmpi-*/context")
    assert f"{context}/containers/steps environment {context}" in words
    assert "made of these sources already" in second.communicate(timeout=HUNG_S)[0]
    assert second.returncode == 0
    assert len([call for call in stubbed.calls() if " install " in call]) == 2, "railyard's own, then the others"


def test_railyards_own_benchmarks_have_a_build_cache_for_each_state_of_their_sources(stubbed: Stubbed) -> None:
    """Before, every image compiled them anew, also where their sources were those of the last one."""
    sources = ran("git", "rev-parse", "HEAD:benchmarks", cwd=CHECKOUT).stdout.strip()
    assert stubbed.build(KEEP="yes").returncode == 0
    assert f"own: {{url: 'file://{CHECKOUT}/build/cache/own/{sources}'" in (stubbed.folder / "caches").read_text()
    assert stubbed.build(PACKAGES="railyard-benchmarks").returncode == 0
    assert (stubbed.folder / "caches").read_text().splitlines()[1:] == ["mirrors:: {}"], "no other cache has it"


def test_unchecked_sources_share_no_package_with_checked_ones(stubbed: Stubbed) -> None:
    """Before, a forged build left its binaries in the cache, and the next honest one took them."""
    honest, forged = (
        "railyard.source.lulesh commit 46c2a1\n",
        "railyard.source.lulesh unchecked commit 46c2a1, tree 5\n",
    )
    for number, words in enumerate((honest, forged, honest)):
        (stubbed.folder / "source").write_text(words)
        (stubbed.folder / "scope/build.yaml").write_text(f"# {number}\n")
        assert stubbed.build(KEEP="yes").returncode == 0
        assert words in (stubbed.environments / "openmpi/labels").read_text()
    kept = [call.rpartition("/packages/")[2] for call in stubbed.calls() if " kept " in call]
    assert kept == ["checked", "checked"]
    (own,) = {line for line in (stubbed.folder / "caches").read_text().splitlines() if "  kept: " in line}
    unchecked = own.partition("/packages/")[2].partition("'")[0]
    assert unchecked.startswith("unchecked-"), "and no cache of SCOPE, because `mirrors::` replaces all"
    trees = [call.partition("install_tree:root:")[2].split()[0] for call in stubbed.calls() if " install " in call]
    assert trees[0] == trees[-1] == f"{stubbed.environments}/software"
    assert trees[2] == f"{stubbed.environments}/software/{unchecked}"


def test_folders_may_be_relative_to_where_the_command_was_started_and_a_second_build_does_not_call_spack(
    stubbed: Stubbed,
) -> None:
    """Before, each SCOPE of the documents was looked for in the checkout, and then in the folder of the build."""
    (stubbed.folder / "mirror").mkdir()
    folders = {"SCOPE": "scope", "MIRROR": "mirror", "LOCK": "of.lock", "RAILYARD_ENVIRONMENTS": "environments"}
    done = stubbed.build(**folders)
    assert done.returncode == 0, done.stderr
    calls = "\n".join(stubbed.calls())
    assert f"-C {stubbed.folder}/scope" in calls and f"carried {stubbed.folder}/mirror" in calls
    (stubbed.folder / "calls").unlink()
    done = stubbed.build(**folders)
    assert done.returncode == 0 and "made of these sources already" in done.stdout
    assert not [call for call in stubbed.calls() if "--version" not in call]


def test_a_package_alone_is_built_with_the_witness(stubbed: Stubbed) -> None:
    assert stubbed.build(PACKAGES="lulesh").returncode == 0
    installed = [call.split()[-1] for call in stubbed.calls() if " install " in call]
    assert installed == ["railyard-benchmarks", "lulesh"]


#: Recorded logs of Spack 0.23, and the line that each becomes. An archive had another sum than the recipe names,
#: a source had a line that no compiler takes, and the machine had no network. Paths in them were replaced.
FAILURES = {
    "checksum": "osu-micro-benchmarks: ChecksumError: sha256 checksum failed for osu-micro-benchmarks-7.4.tar.gz; "
    "Expected 1edd0c2efa61999409bfb28740a7f39689a5b42b1a1b4c66d1656e5637f7cefc but got "
    "72870d22d8e1d386899c35e3e0cf9530cf9c26d81e276bf81a6e30d45925b5ce",
    "compiler": "lulesh: ProcessError: Command exited with status 2; lulesh.cc:1:2: error: #error broken on purpose",
    "fetch": "amg2013: FetchError: All fetchers failed for spack-stage-amg2013-1.2-c3gvszi6zmoyqz7q6mxmrssprjyxlf7n; "
    "URLError: <urlopen error [Errno -3] Temporary failure in name resolution>",
}
LOGS = CHECKOUT / "tests/data/spack"


@pytest.mark.parametrize("failure", FAILURES)
def test_a_build_that_fails_is_one_line_with_package_error_and_log(failure: str, stubbed: Stubbed) -> None:
    (stubbed.folder / "fails").write_text((LOGS / f"{failure}.log").read_text())
    done = stubbed.build()
    lines = [
        line for line in done.stderr.splitlines() if "progress in" not in line and not line.startswith("  package ")
    ]
    log = stubbed.environments / "openmpi.log"
    assert done.returncode == 1 and lines == [f"build-native: {FAILURES[failure]}; all of it: {log}"]
    assert not (stubbed.environments / "openmpi").exists()


def test_the_first_error_of_an_image_is_what_its_step_printed_and_a_full_disk_before_what_follows(
    tmp_path: Path,
) -> None:
    """Apptainer's own last line names no cause; the second is the end of a recorded log."""
    log = tmp_path / "image.log"
    log.write_text(
        "Err:1 bookworm\n  Write error - write (28: No space left on device)\n"
        "E: Some index files failed to download. They have been ignored, or old ones used instead.\n"
        "FATAL:   While performing build: while running engine: while running %post section: exit status 100\n"
    )
    done = ran(CHECKOUT / "containers/first-error", log)
    assert done.stdout == "the disk is full: Write error - write (28: No space left on device)\n"
    done = ran(CHECKOUT / "containers/first-error", LOGS / "image.log")
    folder = "/opt/software/.spack/archived-files/spack-build"
    assert done.stdout == f"find: cannot delete '{folder}': Directory not empty\n"
