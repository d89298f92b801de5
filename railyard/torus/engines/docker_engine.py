"""Engine `docker`: a node is a container. Makes and removes containers; all networking stays with `netns`.

A container starts without a network. Its first process keeps the network namespace, which `netns` then knows by the
name that the node's namespace has in engine `netns`: the same plan, another apply. Containers carry labels, so that
those of a killed `up` are found when nothing else is left of it.

    /run/railyard/NAME/containers/HOST    the process number of the first process of a host's container

Leaves out engines on other machines (the containers' processes must be this machine's) and images that need an
engine's own networks.
"""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from railyard.base.errors import InputError, RunError
from railyard.torus.engines import netns
from railyard.torus.engines.base import Containers, Engine, NodeOrder, Progress
from railyard.torus.native.programs import ENTER

if TYPE_CHECKING:
    from docker import DockerClient
    from docker.types import Mount

DEFAULT_IMAGE = "railyard/node"
#: The variable that names another.
IMAGE = "RAILYARD_IMAGE"
LABEL = "railyard.torus"
KEEPER = ("sleep", "infinity")
SOCKET = Path("/var/run/docker.sock")
AT_ONCE = 8
SHARED_MEMORY = "1g"
# Binding one of these would hide the image's own programs.
SYSTEM_FOLDERS = frozenset(
    map(
        Path,
        ("/", "/bin", "/boot", "/dev", "/etc", "/lib", "/lib64", "/proc", "/run", "/sbin", "/sys", "/usr"),
    )
)

Item = TypeVar("Item")
Result = TypeVar("Result")


def containers(image: str, volumes: Sequence[str]) -> Containers:
    """The image as the engine has it and the folders as absolute paths; by default the current one.

    Raises InputError for an image that the engine lacks and for a folder that is none or hides the image's system;
    RunError where no engine answers.
    """
    here = [] if Path.cwd() in SYSTEM_FOLDERS else [str(Path.cwd())]
    folders = tuple(dict.fromkeys(_folder(volume) for volume in volumes or here))
    return Containers(image=image, image_sha256=_image_sha256(image), volumes=folders)


def missing(image: str) -> str:
    """Why no torus can be made of an image now, in one line; empty where one can."""
    try:
        _image_sha256(image)
    except (InputError, RunError) as error:
        return str(error)
    return ""


def create(order: NodeOrder, progress: Progress) -> dict[str, int]:
    """Make a running container for every node; return node -> process number of its first process.

    Raises RunError with the engine's reason. What was made by then stays, for `remove`.
    """
    client = _client()
    start = functools.partial(_start, client, order)
    pids = dict(zip(order.nodes, _at_once(start, order.nodes, progress), strict=True))
    known = order.folder / "containers"
    known.mkdir(exist_ok=True)
    for node, pid in pids.items():
        (known / node).write_text(f"{pid}\n", encoding="utf-8")
    return pids


def first_processes(folder: Path) -> dict[str, int]:
    """Host -> process number of its container's first process, as `create` wrote it into a torus's folder."""
    return {path.name: int(path.read_text()) for path in sorted((folder / "containers").glob("*"))}


def ended(torus: str, folder: Path) -> list[str]:
    """The hosts whose container no longer runs: their first process is not in their network namespace."""
    return [
        host
        for host, pid in first_processes(folder).items()
        if not _in_network(pid, netns.full_name(torus, host))
    ]


def keepers(folder: Path) -> set[int]:
    """The processes that only keep the containers alive."""
    first = set(first_processes(folder).values())
    below = {int(word) for pid in first for word in _words(Path(f"/proc/{pid}/task/{pid}/children"))}
    return first | {pid for pid in below if _command(pid) == KEEPER}


def tori() -> set[str]:
    """The names of tori of which any container exists, running or not; none where no engine answers."""
    if not _expected():
        return set()
    try:
        with _asking("list containers"):
            listed = _client().api.containers(all=True, filters={"label": LABEL})
    except RunError:
        return set()
    return {container["Labels"][LABEL] for container in listed}


def remove(torus: str, settle_s: float = 0, *, timeout_s: float = 60) -> None:
    """Remove a torus's containers, running or not. Idempotent.

    The engine may still be making one that a killed `up` had asked for: with `settle_s`, wait so long for more.
    Raises RunError where no engine answers, or where it does not remove them in time.
    """
    client = _client()
    deadline = time.monotonic() + timeout_s
    settled = time.monotonic() + settle_s
    while (found := _of(client, torus)) or time.monotonic() < settled:
        _at_once(functools.partial(_remove, client), found, lambda done: None)
        if time.monotonic() > deadline:
            raise RunError(f"the Docker engine does not remove {len(found)} containers of {torus}")
        if found:
            settled = max(settled, time.monotonic() + settle_s)
        time.sleep(0.05)


def _client() -> DockerClient:
    """A client of the engine that DOCKER_HOST names, or of this machine's; RunError where none answers."""
    import docker  # a third of a second that only this engine should cost
    from docker.errors import DockerException

    try:
        client = docker.from_env(timeout=120, max_pool_size=2 * AT_ONCE)
        client.ping()
    except DockerException as error:
        where = os.environ.get("DOCKER_HOST", f"unix://{SOCKET}")
        raise RunError(
            f"no Docker engine answers at {where}; start it, or run this command as `tools/with-docker COMMAND ...`"
        ) from error
    return client


def _expected() -> bool:
    """Return whether there is any sign of an engine; asking costs a third of a second."""
    return "DOCKER_HOST" in os.environ or SOCKET.exists()


def _image_sha256(name: str) -> str:
    from docker.errors import APIError, ImageNotFound

    client = _client()
    try:
        return str(client.images.get(name).id).removeprefix("sha256:")
    except ImageNotFound as error:
        had = sorted(tag for image in client.images.list() for tag in image.tags) or ["it has none"]
        valid = f"an image of this Docker engine ({', '.join(had)}); `make image` builds {DEFAULT_IMAGE}"
        raise InputError("--image", "", name, valid) from error
    except APIError as error:
        raise InputError("--image", "", name, f"an image's name ({_reason(error)})") from error


def _folder(volume: str) -> str:
    path = Path(volume).resolve()
    if path in SYSTEM_FOLDERS or not path.is_dir():
        raise InputError("--volume", "", volume, "a folder of this machine, not one of the system's own")
    return str(path)


def _start(client: DockerClient, order: NodeOrder, host: str) -> int:
    """Make and start one container; return its first process."""
    from docker.types import LogConfig, Mount

    made_of = order.made_of
    assert made_of is not None
    volumes = {Path(volume): Path(volume) for volume in made_of.volumes}

    with _asking(f"make the container of {host}"):
        container = client.containers.create(
            f"sha256:{made_of.image_sha256}",
            entrypoint=list(KEEPER),
            name=netns.full_name(order.torus, host),
            hostname=host,
            labels={LABEL: order.torus, "railyard.host": host},
            network_mode="none",
            init=True,  # adopts and buries what a launch leaves
            environment=dict(order.service.environment),
            mounts=[
                _agent(),
                *(Mount(str(there), str(here), type="bind") for there, here in volumes.items()),
                *(
                    Mount(str(there), str(here), type="bind")
                    for there, here in order.service.seen(host).items()
                ),
            ],
            tmpfs={
                str(order.folder): "mode=1777"
            },  # where Open MPI's daemons keep their session, as on the head
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


def _agent() -> Mount:
    """Open MPI's daemons insist on finding the agent that started them, and never run it."""
    from docker.types import Mount

    return Mount("/usr/local/bin/railyard-enter", str(ENTER), type="bind", read_only=True)


def _of(client: DockerClient, torus: str) -> list[str]:
    with _asking("list containers"):
        listed = client.api.containers(all=True, filters={"label": f"{LABEL}={torus}"})
    return [str(container["Id"]) for container in listed]


def _remove(client: DockerClient, container: str) -> None:
    from docker.errors import APIError

    with _asking("remove a container"):
        try:
            client.api.remove_container(container, force=True, v=True)
        except APIError as error:
            if error.status_code not in (404, 409):  # gone; its removal, or its start, is under way
                raise


def _at_once(work: Callable[[Item], Result], items: Iterable[Item], progress: Progress) -> list[Result]:
    """The results in order; the first error ends what has not begun."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        futures = [pool.submit(work, item) for item in items]
        try:
            results = []
            for done, future in enumerate(futures, start=1):
                results.append(future.result())
                progress(done)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return results


@contextmanager
def _asking(what: str) -> Iterator[None]:
    """The engine's refusal, or its end in the middle, as one line."""
    from docker.errors import DockerException
    from requests.exceptions import RequestException

    try:
        yield
    except (DockerException, RequestException) as error:
        raise RunError(f"the Docker engine cannot {what}: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    """The engine's own words, on one line."""
    return " ".join(str(getattr(error, "explanation", None) or error).split())


def _in_network(pid: int, name: str) -> bool:
    try:
        return Path(f"/proc/{pid}/ns/net").stat().st_ino == (netns.NETNS / name).stat().st_ino
    except OSError:
        return False


def _command(pid: int) -> tuple[str, ...]:
    return tuple(_read(Path(f"/proc/{pid}/cmdline")).rstrip("\0").split("\0"))


def _words(path: Path) -> list[str]:
    return _read(path).split()


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _made_of(image: str | None, volumes: Sequence[str]) -> Containers:
    return containers(image or os.environ.get(IMAGE) or DEFAULT_IMAGE, volumes)


ENGINE = Engine(
    name="docker",
    missing=missing,
    made_of=_made_of,
    create=create,
    remove=remove,
    tori=tori,
    ended=ended,
    keepers=keepers,
)
