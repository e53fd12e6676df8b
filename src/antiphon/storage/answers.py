"""Cached answers, and when their use is recorded: cached answers that were not used for long are
deleted first.
"""

from antiphon.storage.operations import answers
from antiphon.storage.store import Store


async def find_answer(store: Store, tenant: str, key: bytes) -> bytes | None:
    """Return the body of an answer and record the use, or return None. Raises `StoreError`."""
    found = await store.read(answers.find, tenant, key)
    if found is None:
        return None
    if found.is_use_due:
        await store.write(answers.use, tenant, key)
    return found.body
