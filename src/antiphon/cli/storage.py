"""`antiphon migrate`, `antiphon db check` and `antiphon purge`: maintenance of the store."""

from collections.abc import Mapping
from typing import Annotated

import typer

from antiphon.cli.flags import ConfigFlag, StoreFlag
from antiphon.cli.settings import read_settings
from antiphon.cli.with_store import print_result, with_store
from antiphon.errors import AntiphonError
from antiphon.jobs.cleaner import CHECK, MOST_CONTAINERS, objection
from antiphon.storage import upkeep
from antiphon.storage.operations import health
from antiphon.storage.store import Store

CALLED = {
    "keys": "idempotency keys",
    "api_keys": "API keys",
    "deliveries": "webhook deliveries",
    "answers": "cached answers",
    "minutes": "sums by minute",
    "hours": "sums by hour",
    "four_hours": "sums by four hours",
    "sessions": "console sessions",
    "codes": "console sign-in codes",
    "usage_batches": "batches of usage",
    "conversation_items": "conversation items",
    "chat_completions": "chat completions",
    "facts": "response summaries",
    "pending_uploads": "pending uploads",
    "file_texts": "texts of files",
    "vector_stores": "vector stores",
}
"""Readable names of tables."""

db = typer.Typer(help="Check the store.", add_completion=False, rich_markup_mode=None)


def migrate(store: StoreFlag = None, config: ConfigFlag = None) -> None:
    """Upgrade the schema of the store.

    A server also does this when it starts.

    Examples:
      antiphon migrate
    """
    with_store(store, config, _print_ready)


@db.callback()
def about() -> None:
    """Check the store."""


@db.command()
def check(store: StoreFlag = None, config: ConfigFlag = None) -> None:
    """Read the whole store, and report whether it is intact.

    Prints the number of rows of each kind.

    Examples:
      antiphon db check
    """
    with_store(store, config, _print_counts)


def purge(
    store: StoreFlag = None,
    config: ConfigFlag = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Count the data that would be deleted, and delete nothing."),
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", help="Delete even if the clock or the amount looks wrong.")
    ] = False,
) -> None:
    """Permanently delete expired data.

    A server also does this every minute. Nothing is deleted if the clock is wrong or too much has
    expired, unless you pass `--yes`.

    Examples:
      antiphon purge --dry-run
    """
    settings = read_settings(config, store=store)
    fraction = settings.purge_fraction
    retention = settings.retention_days * 86_400

    async def act(opened: Store) -> None:
        if yes or dry_run:
            await opened.clock_skew()  # the clock of the store decides which data has expired
        elif reason := await objection(opened, fraction):
            raise AntiphonError(f"{reason} Nothing was deleted. {CHECK}")
        purged = await upkeep.purge(opened, retention, dry_run=dry_run)
        if not dry_run:
            from antiphon.build.files import sweep_files  # noqa: PLC0415 - not for a count

            await upkeep.expire_containers(opened, MOST_CONTAINERS)
            await sweep_files(opened, settings)
        print_result(("Would delete " if dry_run else "Deleted ") + _listed(purged) + ".")

    with_store(store, config, act)


async def _print_ready(store: Store) -> None:
    await store.read(health.check)
    print_result(f"{store.url} is up to date.")


async def _print_counts(store: Store) -> None:
    counts = await store.inspect()
    print_result(f"{store.url} is intact: " + _listed(counts) + ".")


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {CALLED.get(table, table)}" for table, count in counts.items())
