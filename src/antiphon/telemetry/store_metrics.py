"""Times the operations of the store, and counts its failures."""

import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, cast

from antiphon.errors import StoreError
from antiphon.storage.contract import Store
from antiphon.storage.operations.step import R, Read, Write
from antiphon.telemetry.metrics import Measures

READS = {
    "blob_part",
    "check",
    "clock_skew",
    "has_room",
    "load_container",
}
WRITES = {
    "check_writable",
    "delete_blob_parts",
    "expire_containers",
    "purge",
    "put_blob_part",
    "put_chunks",
    "save",
    "sweep_chunks",
    "trim_answers",
    "write_chunks",
}
"""The store's methods that are timed."""


def timed(store: Store, measures: Measures) -> Store:
    """Return any store with every call timed and every failure counted."""
    store.observer = partial(_observe, measures)
    return cast("Store", _Timed(store, measures))


def _observe(measures: Measures, operation: Read[..., Any] | Write[..., Any], seconds: float, failed: bool) -> None:
    if failed:
        measures.store_errors.add(operation.name)
    measures.store.observe(seconds, "read" if isinstance(operation, Read) else "write")


class _Timed:
    """Wraps a store. Attributes that are not timed are the store's own."""

    def __init__(self, store: Store, measures: Measures) -> None:
        self._store, self._measures = store, measures

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if name in READS or name in WRITES:
            found = partial(self._time, "read" if name in READS else "write", name, found)
            setattr(self, name, found)
        return found

    async def _time(self, kind: str, name: str, act: Callable[..., Awaitable[R]], *args: Any, **kwargs: Any) -> R:
        began = time.monotonic()
        try:
            return await act(*args, **kwargs)
        except StoreError:
            self._measures.store_errors.add(name)
            raise
        finally:
            self._measures.store.observe(time.monotonic() - began, kind)
