"""`antiphon keys`: manages API keys. A key is shown once, when it is created; the store has only
its digest.
"""

import time
from typing import Annotated

import typer
from msgspec.structs import replace

from antiphon.access.api_keys import Mint
from antiphon.cli import key_usage
from antiphon.cli.error_output import text_for_operator
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
from antiphon.cli.with_store import notice, print_result, with_store
from antiphon.errors import AntiphonError, ConfigError, StoreError
from antiphon.ids import new_id
from antiphon.storage.operations import api_keys
from antiphon.storage.records.tenants import ApiKey, KeyLimits, Role
from antiphon.storage.store import Store

app = typer.Typer(add_completion=False, rich_markup_mode=None)

HOUR = 3_600

ROLES = (
    "Role: `use` for the API, `read` to also read its tenant in the console, `admin` to also "
    "manage all tenants."
)

UNSET = f"Limit to remove: {', '.join(f'`{one}`' for one in Unset)}. Can be repeated."

KeyArgument = Annotated[
    str, typer.Argument(metavar="KEY_ID", help="ID of the key, as in `antiphon keys list`.")
]


@app.callback()
def about() -> None:
    """Create, list, change and revoke API keys.

    The commands work on the store of the settings. A server need not run.
    """


@app.command()
def create(
    tenant: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="Tenant of the key. Tenants do not see each other's data."
        ),
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
        bool,
        typer.Option(
            "--cache",
            help="Use the response cache for requests that do not set `cache` themselves.",
        ),
    ] = False,
    role: Annotated[Role, typer.Option(help=ROLES)] = Role.USE,
    store: StoreFlag = None,
    config: ConfigFlag = None,
) -> None:
    """Create a key and print it.

    The key is shown only once. Servers accept it within five seconds.

    Examples:
      antiphon keys create --tenant team-a --name ci
      antiphon keys create --tenant team-b --requests-per-minute 60 --expires-in 90
    """
    counts = (requests_per_minute, tokens_per_minute, tokens_per_day, concurrency)
    limits = KeyLimits(
        tuple(model or ()), *counts, budget=budget_of(budget_per_day, budget_per_month)
    )

    async def act(opened: Store) -> None:
        now = int(time.time())
        ends = None if expires_in is None else now + expires_in * DAY
        key, stored_key = (await Mint.of(opened)).issue(
            new_id("key"), tenant, name, limits, now, ends
        )
        stored_key = replace(stored_key, caches=cache, role=role)
        await opened.write(api_keys.put, stored_key)
        _show(key, stored_key, opened)

    with_store(store, config, act)


@app.command()
def update(
    key_id: KeyArgument,
    name: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Name of the key in lists.")
    ] = None,
    model: ModelOption = None,
    requests_per_minute: RequestsOption = None,
    tokens_per_minute: TokensOption = None,
    tokens_per_day: TokensPerDayOption = None,
    concurrency: ConcurrencyOption = None,
    budget_per_day: BudgetPerDayOption = None,
    budget_per_month: BudgetPerMonthOption = None,
    expires_in: ExpiresOption = None,
    cache: Annotated[
        bool | None,
        typer.Option(
            help="Use the response cache for requests that do not set `cache` themselves, or stop "
            "using it."
        ),
    ] = None,
    role: Annotated[Role | None, typer.Option(help=ROLES)] = None,
    unset: Annotated[list[Unset] | None, typer.Option(metavar="LIMIT", help=UNSET)] = None,
    store: StoreFlag = None,
    config: ConfigFlag = None,
) -> None:
    """Change the limits, budget, expiry, name or role of a key.

    Only the named settings change. Servers apply the change within five seconds.

    Examples:
      antiphon keys update key_0199 --tokens-per-day 1000000 --unset expiry
    """
    counts = (requests_per_minute, tokens_per_minute, tokens_per_day, concurrency)
    money = (budget_per_day, budget_per_month)
    change = KeyChange(
        name, model or None, *counts, *money, expires_in, cache, role, tuple(unset or ())
    )

    async def act(opened: Store) -> None:
        key = await _find(opened, key_id)
        if key.revoked_at is not None:
            raise ConfigError(
                f"{key_id} is revoked permanently. Create a new key with `antiphon keys create`."
            )
        changed = change.applied(key, int(time.time()))
        await opened.write(api_keys.put, changed)
        print_whole(keys_table([changed], read_settings(config, store=store).currency))

    with_store(store, config, act)


@app.command("list")
def list_keys(store: StoreFlag = None, config: ConfigFlag = None) -> None:
    """List all keys with their limits and states.

    Examples:
      antiphon keys list
    """

    async def act(opened: Store) -> None:
        keys = await opened.read(api_keys.every)
        if not keys:
            print_result(
                f"The store {opened.url} has no API key. Create one with `antiphon keys create`."
            )
            return
        print_whole(keys_table(keys, read_settings(config, store=store).currency))
        notice(f"Store: {opened.url}")

    with_store(store, config, act)


@app.command()
def revoke(key_id: KeyArgument, store: StoreFlag = None, config: ConfigFlag = None) -> None:
    """Revoke a key permanently.

    Servers reject the key within five seconds.

    Examples:
      antiphon keys revoke key_0199
    """

    async def act(opened: Store) -> None:
        key = await _find(opened, key_id)
        try:
            await opened.write(
                api_keys.put, replace(key, revoked_at=key.revoked_at or int(time.time()))
            )
        except StoreError as error:
            text = (
                f"{key.id} is not revoked, and is still accepted: the store failed. "
                f"{text_for_operator(error)}"
            )
            raise AntiphonError(text) from error
        print_result(f"{key.id} is revoked.")

    with_store(store, config, act)


@app.command()
def rotate(
    key_id: KeyArgument,
    keep_old: Annotated[
        int,
        typer.Option(
            "--keep-old",
            metavar="HOURS",
            min=0,
            max=720,
            help="Hours for which the old key remains valid.",
        ),
    ] = 0,
    store: StoreFlag = None,
    config: ConfigFlag = None,
) -> None:
    """Replace a key with a new one that has the same ID and limits.

    The new key is shown only once.

    Examples:
      antiphon keys rotate key_0199 --keep-old 24
    """

    async def act(opened: Store) -> None:
        old = await _find(opened, key_id)
        now = int(time.time())
        if old.revoked_at is not None or (old.expires_at is not None and old.expires_at <= now):
            raise ConfigError(
                f"{key_id} is revoked or has expired. Create a new key with `antiphon keys create`."
            )
        key, stored_key = (await Mint.of(opened)).rotate(old, now + keep_old * HOUR)
        await opened.write(api_keys.put, stored_key)
        _show(key, stored_key, opened)

    with_store(store, config, act)


app.command("usage")(key_usage.usage)
app.command("budgets")(key_usage.budgets)
app.command("set-budget")(key_usage.set_budget)


async def _find(store: Store, key_id: str) -> ApiKey:
    found = next((key for key in await store.read(api_keys.every) if key.id == key_id), None)
    if found is None:
        hint = "`antiphon keys list` lists the keys with their IDs."
        raise ConfigError(f"The store {store.url} has no key '{key_id}'. {hint}")
    return found


def _show(key: str, stored_key: ApiKey, store: Store) -> None:
    print_result(key)
    notice(
        f"{stored_key.id} of the tenant {stored_key.tenant}, in {store.url}. "
        "The key is not shown again."
    )
