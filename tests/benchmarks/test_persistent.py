"""The library that counts persistent sends: real programs in C and Fortran, under two MPIs, beside a profiler.

What the programs send is in their sources (tests/data/persistent); the sums are made here by hand.
"""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from support.benchmark_runs import preload
from support.mpis.programs import Mpi

from railyard.applications import mpip
from railyard.applications.mpip import Amount, Sends
from railyard.base.checkout import CHECKOUT

SOURCES = CHECKOUT / "tests/data/persistent"
BINDINGS = {"mpif.h": 1, "use mpi": 2, "use mpi_f08": 3}
LARGE = 70000


def sends(mpi: Mpi, ranks: int, program: Path, *preload: str | Path) -> tuple[Sends, str]:
    """Run a program whose persistent sends are counted; what was counted, and what was printed."""
    path = mpi.folder / "launch.persistent"
    path.unlink(missing_ok=True)
    done = mpi.witnessed(ranks, *preload, program, RAILYARD_PERSISTENT=str(path))
    assert (done.status, done.err) == (0, "")
    assert json.loads((mpi.folder / "launch.witness").read_text())["mpi"]["ranks"] == ranks
    return mpip.load_persistent(path, ranks), done.out


def of_ring(ranks: int) -> Sends:
    """What sends.c sends: five single messages, five of three pairs of integers, and on rank r r large ones."""
    large = sum(range(ranks))
    sizes = {
        0: Amount(messages=ranks),
        31: Amount(messages=5 * ranks, size_bytes=5 * ranks * 24),
        127: Amount(messages=ranks, size_bytes=ranks * 100),
        255: Amount(messages=ranks, size_bytes=ranks * 200),
        511: Amount(messages=2 * ranks, size_bytes=ranks * (300 + 400)),
        131071: Amount(messages=large, size_bytes=large * LARGE),
    }
    return Sends(
        ranks=tuple(Amount(messages=10 + rank, size_bytes=1120 + rank * LARGE) for rank in range(ranks)),
        sizes={largest: amount for largest, amount in sizes.items() if amount.messages},
    )


def of_fortran(ranks: int) -> Sends:
    """What sends.F90 sends: rank r three messages of 10 + r doubles, all of 64 to 127 bytes."""
    amounts = tuple(Amount(messages=3, size_bytes=3 * 8 * (10 + rank)) for rank in range(ranks))
    return Sends(ranks=amounts, sizes={127: sum(amounts, Amount())})


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_every_kind_of_persistent_send_is_counted_when_it_starts(mpi: Mpi, ranks: int) -> None:
    """Not those of 0 starts, to nobody, or that only receive; freed handles come again for others."""
    counted, _ = sends(mpi, ranks, mpi.built(SOURCES / "sends.c"))
    assert counted == of_ring(ranks)


@pytest.mark.parametrize("binding", BINDINGS)
def test_fortran_is_counted_by_each_of_its_bindings(mpi: Mpi, binding: str) -> None:
    """UMT's sweeps, which are Fortran, send so. -O2, as MPI's wrapper has it, holds nothing back from MPI_Wait."""
    program = mpi.built(SOURCES / "sends.F90", f"-DBINDING={BINDINGS[binding]}")
    counted, _ = sends(mpi, 3, program)
    assert counted == of_fortran(3)


def seen(printed: str) -> Counter[str]:
    return Counter(line for line in printed.splitlines() if line.startswith("saw "))


def profiled(mpi: Mpi, program: Path, of_program: Callable[[int], Sends], ranks: int) -> Counter[str]:
    """What a profiler sees is the same with the library before it and without, and the library counts the same."""
    profiler = mpi.built(SOURCES / "profiler.c", "-shared", "-fPIC")
    alone = mpi.run(ranks, "env", f"LD_PRELOAD={profiler}", program)
    assert (alone.status, alone.err) == (0, "")
    counted, printed = sends(mpi, ranks, program, "--preload", profiler)
    assert counted == of_program(ranks)
    assert seen(printed) == seen(alone.out)
    return seen(printed)


def test_a_profiler_sees_every_call_of_c(mpi: Mpi) -> None:
    """Sends that are initialized, starts, starts of several, and requests freed: of each rank."""
    calls = profiled(mpi, mpi.built(SOURCES / "sends.c"), of_ring, 3)
    assert calls == {f"saw 5 {11 + rank} 5 14": 1 for rank in range(3)}


@pytest.mark.parametrize("binding", ["mpif.h", "use mpi"])
def test_a_profiler_sees_every_call_of_fortran(mpi: Mpi, binding: str) -> None:
    """It wraps the names of the two older bindings, as mpiP does."""
    program = mpi.built(SOURCES / "sends.F90", f"-DBINDING={BINDINGS[binding]}")
    assert profiled(mpi, program, of_fortran, 2) == {"saw 1 4 1 2": 2}


def test_a_program_without_persistent_sends_has_a_file_that_says_none(openmpi: Mpi) -> None:
    source = openmpi.folder / "none.c"
    source.write_text("#include <mpi.h>\nint main(int c, char **v) { MPI_Init(&c, &v); MPI_Finalize(); return 0; }\n")
    counted, _ = sends(openmpi, 2, openmpi.built(source))
    assert counted == Sends(ranks=(Amount(), Amount()))


def test_without_the_variable_nothing_is_counted_and_with_a_bad_one_the_program_goes_on(openmpi: Mpi) -> None:
    program = openmpi.built(SOURCES / "sends.c")
    done = openmpi.witnessed(2, program)
    assert (done.status, done.err) == (0, "") and not list(openmpi.folder.glob("*.persistent"))
    done = openmpi.witnessed(2, program, RAILYARD_PERSISTENT="/no/such/folder/x")
    assert done.status == 0
    (line,) = done.error_lines
    assert line == "railyard-persistent: /no/such/folder/x: cannot be written: No such file or directory"


def test_a_file_that_cannot_take_its_name_leaves_nothing(openmpi: Mpi) -> None:
    """A folder has the name already: the temporary file is removed again."""
    (openmpi.folder / "launch.persistent").mkdir()
    path = openmpi.folder / "launch.persistent"
    done = openmpi.witnessed(2, openmpi.built(SOURCES / "sends.c"), RAILYARD_PERSISTENT=str(path))
    assert done.status == 0 and "launch.persistent: cannot be written: Is a directory" in done.err
    assert [path.name for path in openmpi.folder.glob("launch.persistent*")] == ["launch.persistent"]


def test_thousands_of_requests_at_one_time_under_sanitizers(sanitized: Path, openmpi: Mpi) -> None:
    """The table of handles grows, and handles that were freed come again with other sizes."""
    source = openmpi.folder / "many.c"
    source.write_text(
        "#include <mpi.h>\n"
        "enum { MANY = 3000 };\n"
        "int main(int argc, char **argv) {\n"
        "    static char buffer[MANY];\n"
        "    static MPI_Request all[MANY];\n"
        "    MPI_Init(&argc, &argv);\n"
        "    for (int round = 0; round < 3; round++) {\n"
        "        for (int i = 0; i < MANY; i++)\n"
        "            MPI_Send_init(buffer, round ? 1 : i, MPI_CHAR, 0, i, MPI_COMM_SELF, &all[i]);\n"
        "        for (int i = 0; i < MANY; i++) {\n"
        "            MPI_Request receives;\n"
        "            MPI_Irecv(buffer, MANY, MPI_CHAR, 0, i, MPI_COMM_SELF, &receives);\n"
        "            MPI_Start(&all[i]);\n"
        "            MPI_Wait(&all[i], MPI_STATUS_IGNORE);\n"
        "            MPI_Wait(&receives, MPI_STATUS_IGNORE);\n"
        "        }\n"
        "        for (int i = 0; i < MANY; i++)\n"
        "            MPI_Request_free(&all[(7 * i) % MANY]);\n"
        "    }\n"
        "    MPI_Finalize();\n"
        "    return 0;\n"
        "}\n"
    )
    program = openmpi.built(source, "-fsanitize=address,undefined")
    path = openmpi.folder / "launch.persistent"
    witness = [sanitized / "railyard-witness", openmpi.folder / "launch.witness"]
    done = openmpi.run(2, *preload(Path(), program)[:-1], *witness, program, RAILYARD_PERSISTENT=str(path))
    assert done.status == 0 and "Sanitizer" not in done.err, done.err
    whole = Amount(messages=9000, size_bytes=2999 * 3000 // 2 + 2 * 3000)
    assert mpip.load_persistent(path, 2).ranks == (whole, whole)


def test_the_libraries_export_mpis_functions_alone() -> None:
    """What else is in them must not take the place of a function of the program."""
    for name in ("persistent", "witness"):
        library = CHECKOUT / f"build/benchmarks-openmpi/lib/railyard/librailyard-{name}.so"
        listed = subprocess.run(
            ["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True
        ).stdout
        exported = {line.split()[2] for line in listed.splitlines()}
        assert exported and {each for each in exported if not each.lower().startswith(("mpi_", "pmpi_"))} == set()
