"""Polls the backends, independently of requests: are they reachable, which models are loaded, is a
slot free.
"""

import asyncio
import json
import re
from collections.abc import Callable
from typing import Any

from antiphon.errors import BackendError, log
from antiphon.periodic import Periodic
from antiphon.upstream.backend_state import NO_REPORT, NOT_REQUESTED, BackendState, LoadReport
from antiphon.upstream.registry import ModelRegistry

LARGEST = 4 * 1024 * 1024
"""Bytes of a backend's report that are read."""

GAUGE = re.compile(rb"^vllm:num_requests_waiting(?:\{[^}]*\})? +([0-9.eE+-]+)", re.MULTILINE)


class Poll(Periodic):
    """Polls all backends every `interval` seconds, from `start` to `close`."""

    def __init__(self, registry: ModelRegistry, interval: float) -> None:
        super().__init__(interval)
        self._registry = registry
        self._removed: set[str] = set()
        """Backends that were logged as failing to list their models."""

    async def poll_once(self) -> None:
        """Poll once: query the models and the load of every backend, in parallel."""
        await self._registry.refresh()
        self._log_changes()
        await asyncio.gather(*map(update_load, self._registry.backends))
        self._registry.next_poll = self._registry.clock() + self._interval

    def _log_changes(self) -> None:
        """Log which backends became unavailable and which recovered since the last poll.

        Backends that were assigned during the poll are not queried yet, which is not a failure.
        """
        missed = {
            state.name: state.error
            for state in self._registry.backends
            if state.error != NOT_REQUESTED
        }
        removed = {name for name, error in missed.items() if error}
        for name in sorted(removed - self._removed):
            log.warning("Cannot list the models of a backend: %s", missed[name])
        for name in sorted(self._removed & missed.keys() - removed):
            log.info("Backend '%s' lists its models again.", name)
        self._removed = removed


async def update_load(state: BackendState) -> None:
    """Query the load of a backend, if its family reports it."""
    state.load = await _report(state) if state.dialect.name in REPORTS else NO_REPORT


async def _report(state: BackendState) -> LoadReport:
    path, read = REPORTS[state.dialect.name]
    try:
        reply = await state.backend.get(path)
        try:
            return read(await reply.read(LARGEST)) if reply.status == 200 else NO_REPORT
        finally:
            await reply.close()
    except BackendError:
        return NO_REPORT


def of_ollama(body: bytes) -> LoadReport:
    """`/api/ps`: `{"models": [{"name": "llama3:latest", "context_length": 8192, …}]}`."""
    models = _members(_value(body), "models")
    named = {str(one.get("name") or one.get("model")): one.get("context_length") for one in models}
    windows = {name: window for name, window in named.items() if isinstance(window, int)}
    return LoadReport(loaded=frozenset(named), windows=windows)


def of_llamacpp(body: bytes) -> LoadReport:
    """`/slots`: `[{"id": 0, "is_processing": false, …}]`."""
    slots = _value(body)
    if not isinstance(slots, list) or not slots:
        return NO_REPORT
    return LoadReport(
        free=sum(not one.get("is_processing") for one in slots if isinstance(one, dict))
    )


def of_vllm(body: bytes) -> LoadReport:
    """`/metrics`: it batches all requests that fit, so a slot is free while no request waits."""
    waiting = [float(number) for number in GAUGE.findall(body)]
    return LoadReport(free=int(not any(waiting))) if waiting else NO_REPORT


REPORTS: dict[str, tuple[str, Callable[[bytes], LoadReport]]] = {
    "ollama": ("/../api/ps", of_ollama),
    "llamacpp": ("/../slots", of_llamacpp),
    "vllm": ("/../metrics", of_vllm),
}
"""Where a family reports its load, outside its base URL, and the parser of the report."""


def _value(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _members(value: Any, name: str) -> list[dict[str, Any]]:
    members = value.get(name) if isinstance(value, dict) else None
    return [one for one in members if isinstance(one, dict)] if isinstance(members, list) else []
