"""Run a SIF file, or a folder that Apptainer unpacked, and read the image's labels.

Leaves out how images are built (docs/node-image.md).
"""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
import struct
from collections.abc import Mapping
from pathlib import Path

from railyard.base import programs
from railyard.base.checkout import CHECKOUT
from railyard.base.errors import InputError, RunError
from railyard.records.image_engines.base import HOST_MPI, Bound, ImageEngine

#: Folder of the `apptainer` that `make apptainer` installs; reframe.yml has it last on the PATH of every job.
OWN = CHECKOUT / "build/apptainer/bin"
#: A SIF file starts with a line for the shell and the magic; its header ends with offset and size of its data.
HEADER_BYTES, MAGIC, DATA = 128, (32, b"SIF_MAGIC"), (112, "<2q")
#: What an unpacked image has in its root.
UNPACKED = ".singularity.d"
#: Labels of Apptainer's own that name files of the machine that built.
PLACES = "org.label-schema.usage."


def missing(file: Path) -> str:
    """Return why an image file cannot be run here, in one line with the remedy; empty if it can."""
    if program() is None:
        return f"no apptainer on the PATH{unused()}: `make apptainer` installs it into the checkout"
    if file.is_file() or file.is_dir():
        return ""
    if file.name == "railyard.sif":
        return f"no image {file}: `make sif` builds it"
    return f"no image {file}: reframe with -S build=image, or containers/build-image applications, builds it"


def program() -> str | None:
    """Return the path of `apptainer`: on the PATH, or else the checkout's own; None if there is none."""
    return shutil.which("apptainer", path=f"{os.environ.get('PATH', os.defpath)}:{OWN}")


def unused() -> str:
    """Return a remark where only SingularityCE is here, with which images were never tried; empty elsewhere."""
    return " (singularity is not used)" if program() is None and shutil.which("singularity") else ""


def command(file: Path, bound: Bound | None) -> tuple[str, ...]:
    """Return the words before the program; `bound` is the machine's MPI, which then replaces the image's."""
    words = ["apptainer", "--quiet", "exec"]
    if bound is not None:
        words += ["--bind", f"{bound.folder}:{HOST_MPI}:ro"]
        words += [word for name, value in bound.variables.items() for word in ("--env", f"{name}={value}")]
    return (*words, str(file))


def check(file: Path) -> None:
    """Raise InputError for a file that is no image, and a folder that is no unpacked one (it needs no /dev/fuse)."""
    if file.is_dir():
        if not (file / UNPACKED).is_dir():
            valid = "a SIF file, or a folder that `apptainer build --sandbox FOLDER FILE.sif` unpacked"
            raise InputError("image", "", str(file), valid)
        return
    place, magic = MAGIC
    with file.open("rb") as image:
        header = image.read(HEADER_BYTES)
    if len(header) < HEADER_BYTES or header[place : place + len(magic)] != magic:
        raise InputError("image", "", str(file), "a SIF file, as `apptainer build` makes it")
    whole, size = sum(struct.unpack_from(DATA[1], header, DATA[0])), file.stat().st_size
    if size < whole:
        raise InputError("image", str(file), problem=f"{size} bytes", valid=f"{whole} bytes, as its header says")


def labels(file: Path) -> Mapping[str, str]:
    """Return the image's labels: name -> value; cached as long as the file's time stays the same."""
    return _labels(str(file), file.stat().st_mtime_ns)


@functools.cache
def _labels(file: str, time_ns: int) -> dict[str, str]:
    answer = _ask("inspect", "--json", "--labels", file)
    labels = json.loads(answer)["data"]["attributes"].get("labels") or {}
    return {
        str(name): " ".join(str(value).split())
        for name, value in sorted(labels.items())
        if not str(name).startswith(PLACES)
    }


@functools.cache
def _version() -> str:
    match = re.search(r"\d\S*", _ask("version"))
    return match[0] if match else "unknown"


def _ask(*arguments: str) -> str:
    path = program()
    assert path is not None  # the check would have been skipped
    done = programs.run([path, "--quiet", *arguments])
    if done.returncode:
        complaint = (done.stderr.strip().splitlines() or ["no error message"])[-1]
        raise RunError(f"apptainer {arguments[0]} failed: {complaint}")
    return done.stdout


ENGINE = ImageEngine(name="apptainer", missing=missing, check=check, labels=labels, version=_version, command=command)
