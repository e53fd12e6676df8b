"""`antiphon keys`: who may ask. A key is shown once, when it is made; the store knows it by its digest alone."""

import time
from dataclasses import replace
from typing import Annotated

import typer

from antiphon.access.api_keys import Mint
from antiphon.cli import key_usage
from antiphon.cli.flags import ConfigFlag, StoreFlag
from antiphon.cli.key_options import (
    DAY,
    BudgetPerDayOption,
    BudgetPerMonthOption,
    ConcurrencyOption,
    ExpiresOption,
    KeyChange,
    ModelOption,
    RequestsOption,
    TokensOption,
    TokensPerDayOption,
    Unset,
    budget_of,
)
from antiphon.cli.key_tables import keys_table, print_whole
from antiphon.cli.settings import read_settings
from antiphon.cli.with_store import notice, say, with_store
from antiphon.errors import ConfigError
from antiphon.ids import new_id
from antiphon.storage.contract import ApiKey, Limits, Role, Store

app = typer.Typer(help="Create, list, change and revoke API keys.", add_completion=False, rich_markup_mode=None)

HOUR = 3_600

ROLES = "What the key may do: use the API; also read its tenant in the console; or also manage all tenants there."

KeyArgument = Annotated[str, typer.Argument(metavar="KEY_ID", help="The key's id, as `antiphon keys list` shows it.")]


@app.callback()
def about() -> None:
    """Create, list, change and revoke API keys."""


@app.command()
def create(
    tenant: Annotated[
        str, typer.Option(metavar="NAME", help="Tenant of the key. No tenant sees what another one stores.")
    ] = "default",
    name: Annotated[str, typer.Option(metavar="TEXT", help="Name of the key in lists.")] = "",
    model: ModelOption = None,
    requests_per_minute: RequestsOption = None,
    tokens_per_minute: TokensOption = None,
    tokens_per_day: TokensPerDayOption = None,
    concurrency: ConcurrencyOption = None,
    budget_per_day: BudgetPerDayOption = None,
    budget_per_month: BudgetPerMonthOption = None,
    expires_in: ExpiresOption = None,
    cache: Annotated[
        bool, typer.Option("--cache", help="Cache the answers to requests that do not say otherwise.")
    ] = False,
    role: Annotated[Role, typer.Option(help=ROLES)] = Role.USE,
    store: StoreFlag = None,
    config: ConfigFlag = None,
) -> None:
    """Create a key. It is shown only once."""
    counts = (requests_per_minute, tokens_per_minute, tokens_per_day, concurrency)
    limits = Limits(tuple(model or ()), *counts, budget=budget_of(budget_per_day, budget_per_month))

    async def act(opened: Store) -> None:
        now = int(time.time())
        ends = None if expires_in is None else now + expires_in * DAY
        key, kept = (await Mint.of(opened)).issue(new_id("key"), tenant, name, limits, now, ends)
        kept = replace(kept, caches=cache, role=role)
        await opened.put_api_key(kept)
        _show(key, kept, opened)

    with_store(store, config, act)


@app.command()
def update(
    key_id: KeyArgument,
    name: Annotated[str | None, typer.Option(metavar="TEXT", help="Name of the key in lists.")] = None,
    model: ModelOption = None,
    requests_per_minute: RequestsOption = None,
    tokens_per_minute: TokensOption = None,
    tokens_per_day: TokensPerDayOption = None,
    concurrency: ConcurrencyOption = None,
    budget_per_day: BudgetPerDayOption = None,
    budget_per_month: BudgetPerMonthOption = None,
    expires_in: ExpiresOption = None,
    cache: Annotated[bool | None, typer.Option(help="Whether requests are answered from the cache by default.")] = None,
    role: Annotated[Role | None, typer.Option(help=ROLES)] = None,
    unset: Annotated[list[Unset] | None, typer.Option(help="Remove this limit. Repeatable.")] = None,
    store: StoreFlag = None,
    config: ConfigFlag = None,
) -> None:
    """Change the settings of a key that flags name. Servers apply the change within five seconds."""
    counts = (requests_per_minute, tokens_per_minute, tokens_per_day, concurrency)
    money = (budget_per_day, budget_per_month)
    change = KeyChange(name, model or None, *counts, *money, expires_in, cache, role, tuple(unset or ()))

    async def act(opened: Store) -> None:
        key = await _find(opened, key_id)
        if key.revoked_at is not None:
            raise ConfigError(f"{key_id} is revoked, for good. Make a new key with `antiphon keys create`.")
        changed = change.applied(key, int(time.time()))
        await opened.put_api_key(changed)
        print_whole(keys_table([changed], read_settings(config, store=store).currency))

    with_store(store, config, act)


@app.command("list")
def list_keys(store: StoreFlag = None, config: ConfigFlag = None) -> None:
    """List every key with its limits and its state."""

    async def act(opened: Store) -> None:
        keys = await opened.api_keys()
        if not keys:
            say(f"There is no key in {opened.url}. Make one with `antiphon keys create`.")
            return
        print_whole(keys_table(keys, read_settings(config, store=store).currency))
        notice(f"These are the keys of {opened.url}.")

    with_store(store, config, act)


@app.command()
def revoke(key_id: KeyArgument, store: StoreFlag = None, config: ConfigFlag = None) -> None:
    """Revoke a key permanently. Servers notice within five seconds."""

    async def act(opened: Store) -> None:
        key = await _find(opened, key_id)
        await opened.put_api_key(replace(key, revoked_at=key.revoked_at or int(time.time())))
        say(f"{key.id} is revoked.")

    with_store(store, config, act)


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
    """Replace a key by a new one with its id and limits. The new key is shown only once."""

    async def act(opened: Store) -> None:
        old, now = await _find(opened, key_id), int(time.time())
        if old.revoked_at is not None or (old.expires_at is not None and old.expires_at <= now):
            raise ConfigError(f"{key_id} has ended. Make a new key with `antiphon keys create`.")
        key, kept = (await Mint.of(opened)).rotate(old, now + keep_old * HOUR)
        await opened.put_api_key(kept)
        _show(key, kept, opened)

    with_store(store, config, act)


app.command("usage")(key_usage.usage)
app.command("budgets")(key_usage.budgets)
app.command("set-budget")(key_usage.set_budget)


async def _find(store: Store, key_id: str) -> ApiKey:
    found = next((key for key in await store.api_keys() if key.id == key_id), None)
    if found is None:
        hint = "`antiphon keys list` shows the id of each key."
        raise ConfigError(f"There is no key '{key_id}' in {store.url}. {hint}")
    return found


def _show(key: str, kept: ApiKey, store: Store) -> None:
    say(key)
    notice(f"{kept.id} of the tenant {kept.tenant}, in {store.url}. The key is not shown again.")
