"""The library without a server: the same engine, called from your own program."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from typing import Any, Self

import msgspec

from antiphon import ids
from antiphon.application import open_keyring, toolset_of
from antiphon.config import Settings
from antiphon.engine.background import cancel, enqueue
from antiphon.engine.compact import compact
from antiphon.engine.counting import Count, count_input_tokens
from antiphon.engine.engine import Engine
from antiphon.engine.response import output_text
from antiphon.engine.routing.registry import ModelRegistry
from antiphon.engine.run import Run
from antiphon.engine.stored import delete, list_input_items, retrieve
from antiphon.engine.worker import Worker
from antiphon.protocol.events import Event
from antiphon.protocol.response import Response
from antiphon.protocol.validation.refusals import value_not_served
from antiphon.protocol.validation.validate import (
    decode_compact_request,
    decode_count,
    decode_include,
    decode_input_items_query,
    decode_request,
)
from antiphon.storage.open import open_store
from antiphon.upstream.backend import Backend
from antiphon.upstream.demo import DemoBackend
from antiphon.upstream.http import HttpBackend


class Responses:
    """The Responses API as an object. Use it in `async with`; its parameters are those of the API.

    `backend` is a base URL such as `http://127.0.0.1:11434/v1` with its `key`, any `Backend`, or None for the scripted
    model `demo`. `store` is where responses are kept, in memory by default. Of `settings` those for tools
    count, which this object runs as a server would. Every method raises `ClientError` for what
    the API would answer with 4xx, `BackendError` where the model's server fails, `StoreError` where the store does.
    """

    def __init__(
        self,
        backend: str | Backend | None = None,
        *,
        key: str = "",
        store: str = "sqlite://",
        settings: Settings | None = None,
    ) -> None:
        if backend is None:
            backend = DemoBackend()
        elif isinstance(backend, str):
            backend = HttpBackend("backend", backend, key)
        self._backend: Backend = backend
        self._url = store
        self._toolset = toolset_of(settings or Settings())
        self._worker: Worker | None = None
        self._opening = asyncio.Lock()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def create(self, **parameters: Any) -> Response:
        """Create a response and wait for it; its `output_text` is the answer.

        With `background=True` it comes back queued, and is made while this object is open; `retrieve` shows it.
        """
        if parameters.get("background"):
            body = msgspec.json.encode({**parameters, "stream": False})
            return (await enqueue(await self._engine(), decode_request(body), body)).response
        response = await (await self._run(parameters, stream=False)).result()
        return msgspec.structs.replace(response, output_text=output_text(response))

    async def stream(self, **parameters: Any) -> AsyncIterator[Event]:
        """Create a response and give its events as they come. Leaving the loop early ends the backend's work.

        Background responses are not streamed here: their events can be read from the server's API.
        """
        if parameters.get("background"):
            raise value_not_served("background", "true", ["false"])
        run = await self._run(parameters, stream=True)
        async with aclosing(run.events()) as batches:
            async for batch in batches:
                for event in batch:
                    yield event

    async def retrieve(self, response_id: str, include: list[str] | None = None) -> dict[str, Any]:
        """Return a stored response as the API's JSON object."""
        engine = await self._engine()
        return await retrieve(engine.store, "", response_id, decode_include({"include": include or []}))

    async def cancel(self, response_id: str) -> dict[str, Any]:
        """End a background response; return it as it stands."""
        return await cancel(await self._engine(), "", response_id)

    async def compact(self, **parameters: Any) -> dict[str, Any]:
        """Make a context shorter; the `output` of what comes back is the next request's input."""
        request = decode_compact_request(msgspec.json.encode(parameters))
        return await compact(await self._engine(), request)

    async def delete(self, response_id: str) -> None:
        """Forget a stored response."""
        await delete((await self._engine()).store, "", response_id)

    async def input_items(self, response_id: str, **query: Any) -> dict[str, Any]:
        """Return a page of the items that a response was made from: `after`, `before`, `limit`, `order`, `include`."""
        store = (await self._engine()).store
        return await list_input_items(store, "", response_id, decode_input_items_query(_as_query(query)))

    async def count_input_tokens(self, **parameters: Any) -> Count:
        """Return how many tokens the input of such a response has; nothing is made or stored."""
        return await count_input_tokens(await self._engine(), decode_count(msgspec.json.encode(parameters)))

    async def close(self) -> None:
        """Release connections and the store; background work under way is left for who opens the store next."""
        await self._backend.close()
        await self._toolset.close()
        if self._worker is not None:
            await self._worker.close()
            await self._worker.engine.store.close()

    async def _engine(self) -> Engine:
        """Open the store at first use. Raises `ConfigError` where it cannot be used."""
        async with self._opening:
            if self._worker is None:
                store = await open_store(self._url)
                keyring = await open_keyring(store)
                models = ModelRegistry([self._backend], ids.now)
                self._worker = Worker(
                    Engine(models, store, ids.new_id, ids.now, keyring=keyring, toolset=self._toolset)
                )
                self._worker.start()
            return self._worker.engine

    async def _run(self, parameters: dict[str, Any], *, stream: bool) -> Run:
        request = decode_request(msgspec.json.encode({**parameters, "stream": stream}))
        return await (await self._engine()).create(request)


def _as_query(query: Mapping[str, Any]) -> dict[str, list[str]]:
    return {
        name: [str(one) for one in value] if isinstance(value, list) else [str(value)]
        for name, value in query.items()
        if value is not None
    }
