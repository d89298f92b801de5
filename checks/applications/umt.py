"""UMT2013, a mini-application of radiation transport: unknowns per second under placements and NIC policies.

The Su-Olson problem on a cube of blocks of unstructured zones. Ranks exchange the angular fluxes of their boundary in
messages of groups x angles x corners, which are large: for that reason LLNL's poster has it. Groups and angles are
therefore not cut down as far as the mesh is.
"""

from __future__ import annotations

from reframe.core.builtins import run_after, variable

from checks.application import MiniAppCheck, variants

MESH = "mesh.cmg"
#: Quadrature of the product of polar and azimuthal angles; the order that the program also expects is then unused.
PRODUCT, ORDER = 2, 16
FACES = ("xMin", "xMax", "yMin", "yMax", "zMin", "zMax")


@variants("weak", "strong", "profile", poster=["multirail", "mpi_time", "hybrid"])
class UmtCheck(MiniAppCheck):
    """The Su-Olson problem, whose material energy is known; every zone is cut into seven hexahedra at random."""

    descr = "UMT2013: radiation transport by discrete ordinates on a cube of unstructured blocks"
    benchmark = "umt"
    program = "SuOlsonTest"
    package = "umt"
    threads = 1  # OpenMP is always compiled in, and would take every core for each rank

    #: Edge of each rank's block in zones.
    sizes = {
        "weak": {"laptop": 2, "ci": 2, "node": 4, "rack": 4},
        "strong": {"laptop": 3, "ci": 2, "node": 6, "rack": 4},
    }

    #: Energy groups; 0 for 16 at the scales laptop and ci, and for 200, as LLNL's own problem, at node and rack.
    groups = variable(int, value=0)

    #: Polar and azimuthal angles of an octant; 0 for 2 and 2 at laptop and ci, for 9 and 10 at node and rack.
    polar = variable(int, value=0)
    azimuthal = variable(int, value=0)

    @run_after("setup")
    def choose_options(self) -> None:
        """Write the mesh: the last axis varies fastest over the program's ranks, as over the grid's."""
        small = self.scale in {"laptop", "ci"}
        groups = self.groups or (16 if small else 200)
        angles = self.polar or (2 if small else 9), self.azimuthal or (2 if small else 10)
        self.parameters = {**self.parameters, "groups": groups, "polar": angles[0], "azimuthal": angles[1]}
        self.inputs = {MESH: mesh(list(self.grid), self.size)}
        self.options = [MESH, *map(str, (groups, PRODUCT, ORDER, *angles))]


def mesh(blocks: list[int], zones: int) -> str:
    """Return the text of a mesh of `blocks` along each axis, each with `zones` along each axis before they are cut."""
    counts = ",".join(map(str, blocks))
    whole = [f"0:{count}" for count in blocks]
    lines = [f"sms({counts})", f"blk(on,{','.join(f'0:{count - 1}' for count in blocks)})"]
    for index, name in enumerate(FACES):
        axis, at = index // 2, blocks[index // 2] if index % 2 else 0
        ranges = [f"{at}:{at}" if k == axis else extent for k, extent in enumerate(whole)]
        lines.append(f'tag("{name}Faces",face,({",".join(ranges)}))')
    inner = ",".join(f"0:{count - 1}" for count in blocks)
    return "\n".join([*lines, f"numzones({zones},{zones},{zones})", f"sub(10%,{inner},(7,0,0,0))", "seed(10)", ""])
