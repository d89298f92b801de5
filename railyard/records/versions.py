"""List the versions of the record format, and check that a record has only fields of its own version.

Models: a minor version adds optional fields, so that code for 1.1 also reads 1, where those fields are None. A record
names its version and contains no younger field. It is never rewritten, because its id is computed from its content.
Code that uses records sees the same classes for formats 1 and 2; `records.folded.tables` converts documents between
them. Leaves out: benchmark outputs, which exist only during their job.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from railyard.base.errors import InputError
from railyard.records.json_io import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """One version of the format. `launch_fields` are those that it added to a launch, and so on."""

    name: str
    date: str
    change: str
    launch_fields: frozenset[str] = frozenset()
    case_fields: frozenset[str] = frozenset()
    provenance_fields: frozenset[str] = frozenset()
    record_fields: frozenset[str] = frozenset()
    image_fields: frozenset[str] = frozenset()
    nodes_fields: frozenset[str] = frozenset()


#: All versions, oldest first. docs/formats.md shows the same table; a test compares them.
VERSIONS: tuple[Version, ...] = (
    Version(name="railyard-record/1", date="2026-11-21", change="the first"),
    Version(
        name="railyard-record/1.1",
        date="2026-11-21",
        change="a launch may have guard, nics and nic_verdict",
        launch_fields=frozenset({"guard", "nics", "nic_verdict"}),
    ),
    Version(
        name="railyard-record/1.2",
        date="2026-11-21",
        change="a launch and a case may have software, the provenance image",
        launch_fields=frozenset({"software"}),
        case_fields=frozenset({"software"}),
        provenance_fields=frozenset({"image"}),
    ),
    Version(
        name="railyard-record/1.3",
        date="2026-11-22",
        change="a record has sha256 and run; a case has its grid, block, cube, ranks per node, devices and challenge; "
        "a launch has monotonic times",
        launch_fields=frozenset({"begun_monotonic_s", "ended_monotonic_s"}),
        case_fields=frozenset({"ranks_per_node", "grid", "block", "cube", "devices", "challenge"}),
        record_fields=frozenset({"sha256", "run"}),
    ),
    Version(
        name="railyard-record/1.4",
        date="2026-11-22",
        change="the provenance may have job: MPI's environment variables, modules, libraries loaded",
        provenance_fields=frozenset({"job"}),
    ),
    Version(
        name="railyard-record/1.5",
        date="2026-11-22",
        change="a launch may have nic_reason: why its NICs could not be judged",
        launch_fields=frozenset({"nic_reason"}),
    ),
    Version(
        name="railyard-record/1.6",
        date="2026-11-22",
        change="a launch may have reported: what a third-party program reports of its run besides figures",
        launch_fields=frozenset({"reported"}),
    ),
    Version(
        name="railyard-record/1.7",
        date="2026-11-22",
        change="a launch may have spans: the switches and groups of its nodes, and the nodes of each group",
        launch_fields=frozenset({"spans"}),
    ),
    Version(
        name="railyard-record/1.8",
        date="2026-11-22",
        change="a launch and a case may have roles: programs that run beside the one that is measured",
        launch_fields=frozenset({"roles"}),
        case_fields=frozenset({"roles"}),
    ),
    Version(
        name="railyard-record/1.9",
        date="2026-11-23",
        change="the provenance's image may name its engine, where that is not Apptainer",
        image_fields=frozenset({"engine"}),
    ),
    Version(
        name="railyard-record/2",
        date="2026-11-26",
        change="ranks, hosts, CPU sets and NICs are in tables, once where launches have the same; names are folded; "
        "the provenance may have nodes: how many described themselves, of how many kinds",
        record_fields=frozenset({"tables"}),
        provenance_fields=frozenset({"nodes"}),
    ),
    Version(
        name="railyard-record/2.1",
        date="2026-11-26",
        change="a record has figures: the unit and the better direction of each figure of merit",
        record_fields=frozenset({"figures"}),
    ),
    Version(
        name="railyard-record/2.2",
        date="2026-11-28",
        change="the provenance's nodes may have boots: how many boots of kernels the nodes reported",
        nodes_fields=frozenset({"boots"}),
    ),
)
#: Versions whose ranks, hosts and NICs are in tables.
WITH_TABLES = frozenset({"railyard-record/2", "railyard-record/2.1", "railyard-record/2.2"})
#: The first version whose records declare their figures.
WITH_FIGURES = "railyard-record/2.1"
#: Versions whose records have only the short id and no sha256.
WITHOUT_DIGEST = frozenset({"railyard-record/1", "railyard-record/1.1", "railyard-record/1.2"})


#: The first version whose records contain the sha256, the job and the session.
WITH_RUN = "railyard-record/1.3"
#: The first version whose launches contain the spread of their nodes over switches and groups.
WITH_SPANS = "railyard-record/1.7"
#: The first version whose records contain how many kernels the nodes have.
WITH_BOOTS = "railyard-record/2.2"


def younger_than(name: str) -> frozenset[str]:
    """Return the names of all versions that are younger than this one; raises ValueError for an unknown name."""
    names = [version.name for version in VERSIONS]
    return frozenset(names[names.index(name) + 1 :])


def check(document: Mapping[str, Json], source: str) -> None:
    """Raise InputError for a field that is younger than the version that the document names."""
    names = [version.name for version in VERSIONS]
    younger = VERSIONS[names.index(document["schema"]) + 1 :]
    for version in younger:
        for field, part, added in _parts(document, version):
            for name in sorted(added & part.keys()):
                wanted = f"a record of {version.name} or younger"
                place = f"{field}.{name}" if field else name
                raise InputError(source, place, problem=f"in {document['schema']}", valid=wanted)


def _parts(
    document: Mapping[str, Json], version: Version
) -> Iterator[tuple[str, Mapping[str, Json], frozenset[str]]]:
    """Yield (path, part, fields that the version added to it) for each part of a document."""
    yield "", document, version.record_fields
    yield "case", document["case"], version.case_fields
    yield "provenance", document["provenance"], version.provenance_fields
    yield "provenance.image", document["provenance"].get("image") or {}, version.image_fields
    yield "provenance.nodes", document["provenance"].get("nodes") or {}, version.nodes_fields
    for index, launch in enumerate(document["launches"]):
        yield f"launches[{index}]", launch, version.launch_fields
