"""Times the operations of the store, and counts its failures."""

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
    *(
        "find_key",
        "load_endpoint",
        "endpoints",
        "due",
        "deliveries",
        "backlog",
        "check",
        "clock_skew",
        "purge_size",
        "has_room",
    ),
    *("find_answer", "answers_size", "find_api_key", "api_keys", "has_api_keys", "usage", "profiles"),
    "lessons",
    *("tenant_budgets", "find_session", "list_conversations", "list_deliveries"),
    *("load_file", "file_page", "file_use", "load_upload", "upload_parts", "blob_part"),
    *("list_facts", "spans", "bodies", "find_facts", "changed_facts", "figures"),
    *("find_vector_store", "vector_store_page", "find_store_file", "store_file_page", "find_store_batch"),
    *("has_ingestions", "owned_ingestions"),
    *("searched_store", "match_keywords", "found_files", "signatures", "vectors", "found_chunks", "find_file_text"),
    *("reports", "find_report"),
    *("load_container", "container_page", "load_container_file", "container_file_page", "running_containers"),
    *("find_prompt", "prompt_page", "prompt_versions", "owns_blob"),
}
WRITES = {
    *("save", "delete", "enqueue", "claim", "advance", "finish", "release", "heartbeat", "expire_worker"),
    *("release_job", "purge", "create_conversation", "update_conversation", "delete_conversation", "add_items"),
    *("delete_item", "lock", "unlock", "reserve", "free_key", "put_endpoint", "delete_endpoint", "claim_delivery"),
    *("delivered", "postpone", "secret", "check_writable", "keep_answer", "trim_answers", "put_api_key"),
    *("take", "charge", "save_completion", "update_completion", "delete_completion", "put_profile", "delete_profile"),
    *("put_lessons", "delete_lessons"),
    *("put_tenant_budget", "retry_delivery", "retry_failed_deliveries"),
    *("put_file", "delete_file", "create_upload", "put_part", "cancel_upload", "complete_upload"),
    *("begin_blob", "spare_blob", "claim_stale_blobs", "forget_blobs", "postpone_blobs"),
    *("put_blob_part", "delete_blob_parts"),
    *("put_facts", "sum_up", "put_session", "touch_session", "delete_session", "put_code", "redeem_code"),
    *("create_vector_store", "update_vector_store", "use_vector_stores", "delete_vector_store", "attach_files"),
    *("update_store_file", "detach_file", "cancel_store_batch", "reindex_vector_store", "claim_ingestion"),
    *("write_chunks", "complete_ingestion", "fail_ingestion", "release_ingestion"),
    *("put_chunks", "publish_chunks", "drop_chunks", "set_chunk_attributes", "sweep_chunks", "keep_file_text"),
    *("put_report", "delete_report"),
    *("put_container", "delete_container", "hold_container", "renew_hold", "end_hold", "put_container_files"),
    *("delete_container_files", "expire_containers"),
    *("create_prompt", "add_prompt_version", "set_default_version", "delete_prompt"),
}
"""The store's methods that are timed."""


def timed(store: Store, measures: Measures) -> Store:
    """Return any store with every call timed and every failure counted."""
    return cast("Store", _Timed(store, measures))


class _Timed:
    """Wraps a store. Attributes that are not timed are the store's own."""

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
