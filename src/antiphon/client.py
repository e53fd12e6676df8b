"""The library without a server: the same engine, called from your own program."""

import asyncio
import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from typing import Any, Self

import msgspec

from antiphon.application import library_parts
from antiphon.config import Settings
from antiphon.gateway import Count, Gateway, Run, output_text
from antiphon.protocol.events import Event
from antiphon.protocol.response import Response
from antiphon.protocol.validation.queries import decode_include, decode_input_items_query
from antiphon.protocol.validation.refusals import value_not_served
from antiphon.protocol.validation.validate import decode_compact_request, decode_count, decode_request
from antiphon.upstream.backend import Backend

ANOTHER_LOOP = (
    "This Responses object was first used in another event loop. Each event loop, and so each thread, needs an object "
    "of its own: create it there, and close it there."
)


class Responses:
    """The Responses API as an object. Use it in `async with`; its parameters are those of the API.

    `backend` is a base URL such as `http://127.0.0.1:11434/v1` with its `key`, any `Backend`, or None for the scripted
    model `demo`. `store` is where responses are kept, in memory by default. Of `settings` those for tools
    count, which this object runs as a server would. Every method raises `ClientError` for what
    the API would answer with 4xx, `BackendError` where the model's server fails, `StoreError` where the store does.

    An object belongs to the event loop in which it is first used: in another loop, and so in another thread, each
    method raises `RuntimeError`.
    """

    def __init__(
        self,
        backend: str | Backend | None = None,
        *,
        key: str = "",
        store: str = "sqlite://",
        settings: Settings | None = None,
    ) -> None:
        self._parts = library_parts(backend, key, store, settings or Settings())
        self._gateway: Gateway | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._adopting = threading.Lock()

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
            gateway = await self._open()
            return (await gateway.enqueue(decode_request(body, gateway.takes), body)).response
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
        gateway = await self._open()
        return await gateway.retrieve("", response_id, decode_include({"include": include or []}))

    async def cancel(self, response_id: str) -> dict[str, Any]:
        """End a background response; return it as it stands."""
        return await (await self._open()).cancel("", response_id)

    async def compact(self, **parameters: Any) -> dict[str, Any]:
        """Make a context shorter; the `output` of what comes back is the next request's input."""
        request = decode_compact_request(msgspec.json.encode(parameters))
        return await (await self._open()).compact(request)

    async def delete(self, response_id: str) -> None:
        """Forget a stored response."""
        await (await self._open()).delete("", response_id)

    async def input_items(self, response_id: str, **query: Any) -> dict[str, Any]:
        """Return a page of the items that a response was made from: `after`, `before`, `limit`, `order`, `include`."""
        return await (await self._open()).input_items("", response_id, decode_input_items_query(_as_query(query)))

    async def count_input_tokens(self, **parameters: Any) -> Count:
        """Return how many tokens the input of such a response has; nothing is made or stored."""
        return await (await self._open()).count_tokens(decode_count(msgspec.json.encode(parameters)))

    async def close(self) -> None:
        """Release connections and the store; background work under way is left for who opens the store next."""
        self._check_loop()
        await self._parts.close()

    async def _open(self) -> Gateway:
        """Open the store at first use. Raises `ConfigError` where it cannot be used."""
        self._check_loop()
        if self._gateway is None:
            self._gateway = Gateway(await self._parts.open())
        return self._gateway

    def _check_loop(self) -> None:
        """Raise `RuntimeError` in any event loop but the first one."""
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            with self._adopting:
                self._loop = self._loop or loop
            if self._loop is not loop:
                raise RuntimeError(ANOTHER_LOOP)

    async def _run(self, parameters: dict[str, Any], *, stream: bool) -> Run:
        gateway = await self._open()
        request = decode_request(msgspec.json.encode({**parameters, "stream": stream}), gateway.takes)
        return await gateway.create(request)


def _as_query(query: Mapping[str, Any]) -> dict[str, list[str]]:
    return {
        name: [str(one) for one in value] if isinstance(value, list) else [str(value)]
        for name, value in query.items()
        if value is not None
    }
