"""`make setup` where you are an ordinary user: another distribution, another Python, a blank in the path."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from reframe.core.config import load_config
from support.commands import BIN, CHECKOUT, HUNG_S, environment, executable, program, ran

TOOLS = CHECKOUT / "tools"


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    """A folder of programs like this machine's, but without Debian's tools and Debian's names of wrappers."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in (path.name for path in Path("/usr/bin").iterdir()):
        debian = name in {"dpkg-query", "dpkg", "apt-get", "smpicc"} or name.endswith((".openmpi", ".mpich"))
        if not debian and not name.startswith(("mpi", "python")):
            (programs / name).symlink_to(Path("/usr/bin") / name)
    return programs


def run(
    words: list[str | Path], programs: Path, cwd: Path = CHECKOUT, **variables: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words, capture_output=True, text=True, cwd=cwd, env={"PATH": str(programs), **variables}, check=False
    )


def test_the_first_python_that_is_new_enough_is_taken(foreign: Path) -> None:
    program(foreign, "python3", "exit 1")  # RHEL 8's python3 is 3.6
    none = run([TOOLS / "find-python"], foreign)
    assert none.returncode == 1 and "make setup PYTHON=" in none.stderr and "3.11" in none.stderr
    program(foreign, "python3.12", "exit 0")
    assert run([TOOLS / "find-python"], foreign).stdout == "python3.12\n"
    program(foreign, "mine", "exit 0")
    assert run([TOOLS / "find-python"], foreign, PYTHON="mine").stdout == "mine\n"


@pytest.mark.parametrize(
    ("there", "answer"), [("3.20.2", "wheel"), ("3.26.5", "there"), ("4.1.0", "there"), ("", "wheel")]
)
def test_a_cmake_that_is_too_old_gives_way_to_the_wheel(foreign: Path, tmp_path: Path, there: str, answer: str) -> None:
    """RHEL 8 and SLES 15 have cmake 3.20; both builds are pretended."""
    (foreign / "cmake").unlink(missing_ok=True)
    if there:
        program(foreign, "cmake", f'[ "$1" != --version ] || {{ echo "cmake version {there}"; exit; }}; echo there')
    checkout = tmp_path / "checkout"
    executable(checkout / "tools/cmake", (TOOLS / "cmake").read_text())
    alone = run([checkout / "tools/cmake", "-S", "x"], foreign)
    if answer == "wheel":
        assert alone.returncode == 1 and "run: make setup" in alone.stderr and "3.22 or newer" in alone.stderr
        assert len(alone.stderr.splitlines()) == 1
    program(
        checkout / ".venv/bin", "cmake", '[ "$1" != --version ] || { echo "cmake version 3.31.6"; exit; }; echo wheel'
    )
    assert run([checkout / "tools/cmake", "-S", "x"], foreign).stdout == f"{answer}\n"


def test_the_wrapper_of_a_cray_is_cc_and_elsewhere_mpicc(foreign: Path) -> None:
    assert run([TOOLS / "find-mpicc"], foreign).stdout == ""
    program(foreign, "mpicc", "exit 0")
    assert run([TOOLS / "find-mpicc"], foreign).stdout == "mpicc\n"
    program(foreign, "cc", "exit 0")
    assert run([TOOLS / "find-mpicc"], foreign, CRAY_MPICH_DIR="/opt/cray").stdout == "cc\n"


def test_benchmarks_are_built_with_the_wrapper_that_is_there(foreign: Path) -> None:
    (foreign / "python3").symlink_to("/usr/bin/python3")
    without = run(["make", "-n", "-B", "setup"], foreign)
    assert "mpicc.openmpi " not in without.stdout and "benchmarks-site" not in without.stdout
    program(foreign, "mpicc", "exit 0")
    with_wrapper = run(["make", "-n", "-B", "setup"], foreign)
    assert "-B build/benchmarks-site -DCMAKE_C_COMPILER=mpicc" in with_wrapper.stdout, with_wrapper.stderr
    offline = run(["make", "-n", "-B", "setup", "WHEELS=elsewhere"], foreign)
    assert '--no-index --find-links "elsewhere"' in offline.stdout


#: A pinned list, and pip's settings: whether uv installs the list, and what pip installs.
LISTED = "numpy==2.0 \\\n    --hash=sha256:aa\nuv==0.9 \\\n    --hash=sha256:bb\n    # via railyard\nzizmor==1.32\n"
SETTINGS = {
    "none": ("", "", ["uv==0.9", "uv"]),
    "a certificate": ("global.cert='/etc/ca.crt'", "", ["uv==0.9", "uv"]),
    "an index of the site": ("global.index-url='https://site.invalid/'", "", ["numpy==2.0"]),
    "no index": (":env:.no-index='1'", "", ["numpy==2.0"]),
    "no wheel of uv": ("", "pip", ["uv==0.9", "numpy==2.0"]),
    "uv fails": ("", "uv", ["uv==0.9", "uv", "numpy==2.0"]),
}


@pytest.mark.parametrize("case", SETTINGS)
def test_uv_installs_python_packages_unless_pip_has_settings_that_uv_does_not_read(
    foreign: Path, tmp_path: Path, case: str
) -> None:
    """Where uv cannot install them, pip does. Both are pretended, and note the first line of the list that they get."""
    settings, failing, expected = SETTINGS[case]
    (tmp_path / "list.txt").write_text(LISTED)
    programs = tmp_path / "venv/bin"
    pinned = f'for list; do :; done; read -r name _ <"$list"; echo "$name" >>"{tmp_path}/installed"'
    configured = f'case "$*" in *"config list") echo "{settings}"; exit;; esac'
    refused = f'case "$name" in uv==*) exit {int(failing == "pip")};; esac'
    made = (
        'for word; do [ "$before" != --target ] || target=$word; before=$word; done\n'
        f'[ -z "$target" ] || {{ mkdir -p "$target/bin"; ln -s "{programs}/uv" "$target/bin"; }}'
    )
    program(programs, "python", f"{configured}\n{pinned}\n{made}\n{refused}")
    program(programs, "uv", f'echo uv >>"{tmp_path}/installed"; exit {int(failing == "uv")}')
    words: list[str | Path] = [TOOLS / "install-python-packages", "venv", "list.txt"]
    done = run(words, foreign, tmp_path, DEVELOPMENT="list.txt")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (tmp_path / "installed").read_text().split() == expected


def test_packages_that_are_named_are_installed_alone_and_from_the_wheels_that_are_there(
    foreign: Path, tmp_path: Path
) -> None:
    (tmp_path / "list.txt").write_text(LISTED)
    program(tmp_path / "venv/bin", "python", f'for list; do :; done; cat "$list" >"{tmp_path}/pins"; echo "$*"')
    words: list[str | Path] = [TOOLS / "install-python-packages", "venv", "list.txt", "numpy", "zizmor"]
    done = run(words, foreign, tmp_path, WHEELS="my wheels", DEVELOPMENT="list.txt")
    assert done.returncode == 0 and "--no-index --find-links my wheels" in done.stdout, done.stderr
    pins = (tmp_path / "pins").read_text()
    assert "numpy==" in pins and "zizmor==" in pins and "uv==" not in pins


def test_what_failed_of_set_up_is_what_make_test_prints_last(tmp_path: Path) -> None:
    """Set-up runs beside the unit tests; before, its output and theirs were mixed."""
    (tmp_path / "Makefile").write_text((CHECKOUT / "Makefile").read_text())
    done = run(["make", "test-sif", "MAKE=echo no such package; false"], Path(os.defpath), cwd=tmp_path)
    assert done.returncode != 0 and "no such package" not in done.stdout + done.stderr
    (last,) = (tmp_path / "build/tests").glob("*.failed")
    assert "no such package" in last.read_text() and "test-sif failed" in last.read_text()


def test_another_distribution_needs_commands_and_no_packages(foreign: Path) -> None:
    there = run([TOOLS / "need-packages", "--or", "sh,make", "no-such-package"], foreign)
    assert (there.returncode, there.stderr) == (0, "")
    lacking = run([TOOLS / "need-packages", "--or", "sh,no-such-command", "gcc"], foreign)
    assert lacking.returncode == 1 and "no-such-command" in lacking.stderr


def test_a_service_of_an_installed_package_does_not_start(tmp_path: Path) -> None:
    """apt-get and dpkg-query are pretended, and /usr/sbin is empty; what matters is the hook that Debian asks."""
    if os.geteuid() != 0:
        pytest.skip("puts an empty folder over /usr/sbin, as root")
    program(tmp_path, "dpkg-query", "exit 1")
    program(tmp_path, "apt-get", f"/usr/sbin/policy-rc.d slurmd start; echo $? >> {tmp_path}/asked")
    empty = "mount -t tmpfs tmpfs /usr/sbin && tools/need-packages slurmd && ls /usr/sbin"
    path = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = ran("unshare", "--mount", "sh", "-c", empty, cwd=CHECKOUT, env=path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "asked").read_text().split() == ["101", "101"]
    assert done.stdout.splitlines() == ["installing system packages: slurmd"], "the policy is gone again"


@pytest.mark.parametrize("signal", ["TERM", "HUP", "INT", "KILL"])
def test_services_start_again_after_a_killed_installation(tmp_path: Path, signal: str) -> None:
    """A SIGKILL leaves the hook until the next run. A hook of the site's own stays."""
    if os.geteuid() != 0:
        pytest.skip("puts an empty folder over /usr/sbin, as root")
    program(tmp_path, "dpkg-query", f"[ -e {tmp_path}/installed ] && echo install ok installed")
    program(tmp_path, "apt-get", f": >{tmp_path}/began; exec sleep {HUNG_S}")  # one process, which any signal ends
    killed = f"""mount -t tmpfs tmpfs /usr/sbin
        setsid env --default-signal=INT,HUP,TERM tools/need-packages slurmd &
        until [ -e {tmp_path}/began ]; do sleep 0.02; done
        ls /usr/sbin; kill -{signal} -$!; wait $!
        [ {signal} != KILL ] || {{ touch {tmp_path}/installed; tools/need-packages slurmd; }}
        ls /usr/sbin; touch {tmp_path}/installed
        echo exit 101 >/usr/sbin/policy-rc.d; tools/need-packages slurmd; ls /usr/sbin"""
    path = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = ran("unshare", "--mount", "sh", "-c", killed, cwd=CHECKOUT, env=path)
    installing = "installing system packages: slurmd"
    assert done.stdout.splitlines() == [installing, "policy-rc.d", "policy-rc.d"], done.stderr


@pytest.mark.parametrize("name", ["with a blank", "it's"])
def test_a_checkout_may_have_any_path(tmp_path: Path, name: str) -> None:
    checkout = str(tmp_path / name)
    words = ["-C", CHECKOUT / "reframe.yml", "--system", "vtorus:netns", "--show-config=environments"]
    done = ran(BIN / "reframe", *words, env=environment(RAILYARD_CHECKOUT=checkout))
    path = f'"${{RAILYARD_CHECKOUT:-{checkout}}}/build/benchmarks-openmpi/bin:$PATH"'
    assert path.replace('"', '\\"') in done.stdout, done.stdout


@pytest.mark.parametrize(
    "value", ["a b", "it's", 'a "b"', "a # b", "1; touch x", "a\nb: [", "no", "$(touch x) `y` \\", "{{ 1 }}"]
)
def test_variables_may_have_any_value(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    """ReFrame gets them as they are, and no line of a job script has one."""
    names = ("TOPOLOGY", "RATE_SCALE", "IMAGE", "CALIBRATION", "SYSTEM", "FAULTS", "TORUS", "NETWORK")
    for name in names:
        monkeypatch.setenv(f"RAILYARD_{name}", value)
    monkeypatch.setenv("RAILYARD_CHECKOUT", "/checkout")
    config = load_config(str(CHECKOUT / "reframe.yml"))
    systems = {system["name"]: system for system in config["systems"]}
    assert systems.keys() == {"generic", "simtorus", "simvtorus", "linkload", value}
    partitions = {partition["name"]: partition for partition in systems[value]["partitions"]}
    assert partitions["netns"]["extras"]["topology"] == partitions["docker"]["extras"]["smoke_topology"] == value
    assert partitions["docker"]["extras"]["image"] == partitions["slurm"]["extras"]["cluster"] == value
    plainly = {"RAILYARD_FAULTS": "x", "RAILYARD_TORUS": "x", "RAILYARD_CHECKOUT": "/checkout"}
    monkeypatch.setattr(os, "getenv", plainly.get)
    plain = load_config(str(CHECKOUT / "reframe.yml"))
    own, others = (
        [part.get("prepare_cmds", []) for system in one["systems"] for part in system["partitions"]]
        for one in (config, plain)
    )
    assert own == others, "the lines that partitions add to job scripts"


def test_a_user_without_a_home_has_a_cache_in_the_checkout() -> None:
    code = "from railyard.base.checkout import cache; print(cache())"
    variables = {name: value for name, value in os.environ.items() if name not in {"HOME", "XDG_CACHE_HOME"}}
    done = subprocess.run([BIN / "python", "-c", code], capture_output=True, text=True, env=variables, check=False)
    assert done.stdout.strip() == str(CHECKOUT / "build/cache"), done.stderr


def test_a_checkout_that_was_moved_or_copied_is_told_in_one_line(tmp_path: Path) -> None:
    """Before, `make setup` was silent, and the scripts of .venv started the old folder's Python."""
    programs = tmp_path / "old/.venv/bin"
    programs.mkdir(parents=True)
    (programs / "reframe").write_text(f"#!{programs}/python\n")
    command: list[str | Path] = [TOOLS / "check-venv", ".venv"]
    assert run(command, Path("/usr/bin"), tmp_path / "old").returncode == 0
    (tmp_path / "old").rename(tmp_path / "new")
    done = run(command, Path("/usr/bin"), tmp_path / "new")
    assert done.returncode == 1 and "this checkout was moved or copied; run: make clean setup" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("name", ["openmpi5", "mpich5"])
def test_setup_compiles_changed_benchmarks_for_the_mpis_of_wheels_that_are_there(name: str, tmp_path: Path) -> None:
    for path in ("Makefile", "CMakeLists.txt", "tools", "benchmarks", "railyard", "requirements.txt", "pyproject.toml"):
        (tmp_path / path).symlink_to(CHECKOUT / path)
    for file in (f"build/mpis/bin/mpicc.{name}", f"build/benchmarks-{name}/bin/halo"):
        (tmp_path / file).parent.mkdir(parents=True)
        (tmp_path / file).touch()
    done = ran("make", "-n", "-W", "benchmarks/halo/halo.c", "set-up", cwd=tmp_path)
    assert f"compiling the benchmarks with mpicc.{name}\n" in done.stdout.replace('"', ""), done.stderr
