"""Promises about secrets."""

import asyncio

from antiphon.ids import new_id
from antiphon.storage.operations import secrets
from antiphon.storage.store import Store
from tests.store.making import hold


async def _is_agreed_on(store: Store) -> None:
    """Of many concurrent secrets of one name one is stored, all callers receive it, and it
    remains.
    """
    name = new_id("secret")
    brought = [bytes([i, 0, 255]) for i in range(16)]
    agreed = await asyncio.gather(*(store.write(secrets.agree, name, fresh) for fresh in brought))
    hold(len(set(agreed)) == 1 and agreed[0] in brought, f"they agreed on {set(agreed)}")
    hold(await store.write(secrets.agree, name, b"late") == agreed[0], "a secret was replaced")
    hold(
        await store.write(secrets.agree, new_id("secret"), b"other") == b"other",
        "two names have one secret",
    )
