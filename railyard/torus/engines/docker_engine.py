"""Make and remove nodes that are Docker containers. `netns` makes their network.

A container starts without a network. `netns` gives the network namespace of its first process the name that a node's
namespace has in engine `netns`, and applies the same plan. Containers have labels, so that those of a killed `up` are
found when nothing else is left of it.

    /run/railyard/NAME/containers/HOST    the number of the first process in a host's container

Leaves out Docker engines on other machines, because the processes must be this machine's, and images that need
Docker's own networks.
"""

from __future__ import annotations

import contextlib
import functools
import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from railyard.base import sysfs
from railyard.base.errors import InputError, RunError
from railyard.torus.engines import netns
from railyard.torus.engines.base import Containers, Engine, NodeOrder, Progress
from railyard.torus.native.programs import ENTER

if TYPE_CHECKING:
    from docker import DockerClient

DEFAULT_IMAGE = "railyard/node"
#: The environment variable that names another image.
IMAGE = "RAILYARD_IMAGE"
LABEL = "railyard.torus"
KEEPER = ("sleep", "infinity")
SOCKET = Path("/var/run/docker.sock")
AT_ONCE = 8
SHARED_MEMORY = "1g"
# Binding one of these would hide the image's own programs.
SYSTEM_FOLDERS = frozenset(
    map(Path, ("/", "/bin", "/boot", "/dev", "/etc", "/lib", "/lib64", "/proc", "/run", "/sbin", "/sys", "/usr"))
)


def containers(image: str | None, volumes: Sequence[str]) -> Containers:
    """Return the containers of an image with these folders, by default with the current one, as absolute paths.

    The default image is the one that IMAGE names, or DEFAULT_IMAGE.

    Raises InputError for an image that Docker does not have, and for a volume that is not a folder or would hide the
    image's programs. Raises RunError if Docker does not answer.
    """
    image = image or os.environ.get(IMAGE) or DEFAULT_IMAGE
    default_volumes = [] if Path.cwd() in SYSTEM_FOLDERS else [str(Path.cwd())]
    folders = []
    for volume in volumes or default_volumes:
        path = Path(volume).resolve()
        if path in SYSTEM_FOLDERS or not path.is_dir():
            raise InputError("--volume", "", volume, "a folder of this machine, not one of the system's own")
        folders.append(str(path))
    return Containers(image=image, image_sha256=_image_sha256(image), volumes=tuple(dict.fromkeys(folders)))


def missing(image: str) -> str:
    """Return in one line why no torus can be made of an image now; an empty text if one can."""
    try:
        _image_sha256(image)
    except (InputError, RunError) as error:
        return str(error)
    return ""


def create(order: NodeOrder, progress: Progress) -> dict[str, int]:
    """Start a container for every node; return node -> process number of its first process.

    Raises RunError with Docker's reason. Containers that exist by then stay, for `remove`.
    """
    start = functools.partial(_start, _client(), order)
    pids: dict[str, int] = {}
    with ThreadPoolExecutor(AT_ONCE) as pool:  # an error cancels what has not begun
        for node, pid in zip(order.nodes, pool.map(start, order.nodes), strict=True):
            pids[node] = pid
            progress(len(pids))
    numbers = order.folder / "containers"
    numbers.mkdir(exist_ok=True)
    for node, pid in pids.items():
        (numbers / node).write_text(f"{pid}\n", encoding="utf-8")
    return pids


def first_processes(folder: Path) -> dict[str, int]:
    """Return host -> number of the first process in its container, as `create` wrote it to the torus's folder."""
    return {path.name: int(path.read_text()) for path in sorted((folder / "containers").glob("*"))}


def ended(torus: str, folder: Path) -> list[str]:
    """Return the hosts whose container has ended: the first process is no longer in the host's namespace."""
    return [
        host
        for host, pid in first_processes(folder).items()
        if not netns.is_in(pid, netns.identities([netns.full_name(torus, host)]))
    ]


def keepers(folder: Path) -> set[int]:
    """Return the numbers of the processes that only keep containers alive."""
    first = set(first_processes(folder).values())
    below = {int(word) for pid in first for word in sysfs.text(Path(f"/proc/{pid}/task/{pid}/children")).split()}
    return first | {pid for pid in below if sysfs.text(Path(f"/proc/{pid}/cmdline")).rstrip("\0") == "\0".join(KEEPER)}


def tori() -> set[str]:
    """Return the names of the tori that have a container, running or not; none if Docker does not answer."""
    may_answer = ("DOCKER_HOST" in os.environ or SOCKET.exists()) and find_spec("docker") is not None
    if may_answer:  # a cheap question, whereas a client takes a third of a second
        with contextlib.suppress(RunError):
            return {container["Labels"][LABEL] for container in _listed(_client(), LABEL)}
    return set()


def remove(torus: str, settle_s: float = 0, *, timeout_s: float = 60) -> None:
    """Remove the containers of a torus, running or not. Idempotent.

    Docker may still be making containers for an `up` that was killed, so wait `settle_s` seconds for late ones.
    Raises RunError if Docker does not answer, or has not removed all after `timeout_s` seconds.
    """
    client = _client()
    deadline = time.monotonic() + timeout_s
    settled = time.monotonic() + settle_s
    while (remaining := _listed(client, f"{LABEL}={torus}")) or time.monotonic() < settled:
        with ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(functools.partial(_remove, client), [container["Id"] for container in remaining]))
        if time.monotonic() > deadline:
            raise RunError(f"the Docker engine does not remove {len(remaining)} containers of {torus}")
        if remaining:
            settled = max(settled, time.monotonic() + settle_s)
        time.sleep(0.05)


def _client() -> DockerClient:
    """Return a client of the Docker engine that DOCKER_HOST names, or of this machine's. RunError if none answers."""
    try:
        import docker  # takes a third of a second, which only this engine should cost
        from docker.errors import DockerException
    except ImportError as error:
        raise RunError("engine docker: Python's docker is not installed; run: make image") from error
    try:
        client = docker.from_env(timeout=120, max_pool_size=2 * AT_ONCE)
        client.ping()
    except DockerException as error:
        address = os.environ.get("DOCKER_HOST", f"unix://{SOCKET}")
        raise RunError(
            f"no Docker engine answers at {address}; start it, or run this command as `tools/with-docker COMMAND ...`"
        ) from error
    return client


def _image_sha256(name: str) -> str:
    """Return the digest of an image; InputError lists the images that Docker has."""
    client = _client()  # first, because it reports that Python's docker is absent
    from docker.errors import APIError, ImageNotFound

    try:
        return str(client.images.get(name).id).removeprefix("sha256:")
    except ImageNotFound as error:
        tags = sorted(tag for image in client.images.list() for tag in image.tags) or ["it has none"]
        valid = f"an image of this Docker engine ({', '.join(tags)}); `make image` builds {DEFAULT_IMAGE}"
        raise InputError("--image", "", name, valid) from error
    except APIError as error:
        raise InputError("--image", "", name, f"an image's name ({_reason(error)})") from error


def _start(client: DockerClient, order: NodeOrder, host: str) -> int:
    """Make and start the container of a host; return the number of its first process."""
    from docker.types import LogConfig, Mount

    made_of = order.made_of
    assert made_of is not None
    folders = {Path(volume): Path(volume) for volume in made_of.volumes}
    binds = [*folders.items(), *order.mounts(host).items()]
    with _calling(f"make the container of {host}"):
        container = client.containers.create(
            f"sha256:{made_of.image_sha256}",
            entrypoint=list(KEEPER),
            name=netns.full_name(order.torus, host),
            hostname=host,
            labels={LABEL: order.torus, "railyard.host": host},
            network_mode="none",
            init=True,  # reaps processes that a launch leaves
            environment=dict(order.environment),
            mounts=[
                # Open MPI's daemons check that their agent exists, and never run it.
                Mount("/usr/local/bin/railyard-enter", str(ENTER), type="bind", read_only=True),
                *(Mount(str(target), str(source), type="bind") for target, source in binds),
            ],
            tmpfs={str(order.folder): "mode=1777"},  # where Open MPI's daemons keep their session, as on the head
            extra_hosts=dict(order.hosts),
            shm_size=SHARED_MEMORY,
            log_config=LogConfig(type=LogConfig.types.NONE),
        )
        container.start()
        container.reload()
    pid = int(container.attrs["State"]["Pid"])
    if not pid or not Path(f"/proc/{pid}/ns/net").exists():
        raise RunError(f"the container of {host} does not run on this machine (process {pid})")
    return pid


def _listed(client: DockerClient, label: str) -> list[dict[str, Any]]:
    """Return Docker's description of each container with a label (NAME or NAME=VALUE), running or not."""
    with _calling("list containers"):
        return list(client.api.containers(all=True, filters={"label": label}))


def _remove(client: DockerClient, container: str) -> None:
    """Remove a container by its id, if it still exists."""
    from docker.errors import APIError

    with _calling("remove a container"):
        try:
            client.api.remove_container(container, force=True, v=True)
        except APIError as error:
            if error.status_code not in (404, 409):  # it is gone; it is being removed or started
                raise


@contextlib.contextmanager
def _calling(action: str) -> Iterator[None]:
    """Turn an error of Docker within the block into a RunError of one line: `the Docker engine cannot ACTION`."""
    from docker.errors import DockerException
    from requests.exceptions import RequestException

    try:
        yield
    except (DockerException, RequestException) as error:
        raise RunError(f"the Docker engine cannot {action}: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    """Return the message of an error of Docker, on one line."""
    return " ".join(str(getattr(error, "explanation", None) or error).split())


ENGINE = Engine(
    name="docker",
    missing=missing,
    made_of=containers,
    create=create,
    remove=remove,
    tori=tori,
    ended=ended,
    keepers=keepers,
)
