"""`antiphon backup` and `antiphon restore`: a copy of the store in one file, of the content of files in a second."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from antiphon.cli.flags import ConfigFlag, StoreFlag
from antiphon.cli.settings import read_settings
from antiphon.cli.with_store import notice, say
from antiphon.errors import ConfigError, redacted

FileArgument = Annotated[Path, typer.Argument(metavar="FILE", help="The file of the backup.")]

POSTGRES = {
    "backup": "PGOPTIONS='-c antiphon.tenant=*' pg_dump --enable-row-security --format=custom --file={file} {url}",
    "restore": "pg_restore --exit-on-error --no-owner --dbname {url} {file}",
}
"""PostgreSQL's own commands. Row-level security would hide every row from `pg_dump` without the option and variable."""


def backup(file: FileArgument, store: StoreFlag = None, config: ConfigFlag = None) -> None:
    """Copy the SQLite store to a new file. Servers may use it meanwhile."""
    from antiphon.storage.sqlite.backup import back_up  # noqa: PLC0415 - not for PostgreSQL
    from antiphon.storage.sqlite.blobs import blobs_beside  # noqa: PLC0415 - the same

    url, to = read_settings(config, store=store).store, file.expanduser()
    path = _path("backup", url, file)
    blobs, second = blobs_beside(path), blobs_beside(to)
    if blobs.exists() and second.exists():
        raise ConfigError(f"backup: {second} exists. Choose another file; a backup overwrites nothing.")
    size = back_up(path, to)
    say(f"Backed up {url} to {file}: {size / 1_000_000:.1f} MB, checked.")
    if blobs.exists():  # afterwards, so that it has the content of every file that the first copy names
        size = back_up(blobs, second)
        say(f"Backed up the content of files to {second}: {size / 1_000_000:.1f} MB, checked.")


def restore(
    file: FileArgument,
    replace: Annotated[bool, typer.Option("--replace", help="Replace the store; its old file is kept beside.")] = False,
    store: StoreFlag = None,
    config: ConfigFlag = None,
) -> None:
    """Replace the SQLite store by a backup.

    Stop every server that uses the store first.
    """
    from antiphon.storage.sqlite import backup as copies  # noqa: PLC0415 - not for PostgreSQL
    from antiphon.storage.sqlite.blobs import blobs_beside  # noqa: PLC0415 - the same

    url, path = read_settings(config, store=store).store, file.expanduser()
    to = _path("restore", url, file)
    if blobs_beside(path).exists() and blobs_beside(to).exists() and not replace:
        raise ConfigError(
            f"store: {blobs_beside(to)} exists. Use --replace to restore in its place. Nothing was restored."
        )
    kept = copies.restore(path, to, replaces=replace)
    say(f"Restored {url} from {file}.")
    if kept is not None:
        notice(f"The old store is {kept}.")
    if blobs_beside(path).exists():
        kept = copies.restore(blobs_beside(path), blobs_beside(to), replaces=replace)
        say(f"Restored the content of files from {blobs_beside(path)}.")
        if kept is not None:
            notice(f"The old content is {kept}.")


def _path(command: str, url: str, file: Path) -> Path:
    """Return the file of an SQLite store. Raises `ConfigError` with what to do instead for any other store."""
    if not url.startswith("sqlite:"):
        shown = POSTGRES[command].format(file=shlex.quote(str(file)), url=shlex.quote(redacted(url)))
        raise ConfigError(f"`antiphon {command}` is for SQLite. PostgreSQL has a command of its own: {shown}")
    from antiphon.storage.sqlite.file import path_of  # noqa: PLC0415 - not for PostgreSQL

    path = path_of(url)
    if path is None:
        raise ConfigError("A store in memory has no file. Name the store's file with --store.")
    return path
