"""`antiphon backup` and `antiphon restore`: a copy of the store in one file."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from antiphon.cli.flags import ConfigFlag, StoreFlag
from antiphon.cli.settings import read_settings
from antiphon.cli.with_store import say, tell
from antiphon.errors import ConfigError, redacted

FileArgument = Annotated[Path, typer.Argument(metavar="FILE", help="The file of the backup.")]

POSTGRES = {
    "backup": "PGOPTIONS='-c antiphon.tenant=*' pg_dump --enable-row-security --format=custom --file={file} {url}",
    "restore": "pg_restore --exit-on-error --no-owner --dbname={url} {file}",
}
"""PostgreSQL's own commands. Row-level security would hide every row from `pg_dump` without the option and variable."""


def backup(file: FileArgument, store: StoreFlag = None, config: ConfigFlag = None) -> None:
    """Copy the SQLite store to a new file. Servers may use it meanwhile."""
    from antiphon.storage.sqlite.backup import back_up  # noqa: PLC0415 - not for PostgreSQL

    url = read_settings(config, store=store).store
    size = back_up(_path("backup", url, file), file.expanduser())
    say(f"Backed up {url} to {file}: {size / 1_000_000:.1f} MB, checked.")


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

    url = read_settings(config, store=store).store
    kept = copies.restore(file.expanduser(), _path("restore", url, file), replaces=replace)
    say(f"Restored {url} from {file}.")
    if kept is not None:
        tell(f"The old store is {kept}.")


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
