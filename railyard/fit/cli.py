"""`railyard fit`: capture what a program's ranks send, place them by it, and measure whether it is faster."""

from __future__ import annotations

import contextlib
import fcntl
import functools
import json
import math
import os
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click

from railyard.base.checkout import CHECKOUT
from railyard.base.commands import COUNT, FILE, FOLDER, example, option
from railyard.base.errors import InputError, RunError
from railyard.base.parent import end_with, on_signals
from railyard.jobs import interrupted, schedule
from railyard.jobs.job import submitted
from railyard.placements import launchers
from railyard.placements.cli.options import launcher_option, parse_extents
from railyard.placements.launchers import Rendered
from railyard.placements.linkload.matrix import NOT_WHOLE, read_of
from railyard.placements.orders import spec
from railyard.records import record as records
from railyard.records.record import Record, Status
from railyard.torus.virtual import lifecycle

CHECK = "fit_any"
#: How a user fits in another folder.
ELSEWHERE = "railyard fit --output ANOTHER-FOLDER ..."
#: How long a fit waits for what a killed one left; ReFrame and a torus's commands end within seconds.
LEFT_OVER_S = 60


@click.command(
    context_settings={"ignore_unknown_options": True},
    epilog=example("railyard fit --ranks 64 -- ./program --its --options"),
)
@option("--ranks", "Ranks of the program.  [default: those of --grid, or 8]", click.IntRange(2))
@option("--grid", "Grid of the program's ranks, AxB or AxBxC.  [default: the most cubic one]")
@option("--ranks-per-node", "Ranks of a node.", COUNT, 1)
@option("--launches", "Launches of each placement.", COUNT, 6)
@option("--torus", "Topology of the virtual torus, a name or a file.", default="gemini-4x4x4")
@option(
    "--rate-scale",
    "Rates of the virtual torus over those of the machine; smaller for a program that computes more than it "
    "sends.  [default: auto]",
    default="",
    metavar="NUMBER|BYTES/TIME|auto",
)
@option("--system", "ReFrame's system and partition; that of a cluster is measured there.", default="vtorus:netns")
@option("--config", "ReFrame's configuration of the system.  [default: railyard's reframe.yml]", default="")
@option(
    "--placements",
    "Placements to measure beside the fitted one, with commas between.  [default: scheduler, the best named one]",
    default="",
)
@option("--matrix", "A matrix captured before.", FILE)
@option("--measure", "Measure also where the prediction shows nothing to gain.", is_flag=True)
@launcher_option("Launcher for which the files of the fitted placement are written", default="slurm")
@option("--output", "Folder of matrix.csv, fit.json, the launcher's files and results/.", FOLDER, Path("fit"))
@click.argument("program", nargs=-1, required=True, type=click.UNPROCESSED)
def fit(
    *,
    ranks: int | None,
    grid: str | None,
    ranks_per_node: int,
    launches: int,
    torus: str,
    rate_scale: str,
    system: str,
    config: str,
    placements: str,
    matrix: Path | None,
    measure: bool,
    launcher: str,
    output: Path,
    program: Sequence[str],
) -> None:
    """Fit the placement of PROGRAM's ranks to what they send, and measure the gain.

    One launch captures what the ranks send. The link-load model then predicts every named order and a placement that
    is fitted to the program. Launches in random order measure the default, the best named order and the fitted one,
    unless the prediction shows that nothing can be gained, and neither --measure nor --placements is given.
    """
    from railyard.fit import fitting  # loads the statistics, which --help must not wait for

    extents = parse_extents(grid, "--grid") if grid else tuple(schedule.cubic(ranks or 8))
    if ranks not in (None, math.prod(extents)):
        raise InputError("--grid", "", grid, f"a grid of {ranks} ranks, as --ranks says")
    wanted = [name for name in placements.split(",") if name and name != fitting.FITTED]
    others = [name for name in wanted if not fitting.is_fitted(name)]
    for name in wanted:
        spec.parse(name)
    if matrix is not None:
        read_of(matrix, math.prod(extents))
    path = shutil.which(program[0])
    if path is None:
        raise InputError("PROGRAM", "", program[0], "a program of this machine")
    run = _Runs(
        system=system,
        config=config or str(CHECKOUT / "reframe.yml"),
        output=output.absolute(),
        rate_scale=rate_scale,
        variables={
            "program": str(Path(path).absolute()),
            "arguments": shlex.join(program[1:]),
            "grid": ",".join(map(str, extents)),
            "ranks_per_node": str(ranks_per_node),
            "torus": torus,
            "archive": str(output.absolute() / "results"),
        },
    )
    output.mkdir(parents=True, exist_ok=True)
    _end_left_over(output)
    click.echo(f"1. capture: one launch of {program[0]} with {math.prod(extents)} ranks")
    captured = run.reframe("capture", 1, placements=fitting.DEFAULT, launches="1", captures="1", needs_times=False)
    click.echo("".join(f"   {line}\n" for line in fitting.captured_text(captured)), nl=False)
    captured_file = output / "matrix.csv"
    shutil.copyfile(matrix or run.left_by("capture", ".matrix"), captured_file)
    whole = read_of(captured_file, math.prod(extents))
    sent, phases = whole.on_wire(), sorted(set(whole.phase.tolist()))
    click.echo(f"   {len(sent.source)} pairs of ranks, {sent.total_bytes / 1e6:.4g} MB with headers: {captured_file}")
    if not whole.is_whole:
        click.echo(f"   {NOT_WHOLE}")
    click.echo(
        f"2. predict: if only links took time; steps, one after the other: {len(phases)}; simulated: all at once"
    )
    network = run.network()
    rows = fitting.predicted(captured, sent, [whole.on_wire(phase) for phase in phases], network)
    click.echo("\n".join(fitting.table(rows)))
    document: dict[str, Any] = {"predicted": {row.name: asdict(row) for row in rows}}
    if (line := fitting.no_gain(rows)) and not (measure or others):
        click.echo(f"{line}; --measure measures it")
        _write_document(output, {**document, "measured": [f"{line}."], "placements": [], "record": None})
        return
    own = fitting.fitted(wanted) or fitting.fitted(row.name for row in rows) or fitting.FITTED
    names = list(dict.fromkeys([*(others or [fitting.DEFAULT, fitting.best_named(rows)]), own]))
    count = launches * len(names)
    click.echo(
        f"3. measure: {launches} launches of each of {','.join(names)}, in random order: about "
        f"{count * (captured.launches[0].elapsed_s or 0):.0f} s beside the torus, if each takes as long as the first"
    )
    measured = run.reframe(
        "measure", count, placements=",".join(names), launches=str(launches), matrix=str(captured_file.absolute())
    )
    outcomes = fitting.outcomes(measured, run.evidence("measure"))
    void = sum(launch.is_void for launch in measured.launches)
    if void:
        click.echo(f"warning: {void} of {len(measured.launches)} launches are void and do not count")
    sentences = fitting.measured_text(measured)
    click.echo("\n".join([*fitting.table(rows, outcomes), *sentences]))
    document |= {
        "measured": sentences,
        "placements": [asdict(outcome) for outcome in outcomes],
        "record": measured.source,
    }
    _write_document(output, document)
    name = fitting.advised(measured)
    if name == fitting.DEFAULT:
        click.echo(f"use {name}, the launcher's own order: no other is shown to be faster")
        return
    stem = "fitted" if fitting.is_fitted(name) else name
    _write_for_launcher(output, launchers.render(launcher, fitting.placed(name, measured, sent, network), stem=stem))


def _write_document(output: Path, document: Mapping[str, Any]) -> None:
    (output / "fit.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def _end_left_over(output: Path) -> None:
    """Wait for, and then end, what a killed fit left in its output folder: ReFrame, its job and the job's torus.

    Raises RunError while another fit runs there.
    """
    lock = os.open(output / "fit.lock", os.O_RDWR | os.O_CREAT)  # until this process ends
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise RunError(f"{output}: another fit runs there; wait until it has ended, or run: {ELSEWHERE}") from None
    folders = [path.parent for path in output.rglob(submitted.FILE)]
    _remove_orphans()
    begun_s, is_told = time.monotonic(), False
    while left := [folder for folder in folders if interrupted.in_use(folder)]:
        _remove_orphans()  # their processes hold the job's lock
        waited_s = time.monotonic() - begun_s
        if waited_s > LEFT_OVER_S:
            break  # ReFrame refuses the folder, and names what uses it
        if waited_s > LEFT_OVER_S / 2 and not is_told:
            is_told = True
            for folder in filter(interrupted.is_waited_for, left):
                os.kill(submitted.read(folder).owner["pid"], signal.SIGINT)
        time.sleep(0.5)


def _remove_orphans() -> None:
    with contextlib.suppress(RunError, OSError):  # another user's
        lifecycle.remove_orphans()


@dataclass(frozen=True, kw_only=True)
class _Runs:
    """The two jobs of a fit, each a run of ReFrame with stage and archive in the output folder.

    `config` defines the `system`. `variables` are those of the check in both jobs. An empty `rate_scale` leaves it to
    the torus.
    """

    system: str
    config: str
    output: Path
    rate_scale: str
    variables: Mapping[str, str]

    def reframe(self, stage: str, expected: int, *, needs_times: bool = True, **more: str) -> Record:
        """Run the check with these variables; return its record, or raise RunError with ReFrame's reason.

        A launch that load disturbed sent what it sends. With `needs_times` each placement needs one that counts.
        """
        before = set(self._records())
        command = [str(Path(sys.executable).with_name("reframe")), "--prefix", str(self.output / stage)]
        command += ["-C", self.config, "-c", str(CHECKOUT / "checks/applications/any_program.py")]
        command += ["--system", self.system, "-n", CHECK, "--nocolor", "--keep-stage-files", "-r"]
        command += [word for name, value in {**self.variables, **more}.items() for word in ("-S", f"{name}={value}")]
        log = self.output / f"{stage}.log"
        click.echo(f"   log: {log}")
        with log.open("w", encoding="utf-8") as file, self._progress(stage, expected):
            running = subprocess.Popen(
                command,
                stdout=file,
                stderr=subprocess.STDOUT,
                env={**os.environ, **({"RAILYARD_RATE_SCALE": self.rate_scale} if self.rate_scale else {})},
                preexec_fn=functools.partial(end_with, os.getpid(), signal.SIGINT),
                process_group=0,  # a terminal's Ctrl-C would reach it a second time, in the middle of ending its job
            )
            signals = list[int]()

            def interrupt(number: int, _: object) -> None:
                signals.append(number)
                running.send_signal(signal.SIGINT)

            with on_signals(interrupt):
                status = running.wait()
        if signals:
            raise RunError(f"{stage}: interrupted; see {log}")
        fresh = [path for path in self._records() if path not in before]
        text = log.read_text(encoding="utf-8", errors="replace")
        record = records.load(fresh[-1]) if fresh else None
        if record is None or (status and not _is_enough(record, needs_times=needs_times)):
            reasons = [line.partition("Reason: ")[2] for line in text.splitlines() if "Reason: " in line]
            reason = reasons[-1].replace(interrupted.ELSEWHERE, ELSEWHERE) if reasons else "nothing was measured"
            raise RunError(f"{stage}: {reason}; see {log}")
        return record

    @contextlib.contextmanager
    def _progress(self, stage: str, launches: int) -> Iterator[None]:
        """Print a line whenever a launch has ended, and where all begin again."""
        begun_s, is_over = time.monotonic(), threading.Event()

        def watch() -> None:
            shown = 0
            while not is_over.wait(1):
                count, took_s = len(list((self.output / stage).rglob("launch-*.ended"))), time.monotonic() - begun_s
                if count < shown:
                    click.echo(f"   load made a launch void: all begin again, slower, {took_s:.0f} s")
                elif count > shown:
                    click.echo(f"   {count} of {launches} launches ended, {took_s:.0f} s")
                shown = count

        thread = threading.Thread(target=watch, daemon=True)
        thread.start()
        try:
            yield
        finally:
            is_over.set()
            thread.join()

    def _records(self) -> list[Path]:
        return sorted((self.output / "results").rglob("*.json"))

    def left_by(self, stage: str, ending: str) -> Path:
        """Return the file that the first launch of a stage left."""
        files = sorted((self.output / stage).rglob(f"launch-*{ending}"))
        if not files:
            raise RunError(f"{stage}: no {ending} of a launch; was the program started without MPI?")
        return files[0]

    def network(self) -> str:
        """Return the name or the file of the topology on which the jobs ran; empty where the system names none."""
        (file,) = (self.output / "capture").rglob(submitted.FILE)
        return submitted.read(file.parent).site.topology

    def evidence(self, stage: str) -> dict[int, dict[str, Any]]:
        """Return what the virtual torus counted in each launch of a stage; empty on a cluster."""
        paths = (self.output / stage).rglob("launch-*.evidence")
        return {int(path.stem.partition("-")[2]): json.loads(path.read_text(encoding="utf-8")) for path in paths}


def _is_enough(record: Record, *, needs_times: bool) -> bool:
    """Return whether no launch failed and, if times are needed, some launch of each placement is not void."""
    results = {launch.placement for launch in record.launches if launch.is_result}
    is_timed = not needs_times or results >= set(record.case.placements)
    return is_timed and all(launch.status is Status.OK for launch in record.launches)


def _write_for_launcher(output: Path, rendered: Rendered) -> None:
    """Write a placement as files of the user's launcher, and print the command that uses them."""
    for name, text in rendered.files.items():
        (output / name).write_text(text, encoding="utf-8")
    words = [f"{name}={value}" for name, value in rendered.environment.items()]
    click.echo(f"use, in {output}: {shlex.join([*words, *rendered.command])} PROGRAM")
