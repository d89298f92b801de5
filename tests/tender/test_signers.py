"""A list of allowed signers decides line by line, as `ssh-keygen -Y verify` does."""

from __future__ import annotations

import dataclasses
import shutil
import subprocess
from pathlib import Path

import pytest

from railyard.records.store import bag

pytestmark = pytest.mark.skipif(
    shutil.which("ssh-keygen") is None, reason="no ssh-keygen on the PATH: Debian's openssh-client has it"
)


@dataclasses.dataclass(frozen=True)
class Signers:
    """Lines of a list of allowed signers, and the principals that are printed; empty where the key is refused."""

    lines: str
    by: str = ""
    is_certificate: bool = False


LISTS = {
    "the first line has expired": Signers('swift@x valid-before="20200101" KEY\nbids@x,swift@x KEY', "bids@x, swift@x"),
    "the first line is of another namespace": Signers(
        'swift@x namespaces="other" KEY\nbids@x namespaces="railyard-*" KEY', "bids@x"
    ),
    "both lines count": Signers("swift@x KEY\nbids@x KEY", "swift@x, bids@x"),
    "the first line is wrong": Signers("swift@x nonsense KEY\nbids@x KEY", "bids@x"),
    "not valid yet": Signers('swift@x valid-after="20990101" KEY'),
    "a pattern and a name left out": Signers("!swift@x,*@x KEY", "*@x"),
    "quoted names": Signers('"swift@x,bids@x" KEY a comment', "swift@x, bids@x"),
    "a comment that is indented": Signers("  # swift@x KEY"),
    "a certificate": Signers("*@x cert-authority AUTHORITY", "swift@x, bids@x", is_certificate=True),
    "one name of a certificate": Signers("bids@* cert-authority AUTHORITY", "bids@x", is_certificate=True),
    "an authority that has expired, and one that has not": Signers(
        '*@x cert-authority,valid-before="20200101" AUTHORITY\nswift@x cert-authority AUTHORITY',
        "swift@x",
        is_certificate=True,
    ),
    "an authority that is listed as a key": Signers("swift@x AUTHORITY", is_certificate=True),
    "a plain key of an authority": Signers("swift@x cert-authority KEY"),
    "a certificate whose plain key is listed": Signers("swift@x KEY", is_certificate=True),
}


@pytest.fixture(scope="module")
def signed_bags(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Bags that a key and its certificate signed, without records, and the public keys."""
    folder = tmp_path_factory.mktemp("signed")
    for name in ("key", "authority"):
        words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", folder / name]
        subprocess.run(words, check=True)
    words = ["ssh-keygen", "-q", "-s", "authority", "-I", "swift", "-n", "swift@x,bids@x", "-V", "-1h:+1d", "key.pub"]
    subprocess.run(words, check=True, cwd=folder)
    for name, key in (("plain", "key"), ("certified", "key-cert.pub")):
        bag.write(folder / name, [], bag.Bid(bidder="swift Ltd", tier="baseline"), key=folder / key)
    return folder


@pytest.mark.parametrize("name", LISTS)
def test_every_line_of_allowed_signers_decides_as_ssh_keygen_verify_does(
    name: str, signed_bags: Path, tmp_path: Path
) -> None:
    """The first line of a key hid the others, and `!swift@x,*@x` was printed as `!swift@x`."""
    listed, signers = LISTS[name], tmp_path / "signers"
    lines = listed.lines
    for word, file in (("KEY", "key.pub"), ("AUTHORITY", "authority.pub")):
        lines = lines.replace(word, " ".join((signed_bags / file).read_text().split()[:2]))
    signers.write_text(f"{lines}\n")
    folder = signed_bags / ("certified" if listed.is_certificate else "plain")
    signed = bag.signed(folder, signers)
    assert (signed.by, bool(signed.problem)) == (listed.by, not listed.by), signed
    for principal in ("swift@x", "bids@x", "other@x", "swift@xy"):
        words = ["ssh-keygen", "-Y", "verify", "-n", bag.NAMESPACE, "-s", str(folder / bag.SIGNATURE), "-I", principal]
        with (folder / "tagmanifest-sha256.txt").open("rb") as content:
            done = subprocess.run([*words, "-f", str(signers)], stdin=content, capture_output=True, check=False)
        assert signed.is_by(principal) == (done.returncode == 0), (principal, done.stderr)
