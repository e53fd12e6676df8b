"""`AsyncAntiphon`: the Responses API as an object, for programs with an event loop."""

from collections.abc import Sequence
from typing import Any, Literal, Self, TypeVar, Unpack, overload

import msgspec

from antiphon.config import Settings
from antiphon.library.calls import TENANT, Calls, page_query, shown
from antiphon.library.conversations import AsyncConversations, following
from antiphon.library.formats import parsed, with_format
from antiphon.library.pages import AsyncItemPages, AsyncModelList
from antiphon.library.parameters import (
    CompactParameters,
    CountParameters,
    InputPageParameters,
    ResponseParameters,
)
from antiphon.library.reading import read_object
from antiphon.library.service import Service
from antiphon.library.streams import AsyncResponseStream
from antiphon.protocol.requests import Include
from antiphon.protocol.response import Response
from antiphon.protocol.results import (
    CompactedResponse,
    DeletedResponse,
    InputTokenCount,
    ItemPage,
    Model,
    ModelList,
    ParsedResponse,
)
from antiphon.protocol.validation.validate import (
    decode_compact_request,
    decode_count,
)
from antiphon.upstream.backend import Backend

T = TypeVar("T")


class AsyncAntiphon:
    """The Responses API inside your program: `responses`, `conversations` and `models`, as in the official SDK.

    Without arguments it is the scripted model `demo`, with its state in memory.

    - `settings` are the settings of a server. Without backends in them, and without `backend`, the model servers on
      this machine are found.
    - `backend` is a base URL or any `Backend`. With backends in `settings` too, it raises `ConfigError`.
    - `key` is the API key for the base URL. Without a URL, it raises `ConfigError`.
    - `store` is where state is stored: a URL as in `Settings.store`, which it replaces. Without `settings`, the default
      is memory.

    A client belongs to the event loop of its first use. Methods raise `ClientError` for a request that the API answers
    with 4xx, `BackendError` if the model's server fails, `StoreError` if the store does, `ConfigError` for settings
    that cannot be used, and `RuntimeError` if the client is closed or belongs to another event loop.

    >>> import asyncio
    >>> from antiphon import AsyncAntiphon
    >>> async def main() -> None:
    ...     async with AsyncAntiphon() as client:
    ...         response = await client.responses.create(model="demo", input="My name is Ada.")
    ...         print(response.status)
    >>> asyncio.run(main())
    completed
    """

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        backend: str | Backend | None = None,
        key: str = "",
        store: str | None = None,
    ) -> None:
        self._calls = calls = Calls(Service(settings, backend, key, store))
        self.responses = AsyncResponses(calls)
        self.conversations = AsyncConversations(calls)
        self.models = AsyncModels(calls)

    async def close(self) -> None:
        """Release connections and the store. The next process that opens the store continues background work."""
        await self._calls.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()


class AsyncResponses:
    """Responses: create, stream, parse, retrieve, cancel, delete, compact, and list their input items."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self.input_items = AsyncInputItems(calls)
        self.input_tokens = AsyncInputTokens(calls)

    @overload
    async def create(
        self, *, stream: Literal[False] | None = None, **parameters: Unpack[ResponseParameters]
    ) -> Response: ...

    @overload
    async def create(
        self, *, stream: Literal[True], **parameters: Unpack[ResponseParameters]
    ) -> AsyncResponseStream: ...

    async def create(
        self, *, stream: bool | None = None, **parameters: Unpack[ResponseParameters]
    ) -> Response | AsyncResponseStream:
        """Create a response and wait for it; with `stream=True`, return its events as they arrive.

        With `background=True` the response is queued, and runs while a client or a server has its store open.
        """
        if stream:
            return await self.stream(**parameters).begin()
        return await self._calls.create(parameters)

    @overload
    def stream(self, **parameters: Unpack[ResponseParameters]) -> AsyncResponseStream: ...

    @overload
    def stream(self, *, response_id: str, starting_after: int | None = None) -> AsyncResponseStream: ...

    def stream(
        self, *, response_id: str | None = None, starting_after: int | None = None, **parameters: Any
    ) -> AsyncResponseStream:
        """Return the events of a new response as they arrive; the request begins with the first of them.

        With `response_id`, return the events of that background response instead, to its end. `starting_after` is the
        `sequence_number` of the last event that was read: the stream resumes after it. Raises `TypeError` if the
        parameters of a new response accompany a `response_id`, or if `starting_after` has none.

        >>> import asyncio
        >>> from antiphon import AsyncAntiphon
        >>> async def main() -> None:
        ...     async with AsyncAntiphon() as client:
        ...         queued = await client.responses.create(model="demo", input="Hi", background=True, stream=True)
        ...         first = await anext(queued)
        ...         async with client.responses.stream(response_id=first.response.id, starting_after=0) as stream:
        ...             print((await stream.get_final_response()).status)
        >>> asyncio.run(main())
        completed
        """
        if response_id is None and starting_after is None:
            return self._calls.stream(self._calls.batches(parameters))
        if response_id is None or parameters:
            raise TypeError("A stream resumes by `response_id` and `starting_after` alone.")
        return self._calls.stream(self._calls.replayed(response_id, starting_after))

    async def parse(self, *, text_format: type[T], **parameters: Unpack[ResponseParameters]) -> ParsedResponse[T]:
        """Create a response and read its answer as an object of a class, which is `output_parsed`.

        `text_format` is a dataclass, a `msgspec.Struct` or a model of pydantic. Its schema is strict: all fields are
        required. Raises `TypeError` for another type, and `ValueError` for an answer that does not fit the class.

        >>> import asyncio
        >>> from dataclasses import dataclass
        >>> from antiphon import AsyncAntiphon
        >>> @dataclass
        ... class City:
        ...     name: str
        >>> async def main() -> None:
        ...     async with AsyncAntiphon() as client:
        ...         question = 'answer {"name": "Oslo"}'
        ...         response = await client.responses.parse(model="demo", input=question, text_format=City)
        ...         print(response.output_parsed)
        >>> asyncio.run(main())
        City(name='Oslo')
        """
        named: ResponseParameters = {**parameters, "text": with_format(parameters.get("text"), text_format)}
        return parsed(await self._calls.create(named), text_format)

    @overload
    async def retrieve(
        self, response_id: str, *, include: Sequence[Include] | None = None, stream: Literal[False] | None = None
    ) -> Response: ...

    @overload
    async def retrieve(
        self, response_id: str, *, stream: Literal[True], starting_after: int | None = None
    ) -> AsyncResponseStream: ...

    async def retrieve(
        self,
        response_id: str,
        *,
        include: Sequence[Include] | None = None,
        stream: bool | None = None,
        starting_after: int | None = None,
    ) -> Response | AsyncResponseStream:
        """Return a stored response; with `stream=True`, the events of a background response, to its end.

        `starting_after` is the `sequence_number` of the last event that was read: the stream resumes after it.
        """
        if stream:
            return await self._calls.stream(self._calls.replayed(response_id, starting_after)).begin()
        gateway = await self._calls.gateway()
        return await self._calls.read(Response, await gateway.retrieve(TENANT, response_id, shown(include)))

    async def cancel(self, response_id: str) -> Response:
        """Cancel a background response; return it in its current state."""
        gateway = await self._calls.gateway()
        return await self._calls.read(Response, await gateway.cancel(TENANT, response_id))

    async def delete(self, response_id: str) -> DeletedResponse:
        """Delete a stored response."""
        gateway = await self._calls.gateway()
        return read_object(await gateway.delete(TENANT, response_id), DeletedResponse)

    async def compact(self, **parameters: Unpack[CompactParameters]) -> CompactedResponse:
        """Compact a context; the `output` of the result is the input of the next request."""
        request, is_large = await self._calls.decoded(parameters, decode_compact_request)
        compacted = await (await self._calls.gateway()).compact(request, TENANT, is_large=is_large)
        return await self._calls.read(CompactedResponse, msgspec.to_builtins(compacted), is_large=is_large)


class AsyncInputItems:
    """The input items of responses."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    def list(self, response_id: str, **parameters: Unpack[InputPageParameters]) -> AsyncItemPages:
        """Return the input items of a response, newest first unless `order` is `asc`."""

        async def fetch(after: str | None) -> ItemPage:
            query = page_query({**parameters, **following(after)})
            gateway = await self._calls.gateway()
            return await self._calls.read(ItemPage, await gateway.input_items(TENANT, response_id, query))

        return AsyncItemPages(fetch)


class AsyncInputTokens:
    """Counts of tokens."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def count(self, **parameters: Unpack[CountParameters]) -> InputTokenCount:
        """Return how many tokens the input of such a response has; nothing is generated or stored."""
        request, is_large = await self._calls.decoded(parameters, decode_count)
        gateway = await self._calls.gateway()
        if request.prompt is not None:
            request, _ = await gateway.prompts.resolve(TENANT, request)
        count = await gateway.count_tokens(request, TENANT, is_large=is_large)
        return InputTokenCount(input_tokens=count.input_tokens, is_exact=count.is_exact)


class AsyncModels:
    """The models that requests can name."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    def list(self) -> AsyncModelList:
        """Return the models that the backends have now.

        >>> import asyncio
        >>> from antiphon import AsyncAntiphon
        >>> async def main() -> None:
        ...     async with AsyncAntiphon() as client:
        ...         async for model in client.models.list():
        ...             print(model.id)
        >>> asyncio.run(main())
        demo
        """

        async def fetch() -> ModelList:
            models = await (await self._calls.gateway()).models(_no_key)
            return ModelList(data=[read_object(model, Model) for model in models])

        return AsyncModelList(fetch)

    async def retrieve(self, model: str) -> Model:
        """Return a model that the backends have now. Raises `ClientError` (404) if no backend has it.

        >>> import asyncio
        >>> from antiphon import AsyncAntiphon
        >>> async def main() -> None:
        ...     async with AsyncAntiphon() as client:
        ...         print((await client.models.retrieve("demo")).owned_by)
        >>> asyncio.run(main())
        antiphon
        """
        return read_object(await (await self._calls.gateway()).model(model, _no_key), Model)


async def _no_key() -> None:
    """Calls inside a program need no API key, so they see every model."""
