"""Responses of `AsyncAntiphon`, their input items, and counts of tokens."""

from collections.abc import Sequence
from typing import Literal, TypeVar, Unpack, overload

import msgspec

from antiphon.gateway import Gateway, JsonObject
from antiphon.library.call import ApiCall, path
from antiphon.library.calls import TENANT, Calls, displayed, page_query
from antiphon.library.formats import parsed, with_format
from antiphon.library.options import Options
from antiphon.library.pages import AsyncPages
from antiphon.library.parameters import (
    CallOptions,
    CompactParameters,
    CountParameters,
    InputPageParameters,
    ResponseParameters,
    as_query,
    following,
    without_options,
)
from antiphon.library.signatures import spelled_out
from antiphon.library.streams import AsyncResponseStream
from antiphon.protocol.requests import Include
from antiphon.protocol.response import OutputItem, Response
from antiphon.protocol.results import (
    CompactedResponse,
    DeletedResponse,
    InputTokenCount,
    ItemPage,
    ParsedResponse,
)
from antiphon.protocol.validation.validate import decode_compact_request, decode_count

T = TypeVar("T")


class AsyncResponses:
    """Responses: create, stream, parse, retrieve, cancel, delete, compact, and list their input
    items.
    """

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

    @spelled_out
    async def create(
        self, *, stream: bool | None = None, **parameters: Unpack[ResponseParameters]
    ) -> Response | AsyncResponseStream:
        """Create a response and wait for it; with `stream=True`, return its events as they arrive.

        With `background=True` the response is queued, and runs while a client or a server has its
        store open.
        """
        if stream:
            return await self.stream(**parameters).begin()
        return await self._calls.create(parameters)

    @overload
    def stream(self, **parameters: Unpack[ResponseParameters]) -> AsyncResponseStream: ...

    @overload
    def stream(
        self, *, response_id: str, starting_after: int | None = None, **options: Unpack[CallOptions]
    ) -> AsyncResponseStream: ...

    @spelled_out
    def stream(
        self,
        *,
        response_id: str | None = None,
        starting_after: int | None = None,
        **parameters: Unpack[ResponseParameters],
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
        ...             response = await stream.get_final_response()
        ...             print(response.status)
        >>> asyncio.run(main())
        completed
        """  # noqa: E501 - a table, a diagram or an example
        if response_id is None and starting_after is None:
            return self._calls.stream(self._calls.batches(parameters))
        if response_id is None or without_options(parameters):
            raise TypeError("A stream resumes by `response_id` and `starting_after` alone.")
        return self._calls.stream(
            self._calls.replayed(response_id, starting_after, Options.of(parameters))
        )

    @spelled_out
    async def parse(
        self, *, text_format: type[T], **parameters: Unpack[ResponseParameters]
    ) -> ParsedResponse[T]:
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
        """  # noqa: E501 - a table, a diagram or an example
        named: ResponseParameters = {
            **parameters,
            "text": with_format(parameters.get("text"), text_format),
        }
        return parsed(await self._calls.create(named), text_format)

    @overload
    async def retrieve(
        self,
        response_id: str,
        *,
        include: Sequence[Include] | None = None,
        stream: Literal[False] | None = None,
        **options: Unpack[CallOptions],
    ) -> Response: ...

    @overload
    async def retrieve(
        self,
        response_id: str,
        *,
        stream: Literal[True],
        starting_after: int | None = None,
        **options: Unpack[CallOptions],
    ) -> AsyncResponseStream: ...

    @spelled_out
    async def retrieve(
        self,
        response_id: str,
        *,
        include: Sequence[Include] | None = None,
        stream: bool | None = None,
        starting_after: int | None = None,
        **options: Unpack[CallOptions],
    ) -> Response | AsyncResponseStream:
        """Return a stored response; with `stream=True`, the events of a background response, to its
        end.

        `starting_after` is the `sequence_number` of the last event that was read: the stream
        resumes after it.
        """
        if stream:
            replayed = self._calls.replayed(response_id, starting_after, Options.of(options))
            return await self._calls.stream(replayed).begin()

        async def direct(gateway: Gateway) -> JsonObject:
            return await gateway.responses.retrieve(TENANT, response_id, displayed(include))

        call = ApiCall("GET", path("/responses/{}", response_id), as_query({"include": include}))
        return await self._calls.call(Response, call, Options.of(options), direct)

    @spelled_out
    async def cancel(self, response_id: str, **options: Unpack[CallOptions]) -> Response:
        """Cancel a background response; return it in its current state."""

        async def direct(gateway: Gateway) -> JsonObject:
            return await gateway.queue.cancel(TENANT, response_id)

        call = ApiCall("POST", path("/responses/{}/cancel", response_id))
        return await self._calls.call(Response, call, Options.of(options), direct)

    @spelled_out
    async def delete(self, response_id: str, **options: Unpack[CallOptions]) -> DeletedResponse:
        """Delete a stored response."""

        async def direct(gateway: Gateway) -> JsonObject:
            return await gateway.responses.delete(TENANT, response_id)

        call = ApiCall("DELETE", path("/responses/{}", response_id))
        return await self._calls.call(DeletedResponse, call, Options.of(options), direct)

    @spelled_out
    async def compact(self, **parameters: Unpack[CompactParameters]) -> CompactedResponse:
        """Compact a context; the `output` of the result is the input of the next request."""

        async def direct(gateway: Gateway) -> CompactedResponse:
            request, size = await self._calls.decoded(parameters, decode_compact_request)
            compacted = msgspec.to_builtins(await gateway.compact(request, TENANT, size))
            return await self._calls.read(CompactedResponse, compacted, size)

        call = ApiCall("POST", "/responses/compact", body=without_options(parameters))
        return await self._calls.call(CompactedResponse, call, Options.of(parameters), direct)


class AsyncInputItems:
    """The input items of responses."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    @spelled_out
    def list(
        self, response_id: str, **parameters: Unpack[InputPageParameters]
    ) -> AsyncPages[OutputItem]:
        """Return the input items of a response, newest first unless `order` is `asc`."""

        async def fetch(after: str | None) -> ItemPage:
            page = {**without_options(parameters), **following(after)}

            async def direct(gateway: Gateway) -> JsonObject:
                return await gateway.responses.input_items(TENANT, response_id, page_query(page))

            call = ApiCall("GET", path("/responses/{}/input_items", response_id), as_query(page))
            return await self._calls.call(ItemPage, call, Options.of(parameters), direct)

        return AsyncPages(fetch)


class AsyncInputTokens:
    """Counts of tokens."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    @spelled_out
    async def count(self, **parameters: Unpack[CountParameters]) -> InputTokenCount:
        """Return how many tokens the input of such a response has; nothing is generated or
        stored.
        """
        call = ApiCall("POST", "/responses/input_tokens", body=without_options(parameters))
        options = Options.of(parameters)
        if options.headers:
            return await self._calls.counted(call, options)

        async def direct(gateway: Gateway) -> JsonObject:
            request, size = await self._calls.decoded(parameters, decode_count)
            if request.prompt is not None:
                request, _ = await gateway.prompts.resolve(TENANT, request)
            count = await gateway.count_tokens(request, TENANT, size)
            return {"input_tokens": count.input_tokens, "is_exact": count.is_exact}

        return await self._calls.call(InputTokenCount, call, options, direct)
