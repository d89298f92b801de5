"""Create the folders of an archive that several users share, and check in advance whether it can be written.

Models: a folder has the same group and mode as the archive's root, so that all users who may add to the archive may
add to the folder. Leaves out files, which have the umask's mode, because a record is never changed.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import tempfile
from collections.abc import Iterable
from pathlib import Path

from railyard.base.errors import InputError


def make(root: Path, name: str) -> Path:
    """Return the folder of this name in an archive, creating it if needed; raises OSError."""
    try:
        root.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(root)) from error
    path = root / name
    with contextlib.suppress(FileExistsError):
        path.mkdir()
        whole = root.stat()
        with contextlib.suppress(PermissionError):
            os.chown(path, -1, whole.st_gid)
        path.chmod(stat.S_IMODE(whole.st_mode))
    return path


def check_writable(root: Path, names: Iterable[str]) -> None:
    """Raise InputError if files cannot be created in these folders of an archive, or in the nearest existing parent."""
    for path in (root / name for name in names):
        there = next(folder for folder in (path, *path.absolute().parents) if folder.exists())
        try:
            with tempfile.TemporaryFile(dir=there):
                pass
        except OSError as error:
            valid = "a folder that can be written; give another by -S archive=FOLDER"
            raise InputError("archive", "", problem=f"{there}: {error.strerror}", valid=valid) from error
