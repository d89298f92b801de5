"""Cabinets of a large Cray: Ezell, CUG'13, section II-A and II-B, and interconnect.txt of a whole machine."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path

import pytest
from support.commands import Run

from railyard.base.errors import InputError
from railyard.placements.hosts import sources
from railyard.placements.topology import cabinets

TITAN = (25, 16, 24)
CIELO = (16, 12, 24)
#: Tiles of each Gemini that leave the router.
TILES = 40


def routers(extents: tuple[int, int, int]) -> list[tuple[int, int, int]]:
    x, y, z = map(range, extents)
    return list(itertools.product(x, y, z))


def test_titan_has_200_cabinets_of_48_geminis() -> None:
    places = [cabinets.place(at, TITAN) for at in routers(TITAN)]
    assert len(set(places)) == 9600
    of_cabinet = Counter(place.cabinet for place in places)
    assert len(of_cabinet) == 200 and set(of_cabinet.values()) == {48}


@pytest.mark.parametrize("length", range(2, 26))
def test_no_cable_of_a_folded_ring_passes_more_than_one_cabinet(length: int) -> None:
    line = [cabinets.folded(position, length) for position in range(length)]
    assert sorted(line) == list(range(length))
    assert max(abs(line[k] - line[k - 1]) for k in range(length)) <= 2


def test_neighbours_along_z_are_modules_of_one_cabinet_and_a_module_has_two_along_y() -> None:
    for x, y, z in routers(TITAN):
        here, above = cabinets.place((x, y, z), TITAN), cabinets.place((x, y, (z + 1) % 24), TITAN)
        assert (here.cabinet, here.gemini) == (above.cabinet, above.gemini)
    first, second = (cabinets.place((3, y, 9), TITAN) for y in (0, 1))
    assert (str(first), str(second)) == ("c6-0c1s1g0", "c6-0c1s1g1")


def test_a_small_torus_is_no_row_of_cabinets(railyard: Run) -> None:
    with pytest.raises(InputError, match=r"cabinets: extents: '4x4x4' .*rows of cabinets"):
        cabinets.place((0, 0, 0), (4, 4, 4))
    assert railyard("topology", "gemini-4x4x4", "--cabinets").returncode != 0


def test_the_command_prints_a_line_for_each_router(railyard: Run) -> None:
    lines = railyard("topology", "titan", "--cabinets").stdout.splitlines()
    assert len(lines) == 9600 and lines[0] == "0,0,0 c0-0c0s0g0" and lines[-1] == "24,15,23 c1-1c2s7g1"


def test_a_file_of_184320_lines_is_read(tmp_path: Path) -> None:
    """Pedretti et al., CUG'13, section III: Cielo's interconnect.txt has 184,320 lines, 14 MB."""
    path = tmp_path / "interconnect.txt"
    with path.open("w") as file:
        for x, y, z in routers(CIELO):
            beside = (x, y, (z + 1) % 24)
            near, far = cabinets.place((x, y, z), CIELO), cabinets.place(beside, CIELO)
            ends = f"[({x},{y},{z})] Z+", f"[({','.join(map(str, beside))})] \tLinkType: backplane"
            file.writelines(f"{near}l{tile:02d}{ends[0]} -> {far}l{tile:02d}{ends[1]}\n" for tile in range(TILES))
    assert path.stat().st_size > 12_000_000
    found = sources.read(path)
    assert found.extents == CIELO and len(found.coordinates) == 9216
