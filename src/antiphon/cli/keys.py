"""`antiphon keys`: who may ask. A key is shown once, when it is made; the store knows it by its digest alone."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from antiphon.access.api_keys import Mint
from antiphon.cli.flags import ConfigFlag, StoreFlag
from antiphon.cli.settings import read_settings
from antiphon.errors import ConfigError
from antiphon.ids import new_id
from antiphon.storage.contract import ApiKey, Limits, Store
from antiphon.storage.open import open_store

app = typer.Typer(help="Make, list and revoke API keys.", add_completion=False, rich_markup_mode=None)

DAY = 86_400
HOUR = 3_600

MOST = 1_000_000_000
"""The largest limit."""

WIDEST = 10_000
"""Characters of a line that is for no screen."""

NARROWEST = 10
"""Characters of a line that each column may have, beside what is never folded."""

KeyArgument = Annotated[str, typer.Argument(metavar="KEY_ID", help="The key's id, as `antiphon keys list` shows it.")]


def _limit(of: str) -> Any:
    return typer.Option(metavar="N", min=1, max=MOST, help=f"{of} that it allows; any number by default.")


@app.callback()
def about() -> None:
    """Make, list and revoke API keys."""


@app.command()
def create(
    tenant: Annotated[
        str, typer.Option(metavar="NAME", help="Whose key it is; what one tenant stores no other sees.")
    ] = "default",
    name: Annotated[str, typer.Option(metavar="TEXT", help="What lists call it.")] = "",
    model: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Model that it allows; all by default. Repeatable.")
    ] = None,
    requests_per_minute: Annotated[int | None, _limit("Requests a minute")] = None,
    tokens_per_minute: Annotated[int | None, _limit("Tokens a minute")] = None,
    tokens_per_day: Annotated[int | None, _limit("Tokens a day, in UTC,")] = None,
    concurrency: Annotated[int | None, _limit("Requests at once")] = None,
    expires_in: Annotated[
        int | None, typer.Option(metavar="DAYS", min=1, max=36_500, help="Days after which it ends; never by default.")
    ] = None,
    cache: Annotated[bool, typer.Option("--cache", help="Answer from the cache what does not say otherwise.")] = False,
    store: StoreFlag = None,
    config: ConfigFlag = None,
) -> None:
    """Make a key, and show it: this once."""
    limits = Limits(tuple(model or ()), requests_per_minute, tokens_per_minute, tokens_per_day, concurrency)

    async def act(opened: Store) -> None:
        now = int(time.time())
        ends = None if expires_in is None else now + expires_in * DAY
        key, kept = (await Mint.of(opened)).issue(new_id("key"), tenant, name, limits, now, ends)
        kept = replace(kept, caches=cache)
        await opened.put_api_key(kept)
        _show(key, kept, opened)

    _with_store(store, config, act)


@app.command("list")
def list_keys(store: StoreFlag = None, config: ConfigFlag = None) -> None:
    """List every key, with its limits and whether it is still good."""

    async def act(opened: Store) -> None:
        keys = await opened.api_keys()
        if not keys:
            _say(f"There is no key in {opened.url}. Make one with `antiphon keys create`.")
            return
        _print_whole(_table(keys))
        _tell(f"These are the keys of {opened.url}.")

    _with_store(store, config, act)


@app.command()
def revoke(key_id: KeyArgument, store: StoreFlag = None, config: ConfigFlag = None) -> None:
    """End a key, for good; servers know within five seconds."""

    async def act(opened: Store) -> None:
        key = await _find(opened, key_id)
        await opened.put_api_key(replace(key, revoked_at=key.revoked_at or int(time.time())))
        _say(f"{key.id} is revoked.")

    _with_store(store, config, act)


@app.command()
def rotate(
    key_id: KeyArgument,
    keep_old: Annotated[
        int,
        typer.Option("--keep-old", metavar="HOURS", min=0, max=720, help="Hours for which the old key still works."),
    ] = 0,
    store: StoreFlag = None,
    config: ConfigFlag = None,
) -> None:
    """Put a new key in the place of an old one, with its id and limits, and show it: this once."""

    async def act(opened: Store) -> None:
        old, now = await _find(opened, key_id), int(time.time())
        if old.revoked_at is not None or (old.expires_at is not None and old.expires_at <= now):
            raise ConfigError(f"{key_id} has ended. Make a new key with `antiphon keys create`.")
        key, kept = (await Mint.of(opened)).rotate(old, now + keep_old * HOUR)
        await opened.put_api_key(kept)
        _show(key, kept, opened)

    _with_store(store, config, act)


def _with_store(url: str | None, config: Any, act: Callable[[Store], Awaitable[None]]) -> None:
    async def run() -> None:
        store = await open_store(read_settings(config, store=url).store)
        try:
            await act(store)
        finally:
            await store.close()

    asyncio.run(run())


async def _find(store: Store, key_id: str) -> ApiKey:
    found = next((key for key in await store.api_keys() if key.id == key_id), None)
    if found is None:
        raise ConfigError(f"There is no key '{key_id}'. `antiphon keys list` shows those that there are.")
    return found


def _show(key: str, kept: ApiKey, store: Store) -> None:
    _say(key)
    _tell(f"{kept.id} of the tenant {kept.tenant}, in {store.url}. The key is not shown again.")


def _table(keys: Sequence[ApiKey]) -> Table:
    copied = (Column(name, no_wrap=True) for name in ("id", "key"))
    others = (Column(name, overflow="fold") for name in ("tenant", "name", "created", "state", "limits"))
    table = Table(*copied, *others, box=None)
    for key in keys:
        table.add_row(*map(Text, _row(key, time.time())))
    return table


def _print_whole(table: Table) -> None:
    """Print a table with nothing cut off: on a terminal too narrow for it, its lines are longer than the screen."""
    console = Console()
    whole = sum(max(map(len, map(str, column.cells))) for column in table.columns if column.no_wrap)
    narrowest = whole + NARROWEST * len(table.columns)
    console.width = max(console.width, narrowest) if console.is_terminal else WIDEST
    console.print(table, crop=False)


def _row(key: ApiKey, now: float) -> tuple[str, ...]:
    return key.id, key.shown, key.tenant, key.name, _time(key.created_at), _state(key, now), _allowed(key)


def _state(key: ApiKey, now: float) -> str:
    if key.revoked_at is not None:
        return "revoked"
    if key.expires_at is None:
        return "good"
    return "expired" if key.expires_at <= now else f"until {_time(key.expires_at)}"


def _allowed(key: ApiKey) -> str:
    limits = key.limits
    parts = {
        "requests/min": limits.requests_per_minute,
        "tokens/min": limits.tokens_per_minute,
        "tokens/day": limits.tokens_per_day,
        "at once": limits.concurrency,
    }
    said = [f"{limit} {what}" for what, limit in parts.items() if limit is not None]
    return ", ".join([*limits.models, *said, *(["cache"] if key.caches else [])])


def _time(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%MZ")


def _say(words: str) -> None:
    Console().print(words, highlight=False, markup=False, soft_wrap=True)


def _tell(words: str) -> None:
    """Say on standard error what is for the eyes of who asks, and not for the program behind a pipe."""
    Console(stderr=True).print(words, highlight=False, markup=False, soft_wrap=True)
