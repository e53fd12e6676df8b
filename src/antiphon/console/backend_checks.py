"""Checks of backends that administrators request, in addition to the periodic ones."""

import asyncio

from antiphon.objects.pages import not_found
from antiphon.upstream.backend_state import BackendState
from antiphon.upstream.poll import update_load
from antiphon.upstream.registry import ModelRegistry

LONGEST = 10.0
"""Seconds that a check can take."""


class BackendChecks:
    """Queries the models and the load of one backend; requests at the same time share a query."""

    def __init__(self, models: ModelRegistry) -> None:
        self._models = models
        self._running: dict[str, asyncio.Task[None]] = {}

    async def check(self, name: str) -> None:
        """Query a backend now, and record the result as its periodic check does.

        A backend that serves one request at a time is not queried while it is busy. Raises
        `ClientError` (404) if no backend has this name.
        """
        state = next((one for one in self._models.backends if one.name == name), None)
        if state is None:
            raise not_found("Backend", name)
        task = self._running.get(name)
        if task is None:
            task = self._running[name] = asyncio.create_task(self._query(state))
            task.add_done_callback(lambda done: self._running.pop(name))
        await asyncio.shield(task)

    async def _query(self, state: BackendState) -> None:
        checked_before, is_polled = state.checked_at, False
        try:
            async with asyncio.timeout(LONGEST):
                await self._models.poll(state)
                is_polled = True
                await update_load(state)
        except TimeoutError:
            if is_polled or state.checked_at != checked_before:
                return  # it listed its models: a probe or its load took too long
            text = f"did not list its models within {LONGEST:.0f} s"
            self._models.missed(state, state.identity.error(text, status=503))
