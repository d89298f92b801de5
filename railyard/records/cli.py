"""`railyard results`: add, list, show and check records.

Models: the files, folders and bags that the user names, and what is printed. All input is read and judged before
anything is written. Lists of many records come from the index (`railyard.records.store.index`); checks of many records
show their progress.
"""

from __future__ import annotations

import contextlib
import gc
import itertools
import re
import statistics
import string
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click
import orjson

from railyard.base.checkout import ARCHIVE
from railyard.base.commands import PATH, Commands, archive_option, example, json_option, option, print_json
from railyard.base.errors import InputError, RunError, did_you_mean
from railyard.base.progress import track
from railyard.records import record
from railyard.records.record import Record, combination_name
from railyard.records.store import archive, entries, imported, index, levels
from railyard.records.store.entries import Entry

if TYPE_CHECKING:
    from railyard.records.rules.registry import Fault

_MANY = 50
_DATE = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")
#: Lines that one call prints.
_BATCH = 1000


@click.group(cls=Commands)
def results() -> None:
    """Add, list, show and check records."""


@results.command(epilog=example("railyard results add 2026-11-21-f66b539d3db7.json"))
@click.argument("files", nargs=-1, required=True, type=PATH)
@archive_option()
def add(files: tuple[Path, ...], root: Path) -> None:
    """Add record FILES to the archive; one that is there already is left alone."""
    read = [record.load(path) for path in files]
    for item in read:
        click.echo(archive.add(item, root))


@results.command("list", epilog=example("railyard results list --archive results/example"))
@archive_option()
@option("--system", "List only records of this system.")
@option("--check check_name", "List only records of this check.")
@option("--since", "List only records of this UTC date (2026-11-21) or later.", default="")
@option("--until", "List only records of this UTC date or earlier.", default="")
@json_option()
def list_(*, root: Path, system: str | None, check_name: str | None, since: str, until: str, as_json: bool) -> None:
    """List the records of an archive, one per line: how many launches are results, void, failed, not measured."""
    for flag, date in (("--since", since), ("--until", until)):
        if date and not _DATE.fullmatch(date):
            raise InputError(flag, "", date, "a UTC date such as 2026-11-21")
    chosen = (
        entry
        for entry in itertools.chain(index_of(root).entries(values=False), imported.entries(root))
        if system in (None, entry.head["system"])
        and check_name in (None, entry.head["check"])
        and since <= entry.head["created"][:10] <= (until or "9")
    )
    first = next(chosen, None)
    if first is None and any((system, check_name, since, until)):
        raise _no_record(root, system, check_name)
    rows = itertools.chain([first] if first else [], chosen)
    lines = json_lines(rows) if as_json else table_lines(rows)
    while batch := list(itertools.islice(lines, _BATCH)):
        click.echo("\n".join(batch))


def _no_record(root: Path, system: str | None, check_name: str | None) -> InputError:
    """Return the error for a list without a record, with what the archive has."""
    heads = [entry.head for entry in index_of(root).entries(values=False)]
    for flag, name, value in (("--system", "system", system), ("--check", "check", check_name)):
        there = sorted({head[name] for head in heads})
        if value is not None and value not in there:
            near = did_you_mean(value, there)
            return InputError(flag, "", problem=f"no record of {value}{near}", valid=", ".join(there) or "records")
    dates = sorted({head["created"][:10] for head in heads}) or ["no date"]
    valid = f"other options; {root} has {len(heads)} records from {dates[0]} to {dates[-1]}"
    return InputError("results list", "", problem="no record has all of these", valid=valid)


@results.command(epilog=example("railyard results show f66b539d3db7 --archive results/example"))
@click.argument("name")
@archive_option()
@json_option()
def show(name: str, root: Path, as_json: bool) -> None:
    """Show the record NAME: a file, or an id (or its beginning) in the archive."""
    path = find(name, root)
    if imported.is_path(path):
        click.echo(path.read_text() if as_json else imported.text(path), nl=not as_json)
        return
    (read,) = archive.iterate([path])
    click.echo(record.text(read) if as_json else record_text(read), nl=not as_json)


@results.command(epilog=example("railyard results check --strict results/example"))
@click.argument("paths", nargs=-1, type=PATH)
@option("--strict is_strict", "Also require the evidence demanded of bidders.", is_flag=True)
@json_option()
@click.pass_context
def check(ctx: click.Context, *, paths: tuple[Path, ...], is_strict: bool, as_json: bool) -> None:
    """Check PATHS: record files, archives or bags; without any, the checkout's archive. Ends with 0 or 1.

    Every record must be valid and fit its id. With --strict it must also hold the evidence that a decision
    needs: enough launches and samples, verified data, proof of placement and NICs, the verdict of the guard, one unit
    per figure of merit, a clean commit.
    """
    # imported here: the rules need modules that lists and comparisons do not
    from railyard.records.store import bag
    from railyard.records.validate import check_paths

    done = list(check_paths(paths or (ARCHIVE,), is_strict, progress))
    bad = [verdict for verdict in done if verdict.faults]
    if as_json:
        records = [
            {
                "source": one.source,
                "id": one.id,
                "sha256": one.sha256,
                "not_computed_again": one.not_recomputed,
                "faults": [{"field": fault.field, "text": fault.text} for fault in one.faults],
            }
            for one in done
        ]
        print_json({"format": "railyard-check/1", "ok": bool(done) and not bad, "records": records})
    else:
        for path in paths:
            with contextlib.suppress(InputError):  # refused with the records
                if bag.is_bag(path):
                    click.echo(f"{path}: {bag.signed(path).text}")
        for verdict in bad:
            for line in fault_lines(verdict.faults):
                click.echo(f"{verdict.source}: {line}")
        for verdict in done:
            if verdict.not_recomputed:
                click.echo(f"{verdict.source}: figures not computed again: {verdict.not_recomputed}")
        click.echo(f"{len(done)} record{'' if len(done) == 1 else 's'} checked, {len(bad)} refused")
    ctx.exit(1 if bad or not done else 0)


def index_of(root: Path) -> index.Index:
    """Return the index of an archive; on a terminal, show a progress bar while new records are read.

    Raises InputError for a folder that does not exist. A file that is not a valid record is reported and left out.
    """
    if not root.is_dir():
        raise InputError("--archive", "", str(root), "a folder that exists")
    gc.disable()  # nothing is freed while 100,000 entries are built, and the collector would take a tenth of the time
    return index.read(root, progress=progress, refused=pass_over)


def pass_over(error: InputError) -> None:
    """Report a bad record on stderr and go on with the others; `railyard results check` refuses such a record."""
    click.echo(f"railyard: passed over {error}", err=True)


def entries_of(given: Path) -> Iterator[Entry]:
    """Return the entries of a command-line argument: an archive, one system's folder in an archive, or a record file.

    An archive is read by its index, the others by parsing their files. Raises InputError as `files_of` does.
    """
    if given.is_dir() and not archive.paths_of_system(given):
        index = index_of(given)
        if index.lines:
            return index.entries()
    return entries.of_files(files_of(given), pass_over if given.is_dir() else None)


def progress(files: Iterable[Path], count: int) -> Iterable[Path]:
    """Return the files, wrapped in a progress bar on a terminal if there are 50 or more."""
    return track(files, count, "reading records") if count >= _MANY else files


def files_of(given: Path) -> list[Path]:
    """Return the record files of a command-line argument: a file itself, or those of an archive or a system's folder.

    Raises InputError for a folder without records.
    """
    if not given.is_dir():
        return [given]
    paths = archive.paths(given) or archive.paths_of_system(given)
    if not paths:
        valid = "a folder with <date>-<id>.json files"
        raise InputError(str(given), "", problem="a folder without records", valid=valid)
    return paths


def write(path: Path, content: str | bytes, *, make_folder: bool = False) -> None:
    """Write a file that an option names, whole or not at all; RunError where the machine refuses it."""
    try:
        if make_folder:
            path.parent.mkdir(parents=True, exist_ok=True)
        archive.write_bytes(path, [content.encode() if isinstance(content, str) else content])
    except OSError as error:
        raise RunError(f"{path} could not be written: {error.strerror}") from error


def find(name: str, root: Path) -> Path:
    """Return the file of a record, named by its path or by the first digits of its id in the archive at `root`.

    Raises InputError if no record or several match.
    """
    if Path(name).is_file():
        return Path(name)
    paths = [path for path in [*archive.paths(root), *imported.paths(root)] if path.stem[11:].startswith(name)]
    if len(paths) != 1:
        wanted = f"a record's file, or an id in {root}" if not paths else "enough digits for one record"
        raise InputError("NAME", "", name if not paths else f"{name}: {len(paths)} records", wanted)
    return paths[0]


#: A line of the list of records.
_LINE = (
    "{date:<10}  {id:<12}  {origin:<9}  {system:<16}  {check:<20}  {level:>5}  {status:<12}  "
    "{ok:>5}  {void:>5}  {failed:>6}  {not measured:>12}"
)
_INDEX, _NUMBER = re.compile(r"\[(\d+)\]"), re.compile(r"^\d+(?= )")


def table_lines(entries: Iterable[Entry]) -> Iterator[str]:
    """Yield a header and one line per record, in aligned columns; long names are not truncated."""
    yield _LINE.format_map({name: name for _, name, *_ in string.Formatter().parse(_LINE) if name}).rstrip()
    for entry in entries:
        head = {**entry.head, "date": entry.head["created"][:10], "not measured": entry.head["not_measured"]}
        yield _LINE.format_map(head).rstrip()


def json_lines(entries: Iterable[Entry]) -> Iterator[str]:
    """Yield the lines of a JSON array with one object per record, one object per line."""
    yield "["
    texts = (orjson.dumps({**entry.head, "path": entry.path}).decode() for entry in entries)
    for text, following in itertools.pairwise(itertools.chain(texts, [""])):
        yield f"{text}," if following else text
    yield "]"


def fault_lines(faults: Iterable[Fault]) -> Iterator[str]:
    """Yield a line per kind of fault: those that differ in indices and a first number are folded into ranges."""
    kinds: dict[tuple[str, str], list[Fault]] = {}
    for fault in faults:
        kinds.setdefault((_INDEX.sub("[]", fault.field), _NUMBER.sub("", fault.text)), []).append(fault)
    for (field, text), of_kind in kinds.items():
        numbers = sorted({int(match[0]) for fault in of_kind if (match := _NUMBER.match(fault.text))})
        if numbers:
            text = f"{_span(numbers)}{text}"
        columns = zip(*(map(int, _INDEX.findall(fault.field)) for fault in of_kind), strict=True)
        where = field.replace("[]", "[{}]").format(*(_span(sorted(set(column))) for column in columns))
        count = f" ({len(of_kind)} times)" if len(of_kind) > 1 else ""
        yield ": ".join(filter(None, [where, text])) + count


def _span(numbers: list[int]) -> str:
    """Return sorted numbers as `3` or `0..127`; a gap inside is not shown."""
    return str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]}..{numbers[-1]}"


def record_text(read: Record) -> str:
    """Return a page of text: a record's case, how its launches ended, its provenance, and the median of each series."""
    entry = entries.of_record(read)
    head = entry.head
    counted = ", ".join(f"{head[name]} {name.replace('_', ' ')}" for name in ("ok", "void", "failed", "not_measured"))
    level, lacks = levels.of(read.document)
    facts = [
        ("record", f"{read.id} of {read.created}"),
        ("sha256", read.sha256),
        ("status", " ".join(filter(None, [str(read.status), read.reason and f"({read.reason})"]))),
        ("level", level.text),
        ("lacks", lacks),
        ("origin", str(read.origin)),
        ("system", f"{read.system.name}:{read.system.partition}+{read.system.environment}"),
        ("check", f"{read.case.check} ({read.case.benchmark})"),
        *((name.replace("_", " "), str(value)) for name, value in sorted(read.case.parameters.items())),
        ("topology", head["topology"] or "none"),
        ("launches", counted),
        ("commit", f"{head['git_commit'] or 'not known'}{' (changed)' if head['git_dirty'] else ''}"),
        *([("subject", head["subject"])] if head["subject"] else []),
        ("MPI", head["mpi"] or "not known"),
        *([("image", head["image"])] if head["image"] else []),
        ("machine", head["machine"]),
    ]
    return "\n".join([*(f"{name:<12} {value}" for name, value in facts), "", *_series_lines(entry)])


def _series_lines(entry: Entry) -> Iterator[str]:
    for key, values in entry.values:
        labels = ", ".join(f"{name} {value}" for name, value in key.labels)
        what = " ".join(filter(None, [key.fom.stem, labels]))
        unit = key.fom.unit.text
        side = combination_name(key.placement, key.nic_policy, key.software)
        yield f"{side}: {what}: median {statistics.median(values):.6g} {unit}, n = {len(values)}"
