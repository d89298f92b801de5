"""Checks of third-party programs under ReFrame: skipped in one line, dry-run, run with recorded output.

The applications' sources are not in this repository; `tests/data/applications/replay.c` prints what they printed, as a
real MPI program on a real torus. So the whole way is tested: launcher, witness, parser, record, verdict.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from support.commands import CHECKOUT, HUNG_S, environment, executable
from support.reframe import assert_passed, into, reframe_in, settings

from railyard.applications.programs import osu
from railyard.records.record import Launch, Record
from railyard.records.store import archive

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="makes network namespaces as root; run as root")

DATA = CHECKOUT / "tests/data/applications"
#: The programs that the checks name, and the profiler.
PROGRAMS = [
    *re.findall(
        r'^    program = "(\S+)"$',
        "\n".join(file.read_text() for file in sorted((CHECKOUT / "checks").rglob("*.py"))),
        re.MULTILINE,
    ),
    "libmpiP.so",
]


def reframe(tmp_path: Path, *arguments: str, **changes: str) -> subprocess.CompletedProcess[str]:
    return reframe_in(tmp_path)(*into(tmp_path), *arguments, **changes)


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a program of every name, each the one that replays."""
    folder = tmp_path_factory.mktemp("programs")
    built = folder / "replay"
    compiler = "mpicc.openmpi" if shutil.which("mpicc.openmpi") else "mpicc"
    subprocess.run([compiler, "-std=gnu11", "-o", built, DATA / "replay.c"], check=True)
    for name in [*PROGRAMS, *osu.PROGRAMS]:
        shutil.copy(built, folder / name)
    return folder


@pytest.fixture
def replay(tmp_path: Path) -> Path:
    """The folder that the program replays from: files `<launch>.out`, `.left`, `.kill`."""
    folder = tmp_path / "replay"
    folder.mkdir()
    return folder


def of_record(tmp_path: Path) -> Record:
    (record,) = archive.load_all(tmp_path / "archive")
    return record


def good(launch: Launch) -> bool:
    return launch.status == "ok" and launch.placement_verdict == "obeyed" and bool(launch.verified)


def test_without_the_programs_every_check_is_skipped_in_one_line(tmp_path: Path) -> None:
    """The line names the commands that build what is missing, or asks for what railyard does not build."""
    nowhere = {"RAILYARD_ENVIRONMENTS": str(tmp_path / "none"), "SPACK_ROOT": ""}
    done = reframe(tmp_path, "-r", "-t", "coral|osu", "-S", "build=none", **nowhere)
    assert_passed(done)
    how = r"`make spack`, then `containers/build-native` or reframe with -S build=native"
    for program in ("lulesh2.0", "osu_bw"):
        assert re.search(rf"no {program} in \S+ or on the PATH: {how}; -S programs=FOLDER", done.stdout), done.stdout
    for program in ("MCBenchmark.exe", "gsnap"):
        assert f"no {program} on the PATH, and railyard does not build it: -S programs=FOLDER" in done.stdout
    assert "PASSED" in done.stdout and "Traceback" not in done.stdout
    assert archive.load_all(tmp_path / "archive") == []


def test_sizes_of_messages_do_not_reach_the_sizes_of_programs(tmp_path: Path) -> None:
    """ReFrame broke off with its own source code, because every check of an application had such a variable, too."""
    done = reframe(tmp_path, "-l", "-n", "rowcol_paper$|amg_weak", "-S", "sizes=1024,4096")
    assert done.returncode == 0 and "Traceback" not in done.stdout, done.stdout


def test_a_named_folder_without_the_program_fails_unless_only_its_user_can_have_it(tmp_path: Path) -> None:
    """A skip would be green, and somebody asked for this very folder; but nobody builds MCB for its user.

    A scale that does not exist fails in one line, too.
    """
    folders = ["-S", "lulesh_weak.programs=/no/such/folder", "-S", f"mcb_weak.programs={tmp_path}"]
    done = reframe(tmp_path, "-r", "-n", "lulesh_weak|mcb_weak|amg_weak", *folders, "-S", "amg_weak.scale=planet")
    assert done.returncode != 0
    assert "(2 failure(s), 0 expected failure(s), 1 skipped" in done.stdout, done.stdout
    assert "'planet' is not valid; expected laptop, ci, node, rack" in done.stdout, done.stdout
    assert "no lulesh2.0 in /no/such/folder, which -S programs names" in done.stdout, done.stdout
    assert f"no MCBenchmark.exe in {tmp_path}, which -S programs names; railyard does not" in done.stdout


@pytest.mark.parametrize("system", ["vtorus:netns", "vtorus"])
def test_a_build_without_a_spack_fails_in_one_line(tmp_path: Path, system: str) -> None:
    """Without a partition, as the documents have it, ReFrame gives the build the last one: a Slurm cluster's."""
    nowhere = {"RAILYARD_ENVIRONMENTS": str(tmp_path / "none"), "SPACK_ROOT": "/no/spack"}
    done = reframe(tmp_path, "-r", "-n", "lulesh_weak", "-S", "build=native", "--system", system, **nowhere)
    assert done.returncode != 0
    assert "build-native: /no/spack is no checkout of Spack: it has no bin/spack" in done.stdout, done.stdout


def test_every_check_survives_a_dry_run_with_the_programs(tmp_path: Path, programs: Path) -> None:
    chosen = ["-t", "coral$|osu", "-S", f"programs={programs}", "-S", "scale=ci"]
    done = reframe(tmp_path, "--dry-run", *chosen, RAILYARD_TOPOLOGY="gemini-4x4x4")
    assert_passed(done)
    assert ", 0 skipped," in done.stdout, done.stdout
    # A profiled launch, and it alone, counts its persistent sends.
    counted = {
        path.parent.name
        for path in tmp_path.glob("stage/**/rfm_job.sh")
        if "RAILYARD_PERSISTENT=launch-000.persistent railyard-witness" in path.read_text()
    }
    assert {"lulesh_profile", "umt_mpi_time"} <= counted
    assert {name for name in counted if not name.endswith(("_profile", "_mpi_time"))} == set()
    # Threads do not spin where ranks share processors: ten iterations of LULESH took 68 s with libgomp's default on
    # two processors, and 0.28 s with this. One thread waits for no other.
    (hybrid,) = tmp_path.glob("stage/*/*/*/lulesh_hybrid")
    (alone,) = tmp_path.glob("stage/*/*/*/umt_weak")
    script, without = (folder.joinpath("rfm_job.sh").read_text() for folder in (hybrid, alone))
    assert "env OMP_NUM_THREADS=2 OMP_WAIT_POLICY=passive railyard-witness" in script
    assert "OMP_NUM_THREADS=1" in without and "OMP_WAIT_POLICY" not in without
    assert '"omp_wait_policy": "passive"' in (hybrid / "job.json").read_text(), "a case of its own"
    assert "omp_wait_policy" not in (alone / "job.json").read_text()
    # The poster's policies keep the grid of a program that divides its ranks otherwise: SNAP's form a plane.
    (deck,) = tmp_path.glob("stage/*/*/*/snap_multirail/snap.inp")
    assert "npey=2\n" in deck.read_text() and "npez=4\n" in deck.read_text()


def test_a_build_without_openmp_is_skipped_where_ranks_are_to_have_threads(tmp_path: Path, programs: Path) -> None:
    """AMG and miniFE print no number of threads, and were recorded as hybrid whatever they were built of."""
    shutil.copytree(programs, tmp_path / "view/bin")
    (tmp_path / "labels").write_text("railyard.variants.amg2013 ~int64 ~openmp\nrailyard.variants.minife build=ref\n")
    done = reframe(tmp_path, "--dry-run", "-n", "_hybrid$", "-S", f"programs={tmp_path}/view")
    assert_passed(done)
    assert "Spack built amg without OpenMP (amg2013 ~openmp), and 2 threads per rank need it" in done.stdout
    assert "Spack built miniFE.x without OpenMP (minife build=ref)" in done.stdout
    assert ", 2 skipped," in done.stdout, "UMT and LULESH, which no label calls so, are to run"


@pytest.mark.parametrize(("scale", "expected"), [("", 0.00001), ("0.0003", 0.0003)])
def test_a_checks_own_rate_scale_gives_way_to_the_users(
    *, tmp_path: Path, programs: Path, torus_name: str, scale: str, expected: float
) -> None:
    chosen = ["-n", "^minighost_stalls$", "-S", f"programs={programs}"]
    done = reframe(tmp_path, "--dry-run", *chosen, RAILYARD_RATE_SCALE=scale)
    assert_passed(done)
    (script,) = tmp_path.glob("stage/*/*/*/minighost_stalls/rfm_job.sh")
    (up,) = re.findall("^railyard torus up .*", script.read_text(), re.MULTILINE)
    variables = environment(RAILYARD_RATE_SCALE=scale, RAILYARD_TORUS=torus_name)
    subprocess.run(["sh", "-c", up], cwd=script.parent, env=variables, check=True, timeout=HUNG_S)
    assert json.loads((script.parent / "torus.json").read_text())["rate_scale"] == expected


def test_good_and_bad_launches_of_one_job(tmp_path: Path, programs: Path, replay: Path) -> None:
    """Whole, cut off, not verified, a rank killed: each launch has its own verdict, and the first is a result."""
    whole = (DATA / "lulesh-8.out").read_text()
    said = [whole, whole[: whole.index("FOM")], whole.replace("2.720531e+04", "9.720531e+04"), ""]
    for launch, text in enumerate(said):
        (replay / f"{launch}.out").write_text(text)
    (replay / "3.kill").touch()
    chosen = ["-n", "lulesh_weak", *settings(programs=programs, placements="custom", launches=4)]
    done = reframe(tmp_path, "-r", *chosen, REPLAY=str(replay))
    first, cut, wrong, killed = of_record(tmp_path).launches
    assert good(first), done.stdout
    printed = whole.partition("FOM                  =")[2].split()[0]
    assert repr(next(s.samples[0] for s in first.series if s.fom == "fom_kzone_s")) == repr(float(printed))
    assert [rank.host for rank in first.ranks] == sorted(rank.host for rank in first.ranks)
    assert done.returncode != 0
    assert cut.status == "failed" and "launch-001.out: FOM: no line matches" in cut.reason, cut.reason
    assert wrong.status == "failed" and "final origin energy is 9.720531e+04" in wrong.reason and not wrong.series
    assert wrong.ranks, "a failed launch keeps its evidence"
    assert killed.status == "failed" and "exit status 137" in killed.reason, killed.reason
    assert "signal 9" in killed.reason


def test_a_program_without_openmp_is_no_hybrid_and_worlds_of_one_rank_each_fail_and_are_said_so(
    tmp_path: Path, programs: Path, replay: Path
) -> None:
    """The witness counts the threads from inside, so that a program by hand cannot pass for a hybrid one.

    The worlds are those of a program whose MPI does not hear of the launcher, as one with another MPI in its image.
    """
    (replay / "0.out").write_text((DATA / "amg-8.out").read_text())
    alone = tmp_path / "alone"
    alone.mkdir()
    heard = r"s/^\(PMIX[A-Za-z0-9_]*\|OMPI[A-Za-z0-9_]*\|OPAL[A-Za-z0-9_]*\)=.*/\1/p"
    forget = f"for name in $(env | sed -n '{heard}'); do unset $name; done"
    root = "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"
    executable(alone / "amg", f'#!/bin/bash\n{forget}\n{root}\nexec {programs}/amg "$@"\n')
    folders = {"amg_hybrid.programs": programs, "amg_weak.programs": alone}
    chosen = ["-n", "amg_hybrid|amg_weak", *settings(placements="plain", launches=1, **folders)]
    done = reframe(tmp_path, "-r", *chosen, REPLAY=str(replay))
    made = {record.case.check: record for record in archive.load_all(tmp_path / "archive")}
    assert done.returncode != 0 and all(record.status == "failed" for record in made.values())
    assert "AMG: threads: 0 is not valid; expected 2, as were requested" in made["amg_hybrid"].reason
    assert "8 worlds of one rank each: the program's MPI does not know" in made["amg_weak"].reason
    assert made["amg_weak"].reason in done.stdout


def test_a_program_that_leaves_a_file(tmp_path: Path, programs: Path, replay: Path) -> None:
    """Each launch has its own, and one that leaves none does not inherit the last."""
    for launch in (0, 1):
        (replay / f"{launch}.out").write_text((DATA / "minighost-8.out").read_text())
    (replay / "0.left").write_text((DATA / "minighost-8.left").read_text())
    chosen = ["-n", "minighost_weak", *settings(programs=programs, placements="plain", launches=2)]
    reframe(tmp_path, "-r", *chosen, REPLAY=str(replay))
    first, second = of_record(tmp_path).launches
    assert good(first) and {series.fom for series in first.series} == {"total_gflop_s", "time_s"}
    assert second.status == "failed" and "results.yaml: processes" in second.reason


def test_a_site_check_of_one_file_is_recorded_by_its_patterns(tmp_path: Path, programs: Path, replay: Path) -> None:
    """HPCCG's ranks are a chain, which two of the placements put on the same nodes, and a warning names them."""
    shutil.copy(programs / "amg", programs / "test_HPCCG")
    for number in range(3):
        (replay / f"{number}.out").write_text((DATA / "hpccg-8.out").read_text())
    chosen = ["-c", str(CHECKOUT / "tests/data/site"), "-n", "hpccg_weak"]
    chosen += settings(programs=programs, placements="plain,custom,random", launches=1)
    done = reframe(tmp_path, "-r", *chosen, REPLAY=str(replay))
    for launch in of_record(tmp_path).launches:
        assert launch.verified and launch.placement_verdict == "obeyed", done.stdout
        assert [(each.fom, each.samples) for each in launch.series] == [("total_mflop_s", (21.3719,))]
    assert "placements plain, custom put every rank of the grid on the same node" in done.stdout
    assert "plain, custom, random" not in done.stdout
