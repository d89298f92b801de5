"""What a session builds: by `-S build=`, by what is there already, and by whether there is a Spack."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from checks import building
from checks.building import kinds_to_build
from railyard.base.errors import InputError
from railyard.records.record import Software

SPACK = Path("/opt/spack")
NATIVE, IMAGE = Software.NATIVE, Software.IMAGE


@pytest.mark.parametrize(
    ("build", "spack", "wishes", "built"),
    [
        # Nothing is named: what is missing is built, but not without a Spack.
        ("", SPACK, {}, {NATIVE}),
        ("", None, {}, set()),
        ("", SPACK, {"there": [NATIVE]}, set()),
        ("", SPACK, {"software": [IMAGE]}, {IMAGE}),
        ("", SPACK, {"software": [NATIVE, IMAGE], "there": [NATIVE]}, {IMAGE}),
        ("", SPACK, {"software": [NATIVE, IMAGE], "there": [NATIVE, IMAGE]}, set()),
        # A kind is named: it is built again where its sources changed, and fails without a Spack.
        ("native", None, {"there": [NATIVE]}, {NATIVE}),
        ("image", None, {"there": [IMAGE]}, {IMAGE}),
        ("image", SPACK, {"software": [NATIVE, IMAGE]}, {IMAGE, NATIVE}),
        # An image is named: it is not built; programs only where they are to run beside it.
        ("", SPACK, {"image": "a.sif"}, set()),
        ("", SPACK, {"image": "a.sif", "software": [NATIVE, IMAGE]}, {NATIVE}),
        ("image", SPACK, {"image": "a.sif"}, set()),
        # Nothing is to be built, whatever is missing.
        ("none", SPACK, {}, set()),
        ("none", SPACK, {"software": [NATIVE, IMAGE]}, set()),
    ],
)
def test_what_a_session_builds(build: str, spack: Path | None, wishes: dict[str, Any], built: set[Software]) -> None:
    assert set(kinds_to_build(build, spack, **wishes)) == built


def test_a_word_that_is_no_build_is_refused() -> None:
    with pytest.raises(InputError, match=r"build: 'sif' .*image, native, none"):
        kinds_to_build("sif", SPACK)


def test_the_sites_word_for_spack_comes_before_the_environments() -> None:
    environ = {"SPACK_ROOT": "/opt/spack", "PATH": ""}
    assert building.spack("/site/spack", environ) == Path("/site/spack")
    assert building.spack("", environ) == SPACK


def test_paths_of_a_build_are_those_of_where_the_session_was_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    named = {"BASE": "docker://debian:12-slim", "LOCK": "none", "SCOPE": "/site/scope", "MIRROR": "m", "JOBS": "2"}
    assert building.whole_paths(named) == {"MIRROR": str(tmp_path / "m")}
    assert building.spack("", {"SPACK_ROOT": "spack"}) == tmp_path / "spack"


@pytest.mark.parametrize(
    ("features", "mpi", "file"),
    [
        (["mpi", "openmpi", "openmpi4"], "openmpi", "applications.sif"),
        (["mpi", "openmpi", "openmpi5"], "openmpi5", "applications-openmpi5.sif"),
        (["mpi", "mpich"], "mpich", "applications-mpich.sif"),
        (["mpi", "cray-mpich", "ofi"], "mpich", "applications-mpich.sif"),
        (["mpi", "smpi"], "", "applications.sif"),
    ],
)
def test_each_mpi_has_an_image_and_programs_of_its_own(features: list[str], mpi: str, file: str) -> None:
    assert building.mpi_of(features) == mpi
    assert building.image_file(mpi).name == file
    assert building.view(mpi).parts[-2:] == (mpi or "openmpi", "view")


def test_the_labels_of_a_native_build_are_beside_its_view(tmp_path: Path) -> None:
    (tmp_path / "labels").write_text("railyard.target x86_64\nrailyard.source.lulesh commit 46c2a1\n")
    assert building.labels(tmp_path / "view") == {
        "railyard.target": "x86_64",
        "railyard.source.lulesh": "commit 46c2a1",
    }
    assert building.labels(tmp_path / "elsewhere/view") == {}
