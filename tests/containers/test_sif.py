"""Apptainer for real: railyard's image on tori, its record, the machine's MPI in it, what is refused.

`make sif` installs Apptainer where there is none and builds the image; without them the tests are skipped and say so.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.benchmark_runs import document
from support.commands import CHECKOUT, HUNG_S, environment
from support.nobody import AS_NOBODY, as_nobody, home_for_nobody
from support.reframe import ReFrame, into, records, reframe_in

from railyard.base.errors import InputError
from railyard.jobs import image
from railyard.placements.topology import catalog
from railyard.records.image_engines import apptainer

SIF = CHECKOUT / "build/image/railyard.sif"
NODES = sorted(node.name for node in catalog.load("gemini-2x2x2").nodes)
HALO = ["halo", "--grid", "2x2x2", "--cells", "16", "--repeats", "3"]

if os.geteuid() != 0:
    pytest.skip("makes network namespaces as root; run as root", allow_module_level=True)
if reason := image.missing(SIF):
    pytest.skip(reason, allow_module_level=True)

APPTAINER = str(apptainer.program())
ROOT_OF_ALL = str(CHECKOUT / "tools/with-all-capabilities")


@pytest.fixture
def reframe(tmp_path: Path) -> ReFrame:
    return reframe_in(tmp_path)


@pytest.fixture
def home_of_nobody() -> Iterator[Path]:
    with home_for_nobody() as home:
        yield home


def run(*command: object, **changes: str) -> subprocess.CompletedProcess[str]:
    """A command with Apptainer on its PATH, in the checkout."""
    return subprocess.run(
        list(map(str, command)),
        capture_output=True,
        text=True,
        timeout=HUNG_S,
        cwd=CHECKOUT,
        env=with_apptainer(**changes),
        check=False,
    )


def with_apptainer(**changes: str) -> dict[str, str]:
    """Return the tests' environment with Apptainer on its PATH."""
    return environment(PATH=f"{environment()['PATH']}:{Path(APPTAINER).parent}", **changes)


def mpirun(torus: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    return run("railyard", "torus", "mpirun", torus, "--", *arguments)


def inside(*command: object) -> list[object]:
    return ["apptainer", "--quiet", "exec", SIF, *command]


# ---- on the torus ----


def test_every_rank_runs_from_the_image_on_its_own_node(small: str, tmp_path: Path) -> None:
    done = mpirun(small, "-np", "8", *inside(*HALO, "--json", tmp_path / "halo.json"))
    assert done.returncode == 0, done.stderr
    output = document(tmp_path / "halo.json")
    assert output["verified"] is True
    assert sorted(rank["host"] for rank in output["ranks"]) == NODES


def test_ranks_share_mounts_of_the_image_and_sleep_when_idle(small: str) -> None:
    """A device number is one file system in the kernel, hence one page cache.

    Ranks that ask at the same moment for an image that is not mounted may each mount it, so a container is there first.
    """
    first = ["railyard", "torus", "exec", small, "n0-0-0", "--", *inside("sh", "-c", "echo ready; exec cat")]
    with subprocess.Popen(
        list(map(str, first)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=with_apptainer()
    ) as there:
        assert there.stdout and there.stdout.readline() == "ready\n"
        script = "grep squashfs /proc/self/mountinfo | cut -d' ' -f3; grep -c idle.so /proc/self/maps; sleep 1"
        done = mpirun(small, "-np", "8", *inside("sh", "-c", script))
    devices = re.findall(r"^\d+:\d+$", done.stdout, re.M)
    assert len(devices) == 8 and len(set(devices)) == 1, done.stdout + done.stderr
    assert len([count for count in done.stdout.split() if count.isdigit() and int(count) > 0]) == 8


def test_a_failure_inside_is_the_launchs_exit_status(small: str) -> None:
    done = mpirun(small, "-np", "8", *inside("halo", "--grid", "3x3x3"))
    assert done.returncode == 2 and "halo: " in done.stderr


def test_an_ordinary_user_runs_it_on_a_torus_of_their_own(home_of_nobody: Path) -> None:
    """As user nobody, with a copy of the image, and a /dev/fuse that they may read, as most machines have it."""
    if subprocess.run([*AS_NOBODY, APPTAINER, "version"], capture_output=True).returncode:
        pytest.skip(f"user nobody cannot run {APPTAINER}")
    copy = home_of_nobody / "railyard.sif"
    shutil.copy(SIF, copy)
    copy.chmod(0o644)
    mine = 'mknod -m 666 "$0" c 10 229 && mount --bind "$0" /dev/fuse && exec "$@"'
    fuse = ["sh", "-c", mine, str(home_of_nobody / "fuse")]
    up = as_nobody(home_of_nobody, "torus", "up", "gemini-2x2x2", "--name", "mine", within=fuse)
    assert up.returncode == 0, up.stderr
    command = [APPTAINER, "--quiet", "exec", str(copy), *HALO]
    ran = as_nobody(home_of_nobody, "torus", "mpirun", "mine", "--", "-np", "8", *command)
    assert ran.returncode == 0 and "8 ranks on 8 hosts" in ran.stdout, ran.stdout + ran.stderr


# ---- checks ----


def test_native_and_image_in_one_job_make_one_record_that_names_the_image(reframe: ReFrame, tmp_path: Path) -> None:
    done = reframe("-r", "-n", "image_smoke", *into(tmp_path))
    assert done.returncode == 0, done.stdout
    (record,) = records(tmp_path)
    assert [launch.status for launch in record.launches] == ["ok", "ok"]
    assert {launch.software for launch in record.launches} == {"native", "image"}
    found = record.provenance["image"]
    assert found["sha256"] == hashlib.sha256(SIF.read_bytes()).hexdigest()
    assert found["mpi_model"] == "hybrid" and found["labels"]["railyard.mpi"].startswith("Open MPI")
    assert re.fullmatch(r"[0-9a-f]{40}(-dirty)?", found["labels"]["org.opencontainers.image.revision"])
    assert str(CHECKOUT) not in json.dumps(found)
    assert "cart-create/iteration_us" in done.stdout and "cart-create/image/iteration_us" in done.stdout


def test_any_check_runs_with_the_machines_mpi_in_the_image(reframe: ReFrame, tmp_path: Path) -> None:
    gathered = run(CHECKOUT / "containers/host-mpi", "gather", tmp_path / "mpi")
    assert gathered.returncode == 0, gathered.stderr
    chosen = ["-S", f"image={SIF}", "-S", f"host_mpi={tmp_path}/mpi", "-S", "placements=cart-create"]
    done = reframe("-r", "-n", "halo_smoke", *chosen, *into(tmp_path))
    assert done.returncode == 0, done.stdout
    (record,) = records(tmp_path)
    assert record.provenance["image"]["mpi_model"] == "bind" and record.status == "ok"


def test_the_machines_mpi_is_what_a_program_in_the_image_then_loads(tmp_path: Path) -> None:
    run(CHECKOUT / "containers/host-mpi", "gather", tmp_path / "mpi")
    words = image.carried(SIF, str(tmp_path / "mpi"), ["openmpi"]).command
    done = run(*words, "sh", "-c", "ldd /usr/local/bin/halo | grep -c '=> /opt/host-mpi/lib/'", APPTAINER_NO_PRIVS="1")
    assert int(done.stdout) >= 5, done.stdout + done.stderr


def test_without_the_image_a_check_is_skipped_in_one_line(reframe: ReFrame, tmp_path: Path) -> None:
    done = reframe("-r", "-n", "halo_smoke", "-S", f"image={tmp_path}/none.sif", *into(tmp_path))
    assert done.returncode == 0, done.stdout
    assert re.search(r"SKIP.*no image .*none.sif: .* builds it", done.stdout), done.stdout
    assert records(tmp_path) == []


# ---- what is refused ----


def tiny_sif(folder: Path, file: Path, label: str, *programs: Path) -> None:
    """An image with nothing but a shell, programs in its /bin, and one label."""
    places = {program: f"bin/{program.name}" for program in (Path("/bin/sh"), *programs)}
    linked = subprocess.run(["ldd", *places], capture_output=True, text=True, check=True).stdout
    libraries = re.findall(r"(?:=> |^\s+)(/\S+)", linked, re.M)
    places |= {Path(library): library.lstrip("/") for library in libraries}
    for source, place in places.items():
        (folder / "tree" / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, folder / "tree" / place)
    (folder / "of.def").write_text(f"Bootstrap: localimage\nFrom: {folder}/tree\n%labels\n    {label}\n")
    done = run(ROOT_OF_ALL, "apptainer", "build", file, folder / "of.def")
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def of_mpich(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """An image whose label says MPICH."""
    folder = tmp_path_factory.mktemp("mpich")
    tiny_sif(folder, folder / "of.sif", "railyard.mpi MPICH 4.0.2")
    yield folder / "of.sif"
    shutil.rmtree(folder)


def test_an_image_of_another_mpi_is_refused_by_its_label_unless_the_machines_is_bound(of_mpich: Path) -> None:
    with pytest.raises(InputError, match=r"label railyard.mpi: 'MPICH 4.0.2' .* an image with Open MPI"):
        image.carried(of_mpich, "", ["mpi", "openmpi"])
    assert image.carried(of_mpich, "", ["mpich"]).provenance["labels"]["railyard.mpi"] == "MPICH 4.0.2"


def test_an_image_of_another_mpi_that_no_label_names_is_called_what_it_is(small: str, tmp_path: Path) -> None:
    """Its ranks do not find each other under the machine's mpirun, so each would be a world of its own."""
    halo = CHECKOUT / "build/benchmarks-mpich/bin/halo"
    if not halo.exists():
        pytest.skip("no MPICH is installed (Debian's package mpich)")
    tiny_sif(tmp_path, tmp_path / "of.sif", "some thing", halo)
    command = ["apptainer", "--quiet", "exec", tmp_path / "of.sif", *HALO, "--json", tmp_path / "halo.json"]
    done = mpirun(small, "-np", "8", *command)
    assert done.returncode == 4, done.stderr
    assert "halo: 8 singletons instead of 8 ranks: MPICH Version: " in done.stderr
    assert not (tmp_path / "halo.json").exists()


def test_a_folder_without_mpi_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="containers/host-mpi gather"):
        image.carried(SIF, str(tmp_path), ["openmpi"])


def test_a_truncated_image_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "cut.sif").write_bytes(SIF.read_bytes()[:100_000])
    with pytest.raises(InputError, match=r"100000 bytes; expected \d+ bytes"):
        image.carried(tmp_path / "cut.sif", "", ["openmpi"])


def test_nothing_is_built_again_and_no_network_is_needed_where_nothing_changed() -> None:
    before = SIF.stat().st_mtime_ns
    done = run("unshare", "--net", CHECKOUT / "containers/build-image", "benchmarks")
    assert done.returncode == 0 and "made of these sources already" in done.stdout, done.stderr
    assert SIF.stat().st_mtime_ns == before


def test_the_image_of_the_environment_knows_what_it_was_made_of(tmp_path: Path) -> None:
    """Current as long as the committed files, Spack, the lock, the configuration and the sources are the same."""
    (tmp_path / "spack/bin").mkdir(parents=True)
    (tmp_path / "spack/bin/spack").write_text("#!/bin/sh\necho 0.23.1\n")
    (tmp_path / "spack/bin/spack").chmod(0o755)
    (tmp_path / "scope").mkdir()
    (tmp_path / "scope/config.yaml").write_text("config:\n  checksum: false\n")
    command = [
        CHECKOUT / "containers/build-image",
        "--dry-run",
        "applications",
        tmp_path / "spack",
        tmp_path / "of.sif",
    ]
    said = [run(*command), run(*command, SCOPE=str(tmp_path / "scope"))]
    sources = [re.findall(r"railyard\.sources=(\w{16}) ", done.stdout) for done in said]
    assert len(sources[0]) == len(sources[1]) == 1 and sources[0] != sources[1], said
    tiny_sif(tmp_path, tmp_path / "of.sif", f"railyard.sources {sources[0][0]}")
    command.remove("--dry-run")
    done = run("unshare", "--net", *command)
    assert done.returncode == 0 and "made of these sources already" in done.stdout, done.stderr


def test_two_builds_at_two_times_and_places_are_one_file_that_still_runs(tmp_path: Path) -> None:
    """Apptainer writes the time of a build, a random identifier and the machine's paths into an image."""
    sums = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        tiny_sif(tmp_path / name, tmp_path / name / "of.sif", "some thing")
        given = [CHECKOUT / "containers/same-bytes", tmp_path / name / "of.sif", "1700000000"]
        done = run(*given, f"{tmp_path / name}=base")
        assert done.returncode == 0, done.stderr
        sums.append(hashlib.sha256((tmp_path / name / "of.sif").read_bytes()).hexdigest())
    assert sums[0] == sums[1]
    said = run("apptainer", "inspect", tmp_path / "one/of.sif").stdout
    assert "some: thing" in said and "14_November_2023" in said and str(tmp_path) not in said
    command = ["apptainer", "--quiet", "exec", tmp_path / "one/of.sif", "/bin/sh", "-c", "echo alive"]
    done = run(*command, APPTAINER_NO_PRIVS="1")
    assert done.stdout == "alive\n", done.stderr


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[str]:
    """A registry of OCI images on loopback; its address."""
    if shutil.which("docker-registry") is None:
        pytest.skip("no docker-registry (Debian's package of that name)")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    stored = f"storage: {{filesystem: {{rootdirectory: {tmp_path}/stored}}}}"
    (tmp_path / "registry.yml").write_text(f"version: 0.1\n{stored}\nhttp: {{addr: '{address}'}}\n")
    command = ["docker-registry", "serve", str(tmp_path / "registry.yml")]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as serving:
        host, port = address.split(":")
        while serving.poll() is None and socket.socket().connect_ex((host, int(port))):
            time.sleep(0.1)
        yield address
        serving.terminate()


def test_an_image_is_signed_pushed_to_a_registry_and_pulled_unchanged(tmp_path: Path, registry: str) -> None:
    (tmp_path / "one").mkdir()
    mine, theirs = tmp_path / "mine.sif", tmp_path / "theirs.sif"
    tiny_sif(tmp_path / "one", mine, "some thing")
    assert run("apptainer", "verify", mine).returncode, "nobody signed it"
    person = ["--name", "A B", "--email", "a@example.org", "--comment", "test", "--password", "", "--push=false"]
    for command in (["key", "newpair", *person], ["sign", mine]):
        done = run("apptainer", *command, HOME=str(tmp_path))
        assert done.returncode == 0, done.stderr
    name = f"oras://{registry}/railyard/applications:one"
    for command in (["push", "--no-https", mine, name], ["pull", "--no-https", theirs, name]):
        done = run("apptainer", *command, HOME=str(tmp_path))
        assert done.returncode == 0, done.stderr
    assert theirs.read_bytes() == mine.read_bytes()
    done = run("apptainer", "verify", theirs, HOME=str(tmp_path))
    assert done.returncode == 0, done.stderr


def test_the_image_lists_its_packages_and_is_signed_with_a_key_of_the_site(tmp_path: Path) -> None:
    labels = run("apptainer", "inspect", "--labels", SIF).stdout
    listed = run("apptainer", "--quiet", "exec", SIF, "cat", "/opt/packages.spdx", APPTAINER_NO_PRIVS="1").stdout
    packages = re.findall(r"^PackageName: (\S+)\nSPDXID: (\S+)\nPackageVersion: (\S+)$", listed, re.M)
    assert listed.startswith("SPDXVersion: SPDX-2.3\n") and len({number for _, number, _ in packages}) == len(packages)
    versions = {name: version for name, _, version in packages}
    pmix = next(version for name, version in versions.items() if name.startswith("libpmix2"))
    assert f"railyard.pmix: {pmix}\n" in labels and "openmpi-bin" in versions
    key, public, mine = tmp_path / "key.pem", tmp_path / "public.pem", tmp_path / "mine.sif"
    run("openssl", "genrsa", "-out", key, "2048")
    run("openssl", "rsa", "-in", key, "-pubout", "-out", public)
    shutil.copy(SIF, mine)
    for _ in range(2):  # the second time it has its signature
        done = run("containers/build-image", "benchmarks", mine, KEY=str(key))
        assert done.returncode == 0 and "made of these sources already" in done.stdout, done.stderr
    done = run("apptainer", "verify", "--key", public, mine)
    assert done.returncode == 0, done.stderr


def test_no_space_for_the_image_is_one_line_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "small").mkdir()
    script = 'mount -t tmpfs -o size=20m tmpfs "$0" && TMPDIR="$0" exec containers/build-image benchmarks "$1"'
    target = tmp_path / "out/new.sif"
    done = run("unshare", "--mount", "sh", "-c", script, tmp_path / "small", target)
    assert done.returncode == 1 and "no space for the image" in done.stderr and "20 MiB free" in done.stderr
    assert list(target.parent.glob("*")) == []


def test_a_base_that_is_not_there_is_named(tmp_path: Path) -> None:
    done = run(CHECKOUT / "containers/build-image", "benchmarks", tmp_path / "new.sif", BASE="/nowhere")
    assert done.returncode == 1 and done.stderr == "build-image: the base /nowhere is not there\n"
