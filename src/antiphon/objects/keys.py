"""API keys as the console manages them: listed, created, changed, replaced and revoked, as JSON
objects.
"""

from collections.abc import Sequence

from msgspec import UNSET
from msgspec.structs import replace

from antiphon.access.api_keys import KnownKeys, Mint
from antiphon.errors import ClientError, StoreError
from antiphon.ids import TENANT_RULE, Clock, NewId, is_tenant_name
from antiphon.objects.pages import JsonObject, not_found
from antiphon.protocol.console import ChangeKey, CreateKey, RotateKey
from antiphon.storage.operations import api_keys
from antiphon.storage.records.money import Budget
from antiphon.storage.records.tenants import ApiKey, KeyLimits, Role
from antiphon.storage.store import Store
from antiphon.upstream.prices import NANO, decimal, nano

MOST = 1_000_000_000
"""The largest budget in units of the currency."""

COUNTS = ("requests_per_minute", "tokens_per_minute", "tokens_per_day", "concurrency")


class Keys:
    """The keys of one store. `known` are those that this process remembers."""

    def __init__(self, store: Store, known: KnownKeys, new_id: NewId, now: Clock) -> None:
        self._store = store
        self._known = known
        self._new_id = new_id
        self._now = now

    async def list(self, tenant: str | None) -> Sequence[JsonObject]:
        """Return the keys of a tenant, or of all tenants, newest first, including revoked and
        expired keys.
        """
        now = self._now()
        return [
            displayed(key, now)
            for key in await self._store.read(api_keys.every)
            if tenant in (None, key.tenant)
        ]

    async def create(self, request: CreateKey) -> JsonObject:
        """Create a key; its reply alone contains the `key` itself. Raises `ClientError` (400)."""
        if not is_tenant_name(request.tenant):
            raise ClientError(TENANT_RULE, code="invalid_tenant", param="tenant")
        now = int(self._now())
        limits = _limits(KeyLimits(), request)
        mint = await Mint.of(self._store)
        ends = None if request.expires_in is None else now + request.expires_in
        key, stored_key = mint.issue(
            self._new_id("key"), request.tenant, request.name, limits, now, ends
        )
        return await self._put(
            replace(stored_key, caches=request.cache, role=Role(request.role)), key
        )

    async def change(self, key_id: str, request: ChangeKey) -> JsonObject:
        """Change the fields in the request. Raises `ClientError`: 404, or 400 for a revoked key."""
        key = await self._usable(key_id)
        now = int(self._now())
        expires_in = request.expires_in
        changed = replace(
            key,
            name=key.name if request.name is UNSET else request.name,
            role=key.role if request.role is UNSET else Role(request.role),
            caches=key.caches if request.cache is UNSET else request.cache,
            expires_at=key.expires_at
            if expires_in is UNSET
            else None
            if expires_in is None
            else now + expires_in,
            limits=_limits(key.limits, request),
        )
        return await self._put(changed)

    async def rotate(self, key_id: str, request: RotateKey) -> JsonObject:
        """Replace a key by a new one with its id and limits; the reply contains the new `key`.

        Raises `ClientError`.
        """
        old = await self._usable(key_id)
        now = int(self._now())
        if old.expires_at is not None and old.expires_at <= now:
            raise ClientError(
                f"API key '{key_id[:100]}' has expired. Change its expiry, or create a new key."
            )
        key, stored_key = (await Mint.of(self._store)).rotate(old, now + request.keep_old_for)
        return await self._put(stored_key, key)

    async def revoke(self, key_id: str) -> JsonObject:
        """Revoke a key permanently.

        Raises `ClientError` (404), and `StoreError` if it is not revoked.
        """
        key = await self._found(key_id)
        try:
            return await self._put(replace(key, revoked_at=key.revoked_at or int(self._now())))
        except StoreError as error:
            raise StoreError(
                f"The API key is not revoked, and is still accepted. {error.message}"
            ) from error

    async def _found(self, key_id: str) -> ApiKey:
        found = next(
            (key for key in await self._store.read(api_keys.every) if key.id == key_id), None
        )
        if found is None:
            raise not_found("API key", key_id)
        return found

    async def _usable(self, key_id: str) -> ApiKey:
        key = await self._found(key_id)
        if key.revoked_at is not None:
            raise ClientError(f"API key '{key_id[:100]}' is revoked permanently. Create a new key.")
        return key

    async def _put(self, key: ApiKey, secret: str | None = None) -> JsonObject:
        await self._store.write(api_keys.put, key)
        self._known.forget()
        return displayed(key, self._now()) | ({} if secret is None else {"key": secret})


def displayed(key: ApiKey, now: float) -> JsonObject:
    """Return a key as JSON, without the key itself. Budgets are exact, so they are text."""
    limits = key.limits
    budget = key.limits.budget or Budget()
    return {
        "object": "api_key",
        "id": key.id,
        "name": key.name,
        "tenant": key.tenant,
        "role": key.role.value,
        "status": _status(key, now),
        "shown": key.displayed,
        "created_at": key.created_at,
        "expires_at": key.expires_at,
        "revoked_at": key.revoked_at,
        "old_key_until": key.old_until if key.old_until > now else None,
        "models": list(limits.models),
        **{name: getattr(limits, name) for name in COUNTS},
        "budget_per_day": None if budget.per_day is None else decimal(budget.per_day),
        "budget_per_month": None if budget.per_month is None else decimal(budget.per_month),
        "cache": key.caches,
    }


def _status(key: ApiKey, now: float) -> str:
    if key.revoked_at is not None:
        return "revoked"
    return "active" if key.expires_at is None or key.expires_at > now else "expired"


def _limits(before: KeyLimits, request: CreateKey | ChangeKey) -> KeyLimits:
    """Return limits, updated by a request."""
    named = {name: value for name in COUNTS if (value := getattr(request, name)) is not UNSET}
    old = before.budget or Budget()
    per_day = _amount(old.per_day, request, "budget_per_day")
    per_month = _amount(old.per_month, request, "budget_per_month")
    budget = None if per_day is None and per_month is None else Budget(per_day, per_month)
    models = before.models if request.models is UNSET else tuple(request.models)
    return replace(before, models=models, budget=budget, **named)


def _amount(before: int | None, request: CreateKey | ChangeKey, name: str) -> int | None:
    """Return an amount from a request in nano-units. Raises `ClientError` (400)."""
    value = getattr(request, name)
    if value is UNSET or value is None:
        return before if value is UNSET else None
    try:
        amount = nano(str(value))
    except ValueError as error:
        raise ClientError(f"Invalid '{name}': {error}.", code="invalid_value", param=name) from None
    if not 0 < amount <= MOST * NANO:
        text = f"Invalid '{name}': expected an amount above 0 and at most {MOST:,}."
        raise ClientError(text, code="invalid_value", param=name)
    return amount
