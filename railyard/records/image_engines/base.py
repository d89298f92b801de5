"""Define what a container engine provides: how it runs a program in an image, and what it reads from the image.

Leaves out how images are built.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

#: Where an image sees the machine's MPI; railyard's definitions make the folder.
HOST_MPI = "/opt/host-mpi"
#: Where Intel MPI has its libfabric, in its own folder.
OFI_OF_INTEL = "lib/libfabric"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """The machine's MPI in an image: its folder, and whether that has Intel's libfabric and PMIx."""

    folder: Path
    has_ofi: bool = False
    has_pmix: bool = False

    @property
    def variables(self) -> Mapping[str, str]:
        """Return the variables that lead the program to the files of the MPI."""
        ofi = f"{HOST_MPI}/{OFI_OF_INTEL}"
        return {
            "LD_LIBRARY_PATH": f"{HOST_MPI}/lib:{ofi}" if self.has_ofi else f"{HOST_MPI}/lib",
            "OPAL_PREFIX": HOST_MPI,
            **({"FI_PROVIDER_PATH": f"{ofi}/prov"} if self.has_ofi else {}),
            **({"PMIX_INSTALL_PREFIX": f"{HOST_MPI}/pmix"} if self.has_pmix else {}),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageEngine:
    """One engine, as functions.

    `missing(file)` returns in one line why an image file cannot be run here; empty if it can.
    `check(file)` raises InputError for a file or folder that is not an image of this engine.
    `labels(file)` returns the labels in the image, `version()` the engine's version.
    `command(file, bound)` returns the words before the program; InputError where the engine cannot bind an MPI. The
    strict check makes the same words again and accepts no others.
    """

    name: str
    missing: Callable[[Path], str]
    check: Callable[[Path], None]
    labels: Callable[[Path], Mapping[str, str]]
    version: Callable[[], str]
    command: Callable[[Path, Bound | None], tuple[str, ...]]
