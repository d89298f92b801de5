"""The halo exchange under every MPI of the machine, in one job: software against software.

Each MPI has a record of its own, whose environment is the MPI's name. So the page and `railyard compare
environment=openmpi4 environment=mpich5` compare the MPIs, with intervals.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import reframe as rfm
import reframe.utility.sanity as sn
import reframe.utility.typecheck as typ
from reframe.core.builtins import run_after, sanity_function, variable
from reframe.core.logging import getlogger

from checks.halo import HaloCheck
from railyard.jobs import interrupted, job_lock, mpis, schedule, stagedir, submission, verdict
from railyard.jobs.mpis import Mpi
from railyard.jobs.submission import Script
from railyard.placed.mixin import plainly
from railyard.placements import launchers
from railyard.records import references
from railyard.records.record import Record


@rfm.simple_test
class halo_mpis(HaloCheck):
    """Every round launches each MPI once, in a new random order, on one virtual torus and with the same placement."""

    descr = "Halo exchange under several MPIs in one job, a record for each MPI"
    tags = {"mpis"}
    valid_systems = ["+torus %origin=emulated"]
    valid_prog_environs = ["+openmpi"]
    torus = "gemini-2x2x2"
    grid = [2, 2, 2]
    placements = ["cart-create"]
    small = {"repeats": 5}

    #: MPIs to compare: openmpi4, openmpi5, mpich4, mpich5, intel2021. Debian's MPICH 4.0 may hang in MPI_Finalize.
    #:
    #: :type: :class:`List[str]`
    #: :default: all that are installed, without ``mpich4``
    mpis = variable(typ.List[str], value=[])

    @run_after("setup")
    @plainly()
    def need_two_mpis(self) -> None:
        if not self.prepared.where.makes_torus or self.prepared.where.engine != "netns":
            self.skip(f"{self.short_name} needs a virtual torus of its own, of network namespaces")
        self.compared, absent = mpis.chosen(self.name, self.mpis)
        for why in absent:
            getlogger().warning(f"{self.short_name}: {why}")
        if len(self.compared) < 2:
            self.skip(f"{self.short_name} needs two MPIs; {'; '.join(absent) or 'one was named'}")

    def _folder(self, mpi: Mpi) -> Path:
        return Path(self.stagedir, mpi.environment_name)

    def _write_job(self) -> None:
        """Write a stage directory for each MPI, and the launches of all as one job."""
        scripts = {mpi.environment_name: self._written(mpi) for mpi in self.compared}
        named = {mpi.environment_name: mpi for mpi in self.compared}
        lines = {
            name: [self._lines(one, only_if_placed=False) for one in script.launches]
            for name, script in scripts.items()
        }
        ends = {
            when: [
                line
                for name, script in scripts.items()
                for line in mpis.within(name, named[name], schedule.digests(script.launches, when))
            ]
            for when in ("begun", "ended")
        }
        copies = [f"cp torus.json {name}/" for name in scripts]
        launched = mpis.script(lines, self.compared, self.seed)
        own = [job_lock.LINE, *(job_lock.same_job(script.job, name) for name, script in scripts.items())]
        self.prerun_cmds = [*own, *copies, *ends["begun"], *launched, *ends["ended"]]
        self._launch_locally(sum(map(len, lines.values())))
        # The job's own torus is made from the file in its stage directory.
        Path(self.stagedir, "topology").write_text(f"{self.torus}\n")

    def _written(self, mpi: Mpi) -> Script:
        folder, job, prepared = (
            self._folder(mpi),
            self._submitted(launchers.named(mpi.launcher)),
            self.prepared,
        )
        mpis.write_launcher(folder, mpi)
        site = dataclasses.replace(job.site, environment=mpi.environment_name, features=["mpi", mpi.feature])
        own = dataclasses.replace(job, site=site, stderr=f"../{job.stderr}")
        return submission.write(
            folder, submission.planned(own, prepared.where, prepared.granted), self._program
        )

    def _list_as_submitted(self) -> None:
        """List the job of each MPI before they run, so that one which times out has a record, too."""
        for mpi in self.compared:
            interrupted.submitted(self._folder(mpi), lambda: str(self.job.state))

    def _need_torus(self) -> None:
        """Leave it to the records: each MPI has a description of the torus in its folder."""

    def _make_record(self) -> None:
        """Write a record for each MPI before anything is judged; ReFrame's report has the first one's figures."""
        self.kept: Sequence[Record] = [self._kept(mpi) for mpi in self.compared]
        self.record = self.kept[0]
        self.record_path = stagedir.record_path(self._folder(self.compared[0]))
        self.record_sha256 = self.record.sha256
        self.reference_case = references.case_name(self.record)

    def _kept(self, mpi: Mpi) -> Record:
        record = stagedir.keep(self._folder(mpi), f"the job ended as {self.job.state}")
        interrupted.recorded(self._folder(mpi))
        return record

    @sanity_function
    def every_launch_is_good(self) -> Any:
        """Demand verified data, exit status 0 and every rank on its node, under every MPI."""
        if self.is_dry_run():
            return True
        wrong = [
            f"{mpi.environment_name}: {fault} (record: {stagedir.record_path(self._folder(mpi))})"
            for mpi, record in zip(self.compared, self.kept, strict=True)
            if (fault := verdict.fault(record, ()))
        ]
        return sn.assert_eq(wrong, [], msg="; ".join(wrong))
