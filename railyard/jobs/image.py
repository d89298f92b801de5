"""Run every rank from an image: check the image, describe it for the record, and make the words before the program.

Models: a file or folder with its sha256 and labels; the engine that runs it (`image_engines`); whose MPI is in it.
Hybrid: the image's own MPI is started by the machine's launcher. Bind: a folder with the machine's MPI replaces the
image's. A rank never pulls from a registry, because the image is a local file. Leaves out how images are built
(docs/node-image.md).
"""

from __future__ import annotations

import functools
import hashlib
import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from railyard.base.errors import InputError
from railyard.records import image_engines
from railyard.records.image_engines.base import OFI_OF_INTEL, Bound
from railyard.records.record import Software

#: Environments' features -> what an image's label calls that MPI.
FAMILIES = {"openmpi": "Open MPI", "openmpi5": "Open MPI", "mpich": "MPICH"}
#: The same -> the series of its launcher.
SERIES = {"openmpi": "Open MPI 4", "openmpi5": "Open MPI 5", "mpich": "MPICH"}
#: The MPI that a library belongs to, by its name; both series of Open MPI have libmpi.so.40.
LIBRARIES = (
    ("Open MPI 5", "libopen-pal.so.80"),
    ("Open MPI 4", "libopen-pal.so.40"),
    ("MPICH's ABI", "libmpi.so.12"),
    ("MPICH's ABI", "libmpich.so.12"),
)
MPI_LABEL = "railyard.mpi"
#: Labels of the packages of Spack in an image, and of images that railyard's own definitions make.
SPEC_LABEL = "railyard.spec."
SOURCES_LABEL = "railyard.sources"


@dataclass(frozen=True, slots=True, kw_only=True)
class Carried:
    """An image that launches run from: `command` precedes the program, `provenance` is for the record."""

    command: tuple[str, ...]
    provenance: Mapping[str, Any]

    @property
    def labels(self) -> Mapping[str, str]:
        """Return the labels in the image: name -> value."""
        labels: Mapping[str, str] = self.provenance["labels"]
        return labels


def software(check: str, names: Sequence[str], image: str) -> list[Software]:
    """Return whose programs to launch: those of `names`, or else the image's if there is one, or else the machine's.

    Raises InputError for an unknown or repeated name, and for `image` without an image.
    """
    chosen = list(names) or [str(Software.IMAGE if image else Software.NATIVE)]
    if set(chosen) - set(Software) or len(set(chosen)) < len(chosen):
        raise InputError(check, "software", ",".join(chosen), "native, image, or native,image")
    if Software.IMAGE in chosen and not image:
        raise InputError(check, "image", "", "a SIF file, as software has image (`make sif` builds one)")
    return [Software(name) for name in chosen]


def missing(file: Path, features: Sequence[str] = ()) -> str:
    """Return why an image file cannot be run in an environment here, in one line; empty if it can."""
    return image_engines.selected(features).missing(file)


def carried(file: Path, host_mpi: str, features: Sequence[str]) -> Carried:
    """Return the image in a file. `host_mpi` is the folder of the machine's MPI under the bind model, empty for hybrid.

    Raises InputError for a file that is not an image, for a folder without an MPI, and for an image whose label names
    another MPI than that of the environment's launcher, which its `features` name.
    """
    file, engine = file.resolve(), image_engines.selected(features)
    engine.check(file)
    status = file.stat()
    labels = engine.labels(file)
    bound = _bound(Path(host_mpi).expanduser().resolve(), file, labels, features) if host_mpi else None
    has, wants = labels.get(MPI_LABEL, ""), [FAMILIES[name] for name in features if name in FAMILIES]
    if bound is None and has and wants and not has.startswith(wants[0]):
        valid = f"an image with {wants[0]}, whose launcher the environment has, or -S host_mpi=FOLDER"
        raise InputError(file.name, f"label {MPI_LABEL}", has, valid)
    digest, size_bytes = (_tree if file.is_dir() else _sha256)(str(file), status.st_size, status.st_mtime_ns)
    is_usual = engine.name == image_engines.DEFAULT  # whose field has another form, because older records have it
    provenance = {
        "file": file.name,
        "sha256": digest,
        "size_bytes": size_bytes,
        "mpi_model": "bind" if host_mpi else "hybrid",
        **({engine.name: engine.version()} if is_usual else {"engine": f"{engine.name} {engine.version()}"}),
        "labels": dict(labels),
    }
    return Carried(command=engine.command(file, bound), provenance=provenance)


def need_packages(image: Carried, packages: Sequence[str]) -> None:
    """Raise InputError for an image that railyard built without one of these Spack packages.

    Other images have no labels of packages, so they are not refused.
    """
    if SOURCES_LABEL not in image.labels:
        return
    has = [name.removeprefix(SPEC_LABEL) for name in image.labels if name.startswith(SPEC_LABEL)]
    for package in packages:
        if package not in has:
            inside = ", ".join(has) or "railyard's own benchmarks alone"
            valid = f"an image with {package}, as containers/build-image applications builds; this one has {inside}"
            raise InputError("image", "", image.provenance["file"], valid)


def _bound(folder: Path, file: Path, labels: Mapping[str, str], features: Sequence[str]) -> Bound:
    """Return the machine's MPI in a folder as it is bound into the image `file`.

    Raises InputError for a folder without an MPI, with another than the launcher's, or of another family than the
    image's. Ranks of another series end in MPI_Init; the libraries have the series in their names.
    """
    names = [path.name for path in (folder / "lib").glob("lib*.so*")]
    if not any(name.startswith("libmpi") for name in names):
        raise InputError("host_mpi", "", str(folder), "a folder with lib/libmpi*.so (containers/host-mpi gather)")
    mpi = next((mpi for mpi, library in LIBRARIES if any(name.startswith(library) for name in names)), "")
    wants, has = next((name for name in features if name in SERIES), ""), labels.get(MPI_LABEL, "")
    if mpi and wants and not mpi.startswith(SERIES[wants]):
        valid = f"a folder with {SERIES[wants]}, whose launcher the environment has (containers/host-mpi gather)"
        raise InputError("host_mpi", "", f"{folder} has {mpi}", valid)
    if mpi and has and not any(mpi.startswith(one) and has.startswith(one) for one in set(FAMILIES.values())):
        raise InputError("host_mpi", "", f"{folder} has {mpi}", f"the family of {file.name}, which has {has}")
    return Bound(folder=folder, has_ofi=(folder / OFI_OF_INTEL).is_dir(), has_pmix=(folder / "pmix").is_dir())


@functools.cache
def _sha256(file: str, size_bytes: int, time_ns: int) -> tuple[str, int]:
    """Return the sha256 and the bytes of a file; cached as long as its size and its time stay the same."""
    with Path(file).open("rb") as image:
        return hashlib.file_digest(image, "sha256").hexdigest(), size_bytes


@functools.cache
def _tree(folder: str, size_bytes: int, time_ns: int) -> tuple[str, int]:
    """Return a sha256 and the bytes of an unpacked image: of each path, content, executable bit and link target.

    Files that only their owner may read are left out, so that the sum is the same for every user.
    """
    paths: list[Path] = []  # links, and files that every user may read, in folders that every user may enter
    for parent, folders, files in os.walk(folder):
        inside = [Path(parent, name) for name in folders]
        folders[:] = [path.name for path in inside if not path.is_symlink() and path.stat().st_mode & stat.S_IXOTH]
        paths += [path for path in inside if path.is_symlink()]
        for path in (Path(parent, name) for name in files):
            if path.is_symlink() or (path.is_file() and path.stat().st_mode & stat.S_IROTH):
                paths.append(path)
    digest, total = hashlib.sha256(), 0
    for path in sorted(paths):
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
