"""`railyard results export` and `import`: the archive as a table, and results of other tools in it."""

from __future__ import annotations

from pathlib import Path

import click

from railyard.base.commands import FOLDER, PATH, archive_option, example, option
from railyard.base.errors import InputError
from railyard.records import record
from railyard.records.cli import pass_over, results

__all__ = ["results"]


@results.command(epilog=example("railyard results export --parquet table --archive results/example"))
@option("--parquet folder", "Folder of the table; only records that it lacks are added.", FOLDER, required=True)
@archive_option()
def export(folder: Path, root: Path) -> None:
    """Write the archive as a table of Parquet files for SQL: a row per launch and point (docs/table.md).

    The folder can be read at any time, even after this command was killed.
    """
    from railyard.table import parquet

    if not root.is_dir():
        raise InputError("--archive", "", str(root), "a folder that exists")
    added, there = parquet.export(root, folder, pass_over)
    click.echo(f"added {added} record{'' if added == 1 else 's'} to {folder}, which had {there}")


@results.command(name="import", epilog=example("railyard results import perflogs/stream.log --archive results"))
@click.argument("files", nargs=-1, required=True, type=PATH)
@archive_option()
@option("--system", "Name of the machine, for files that do not name it.")
@option("--set pairs", "NAME=VALUE that the files lack, such as machine=ARCHER2; may be repeated.", multiple=True)
@option("--unit units", "NAME=UNIT of a column of JUBE's; may be repeated.", multiple=True)
@option("--program", "The program whose output the files are.  [default: by their first lines]", default="")
def import_(
    *,
    files: tuple[Path, ...],
    root: Path,
    system: str | None,
    pairs: tuple[str, ...],
    units: tuple[str, ...],
    program: str,
) -> None:
    """Import results of other tools from FILES at level 0 or 1: they are in lists and the table, never in a tender.

    FILES are perflogs and run reports of ReFrame 4, tables of JUBE, results.json of Ramble and Benchpark, or outputs of
    programs that `railyard application list` names.
    """
    from railyard.records.store import imported
    from railyard.table import foreign

    stated = _pairs("--set", pairs) | ({"system": system} if system else {})
    if unknown := stated.keys() - set(foreign.SETTABLE):
        raise InputError("--set", "", min(unknown), ", ".join(foreign.SETTABLE))
    documents = []
    for path in files:
        results_of_file, content = foreign.results(path, stated=stated, units=_pairs("--unit", units), program=program)
        documents += [(imported.document(result, path.name, content), result.is_dated) for result in results_of_file]
    for document, _ in documents:
        record.check(document, document["source"]["file"], imported.SCHEMA)
    stored = imported.stored(root)
    for document, is_dated in documents:
        if existing := stored.get(imported.lasting_text(document, is_dated=is_dated)):
            click.echo(f"{existing}  is there already")
            continue
        added = imported.add(document, root)
        lacks = ", ".join(document["lacks"])
        click.echo(f"{added}  level {document['level']}{f', lacks {lacks}' if lacks else ''}")


def _pairs(flag: str, texts: tuple[str, ...]) -> dict[str, str]:
    pairs = [text.partition("=") for text in texts]
    if wrong := next((name for name, equals, value in pairs if not (name and equals and value)), None):
        raise InputError(flag, "", wrong, "NAME=VALUE")
    return {name: value for name, _, value in pairs}
