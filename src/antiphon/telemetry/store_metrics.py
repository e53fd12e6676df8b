"""Times what the store does, and counts what it could not do."""

import time
from collections.abc import Awaitable, Callable
from typing import Any, cast

from antiphon.errors import StoreError
from antiphon.storage.contract import Store
from antiphon.telemetry.metrics import Measures

READS = {
    *("load", "history", "measure_chain", "find_item", "find_job", "owned", "held", "heartbeats", "tail"),
    *("load_conversation", "items", "input_page", "conversation_page", "stored_bytes", "conversation_item"),
    *("storage_use", "load_completion", "completion_page", "completion_messages"),
    *("find_key", "load_endpoint", "endpoints", "due", "deliveries", "backlog", "check", "clock_skew", "purge_size"),
    *("find_answer", "answers_size", "find_api_key", "api_keys", "has_api_keys", "usage", "profiles"),
    "tenant_budgets",
}
WRITES = {
    *("save", "delete", "enqueue", "claim", "advance", "finish", "release", "heartbeat", "expire_worker"),
    *("release_job", "purge", "create_conversation", "update_conversation", "delete_conversation", "add_items"),
    *("delete_item", "lock", "unlock", "reserve", "free_key", "put_endpoint", "delete_endpoint", "claim_delivery"),
    *("delivered", "postpone", "secret", "check_writable", "keep_answer", "trim_answers", "put_api_key"),
    *("take", "charge", "save_completion", "update_completion", "delete_completion", "put_profile", "delete_profile"),
    *("put_tenant_budget", "retry_delivery", "retry_failed_deliveries"),
}
"""The store's methods that are timed."""


def timed(store: Store, measures: Measures) -> Store:
    """Return the store, whichever it is, with every call timed and every failure counted."""
    return cast("Store", _Timed(store, measures))


class _Timed:
    """Stands before a store. Attributes that are not timed are the store's own."""

    def __init__(self, store: Store, measures: Measures) -> None:
        self._store, self._measures = store, measures

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if name in READS or name in WRITES:
            found = self._time(name, found)
            setattr(self, name, found)
        return found

    def _time(self, name: str, act: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        kind, measures = "read" if name in READS else "write", self._measures

        async def timed_act(*args: Any, **kwargs: Any) -> Any:
            began = time.monotonic()
            try:
                return await act(*args, **kwargs)
            except StoreError:
                measures.store_errors.add(name)
                raise
            finally:
                measures.store.observe(time.monotonic() - began, kind)

        return timed_act
