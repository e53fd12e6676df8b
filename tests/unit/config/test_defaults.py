"""The parts of a server have the defaults of its settings, so a part that is made without settings
behaves the same.
"""

import inspect
from collections.abc import Callable
from typing import Any

import pytest

from antiphon.cache.cache import CacheRoom
from antiphon.config import BackendConfig, Settings
from antiphon.history.bounds import Bounds
from antiphon.jobs.worker import Worker
from antiphon.server.limits import ServerLimits
from antiphon.sharing.memory import Memory
from antiphon.storage.open import open_store
from antiphon.tools.mcp.servers import McpServers
from antiphon.tools.registry import Toolset
from antiphon.upstream.http import HttpBackend
from antiphon.upstream.options import BackendOptions

SETTINGS = Settings()
BACKEND = BackendConfig(url="http://backend/v1")
DAY = 86_400
MEBIBYTE = 1024 * 1024

PARTS: dict[Callable[..., Any], dict[str, Any]] = {
    Bounds: {
        "items": SETTINGS.max_items,
        "history_items": SETTINGS.max_history_items,
        "history_bytes": SETTINGS.max_history_bytes,
        "conversation_items": SETTINGS.max_conversation_items,
        "conversation_bytes": SETTINGS.max_conversation_bytes,
        "stored_bytes": SETTINGS.max_stored_bytes,
        "containers": SETTINGS.code_containers_per_tenant,
        "container_memory": SETTINGS.code_memory_max,
    },
    ServerLimits: {
        "body": SETTINGS.max_body,
        "connection": SETTINGS.max_connection_bytes,
        "connections": SETTINGS.max_connections,
    },
    CacheRoom: {
        "ttl": SETTINGS.cache_ttl,
        "longest": SETTINGS.retention_days * DAY,
        "most_bytes": SETTINGS.cache_size * MEBIBYTE,
    },
    Memory: {"size": SETTINGS.max_bodies},
    Worker: {
        "concurrency": SETTINGS.background_jobs,
        "per_tenant": SETTINGS.background_jobs_per_tenant,
    },
    Toolset: {"rounds": SETTINGS.tool_rounds, "seconds": SETTINGS.tool_time},
    McpServers: {"list_ttl": SETTINGS.mcp_list_ttl, "timeout": SETTINGS.mcp_tool_timeout},
    HttpBackend: {
        name: getattr(SETTINGS, name)
        for name in ("connect_timeout", "first_byte_timeout", "idle_timeout")
    },
    BackendOptions: {
        name: getattr(BACKEND, name)
        for name in ("weight", "concurrency", "queue", "tenant_concurrency")
    },
    open_store: {"connections": SETTINGS.store_connections},
}
"""What makes a part, and the values that its parameters have by the settings."""


@pytest.mark.parametrize("make", PARTS, ids=lambda make: make.__name__)
def test_a_part_has_the_defaults_of_the_settings(make: Callable[..., Any]) -> None:
    parameters = inspect.signature(make).parameters
    assert {name: parameters[name].default for name in PARTS[make]} == PARTS[make]


def test_no_limit_of_a_request_is_left_out() -> None:
    assert PARTS[Bounds].keys() == set(inspect.signature(Bounds).parameters)
