"""Images without Apptainer: what a record says of software, what an image costs, what is refused and skipped.

tests/containers/test_sif.py runs real ones.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest
from support import synthetic
from support.commands import CHECKOUT, executable, ran

from railyard.analysis.cases import cases, comparison
from railyard.analysis.judge import sides, versus
from railyard.base.errors import InputError
from railyard.jobs import image
from railyard.records import image_engines, record, references, rules
from railyard.records.assemble import LaunchRun
from railyard.records.image_engines import apptainer
from railyard.records.image_engines.base import ImageEngine
from railyard.records.record import Record, Software
from railyard.records.store import entries

IMAGE = synthetic.IMAGE
IMAGE_OF_ANOTHER = {**{k: v for k, v in IMAGE.items() if k != "apptainer"}, "engine": "hullrun 0.3"}
BOTH = ["native", "image"]


def job(software: list[str], *, launches: int = 8, factor: float = 1.0, **changes: Any) -> Record:
    """A halo job on one placement; a launch from the image takes `factor` times as long as its neighbour in time."""
    made = synthetic.case(placements=["plain"], software=software, launches_per_combination=launches)
    provenance = {"image": IMAGE if "image" in software else None, **changes}
    return synthetic.job(made, synthetic.halo_series({"plain": 1.0}), change=slower(factor), **provenance)


def slower(factor: float) -> Any:
    def change(run: LaunchRun, document: dict[str, Any]) -> LaunchRun:
        for series in document["series"]:
            times = factor if run.software is Software.IMAGE else 1.0
            series["samples"] = [1000.0 * (1 + run.repeat / 10) * times]
        return run

    return change


# ---- records ----


def test_a_record_says_whose_programs_ran_and_from_which_image() -> None:
    made = job(BOTH)
    assert made.case.software == (Software.NATIVE, Software.IMAGE)
    assert {launch.software for launch in made.launches} == set(Software)
    assert record.validate(dict(made.document), "again").provenance["image"] == IMAGE


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda d: d["provenance"].update(image=None), "provenance.image: 'null'"),
        (lambda d: d["case"].update(software=["native"]), "launches[0].software"),
        (lambda d: d["provenance"]["image"].update(sha256="5a"), "provenance.image.sha256"),
        (lambda d: d["provenance"]["image"].update(mpi_model="none"), "provenance.image.mpi_model"),
        (lambda d: d["launches"][0].update(software="docker"), "launches[0].software"),
        (lambda d: d["provenance"]["image"].update(engine="hullrun 0.3"), "provenance.image"),
    ],
)
def test_a_record_that_contradicts_itself_is_refused(change: Any, words: str) -> None:
    document = json.loads(record.text(job(["image"], launches=1)))
    change(document)
    document = record.sealed(document)
    with pytest.raises(InputError) as caught:
        record.validate(document, "r.json")
    assert words in str(caught.value)


def test_a_launch_that_is_missing_is_listed_for_each_software() -> None:
    made = job(BOTH, launches=2)
    assert len(made.launches) == 4
    assert [fault.text for fault in rules.faults(made) if fault.field == "launches"] == [
        "2 results of plain + library-default; at least 6 are needed",
        "2 results of plain + library-default + image; at least 6 are needed",
    ]


def test_records_of_different_images_are_never_one_case() -> None:
    other = {**IMAGE, "sha256": "6b" * 32}
    bound = {**IMAGE, "mpi_model": "bind"}
    made = [job(["image"]), job(["image"], image=other), job(["image"], image=bound), job(["native"])]
    assert len(cases.group(made)) == 4
    assert len(cases.group([job(["image"]), job(["image"], seed=7)])) == 1
    assert cases.differences(*cases.group(made[:2])) == ["provenance.image.sha256"]


def test_sides_of_a_comparison_tell_native_from_image_and_name_other_images() -> None:
    made = job(BOTH, factor=1.5)
    (case,) = cases.group([made])
    assert case.head == "software" and case.name(case.baseline) == "native"
    assert [group.name for group in comparison.comparisons(case)[0].groups] == ["native", "image"]
    known = [entries.of_record(made), entries.of_record(job(BOTH, image={**IMAGE, "sha256": "6b" * 32}))]
    chosen = sides.parse(["software=native", "software=image"], lambda: known)
    found = versus.compare([(known[:1], chosen)], [side.name for side in chosen], "software=native")
    iteration = next(row for row in found.rows if row.row.key.fom == "iteration_us")
    native, image = (group.summary.median for group in iteration.comparison.groups if group.summary)
    assert image == pytest.approx(1.5 * native)
    assert iteration.differs == []
    mixed = versus.compare([(known, chosen)], [side.name for side in chosen], "software=native")
    assert all("image" in row.differs for row in mixed.rows)
    (one,) = sides.parse(["image=5a5a"], lambda: known)
    assert [one.has_setting(entry.setting) for entry in known] == [True, False]


def test_references_are_of_one_software() -> None:
    assert references.side("plain", "nic-0", "native", ["nic-0"]) == "plain"
    assert references.side("plain", "nic-0", "image", ["nic-0", "nic-1"]) == "plain/nic-0/image"
    assert references.side("random:1", "nic-0", "native", ["nic-0"]) == "random-1", "ReFrame printed 1/iteration_us"


# ---- bad input ----


@pytest.mark.parametrize(
    ("asked", "file", "words"),
    [
        (["docker"], "a.sif", "native, image, or native,image"),
        (["image", "image"], "a.sif", "software: 'image,image'"),
        (["native", "image"], "", "a SIF file"),
    ],
)
def test_software_is_native_or_image(asked: list[str], file: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        image.software("halo_3d", asked, file)


def test_what_is_missing_is_one_line_that_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apptainer, "OWN", tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert image.missing(tmp_path / "a.sif").endswith("`make apptainer` installs it into the checkout")
    executable(tmp_path / "apptainer", "#!/bin/sh\n")
    assert "`make sif` builds it" in image.missing(tmp_path / "railyard.sif")
    assert "-S build=image, or containers/build-image applications" in image.missing(tmp_path / "a.sif")


def test_an_environments_feature_selects_another_engine_and_the_record_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An engine is an object in a module of its own; nothing else knows it."""
    other = ImageEngine(
        name="hullrun",
        missing=lambda file: "" if file.is_dir() else f"no folder {file}",
        check=lambda file: None,
        labels=lambda file: {"railyard.mpi": "Open MPI 4.1.4"},
        version=lambda: "0.3",
        command=lambda file, bound: ("hullrun", *(["--mpi", str(bound.folder)] if bound else []), str(file)),
    )
    known = {**image_engines.engines(), other.name: other}
    monkeypatch.setattr(image_engines, "engines", lambda: known)
    assert image_engines.selected(["mpi", "openmpi"]).name == image_engines.DEFAULT == "apptainer"
    features = ["mpi", "openmpi", "hullrun"]
    folder, missing = tmp_path / "image", tmp_path / "none"
    folder.mkdir()
    assert image.missing(folder, features) == "" and image.missing(missing, features) == f"no folder {missing}"
    carried = image.carried(folder, "", features)
    assert carried.command == ("hullrun", str(folder))
    assert carried.provenance["engine"] == "hullrun 0.3" and "apptainer" not in carried.provenance
    read = record.validate(dict(job(["image"], launches=1, image=IMAGE_OF_ANOTHER).document), "again")
    assert read.provenance["image"] == IMAGE_OF_ANOTHER


@pytest.mark.parametrize(
    ("library", "feature", "words"),
    [
        ("libopen-pal.so.80", "openmpi", "has Open MPI 5' is not valid; expected a folder with Open MPI 4"),
        ("libopen-pal.so.40", "openmpi5", "has Open MPI 4' is not valid; expected a folder with Open MPI 5"),
        ("libmpi.so.12", "openmpi", "has MPICH's ABI.* is not valid; expected a folder with Open MPI 4"),
        ("libmpi.so.12", "mpich", "has MPICH's ABI.* is not valid; expected the family of image"),
    ],
)
def test_a_machines_mpi_of_another_series_is_refused_before_a_launch(
    library: str, feature: str, words: str, tmp_path: Path
) -> None:
    """Before, each rank ended with `An error occurred in MPI_Init`."""
    engine = SimpleNamespace(
        name="hullrun", check=lambda file: None, labels=lambda file: {"railyard.mpi": "Open MPI 4.1.4"}
    )
    (tmp_path / "image").mkdir()
    (tmp_path / "host/lib").mkdir(parents=True)
    for name in ("libmpi.so", library):
        (tmp_path / "host/lib" / name).touch()
    with patch.object(image_engines, "selected", lambda features: engine), pytest.raises(InputError, match=words):
        image.carried(tmp_path / "image", str(tmp_path / "host"), ["mpi", feature])


def test_a_file_that_is_no_image_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.sif").write_bytes(b"#!/bin/sh\n" * 20)
    with pytest.raises(InputError, match="a SIF file, as `apptainer build` makes it"):
        image.carried(tmp_path / "a.sif", "", ["openmpi"])


def test_an_unpacked_image_has_one_sum_for_every_user_that_files_links_and_programs_decide(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root and an ordinary user found two sums of a folder with a file of root's alone; programs did not count."""
    stub = tmp_path / "apptainer"
    executable(stub, '#!/bin/sh\n[ "$2" = inspect ] && echo \'{"data": {"attributes": {}}}\' || echo 1.4.5\n')
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")

    def sum_of(name: str, mode: int, link: str, secret: str) -> str:
        folder = tmp_path / name
        for place in (".singularity.d", "bin", "root"):
            (folder / place).mkdir(parents=True)
        (folder / "root/secret").write_text(secret)
        (folder / "root").chmod(0o700)
        (folder / "shadow").write_text(secret)
        (folder / "shadow").chmod(0o640)
        (folder / "bin/halo").write_text("halo")
        (folder / "bin/halo").chmod(mode)
        (folder / "lib").symlink_to(link)
        found: str = image.carried(folder, "", ["openmpi"]).provenance["sha256"]
        return found

    same = {sum_of("a", 0o755, "bin", "one"), sum_of("b", 0o755, "bin", "two")}
    assert len(same | {sum_of("c", 0o644, "bin", "one"), sum_of("d", 0o755, "root", "one")}) == len(same) + 2 == 3


@pytest.mark.mpi
@pytest.mark.parametrize("launcher", ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"])
def test_a_benchmark_that_is_alone_among_many_says_so_and_leaves_no_figure(launcher: str, tmp_path: Path) -> None:
    number = {"OMPI_COMM_WORLD_SIZE": "OMPI_COMM_WORLD_RANK", "PMI_SIZE": "PMI_RANK"}.get(launcher, "SLURM_PROCID")
    halo = CHECKOUT / "build/benchmarks-openmpi/bin/halo"
    world = {launcher: "8", number: "0"}
    done = ran(halo, "--grid", "1x1x1", "--json", tmp_path / "out.json", env=world)
    assert done.returncode == 4, done.stderr
    assert "halo: 8 singletons instead of 8 ranks: Open MPI" in done.stderr
    assert not (tmp_path / "out.json").exists()


@pytest.mark.mpi
def test_another_mpis_program_under_mpirun_says_so(tmp_path: Path) -> None:
    halo = CHECKOUT / "build/benchmarks-mpich/bin/halo"
    if not halo.exists():
        pytest.skip("no MPICH is installed (Debian's package mpich)")
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    mpirun = ["mpirun.openmpi", "--oversubscribe", "-np", "2"]
    done = ran(*mpirun, halo, "--grid", "1x1x1", "--json", tmp_path / "out.json", env=root)
    assert done.returncode == 4, done.stderr
    assert "halo: 2 singletons instead of 2 ranks: MPICH Version: " in done.stderr
    assert not (tmp_path / "out.json").exists()


# ---- Spack's lock ----

ENVIRONMENT = "spack:\n  specs:\n    - lulesh@2.0.3 ~openmp\n    - mpip@3.5 ~bfd\n  repos:\n    - r\n"


def lock_of(*specs: tuple[str, str]) -> str:
    concrete = {f"{name}hash": {"name": name, "version": version} for name, version in specs}
    roots = [{"hash": f"{name}hash", "spec": f"{name}@{version}"} for name, version in specs]
    return json.dumps({"roots": roots, "concrete_specs": concrete})


def check_lock(folder: Path, lock: str, *options: str) -> subprocess.CompletedProcess[str]:
    (folder / "spack.yaml").write_text(ENVIRONMENT)
    (folder / "spack.lock").write_text(lock)
    return ran(CHECKOUT / "containers/check-lock", *options, "spack.yaml", "spack.lock", cwd=folder)


def test_packages_of_the_lock_and_their_variants_become_labels(tmp_path: Path) -> None:
    lock = json.loads(lock_of(("lulesh", "2.0.3"), ("mpip", "3.5")))
    done = check_lock(tmp_path, json.dumps(lock), "--labels")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[1:] == ["railyard.spec.lulesh 2.0.3/luleshhash", "railyard.spec.mpip 3.5/mpiphash"]
    parameters = {"openmp": False, "mpi": True, "build": "ref", "build_system": "makefile", "cflags": []}
    lock["concrete_specs"]["luleshhash"]["parameters"] = parameters
    done = check_lock(tmp_path, json.dumps(lock), "--labels", "--only", "lulesh")
    assert done.stdout.splitlines()[-1] == "railyard.variants.lulesh build=ref +mpi ~openmp", done.stderr


@pytest.mark.parametrize(
    ("lock", "words"),
    [
        (lock_of(("lulesh", "2.0.3")), "it has no mpip"),
        (lock_of(("lulesh", "2.0.2"), ("mpip", "3.5")), "it has lulesh@2.0.2, asked 2.0.3"),
        (lock_of(("lulesh", "2.0.3"), ("mpip", "3.5"), ("amg2013", "1.2")), "nobody asked for its amg2013"),
        ("{}", "no lock file of Spack"),
        (lock_of(("lulesh", "2.0.3"))[:50], "no lock file of Spack"),
    ],
)
def test_a_wrong_lock_is_one_line(lock: str, words: str, tmp_path: Path) -> None:
    done = check_lock(tmp_path, lock)
    assert done.returncode == 2 and done.stdout == ""
    assert words in done.stderr and len(done.stderr.splitlines()) == 1


def of_machine(**changes: Any) -> str:
    """The lock of a whole environment, with something of one machine in a package that lulesh needs."""
    lock = json.loads(lock_of(("lulesh", "2.0.3"), ("mpip", "3.5")))
    generic = {"platform_os": "debian12", "target": "x86_64"}
    for package in lock["concrete_specs"].values():
        package["arch"] = generic
    lock["concrete_specs"]["mpihash"] = {"name": "openmpi", "version": "4.1.4", "arch": generic, **changes}
    return json.dumps(lock)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, ""),
        ({"external": {"path": "/usr"}}, ""),
        ({"external": {"path": "/home/me/mpi"}}, "its openmpi is in /home/me/mpi"),
        ({"parameters": {"dev_path": "/home/me/clone"}}, "its openmpi is in /home/me/clone"),
        ({"arch": {"platform_os": "debian12", "target": {"name": "x86_64_v3"}}}, ""),
        ({"arch": {"platform_os": "debian12", "target": {"name": "zen4"}}}, "is for zen4; expected x86_64"),
        ({"arch": {"platform_os": "rhel9", "target": "x86_64"}}, "is for rhel9, and this is debian12"),
    ],
)
def test_a_lock_of_one_machine_or_of_another_system_is_refused(changes: Any, words: str, tmp_path: Path) -> None:
    done = check_lock(tmp_path, of_machine(**changes), "--portable", "--on", "debian12")
    assert done.returncode == (2 if words else 0)
    assert words in done.stderr and len(done.stderr.splitlines()) == bool(words)


@pytest.mark.parametrize(
    "lock", sorted((CHECKOUT / "containers/spack-repo/locks").glob("*.lock")), ids=lambda lock: lock.stem
)
def test_the_locks_that_are_kept_are_of_the_environment_and_of_no_machine(lock: Path) -> None:
    options = ["--portable", "--on", lock.stem.partition("-")[0]]
    done = ran(CHECKOUT / "containers/check-lock", *options, "spack.yaml", lock, cwd=CHECKOUT)
    assert done.returncode == 0, done.stderr


def test_roots_are_read_at_any_indentation_and_another_package_is_one_line(tmp_path: Path) -> None:
    """Spack rewrites an environment that it is given with an indentation of its own."""
    lock = lock_of(("lulesh", "2.0.3"), ("mpip", "3.5"))
    done = check_lock(tmp_path, lock, "--only", "lulehs")
    assert done.returncode == 2 and "no such root of spack.yaml: lulehs; expected: lulesh, mpip" in done.stderr
    (tmp_path / "spack.yaml").write_text("spack:\n  specs:\n  - lulesh@2.0.3\n  - mpip@3.5\n  view: true\n")
    done = ran(CHECKOUT / "containers/check-lock", "--roots", "spack.yaml", "spack.lock", cwd=tmp_path)
    assert done.returncode == 0 and done.stdout.split() == ["lulesh", "mpip"], done.stderr


# ---- The image of the environment ----


@pytest.fixture
def no_spack(tmp_path: Path) -> Path:
    """What looks like a checkout of Spack."""
    program = tmp_path / "spack/bin/spack"
    executable(program, "#!/bin/sh\necho 0.23.1\n")
    return tmp_path / "spack"


def build_image(*arguments: object, **changes: str) -> subprocess.CompletedProcess[str]:
    return ran(CHECKOUT / "containers/build-image", *arguments, env=changes)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"SCOPE": "/no/scope"}, "/no/scope is no folder"),
        ({"MIRROR": "/no/mirror"}, "/no/mirror is no folder"),
        ({"LOCK": "/no/lock"}, "/no/lock: no lock file of Spack"),
        ({"LOCK": "mine.lock"}, "is for zen4; expected x86_64"),
    ],
)
def test_what_an_image_cannot_be_made_of_is_one_line(
    changes: dict[str, str], words: str, no_spack: Path, tmp_path: Path
) -> None:
    """Made with a lock for this machine's processor, an image would not run on the next one."""
    committed = CHECKOUT / "containers/spack-repo/locks/debian12-x86_64-openmpi.lock"
    (tmp_path / "mine.lock").write_text(committed.read_text().replace('"target":"x86_64"', '"target":"zen4"'))
    done = build_image(
        "--dry-run", "applications", no_spack, **{name: str(tmp_path / changes[name]) for name in changes}
    )
    assert done.returncode and words in done.stderr and len(done.stderr.splitlines()) == 1


def test_a_folder_without_spack_is_one_line(tmp_path: Path) -> None:
    done = build_image("--dry-run", "applications", tmp_path)
    wrong = f"build-image: {tmp_path} is no checkout of Spack: it has no bin/spack\n"
    assert (done.returncode, done.stderr) == (1, wrong)


@pytest.mark.apptainer
def test_a_spack_lock_in_the_checkout_is_not_taken(no_spack: Path) -> None:
    """`spack -e . install` by hand leaves one that names this machine's processor and folders."""
    mine = CHECKOUT / "spack.lock"
    if mine.exists():
        pytest.skip("the checkout has a spack.lock of its own")
    mine.write_text("{}")
    try:
        done = build_image("--dry-run", "applications", no_spack, BASE="/nowhere.sif")
    finally:
        mine.unlink()
    assert done.returncode == 0, done.stderr


def test_an_image_for_docker_is_built_of_the_whole_checkout(no_spack: Path) -> None:
    """.dockerignore is that of the node's image, and would hide the environment."""
    done = build_image("--dry-run", "applications", no_spack, "some/tag", BASE="one:1", BUILD_BASE="two:2")
    assert done.returncode == 0, done.stderr
    command = done.stdout.split()
    assert {"some/tag", "BASE=one:1", "BUILD_BASE=two:2"} <= set(command)
    context = Path(command[-1])
    assert (context / "spack.yaml").is_file() and not (context / ".dockerignore").exists()


# ---- MPICH for Spack ----


def mpi_scope(folder: Path, family: str, **changes: str) -> subprocess.CompletedProcess[str]:
    return ran(CHECKOUT / "containers/host-mpi", "scope", folder, family, env=changes)


def test_spack_finds_mpich_under_the_names_that_it_looks_for(tmp_path: Path) -> None:
    if shutil.which("mpicc.mpich") is None:
        pytest.skip("no MPICH is installed (Debian's packages mpich and libmpich-dev)")
    done = mpi_scope(tmp_path / "scope", "mpich")
    assert done.returncode == 0, done.stderr
    prefix = tmp_path / "scope/prefix"
    assert f"prefix: {prefix}}}" in (tmp_path / "scope/packages.yaml").read_text()
    for compiler in ("mpicc", "mpic++", "mpif77", "mpif90"):
        assert "-lmpich" in ran(prefix / "bin" / compiler, "-show").stdout


@pytest.mark.parametrize("family", ["openmpi", "mpich"])
def test_without_an_mpi_nothing_is_written(family: str, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/sh").symlink_to("/bin/sh")
    done = mpi_scope(tmp_path / "scope", family, PATH=str(tmp_path / "bin"))
    assert done.returncode == 1 and f"no mpirun.{family} or mpirun on the PATH" in done.stderr
    assert len(done.stderr.splitlines()) == 1 and not (tmp_path / "scope").exists()


def test_mpichs_abi_is_gathered_under_both_families_of_names(tmp_path: Path) -> None:
    """Programs of Debian's MPICH look for libmpich.so.12, those of any other for libmpi.so.12."""
    (tmp_path / "abi").mkdir()
    for name in ("libmpi.so.12", "libmpifort.so.12"):
        shutil.copy("/bin/true", tmp_path / "abi" / name)
    command = [CHECKOUT / "containers/host-mpi", "gather", tmp_path / "to"]
    done = ran(*command, tmp_path / "abi/libmpi.so.12")
    assert done.returncode == 0, done.stderr
    found = {path.name for path in (tmp_path / "to/lib").iterdir()}
    assert {"libmpi.so.12", "libmpich.so.12", "libmpifort.so.12", "libmpichfort.so.12"} <= found
    assert not any("libc.so" in name or "cxx" in name for name in found)
    done = ran(*command, "/bin/true")
    assert done.returncode == 1 and done.stderr == (
        "host-mpi: /bin/true is not of MPICH's ABI; expected libmpi.so.12, or Debian's libmpich.so.12\n"
    )


# ---- Other engines on a single node ----

RANK_IN = str(CHECKOUT / "containers/rank-in")


@pytest.mark.parametrize(("engine", "variable"), [("podman", "PODMAN"), ("charliecloud", "CH_RUN")])
def test_another_engine_gets_the_image_the_working_folder_and_the_program(
    engine: str, variable: str, tmp_path: Path
) -> None:
    """The stub prints its arguments; its own option stays before them."""
    stub = tmp_path / "stub"
    executable(stub, '#!/bin/sh\necho "$@"\n')
    for name in ("image", "job"):
        (tmp_path / name).mkdir()
    words = [RANK_IN, engine, "../image", "halo", "--grid", "2x2"]
    done = ran(*words, cwd=tmp_path / "job", env={variable: f"{stub} --own"})
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("--own ") and done.stdout.endswith(" halo --grid 2x2\n")
    assert f" {tmp_path}/image " in done.stdout and f"{tmp_path}/job" in done.stdout


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["docker", "/tmp", "halo"], "rank-in: docker is not known; expected podman or charliecloud"),
        (["podman", "/nowhere", "halo"], "rank-in: there is no folder /nowhere"),
        (["podman", "/tmp", "halo"], "rank-in: no not-there on the PATH"),
        (["podman"], "usage: rank-in podman|charliecloud FOLDER PROGRAM"),
    ],
)
def test_what_no_other_engine_can_run_is_refused_in_a_line(words: list[str], expected: str) -> None:
    done = ran(RANK_IN, *words, env={"PODMAN": "not-there --runtime crun"})
    assert done.returncode == 2 and done.stderr.startswith(expected) and len(done.stderr.splitlines()) == 1


# ---- Bases that are carried ----


@pytest.mark.mpi
@pytest.mark.skipif(os.geteuid() != 0, reason="gives files to users as root; run as root")
def test_a_carried_base_is_roots_and_the_machines_own_folders_stay_as_they_are(tmp_path: Path) -> None:
    """Apptainer builds with the machine's /tmp mounted, which may be on the very file system of the image."""
    base, machine = tmp_path / "base", tmp_path / "machine"
    for folder in (base / "etc", base / "tmp", machine / "work"):
        folder.mkdir(parents=True)
    (base / "etc/shadow").touch()
    (base / "etc/link").symlink_to(machine / "work/file")
    (machine / "work/file").touch()
    others = [base / "etc/shadow", base / "etc/link", machine / "work", machine / "work/file"]
    for path in others:
        os.chown(path, 65534, 42, follow_symlinks=False)
    script = 'mount --bind "$0" "$1/tmp" && exec "$2" give-to-root "$1"'
    done = ran("unshare", "--mount", "sh", "-c", script, machine, base, CHECKOUT / "containers/steps")
    assert done.returncode == 0, done.stderr
    owners = [(path.lstat().st_uid, path.lstat().st_gid) for path in others]
    assert owners == [(0, 0), (0, 0), (65534, 42), (65534, 42)]
