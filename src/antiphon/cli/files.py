"""`antiphon files`: lists, uploads, downloads and deletes the files of a tenant."""

import asyncio
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, BinaryIO, get_args

import typer

from antiphon.build.files import files_of
from antiphon.cli.flags import ConfigFlag, StoreFlag, TenantFlag
from antiphon.cli.key_tables import copied_table, print_whole
from antiphon.cli.settings import read_settings
from antiphon.cli.with_store import print_result, with_store
from antiphon.errors import ConfigError
from antiphon.objects.files import Files
from antiphon.protocol.filenames import clean_filename
from antiphon.protocol.files import FileForm, FilesQuery, Purpose
from antiphon.recording.persistence import RequestIdentity
from antiphon.storage.records.files import StoredFile
from antiphon.storage.store import Store

PIECE = 1024 * 1024
"""Bytes that are read at a time."""

FileIds = Annotated[
    list[str],
    typer.Argument(metavar="FILE_ID", help="IDs of the files, as in `antiphon files list`."),
]

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.callback()
def about() -> None:
    """List, upload, get and delete the files of a tenant.

    The commands work on the store and the `file_storage` of the settings. A server need not run.
    """


@app.command("list")
def list_files(
    tenant: TenantFlag = "",
    purpose: Annotated[
        str, typer.Option(metavar="NAME", help="Purpose of the files. Default: all.")
    ] = "",
    store: StoreFlag = None,
    config: ConfigFlag = None,
) -> None:
    """List the files of a tenant, newest first.

    Shows ID, name, purpose, bytes, and when each file was created and expires.

    Examples:
      antiphon files list
    """

    async def act(files: Files) -> None:
        page = await files.page(tenant, FilesQuery(purpose=purpose or None))
        if not page.data:
            print_result("There are no files.")
            return
        print_whole(
            copied_table(
                ("file",), ("name", "purpose", "bytes", "created", "expires"), map(_row, page.data)
            )
        )

    _with_files(store, config, act)


@app.command()
def upload(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH", help="Files to upload.")],
    tenant: TenantFlag = "",
    purpose: Annotated[
        str, typer.Option(metavar="NAME", help="Purpose of the files.")
    ] = "user_data",
    store: StoreFlag = None,
    config: ConfigFlag = None,
) -> None:
    """Upload files, and print the ID of each.

    Examples:
      antiphon files upload report.pdf --tenant team-a
    """
    if purpose not in get_args(Purpose):
        purposes = ", ".join(get_args(Purpose))
        raise ConfigError(f"--purpose '{purpose}' is not supported. Choose one of: {purposes}.")

    async def act(files: Files) -> None:
        for path in paths:
            print_result(f"{await _upload(files, path, tenant, purpose)}  {path}")

    _with_files(store, config, act)


@app.command()
def get(
    file_id: Annotated[
        str, typer.Argument(metavar="FILE_ID", help="ID of the file, as in `antiphon files list`.")
    ],
    to: Annotated[
        Path | None,
        typer.Argument(
            metavar="[PATH]",
            help="File to write. Default: the name of the file, in this directory.",
        ),
    ] = None,
    tenant: TenantFlag = "",
    store: StoreFlag = None,
    config: ConfigFlag = None,
) -> None:
    """Download the content of a file.

    An existing file is never overwritten.

    Examples:
      antiphon files get file-0199 report.pdf
    """

    async def act(files: Files) -> None:
        file = await _found(files, tenant, file_id)
        path = Path(file.filename) if to is None else to
        await _write(files, file, path)
        print_result(f"Wrote {file.size} bytes to {path}.")

    _with_files(store, config, act)


@app.command()
def delete(
    file_ids: FileIds, tenant: TenantFlag = "", store: StoreFlag = None, config: ConfigFlag = None
) -> None:
    """Delete files with their content.

    Examples:
      antiphon files delete file-0199
    """

    async def act(files: Files) -> None:
        for file_id in file_ids:
            await _found(files, tenant, file_id)
            await files.delete(tenant, file_id)
            print_result(f"Deleted {file_id}.")

    _with_files(store, config, act)


def _with_files(
    url: str | None, config: Path | None, act: Callable[[Files], Awaitable[None]]
) -> None:
    settings = read_settings(config, store=url)

    async def run(store: Store) -> None:
        await act(files_of(store, settings))

    with_store(url, config, run)


async def _upload(files: Files, path: Path, tenant: str, purpose: str) -> str:
    room = await files.room(tenant)
    try:
        with path.open("rb") as source:
            written = await files.write(tenant, _pieces(source), room)
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}.") from error
    try:
        form = FileForm(purpose=purpose)  # type: ignore[arg-type] # checked above
        name = clean_filename(path.name) or "file"
        return str((await files.create(form, name, written, RequestIdentity(tenant)))["id"])
    except BaseException:
        await files.drop(tenant, written.blob)
        raise


async def _pieces(source: BinaryIO) -> AsyncGenerator[bytes, None]:
    while piece := await asyncio.to_thread(source.read, PIECE):
        yield piece


async def _found(files: Files, tenant: str, file_id: str) -> StoredFile:
    file = await files.find(tenant, file_id)
    if file is None:
        raise ConfigError(
            f"This tenant has no file '{file_id}'. `antiphon files list` lists the files."
        )
    return file


async def _write(files: Files, file: StoredFile, path: Path) -> None:
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror}.") from error
    with os.fdopen(descriptor, "wb") as target:
        async for part in files.read(file):
            await asyncio.to_thread(target.write, part)


def _row(file: StoredFile) -> Sequence[str]:
    return (
        file.id,
        file.filename,
        file.purpose,
        f"{file.size:,}",
        _date(file.created_at),
        _date(file.expires_at),
    )


def _date(seconds: int | None) -> str:
    return (
        "never"
        if seconds is None
        else datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")
    )
