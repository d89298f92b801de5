"""Define the commands `railyard granted`, `together` and `recover`, which work on a stage directory."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from railyard.base import host_names
from railyard.base.commands import FOLDER, example, option
from railyard.base.errors import InputError
from railyard.jobs import companions, interrupted, stagedir
from railyard.jobs.job import job_folder, submitted
from railyard.jobs.nodes import allocated_nodes as granting


@click.command(epilog=example("railyard granted stage/mycluster/compute/gnu/halo_3d"))
@click.argument("folder", type=FOLDER, default=".")
def granted(folder: Path) -> None:
    """Place the job of the stage directory FOLDER on the nodes that the scheduler granted (in job scripts).

    Nodes are those of RAILYARD_NODES (a host file), SLURM_JOB_NODELIST, PBS_NODEFILE, LSB_DJOB_HOSTFILE, OAR_NODEFILE,
    PE_HOSTFILE, or of a Flux instance. A placement that they do not
    allow is reported and skipped.
    """
    nodes = granting.names(os.environ)
    cannot = granting.place(folder, nodes)
    click.echo(f"{len(nodes)} nodes: {','.join(host_names.folded(nodes))}")
    for placement, reason in cannot.items():
        click.echo(f"railyard: {placement} is not launched: {reason}", err=True)


@click.command(epilog=example("railyard recover stage/mycluster/compute/gnu/halo_3d"))
@click.argument("folders", nargs=-1, required=True, type=FOLDER)
@option("--reason", "Reason recorded for missing launches if the job left none.", default="")
def recover(folders: tuple[Path, ...], reason: str) -> None:
    """Make the records of interrupted jobs from their stage directories FOLDERS, and add them to the archive.

    Every launch that ended is kept; the others are listed as not measured. A later `reframe -r` of the same check does
    this by itself. A folder whose record was made is left alone.
    """
    for folder in folders:
        if (path := stagedir.record_path(folder)) is not None:
            click.echo(f"{folder}: recorded in {path}")
            continue
        submitted.read(folder)  # refuses a folder without a job
        if user := interrupted.in_use(folder):
            raise InputError(str(folder), "", problem=user, valid="a job that has ended, and its ReFrame with it")
        if not job_folder.began(folder):
            raise InputError(str(folder), "", problem="no launch that began", valid="a job that launched something")
        record = stagedir.keep(folder, reason)
        click.echo(f"{folder}: {record.status}: {record.reason or 'complete'}; {stagedir.record_path(folder)}")


@click.command(epilog=example("railyard launch-roles launch-007 --congestor noise='srun noise' -- srun halo"))
@click.argument("stem")
@option("--congestor", "Loads the network while the victim runs.", multiple=True, metavar="NAME=COMMAND")
@option(
    "--program",
    "Any program as a congestor: started again until the victim has ended.",
    multiple=True,
    metavar="NAME=COMMAND",
)
@option("--copy", "A copy of the victim, started with it.", multiple=True, metavar="NAME=COMMAND")
@click.argument("victim", nargs=-1, required=True, type=click.UNPROCESSED)
def launch_roles(stem: str, victim: tuple[str, ...], **others: tuple[str, ...]) -> None:
    """Run the command VICTIM while other programs load the network (in job scripts); STEM begins the names of files.

    The victim starts when every congestor has made the file STEM.NAME.ready. When the victim has ended, the file
    STEM.stop ends the congestors. If one ends earlier, the launch is void, and the exit status is 75.
    """
    programs = [(option, text) for option, texts in others.items() for text in texts]
    sys.exit(companions.run(lambda: companions.read(Path(), stem, programs, victim)))
