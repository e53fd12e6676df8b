"""`antiphon stores`: adds folders to vector stores, lists, searches and reindexes them."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.filesize import decimal
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from antiphon import ids
from antiphon.build import build
from antiphon.cli.flags import BackendFlag, ConfigFlag, StoreFlag, TenantFlag
from antiphon.cli.key_tables import copied_table, print_whole
from antiphon.cli.settings import read_settings
from antiphon.cli.store_folder import Added, add, files_below
from antiphon.cli.with_store import notice, print_result
from antiphon.config import Settings
from antiphon.errors import ConfigError
from antiphon.gateway.parts import Parts
from antiphon.search.contract import SearchRequest
from antiphon.storage.operations import vector_stores
from antiphon.storage.records.vector_stores import StoredVectorStore, StorePageQuery

app = typer.Typer(add_completion=False, rich_markup_mode=None)

PAGE = 100
DISPLAYED = 160
"""Characters of a chunk in the list of hits."""


@app.callback()
def about() -> None:
    """Add files to vector stores, and search them.

    The commands work on the store of the settings, with or without a running server.
    """


@app.command("add")
def add_files(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="PATH...", help="Files, and folders with all files below them."),
    ],
    into: Annotated[
        str | None,
        typer.Option(
            "--into",
            metavar="STORE",
            help="Name or ID of the vector store. Default: the name of the first path.",
        ),
    ] = None,
    tenant: TenantFlag = "",
    backend: BackendFlag = None,
    store: StoreFlag = None,
    config: ConfigFlag = None,
) -> None:
    """Add files and folders to a vector store.

    Creates the vector store if it does not exist, shows the progress, and waits until all files are
    ingested. Run the command again to add new and changed files: it skips files that the vector
    store has with the same content. The exit code is 1 if a file failed.

    Examples:
      antiphon stores add handbook/ --into handbook
    """
    found = list(files_below(paths))
    if not found:
        raise ConfigError(
            "These paths contain no files. Hidden files (names with a leading dot) are skipped."
        )

    async def act(parts: Parts) -> None:
        target = await _found_or_created(parts, tenant, into or paths[0].resolve().name)
        columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
        with Progress(*columns, console=Console(stderr=True)) as bar:
            task = bar.add_task("Files", total=len(found))
            result = await add(
                parts,
                target,
                found,
                lambda done, total: bar.update(task, completed=done, total=total),
            )
        _report(target, result)

    try:
        _with_parts(read_settings(config, backend, store=store), act)
    except KeyboardInterrupt:
        notice("Stopped. Run the same command again to continue.")
        raise


@app.command("list")
def list_stores(
    tenant: TenantFlag = "", store: StoreFlag = None, config: ConfigFlag = None
) -> None:
    """List the vector stores with their files and sizes, newest first.

    Examples:
      antiphon stores list
    """

    async def act(parts: Parts) -> None:
        rows = [_row(one) async for one in _all(parts, tenant)]
        if not rows:
            print_result("There are no vector stores. Create one with `antiphon stores add PATH`.")
            return
        print_whole(
            copied_table(
                ("id",), ("name", "files", "in progress", "failed", "size", "embeddings"), rows
            )
        )

    _with_parts(read_settings(config, store=store), act)


@app.command()
def search(
    name: Annotated[str, typer.Argument(metavar="STORE", help="Name or ID of the vector store.")],
    query: Annotated[str, typer.Argument(metavar="QUERY", help="Text to search for.")],
    limit: Annotated[
        int, typer.Option(metavar="N", min=1, max=50, help="Maximum number of results, 1 to 50.")
    ] = 10,
    tenant: TenantFlag = "",
    backend: BackendFlag = None,
    store: StoreFlag = None,
    config: ConfigFlag = None,
) -> None:
    """Search a vector store.

    Prints the score, the file and the beginning of each chunk, best first.

    Examples:
      antiphon stores search handbook "How many days of leave?" --limit 3
    """

    async def act(parts: Parts) -> None:
        target = await _found(parts, tenant, name)
        results = await parts.objects.search.search(
            SearchRequest(target.tenant, (target.id,), (query,), limit)
        )
        for reason in results.by_keywords.values():
            notice(f"Searched by keywords only: {reason}")
        if not results.hits:
            notice("No chunk matches the query.")
        for hit in results.hits:
            where = str(hit.attributes.get("path", hit.filename))
            print_result(f"{hit.score:.2f}  {where}  {_visible(hit.text)}")

    _with_parts(read_settings(config, backend, store=store), act)


@app.command()
def reindex(
    name: Annotated[str, typer.Argument(metavar="STORE", help="Name or ID of the vector store.")],
    tenant: TenantFlag = "",
    store: StoreFlag = None,
    config: ConfigFlag = None,
) -> None:
    """Ingest all files of a vector store again.

    Running servers do this in the background, with the embedding model of the settings.

    Examples:
      antiphon stores reindex handbook
    """

    async def act(parts: Parts) -> None:
        target = await _found(parts, tenant, name)
        count = await parts.store.write(
            vector_stores.reindex, target.tenant, target.id, parts.run.rules.embedding_model
        )
        if count is None:
            raise ConfigError(
                f"The vector store {target.id} has expired, so its files cannot be ingested again."
            )
        print_result(
            f"Files to ingest again: {count}. `antiphon stores list` shows how many "
            "are in progress."
        )

    _with_parts(read_settings(config, store=store), act, ingests=False)


def _with_parts(
    settings: Settings, act: Callable[[Parts], Awaitable[None]], *, ingests: bool = True
) -> None:
    """Act with the parts of these settings, which also ingest files; running servers on the same
    store ingest too.
    """

    async def run() -> None:
        async with _opened(settings, ingests=ingests) as parts:
            await act(parts)

    asyncio.run(run())


@asynccontextmanager
async def _opened(settings: Settings, *, ingests: bool) -> AsyncIterator[Parts]:
    application = await build(settings)
    try:
        application.worker.concurrency = 0  # background responses are for servers
        application.worker.start()
        if ingests:
            application.ingester.start()
        yield application.parts
    finally:
        await application.close()


async def _all(parts: Parts, tenant: str) -> AsyncIterator[StoredVectorStore]:
    after: str | None = None
    while True:
        page = await parts.store.read(vector_stores.page, tenant, StorePageQuery(PAGE, after))
        for one in page.data:
            yield one
        if not page.has_more:
            return
        after = page.data[-1].id


async def _find(parts: Parts, tenant: str, name: str) -> StoredVectorStore | None:
    """Return the vector store with this ID, else the newest one with this name."""
    by_id = await parts.store.read(vector_stores.find, tenant, name)
    if by_id is not None:
        return by_id
    async for one in _all(parts, tenant):
        if one.name == name and not one.is_expired:
            return one
    return None


async def _found(parts: Parts, tenant: str, name: str) -> StoredVectorStore:
    store = await _find(parts, tenant, name)
    if store is None:
        raise ConfigError(
            f"The vector store '{name}' does not exist. `antiphon stores list` lists "
            "the vector stores."
        )
    return store


async def _found_or_created(parts: Parts, tenant: str, name: str) -> StoredVectorStore:
    store = await _find(parts, tenant, name)
    if store is None:
        created = StoredVectorStore(
            ids.new_id("vs"),
            tenant,
            int(ids.now()),
            name,
            embedding_model=parts.run.rules.embedding_model,
        )
        await parts.store.write(vector_stores.create, created)
        return created
    return store


def _report(store: StoredVectorStore, result: Added) -> None:
    for name, reason in result.failed:
        notice(f"{name}: {reason}")
    print_result(
        f"{store.id}: {result.added} added, {result.unchanged} unchanged, "
        f"{len(result.failed)} failed."
    )
    if result.failed:
        raise typer.Exit(1)


def _row(one: StoredVectorStore) -> tuple[str, ...]:
    counts = one.counts
    numbers = map(str, (counts.total, counts.in_progress, counts.failed))
    name = f"{one.name or ''}{' (expired)' if one.is_expired else ''}"
    return one.id, name, *numbers, decimal(one.usage_bytes), one.embedding_model


def _visible(text: str) -> str:
    """Return the beginning of a chunk on one line, without control characters."""
    line = " ".join(
        "".join(char if char.isprintable() else " " for char in text[: 2 * DISPLAYED]).split()
    )
    return line[:DISPLAYED]
