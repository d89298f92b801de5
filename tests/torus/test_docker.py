"""Engine docker with a real engine: Debian's is started where none runs, the image is built, MPI crosses containers.

The engine is the module's: it ends with the last test here.
"""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
import tarfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import docker
import pytest
from support.benchmark_runs import document
from support.commands import BIN, CHECKOUT, HUNG_S, Run, command_lines, environment, in_checkout
from support.reframe import assert_passed, into, reframe_in
from support.topology.tori import host_network, running_count, status
from support.waiting import LIMIT_S, wait_until

from railyard.placements.topology import catalog
from railyard.torus.engines import docker_engine, netns
from railyard.torus.slurm import cluster as slurm
from railyard.torus.virtual import lifecycle

IMAGE = docker_engine.DEFAULT_IMAGE
NO_ENGINE = "unix:///nonexistent/docker.sock"
NODES = [node.name for node in catalog.load("gemini-2x2x2").nodes]

if os.geteuid() != 0:
    pytest.skip("makes containers and network namespaces as root; run as root", allow_module_level=True)
if shutil.which("docker") is None:
    pytest.skip("no Docker is installed; `make image` installs Debian's", allow_module_level=True)


@pytest.fixture(scope="module", autouse=True)
def engine() -> Iterator[str]:
    """An engine that has the image, as DOCKER_HOST names it; what was the machine's network before it started."""
    before = host_network()
    hold = ["sh", "-c", 'echo "$DOCKER_HOST"; read -r line || true']
    with (
        subprocess.Popen(
            [CHECKOUT / "tools/with-docker", *hold], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as holder,
        pytest.MonkeyPatch.context() as patched,
    ):
        assert holder.stdin is not None and holder.stdout is not None
        if where := holder.stdout.readline().strip():
            patched.setenv("DOCKER_HOST", where)
        subprocess.run([CHECKOUT / "containers/build-image", "node"], check=True, stderr=subprocess.DEVNULL)
        yield before
        holder.stdin.close()
        assert holder.wait(timeout=HUNG_S) == 0
    if where:
        assert not Path(where.removeprefix("unix://")).parent.exists()
    assert host_network() == before


@pytest.fixture(scope="module")
def client(engine: str) -> docker.DockerClient:
    return docker.from_env()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder that the containers see and in which their user may write."""
    path = Path("/var/tmp") / f"railyard-docker-{os.getpid()}"
    path.mkdir()
    path.chmod(0o1777)
    yield path
    shutil.rmtree(path)


@pytest.fixture(scope="module")
def boxed(railyard: Run, engine: str, folder: Path) -> Iterator[str]:
    """A 2x2x2 torus of containers for tests that only look."""
    name = f"t{os.getpid()}-boxed"
    done = up(railyard, name, "--rate-scale", "0.001", "--volume", str(folder))
    assert done.returncode == 0, done.stderr
    yield name
    railyard("torus", "down", name)


MAKE = ("torus", "up", "gemini-2x2x2", "--engine", "docker", "--name")


def up(railyard: Run, name: str, *options: str, **changes: str) -> subprocess.CompletedProcess[str]:
    return railyard(*MAKE, name, *options, **changes)


def left_of(client: docker.DockerClient, name: str) -> list[str]:
    """Containers, namespaces, mounts and files of a torus, running or not."""
    listed = client.api.containers(all=True, filters={"label": f"railyard.torus={name}"})
    mounts = [line for line in Path("/proc/mounts").read_text().splitlines() if f"railyard.{name}." in line]
    folders = [str(lifecycle.RUN / name)] if (lifecycle.RUN / name).exists() else []
    return [c["Names"][0] for c in listed] + netns.namespaces(name) + mounts + folders


def on_torus(folder: Path, *words: str, **changes: str) -> subprocess.CompletedProcess[str]:
    """`railyard torus WORDS...` in the folder that the containers see."""
    return in_checkout([BIN / "railyard", "torus", *words], folder, **changes)


def test_the_image_has_mpi_and_benchmarks_but_no_build_tools_and_no_root(client: docker.DockerClient) -> None:
    script = "id -u; for name in mpirun halo hops cc gcc make cmake; do command -v $name; done; true"
    said = client.containers.run(IMAGE, ["sh", "-c", script], network_mode="none", remove=True).decode()
    user, *programs = said.split()
    assert int(user) != 0
    assert [Path(p).name for p in programs] == ["mpirun", "halo", "hops"]


def test_mpi_runs_across_eight_containers_as_the_images_user_each_rank_in_its_own_namespaces(
    boxed: str, folder: Path
) -> None:
    seen = "$(hostname) $(readlink /proc/self/ns/mnt /proc/self/ns/pid /proc/self/ns/ipc) $LD_PRELOAD $PWD"
    halo = "exec halo --grid 2x2x2 --cells 16 --repeats 3 --json halo.json"
    done = on_torus(folder, "mpirun", boxed, "-np", "8", "sh", "-c", f"echo rank: {seen}; {halo}")
    assert done.returncode == 0, done.stderr
    ranks = [line.split()[1:] for line in done.stdout.splitlines() if line.startswith("rank: ")]
    assert sorted(rank[0] for rank in ranks) == sorted(NODES), done.stderr
    for kind in (1, 2, 3):
        assert len({rank[kind] for rank in ranks}) == 8
    assert {tuple(rank[4:]) for rank in ranks} == {("/usr/local/lib/railyard-idle.so", str(folder))}
    output = document(folder / "halo.json")
    assert output["verified"] is True
    assert sorted(rank["host"] for rank in output["ranks"]) == sorted(NODES)
    assert (folder / "halo.json").stat().st_uid != 0


def test_status_compares_the_containers_networks_with_the_plan_and_the_machines_own_is_untouched(
    railyard: Run, boxed: str, client: docker.DockerClient, engine: str
) -> None:
    assert host_network() == engine
    report = status(railyard, boxed)
    assert report["sound"] and report["namespaces"] == report["namespaces_planned"]
    assert report["shapers"] == report["shapers_planned"] == 2 * 12 + 2 * 8
    assert report["processes"] == 0, "what keeps the containers alive is not a process of the user's"
    assert report["engine"] == "docker"
    assert f"sha256:{report['image_sha256']}" == client.images.get(IMAGE).id


def test_up_again_does_nothing_and_another_image_is_another_torus(
    railyard: Run, boxed: str, folder: Path, client: docker.DockerClient
) -> None:
    same = ["--rate-scale", "0.001", "--volume", str(folder)]
    assert "already up" in up(railyard, boxed, *same).stdout
    client.images.build(fileobj=io.BytesIO(f"FROM {IMAGE}\nENV A=1\n".encode()), tag="railyard/test-other", rm=True)
    try:
        other = up(railyard, boxed, *same, "--image", "railyard/test-other")
        assert other.returncode == 2 and boxed in other.stderr
    finally:
        client.images.remove("railyard/test-other")


def test_exec_enters_the_container_and_gives_the_commands_status(railyard: Run, boxed: str) -> None:
    done = railyard("torus", "exec", boxed, "n1-0-1", "--", "sh", "-c", "hostname; id -un; ip -br a; exit 7")
    assert done.returncode == 7
    assert done.stdout.split()[:2] == ["n1-0-1", "railyard"] and "nic0" in done.stdout
    ping = railyard("torus", "exec", boxed, "n0-0-0", "--", "ping", "-c", "1", "n1-1-1")
    assert ping.returncode == 0, ping.stdout
    head = railyard("torus", "exec", boxed, "head", "--", "hostname")
    assert head.stdout == "head\n"


def test_down_ends_what_runs_and_leaves_nothing(
    *, railyard: Run, torus_name: str, folder: Path, client: docker.DockerClient, engine: str
) -> None:
    networks = {network.id for network in client.networks.list()}
    assert up(railyard, torus_name, "--volume", str(folder)).returncode == 0
    command = [str(BIN / "railyard"), "torus", "mpirun", torus_name, "-np", "4", "sleep", "984"]
    with subprocess.Popen(
        command, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder
    ) as job:
        wait_until(lambda: running_count("sleep 984") == 4, "four ranks run")
        assert railyard("torus", "down", torus_name).returncode == 0
        assert running_count("sleep 984") == 0
        assert job.wait(timeout=LIMIT_S) != 0
    assert left_of(client, torus_name) == []
    assert {network.id for network in client.networks.list()} == networks
    assert host_network() == engine


no_slurm = pytest.mark.skipif(bool(slurm.missing()), reason=slurm.missing())


@pytest.mark.parametrize(
    ("after_s", "file", "options"),
    [
        (0.0, "torus.json", ()),
        (0.5, "torus.json", ()),
        (1.0, "torus.json", ()),
        pytest.param(0.0, "slurm/slurmctld.pid", ("--slurm",), marks=no_slurm),
    ],
)
def test_a_killed_up_leaves_only_what_down_removes(
    *, railyard: Run, torus_name: str, client: docker.DockerClient, after_s: float, file: str, options: tuple[str, ...]
) -> None:
    words = [str(BIN / "railyard"), *MAKE, torus_name, *options]
    with subprocess.Popen(words, env=environment(), stdout=subprocess.PIPE, text=True) as job:
        wait_until((lifecycle.RUN / torus_name / file).exists, f"there is {file}")
        time.sleep(after_s)
        job.kill()
    done = railyard("torus", "down", torus_name)
    assert done.returncode == 0 and torus_name in done.stdout, done.stderr
    wait_until(lambda: left_of(client, torus_name) == [], "all is removed")
    assert not any(f"/run/railyard/{torus_name}/" in line for line in command_lines())


def test_down_finds_containers_by_their_label_alone_but_not_without_the_engine(
    railyard: Run, torus_name: str, client: docker.DockerClient
) -> None:
    """As after a restart of the machine: the files are gone, the containers are not."""
    assert up(railyard, torus_name).returncode == 0
    done = railyard("torus", "down", torus_name, DOCKER_HOST=NO_ENGINE)
    assert done.returncode == 1 and len(done.stderr.splitlines()) == 1 and NO_ENGINE in done.stderr
    assert torus_name in lifecycle.names(), "what cannot be removed is not forgotten"
    netns.remove(torus_name)
    subprocess.run(["umount", "--quiet", lifecycle.RUN / torus_name], check=False)  # where /run is on a disk
    shutil.rmtree(lifecycle.RUN / torus_name)
    assert len(left_of(client, torus_name)) == 8
    assert torus_name in docker_engine.tori()
    assert railyard("torus", "down", torus_name).returncode == 0
    assert left_of(client, torus_name) == []


# ---- Slurm ----


@pytest.fixture(scope="module")
def cluster(railyard: Run, engine: str, folder: Path) -> Iterator[str]:
    """A 2x2x2 torus of containers with Slurm on it."""
    name = f"t{os.getpid()}-boxed-slurm"
    done = up(railyard, name, "--rate-scale", "0.00025", "--volume", str(folder), "--slurm")
    assert done.returncode == 0, done.stderr
    yield name
    railyard("torus", "down", name)


@no_slurm
def test_every_container_is_a_node_of_slurm(railyard: Run, cluster: str, folder: Path) -> None:
    report = status(railyard, cluster)
    assert report["slurm"] == {"idle": 8} and report["sound"]
    where = "echo $(hostname) $(readlink /proc/self/ns/mnt /proc/self/ns/pid) $(command -v halo) $(id -u)"
    done = on_torus(folder, "srun", cluster, "-N", "8", "sh", "-c", where)
    ranks = [line.split() for line in done.stdout.splitlines()]
    assert sorted(rank[0] for rank in ranks) == sorted(NODES), done.stderr
    assert {len(set(column)) for column in list(zip(*ranks, strict=True))[:3]} == {8}
    assert {tuple(rank[3:]) for rank in ranks} == {("/usr/local/bin/halo", "0")}


@no_slurm
def test_srun_starts_mpi_across_containers_where_it_is_told(cluster: str, folder: Path) -> None:
    """Ranks meet behind MPI_Init though the containers share no memory, and the guard has watched them."""
    order = NODES[::-1]
    (folder / "hosts").write_text("".join(f"{node}\n" for node in order))
    options = ["--grid", "2x2x2", "--cells", "16", "--repeats", "3", "--json", "srun.json"]
    told = {"SLURM_HOSTFILE": "hosts", "RAILYARD_EVIDENCE": "srun.evidence"}
    arguments = ("-n", "8", "--distribution=arbitrary", "halo", *options)
    done = on_torus(folder, "srun", cluster, *arguments, **told)
    assert done.returncode == 0, done.stderr
    output = document(folder / "srun.json")
    assert output["verified"] is True
    assert [rank["host"] for rank in output["ranks"]] == order
    sent = json.loads((folder / "srun.evidence").read_text())["nics"]
    assert {nic["node"] for nic in sent if nic["tx_bytes"] > 0} == {*NODES}


@no_slurm
def test_a_batch_job_runs_in_the_containers_and_checks_are_skipped_where_jobs_have_no_railyard(
    cluster: str, folder: Path, tmp_path: Path
) -> None:
    job = "hostname; srun -N 4 -n 4 hostname | sort"
    done = on_torus(folder, "exec", cluster, "head", "--", "sbatch", "--wait", "-N4", "-o", "job.out", "--wrap", job)
    assert done.returncode == 0, done.stderr
    first, *others = (folder / "job.out").read_text().split()
    assert first in others and len(set(others)) == 4
    done = reframe(tmp_path, "vtorus:slurm", RAILYARD_TORUS=cluster)
    assert_passed(done)
    assert "SKIP" in done.stdout and f"nodes of the torus {cluster} are containers" in done.stdout


@no_slurm
def test_another_slurm_in_the_image_is_one_clear_line(
    railyard: Run, torus_name: str, client: docker.DockerClient
) -> None:
    with _image_with(client, "slurmd", "echo slurm-wlm 99.11.1") as image:
        done = up(railyard, torus_name, "--image", image, "--slurm")
    assert done.returncode == 1 and len(done.stderr.splitlines()) == 1
    assert re.search(r"here \d+\.\d+, in the image railyard/test-slurmd 99\.11", done.stderr), done.stderr
    assert left_of(client, torus_name) == []


def test_a_container_that_ended_is_named_and_never_mistaken(
    railyard: Run, torus_name: str, client: docker.DockerClient
) -> None:
    assert up(railyard, torus_name).returncode == 0
    client.containers.get(f"railyard.{torus_name}.n0-1-0").kill()
    done = railyard("torus", "status", torus_name)
    assert done.returncode == 1 and "container of n0-1-0 has ended" in done.stdout
    (lifecycle.RUN / torus_name / "containers/n0-1-0").write_text(f"{os.getpid()}\n")
    entered = railyard("torus", "exec", torus_name, "n0-1-0", "true")
    assert entered.returncode == 126 and "n0-1-0" in entered.stderr and "down and up" in entered.stderr


def test_another_open_mpi_in_the_image_is_one_clear_line(
    railyard: Run, torus_name: str, client: docker.DockerClient
) -> None:
    with _image_with(client, "mpirun", "echo mpirun '(Open MPI)' 5.0.7") as image:
        try:
            assert up(railyard, torus_name, "--image", image).returncode == 0
            done = railyard("torus", "mpirun", torus_name, "-np", "2", "hostname")
        finally:
            railyard("torus", "down", torus_name)
    assert done.returncode == 1 and len(done.stderr.splitlines()) == 1
    assert re.search(r"here 4\.\d.*railyard/test-mpirun 5\.0", done.stderr), done.stderr


@contextmanager
def _image_with(client: docker.DockerClient, program: str, line: str) -> Iterator[str]:
    """A copy of the image in which another program of that name, one line of shell, comes first on the PATH."""
    script, archive = f"#!/bin/sh\n{line}\n".encode(), io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as writer:
        entry = tarfile.TarInfo(program)
        entry.size, entry.mode = len(script), 0o755
        writer.addfile(entry, io.BytesIO(script))
    name = f"railyard/test-{program}"
    other = client.containers.create(IMAGE, network_mode="none")
    other.put_archive("/usr/local/bin", archive.getvalue())
    other.commit(name)
    other.remove()
    try:
        yield name
    finally:
        client.images.remove(name, force=True)


@pytest.mark.parametrize(
    ("options", "changes", "exit_status", "words"),
    [
        (["--engine", "docker"], {"DOCKER_HOST": NO_ENGINE}, 1, [NO_ENGINE, "tools/with-docker"]),
        (["--engine", "docker", "--image", "no/such"], {}, 2, ["--image", "no/such", IMAGE, "make image"]),
        (["--engine", "docker", "--image", "No Such"], {}, 2, ["--image", "No Such"]),
        (["--engine", "docker", "--volume", "/no/such"], {}, 2, ["--volume", "/no/such"]),
        (["--engine", "docker", "--volume", "/usr"], {}, 2, ["--volume", "/usr"]),
        (["--engine", "docker"], {"RAILYARD_INSIDE": "1"}, 2, ["--engine", "netns", "root"]),
        (["--image", IMAGE], {}, 2, ["--image", "--engine docker"]),
        (["--volume", "/tmp"], {}, 2, ["--volume", "--engine docker"]),
    ],
)
def test_wrong_use_is_one_line_and_makes_nothing(
    *, railyard: Run, torus_name: str, options: list[str], changes: dict[str, str], exit_status: int, words: list[str]
) -> None:
    done = railyard("torus", "up", "gemini-2x2x2", "--name", torus_name, *options, **changes)
    assert done.returncode == exit_status
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert all(word in done.stderr for word in words), done.stderr
    assert torus_name not in lifecycle.names()


def reframe(tmp_path: Path, system: str = "vtorus:docker", **changes: str) -> subprocess.CompletedProcess[str]:
    return reframe_in(tmp_path)("--system", system, "-r", "-n", "halo_smoke", *into(tmp_path), **changes)


def test_smoke_on_the_docker_partition_and_the_image_in_its_record(folder: Path, client: docker.DockerClient) -> None:
    assert_passed(reframe(folder))
    (record,) = (json.loads(path.read_text()) for path in (folder / "archive/vtorus").glob("*.json"))
    assert record["status"] == "ok", record["reason"]
    assert all(launch["verified"] is not False for launch in record["launches"])
    assert {launch["placement_verdict"] for launch in record["launches"]} == {"obeyed"}
    assert record["system"]["partition"] == "docker"
    torus = record["provenance"]["torus"]
    assert (torus["engine"], torus["image"]) == ("docker", IMAGE)
    assert f"sha256:{torus['image_sha256']}" == client.images.get(IMAGE).id


def test_without_an_engine_the_docker_partition_is_skipped_and_says_why(tmp_path: Path) -> None:
    done = reframe(tmp_path, DOCKER_HOST=NO_ENGINE)
    assert_passed(done)
    assert "SKIP" in done.stdout and f"no Docker engine answers at {NO_ENGINE}" in done.stdout
