"""Nodes of a virtual torus that answer ssh, as those of a cluster without a scheduler do: an sshd in each namespace."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from support.commands import BIN, environment
from support.waiting import wait_until

SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
REASON = "" if SSHD and shutil.which("ssh") else "no sshd and ssh; Debian's package openssh-server has them"
SSHD_CONFIG = """\
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/user_key.pub
PidFile none
StrictModes no
UsePAM no
PermitRootLogin prohibit-password
PasswordAuthentication no
"""
#: The head reaches nodes by the management network alone, as on most clusters.
SSH_CONFIG = """\
Host *
    HostName %h.mgmt
    IdentityFile {folder}/user_key
    IdentitiesOnly yes
    BatchMode yes
    StrictHostKeyChecking no
    UserKnownHostsFile /dev/null
    LogLevel ERROR
"""


@contextmanager
def nodes(torus: str, names: Sequence[str], folder: Path) -> Iterator[str]:
    """Run an sshd on each node; the ssh command that logs in there."""
    for key in ("host_key", "user_key"):
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / key)]
        subprocess.run(command, check=True)
    (folder / "sshd_config").write_text(SSHD_CONFIG.format(folder=folder))
    (folder / "ssh_config").write_text(SSH_CONFIG.format(folder=folder))
    Path("/run/sshd").mkdir(exist_ok=True)
    started = [_start(torus, name, folder) for name in names]
    try:
        ssh = ["ssh", "-F", str(folder / "ssh_config")]
        for name in names:
            wait_until(lambda name=name: _answers(torus, [*ssh, name, "true"]), f"{name} answers ssh")  # type: ignore[misc]
        yield " ".join(ssh)
    finally:
        for process in started:
            process.terminate()
            process.wait()


def on(torus: str, host: str, *command: str) -> list[str]:
    """Return the command that runs another on a host of the torus."""
    return [str(BIN / "railyard"), "torus", "exec", torus, host, "--", *command]


def _start(torus: str, name: str, folder: Path) -> subprocess.Popen[bytes]:
    assert SSHD
    words = on(torus, name, SSHD, "-D", "-e", "-f", str(folder / "sshd_config"))
    with (folder / f"{name}.log").open("wb") as log:
        return subprocess.Popen(words, env=environment(), stderr=log, stdout=log)


def _answers(torus: str, words: list[str]) -> bool:
    done = subprocess.run(on(torus, "head", *words), env=environment(), capture_output=True, check=False)
    return done.returncode == 0
