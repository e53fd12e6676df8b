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
    "container_file_page",
    "container_page",
    "find_store_batch",
    "find_store_file",
    "find_vector_store",
    "found_chunks",
    "found_files",
    "has_ingestions",
    "has_room",
    "load_container",
    "load_container_file",
    "match_keywords",
    "owned_ingestions",
    "searched_store",
    "signatures",
    "store_file_page",
    "vector_store_page",
    "vectors",
}
WRITES = {
    "attach_files",
    "cancel_store_batch",
    "check_writable",
    "claim_ingestion",
    "complete_ingestion",
    "create_vector_store",
    "delete_blob_parts",
    "delete_container",
    "delete_container_files",
    "delete_vector_store",
    "detach_file",
    "drop_chunks",
    "end_hold",
    "expire_containers",
    "fail_ingestion",
    "hold_container",
    "publish_chunks",
    "purge",
    "put_blob_part",
    "put_chunks",
    "put_container",
    "put_container_files",
    "reindex_vector_store",
    "release_ingestion",
    "renew_hold",
    "save",
    "set_chunk_attributes",
    "sweep_chunks",
    "trim_answers",
    "update_store_file",
    "update_vector_store",
    "use_vector_stores",
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
