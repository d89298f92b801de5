"""What a session builds: by `-S build=`, by what is there already, and by whether there is a Spack."""

from __future__ import annotations

from pathlib import Path

import pytest

from checks import building
from checks.building import Build, Wish
from railyard.base.errors import InputError
from railyard.records.record import Software

SPACK = Path("/opt/spack")
NATIVE, IMAGE = Software.NATIVE, Software.IMAGE


@pytest.mark.parametrize(
    ("wish", "spack", "built"),
    [
        # Nothing is named: what is missing is built, but not without a Spack.
        (Wish(build=""), SPACK, {Build.NATIVE}),
        (Wish(build=""), None, set()),
        (Wish(build="", programs_there=True), SPACK, set()),
        (Wish(build="", software=[IMAGE]), SPACK, {Build.IMAGE}),
        (Wish(build="", software=[NATIVE, IMAGE], programs_there=True), SPACK, {Build.IMAGE}),
        (Wish(build="", software=[NATIVE, IMAGE], programs_there=True, image_there=True), SPACK, set()),
        # A kind is named: it is built again where its sources changed, and fails without a Spack.
        (Wish(build="native", programs_there=True), None, {Build.NATIVE}),
        (Wish(build="image", image_there=True), None, {Build.IMAGE}),
        (Wish(build="image", software=[NATIVE, IMAGE]), SPACK, {Build.IMAGE, Build.NATIVE}),
        # An image is named: it is not built; programs only where they are to run beside it.
        (Wish(build="", image="a.sif"), SPACK, set()),
        (Wish(build="", image="a.sif", software=[NATIVE, IMAGE]), SPACK, {Build.NATIVE}),
        (Wish(build="image", image="a.sif"), SPACK, set()),
        # Nothing is to be built, whatever is missing.
        (Wish(build="none"), SPACK, set()),
        (Wish(build="none", software=[NATIVE, IMAGE]), SPACK, set()),
    ],
)
def test_what_a_session_builds(wish: Wish, spack: Path | None, built: set[Build]) -> None:
    assert {kind for kind in (Build.IMAGE, Build.NATIVE) if wish.needs(kind, spack)} == built


def test_a_word_that_is_no_build_is_refused() -> None:
    with pytest.raises(InputError, match=r"build: 'sif' .*image, native, none"):
        Wish(build="sif").needs(Build.IMAGE, SPACK)


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
