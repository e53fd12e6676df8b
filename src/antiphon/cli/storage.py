"""`antiphon migrate`, `antiphon db check`, `antiphon purge`: what an operator does to the store."""

from collections.abc import Mapping
from typing import Annotated

import typer

from antiphon.cli.flags import ConfigFlag, StoreFlag
from antiphon.cli.settings import read_settings
from antiphon.cli.with_store import say, with_store
from antiphon.errors import AntiphonError
from antiphon.jobs.cleaner import CHECK, MOST_CONTAINERS, objection
from antiphon.storage.contract import Store

CALLED = {
    "keys": "idempotency keys",
    "api_keys": "API keys",
    "conversation_items": "conversation items",
    "chat_completions": "chat completions",
    "facts": "response summaries",
    "pending_uploads": "pending uploads",
    "file_texts": "texts of files",
    "vector_stores": "vector stores",
}
"""What people call the rows of a table, where its own name would not tell."""

db = typer.Typer(help="Check the store.", add_completion=False, rich_markup_mode=None)


def migrate(store: StoreFlag = None, config: ConfigFlag = None) -> None:
    """Bring the store's schema up to date. A server does this itself when it starts."""
    with_store(store, config, _say_ready)


@db.callback()
def about() -> None:
    """Check the store."""


@db.command()
def check(store: StoreFlag = None, config: ConfigFlag = None) -> None:
    """Check that the store can be opened and is in order."""
    with_store(store, config, _say_counts)


def purge(
    store: StoreFlag = None,
    config: ConfigFlag = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Count what would be deleted, and delete nothing.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Delete even if the clock or the amount looks wrong.")] = False,
) -> None:
    """Permanently delete expired data. A server does this itself every minute."""
    settings = read_settings(config, store=store)
    fraction, retention = settings.purge_fraction, settings.retention_days * 86_400

    async def act(opened: Store) -> None:
        if yes or dry_run:
            await opened.clock_skew()  # what has expired is decided by the store's clock
        elif reason := await objection(opened, fraction):
            raise AntiphonError(f"{reason} Nothing was deleted. {CHECK}")
        gone = await opened.purge(retention, dry_run=dry_run)
        if not dry_run:
            from antiphon.application.files import sweep_files  # noqa: PLC0415 - not for a count

            await opened.expire_containers(MOST_CONTAINERS)
            await sweep_files(opened, settings)
        say(("Would forget " if dry_run else "Forgot ") + _listed(gone) + ".")

    with_store(store, config, act)


async def _say_ready(store: Store) -> None:
    await store.check()
    say(f"{store.url} is up to date.")


async def _say_counts(store: Store) -> None:
    counts = await store.inspect()
    say(f"{store.url} is in order: " + _listed(counts) + ".")


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {CALLED.get(table, table)}" for table, count in counts.items())
