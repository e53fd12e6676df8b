"""API keys for tests, and clients that have them."""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from antiphon.access.api_keys import Mint
from antiphon.ids import new_id
from antiphon.storage.operations import api_keys
from antiphon.storage.records.tenants import ApiKey, KeyLimits, Role
from antiphon.storage.store import Store


async def issue(store: Store, tenant: str = "acme", **limits: Any) -> str:
    """Make a key with these limits; return it."""
    return (await issued(store, tenant, **limits))[0]


async def issued(
    store: Store,
    tenant: str = "acme",
    *,
    caches: bool = False,
    role: Role = Role.USE,
    **limits: Any,
) -> tuple[str, ApiKey]:
    """Make a key; return it and what is kept of it."""
    key, stored_key = (await Mint.of(store)).issue(
        new_id("key"), tenant, "test", KeyLimits(**limits), 1_700_000_000, None
    )
    stored_key = replace(stored_key, caches=caches, role=role)
    await store.write(api_keys.put, stored_key)
    return key, stored_key


def bearing(key: str) -> Mapping[str, str]:
    """The header that presents a key."""
    return {"authorization": f"Bearer {key}"}
