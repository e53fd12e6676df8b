"""`antiphon backup` and `antiphon restore`: one file with a copy of the store, and a second with
the files' content.
"""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from antiphon.cli.flags import ConfigFlag, StoreFlag
from antiphon.cli.settings import read_settings
from antiphon.cli.with_store import notice, print_result
from antiphon.errors import ConfigError, redacted

FileArgument = Annotated[Path, typer.Argument(metavar="FILE", help="File of the backup.")]

POSTGRES = {
    "backup": "PGOPTIONS='-c antiphon.tenant=*' pg_dump --enable-row-security --format=custom "
    "--file={file} {url}",
    "restore": "pg_restore --exit-on-error --no-owner --dbname {url} {file}",
}
"""PostgreSQL's own commands. Without the option and the variable, row-level security hides all rows
from `pg_dump`.
"""


def backup(file: FileArgument, store: StoreFlag = None, config: ConfigFlag = None) -> None:
    """Copy the SQLite store to a new file.

    Servers can use the store at the same time. The copy is checked. An existing file is never
    overwritten.

    Examples:
      antiphon backup backup.db
    """
    from antiphon.storage.sqlite.backup import back_up  # noqa: PLC0415 - for SQLite only
    from antiphon.storage.sqlite.file import blobs_next_to  # noqa: PLC0415 - as above

    url = read_settings(config, store=store).store
    to = file.expanduser()
    path = _path("backup", url, file)
    blobs = blobs_next_to(path)
    second = blobs_next_to(to)
    if blobs.exists() and second.exists():
        raise ConfigError(
            f"{second} already exists, and a backup never overwrites a file. Choose another file."
        )
    size = back_up(path, to)
    print_result(f"Backed up {url} to {file}: {size / 1_000_000:.1f} MB, checked.")
    if (
        blobs.exists()
    ):  # after the store, so that it has the content of every file in the copy of the store
        size = back_up(blobs, second)
        print_result(
            f"Backed up the content of files to {second}: {size / 1_000_000:.1f} MB, checked."
        )


def restore(
    file: FileArgument,
    replace: Annotated[
        bool,
        typer.Option(
            "--replace", help="Replace an existing store. Its old file is kept next to it."
        ),
    ] = False,
    store: StoreFlag = None,
    config: ConfigFlag = None,
) -> None:
    """Replace the SQLite store with a backup.

    First stop every server that uses the store. The command refuses a store in use, a damaged
    backup, and a backup of a newer version of Antiphon.

    Examples:
      antiphon restore backup.db --replace
    """
    from antiphon.storage.sqlite import backup as copies  # noqa: PLC0415 - for SQLite only
    from antiphon.storage.sqlite.file import blobs_next_to  # noqa: PLC0415 - as above

    url = read_settings(config, store=store).store
    path = file.expanduser()
    to = _path("restore", url, file)
    if blobs_next_to(path).exists() and blobs_next_to(to).exists() and not replace:
        raise ConfigError(
            f"{blobs_next_to(to)} already exists. Use --replace to replace it. "
            "Nothing was restored."
        )
    stored = copies.restore(path, to, replaces=replace)
    print_result(f"Restored {url} from {file}.")
    if stored is not None:
        notice(f"The old store was renamed to {stored}.")
    if blobs_next_to(path).exists():
        stored = copies.restore(blobs_next_to(path), blobs_next_to(to), replaces=replace)
        print_result(f"Restored the content of files from {blobs_next_to(path)}.")
        if stored is not None:
            notice(f"The old content was renamed to {stored}.")


def _path(command: str, url: str, file: Path) -> Path:
    """Return the file of an SQLite store.

    Raises `ConfigError` with the alternative for any other store.
    """
    if not url.startswith("sqlite:"):
        without_user = redacted(url).replace("…@", "", 1)
        line = POSTGRES[command].format(file=shlex.quote(str(file)), url=shlex.quote(without_user))
        raise ConfigError(
            f"`antiphon {command}` supports SQLite only. Set PGUSER and PGPASSWORD, "
            f"and use the command of PostgreSQL: {line}"
        )
    from antiphon.storage.sqlite.file import path_of  # noqa: PLC0415 - for SQLite only

    path = path_of(url)
    if path is None:
        raise ConfigError(
            "The store is in memory and has no file. Name the file of the store with --store."
        )
    return path
