"""An image under every rank: what it is, whether it can run here, and the words before the program.

Models: a file or folder with its sha256 and labels; the engine that runs it (`image_engines`); whose MPI is in it.
Hybrid: the image's own MPI talks to the machine's launcher. Bind: the machine's MPI, in a folder, takes the image's
place. A rank never pulls from a registry: the image is a local file, given once. Leaves out how images are built
(containers/README.md).
"""

from __future__ import annotations

import functools
import hashlib
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from railyard.base.errors import InputError
from railyard.jobs import image_engines
from railyard.jobs.image_engines.base import HOST_MPI, Bound, ImageEngine
from railyard.records.record import Software

#: Where Intel MPI has its libfabric, in its own folder.
OFI_OF_INTEL = "lib/libfabric"
#: Environments' features -> what an image's label calls that MPI.
FAMILIES = {"openmpi": "Open MPI", "openmpi5": "Open MPI", "mpich": "MPICH"}
MPI_LABEL = "railyard.mpi"
#: Labels of the packages of Spack in an image, and of images that railyard's own definitions make.
SPEC_LABEL = "railyard.spec."
SOURCES_LABEL = "railyard.sources"
BLOCK_BYTES = 1 << 20


class Model(StrEnum):
    """Whose MPI is in the image: its own, or the machine's in its place."""

    HYBRID = "hybrid"
    BIND = "bind"


@dataclass(frozen=True, slots=True, kw_only=True)
class Carried:
    """An image that launches run from: the words before the program, and what the record says of it."""

    command: tuple[str, ...]
    provenance: Mapping[str, Any]

    @property
    def labels(self) -> Mapping[str, str]:
        """Return what the image says of itself."""
        found: Mapping[str, str] = self.provenance["labels"]
        return found


def software(check: str, asked: Sequence[str], image: str) -> list[Software]:
    """Whose programs to launch; InputError for a word that is none, one twice, or an image asked for and not named."""
    chosen = list(asked) or [str(Software.IMAGE if image else Software.NATIVE)]
    if set(chosen) - set(Software) or len(set(chosen)) < len(chosen):
        raise InputError(check, "software", ",".join(chosen), "native, image, or native,image")
    if Software.IMAGE in chosen and not image:
        raise InputError(check, "image", "", "a SIF file, as software has image (`make sif` builds one)")
    return [Software(each) for each in chosen]


def missing(file: Path, features: Sequence[str] = ()) -> str:
    """Why nothing can be run from an image file in an environment here, in one line; empty where it can."""
    return image_engines.selected(features).missing(file)


def carried(file: Path, host_mpi: str, features: Sequence[str]) -> Carried:
    """The image in a file, its MPI under the bind model in the folder `host_mpi`, for an environment's features.

    Raises InputError for a file that is no image, a folder that holds no MPI, and an image whose label names another
    MPI than the environment's launcher is of.
    """
    file, engine = file.resolve(), image_engines.selected(features)
    engine.check(file)
    status = file.stat()
    labels = engine.labels(file)
    model = Model.BIND if host_mpi else Model.HYBRID
    bound = _bound(Path(host_mpi).expanduser().resolve()) if host_mpi else None
    if model is Model.HYBRID:
        _check_mpi(file, labels, features)
    digest, size_bytes = (_tree if file.is_dir() else _sha256)(str(file), status.st_size, status.st_mtime_ns)
    provenance = {
        "file": file.name,
        "sha256": digest,
        "size_bytes": size_bytes,
        "mpi_model": str(model),
        **_engine_and_version(engine),
        "labels": dict(labels),
    }
    return Carried(command=engine.command(file, bound), provenance=provenance)


def _engine_and_version(engine: ImageEngine) -> dict[str, str]:
    """Return what the record says of the engine; Apptainer has a field of its own since the first images."""
    if engine.name == image_engines.DEFAULT:
        return {engine.name: engine.version()}
    return {"engine": f"{engine.name} {engine.version()}"}


def _bound(folder: Path) -> Bound:
    """The machine's MPI in the image: its libraries before the image's, and where it looks for its own files."""
    if not any((folder / "lib").glob("libmpi*.so*")):
        raise InputError("host_mpi", "", str(folder), "a folder with lib/libmpi*.so (containers/gather-mpi)")
    told = {"LD_LIBRARY_PATH": f"{HOST_MPI}/lib", "OPAL_PREFIX": HOST_MPI}
    if (folder / OFI_OF_INTEL).is_dir():
        told["LD_LIBRARY_PATH"] += f":{HOST_MPI}/{OFI_OF_INTEL}"
        told["FI_PROVIDER_PATH"] = f"{HOST_MPI}/{OFI_OF_INTEL}/prov"
    if (folder / "pmix").is_dir():
        told["PMIX_INSTALL_PREFIX"] = f"{HOST_MPI}/pmix"
    return Bound(folder=folder, variables=told)


def need_packages(image: Carried, packages: Sequence[str]) -> None:
    """Raise InputError for an image of railyard's that was built without one of these packages of Spack.

    An image of another origin has no such labels, and is tried.
    """
    if SOURCES_LABEL not in image.labels:
        return
    has = [name.removeprefix(SPEC_LABEL) for name in image.labels if name.startswith(SPEC_LABEL)]
    for package in packages:
        if package not in has:
            inside = ", ".join(has) or "railyard's own benchmarks alone"
            valid = f"an image with {package}, as containers/build-spack-image builds; this one has {inside}"
            raise InputError("image", "", image.provenance["file"], valid)


def _check_mpi(file: Path, labels: Mapping[str, str], features: Sequence[str]) -> None:
    """An image without the label is tried: ranks that do not find each other are found out by the launch."""
    has, wants = labels.get(MPI_LABEL, ""), [FAMILIES[name] for name in features if name in FAMILIES]
    if has and wants and not has.startswith(wants[0]):
        valid = f"an image with {wants[0]}, whose launcher the environment has, or -S host_mpi=FOLDER"
        raise InputError(file.name, f"label {MPI_LABEL}", has, valid)


@functools.cache
def _sha256(file: str, size_bytes: int, time_ns: int) -> tuple[str, int]:
    """Sum and size; read once in a session, as long as size and time stay."""
    digest = hashlib.sha256()
    with Path(file).open("rb") as image:
        while block := image.read(BLOCK_BYTES):
            digest.update(block)
    return digest.hexdigest(), size_bytes


@functools.cache
def _tree(folder: str, size_bytes: int, time_ns: int) -> tuple[str, int]:
    """Sum and size of an unpacked image: of each file's path, contents and executable bit, and of where links point.

    What only its owner may read is left out by its mode, so that every user finds one sum of a folder.
    """
    digest, total = hashlib.sha256(), 0
    for path in sorted(_open_to_all(Path(folder))):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            digest.update(f"link {name} {path.readlink()}\n".encode())
        else:
            status = path.stat()
            sum_of, size = _sha256(str(path), status.st_size, status.st_mtime_ns)
            kind = "program" if status.st_mode & stat.S_IXOTH else "file"
            digest.update(f"{kind} {name} {sum_of}\n".encode())
            total += size
    return digest.hexdigest(), total


def _open_to_all(folder: Path) -> Iterator[Path]:
    """Yield links, and files that every user may read, in folders that every user may enter."""
    for place, folders, files in os.walk(folder):
        inside = [Path(place, name) for name in folders]
        folders[:] = [each.name for each in inside if not each.is_symlink() and _has(each, stat.S_IXOTH)]
        yield from (each for each in inside if each.is_symlink())
        for path in (Path(place, name) for name in files):
            if path.is_symlink() or (path.is_file() and _has(path, stat.S_IROTH)):
                yield path


def _has(path: Path, bit: int) -> bool:
    return bool(path.stat().st_mode & bit)
