"""Judge whether a launch used the algorithms of its choice: bytes on links and nodes, and how often it called."""

from __future__ import annotations

from railyard.base.errors import InputError
from railyard.base.json_files import json_object
from railyard.jobs.job.job_folder import JobFolder, LaunchFiles
from railyard.jobs.job.submitted import Planned
from railyard.placements.collectives import libraries, proof
from railyard.placements.collectives.algorithms import Shape
from railyard.placements.nics.evidence import Found, Verdict
from railyard.placements.topology import catalog

VERDICTS = {True: Verdict.OBEYED, False: Verdict.NOT_OBEYED, None: Verdict.CANNOT_TELL}


def with_algorithms(folder: JobFolder, launch: Planned, files: LaunchFiles, nics: Found) -> Found:
    """Return the worse of the verdicts on a launch's NICs and on its algorithms.

    A policy that leaves the NICs to the library has no verdict on them. In a job that compares algorithms, the reason
    of the library's default is what it was, as its bytes show.
    """
    policy, _, choice = launch.nic_policy.partition("+")
    is_by_library = policy == "library-default"
    if nics.verdict == Verdict.NOT_OBEYED or not any("+" in name for name in folder.job.spec.nics):
        return nics
    try:
        is_obeyed, reason = _judged(folder, launch, files, choice)
    except InputError as error:
        is_obeyed, reason = None, str(error)
    own = Found(verdict=VERDICTS[is_obeyed], reason=reason and f"{choice or libraries.DEFAULT}: {reason}")
    if choice:
        return own if is_by_library or own.verdict != Verdict.OBEYED else nics
    return own if is_by_library else nics


def _judged(folder: JobFolder, launch: Planned, files: LaunchFiles, choice: str) -> tuple[bool | None, str]:
    placed, job = folder.placed, folder.job
    hosts = placed.hosts.get(launch.placement)
    if not hosts or "nics" not in files.evidence or placed.topology is None:
        return None, "nobody counted the bytes of nodes on a known topology"
    series = json_object(folder.path / f"{launch.stem}.json").get("series", ())
    calls = proof.calls_of((one["fom"], one["labels"], one["samples"]) for one in series)
    if not calls:
        return None, f"{job.spec.benchmark} does not count its calls"
    named = (job.site.topology, job.spec.torus, placed.topology["name"])
    topology = next(catalog.load(name) for name in named if name)
    shape = Shape(ranks=len(hosts), per_node=job.spec.ranks_per_node, grid=tuple(job.spec.grid))
    rows = proof.fits(proof.counted(topology, hosts, files.evidence), calls, shape)
    if not choice:
        return None, f"the bytes are {proof.named(rows)}"
    smallest = min(size for _, size in calls)
    if any(int(name.partition(libraries.FROM)[2] or 0) > smallest for _, name in libraries.parse(choice)):
        return None, f"smaller sizes are the library's default; the bytes are {proof.named(rows)}"
    library = None if libraries.is_own(choice) else libraries.of_features(job.site.features)
    wanted = libraries.matrices(choice, library)
    (collective,) = {name for name, _ in calls}
    if collective not in wanted:
        return None, f"the program calls {collective}"
    return proof.judge(wanted[collective], rows)
