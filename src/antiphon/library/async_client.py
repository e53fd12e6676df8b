"""`AsyncAntiphon`: the Responses API as an object, for programs with an event loop."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self, Unpack, overload

import msgspec

from antiphon.config import Settings
from antiphon.gateway import RequestIdentity
from antiphon.library.calls import TENANT, Calls, page_query, shown
from antiphon.library.pages import AsyncItemPages
from antiphon.library.parameters import (
    CompactParameters,
    CountParameters,
    InputPageParameters,
    PageParameters,
    ResponseParameters,
)
from antiphon.library.reading import read_item, read_object
from antiphon.library.service import Service
from antiphon.library.streams import AsyncResponseStream
from antiphon.protocol.items.content import Item
from antiphon.protocol.requests import Include
from antiphon.protocol.response import OutputItem, Response
from antiphon.protocol.results import (
    CompactedResponse,
    Conversation,
    DeletedConversation,
    DeletedResponse,
    InputTokenCount,
    ItemPage,
    Model,
    ModelList,
)
from antiphon.protocol.validation.validate import (
    decode_add_items,
    decode_compact_request,
    decode_count,
    decode_create_conversation,
    decode_update_conversation,
)
from antiphon.upstream.backend import Backend


class AsyncAntiphon:
    """The Responses API inside your program: `responses`, `conversations` and `models`, as in the official SDK.

    Without arguments it is the scripted model `demo`. `backend` is a base URL with its `key`, or any `Backend`; `store`
    is where state is kept, by default in memory; `settings` are those of a server. A client belongs to the event loop
    of its first use. Methods raise `ClientError` for a request that the API answers with 4xx, `BackendError` if the
    model's server fails, `StoreError` if the store does, `ConfigError` for settings that cannot be used, and
    `RuntimeError` if the client is closed or belongs to another event loop.

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
    """Responses: create, stream, retrieve, cancel, delete, compact, and what they were made from."""

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
        """Create a response and wait for it; with `stream=True`, return its events as they come.

        With `background=True` the response is queued, and made while a client or a server has its store open.
        """
        if stream:
            return await self.stream(**parameters).begin()
        return await self._calls.create(parameters)

    def stream(self, **parameters: Unpack[ResponseParameters]) -> AsyncResponseStream:
        """Return the events of a new response as they come; the request begins with the first of them."""
        return self._calls.stream(self._calls.batches(parameters))

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
        """Make a context shorter; the `output` of the result is the next request's input."""
        request, is_large = await self._calls.decoded(parameters, decode_compact_request)
        compacted = await (await self._calls.gateway()).compact(request, TENANT, is_large=is_large)
        return await self._calls.read(CompactedResponse, msgspec.to_builtins(compacted), is_large=is_large)


class AsyncInputItems:
    """The items that responses were made from."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    def list(self, response_id: str, **parameters: Unpack[InputPageParameters]) -> AsyncItemPages:
        """Return the items that a response was made from, newest first unless `order` is `asc`."""

        async def fetch(after: str | None) -> ItemPage:
            query = page_query({**parameters, **_from(after)})
            gateway = await self._calls.gateway()
            return await self._calls.read(ItemPage, await gateway.input_items(TENANT, response_id, query))

        return AsyncItemPages(fetch)


class AsyncInputTokens:
    """Counts of tokens."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def count(self, **parameters: Unpack[CountParameters]) -> InputTokenCount:
        """Return how many tokens the input of such a response has; nothing is made or stored."""
        request, is_large = await self._calls.decoded(parameters, decode_count)
        count = await (await self._calls.gateway()).count_tokens(request, TENANT, is_large=is_large)
        return InputTokenCount(input_tokens=count.input_tokens, is_exact=count.is_exact)


class AsyncConversations:
    """Conversations, which keep their items on the server's side."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self.items = AsyncConversationItems(calls)

    async def create(
        self, *, items: Sequence[Mapping[str, Any] | Item] | None = None, metadata: Mapping[str, str] | None = None
    ) -> Conversation:
        """Create a conversation with its first items."""
        body = {"items": items, "metadata": metadata}
        request, is_large = await self._calls.decoded(body, decode_create_conversation)
        gateway = await self._calls.gateway()
        ticket = RequestIdentity(TENANT, gateway.new_id("conv"), is_large=is_large)
        return read_object(await gateway.conversations.create(request, ticket), Conversation)

    async def retrieve(self, conversation_id: str) -> Conversation:
        """Return a conversation."""
        gateway = await self._calls.gateway()
        return read_object(await gateway.conversations.retrieve(TENANT, conversation_id), Conversation)

    async def update(self, conversation_id: str, *, metadata: Mapping[str, str] | None) -> Conversation:
        """Replace the metadata of a conversation."""
        request, _ = await self._calls.decoded({"metadata": metadata}, decode_update_conversation)
        gateway = await self._calls.gateway()
        updated = await gateway.conversations.update(TENANT, conversation_id, request.metadata)
        return read_object(updated, Conversation)

    async def delete(self, conversation_id: str) -> DeletedConversation:
        """Delete a conversation with its items."""
        gateway = await self._calls.gateway()
        return read_object(await gateway.conversations.delete(TENANT, conversation_id), DeletedConversation)


class AsyncConversationItems:
    """The items of conversations."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def create(
        self,
        conversation_id: str,
        *,
        items: Sequence[Mapping[str, Any] | Item],
        include: Sequence[Include] | None = None,
    ) -> ItemPage:
        """Append items; return them."""
        included = list(shown(include))
        request, is_large = await self._calls.decoded({"items": items}, decode_add_items)
        gateway = await self._calls.gateway()
        added = gateway.conversations.add_items(TENANT, conversation_id, request, included, is_large=is_large)
        return await self._calls.read(ItemPage, await added)

    def list(self, conversation_id: str, **parameters: Unpack[PageParameters]) -> AsyncItemPages:
        """Return the items, newest first unless `order` is `asc`."""

        async def fetch(after: str | None) -> ItemPage:
            query = page_query({**parameters, **_from(after)})
            gateway = await self._calls.gateway()
            return await self._calls.read(
                ItemPage, await gateway.conversations.list_items(TENANT, conversation_id, query)
            )

        return AsyncItemPages(fetch)

    async def retrieve(
        self, item_id: str, *, conversation_id: str, include: Sequence[Include] | None = None
    ) -> OutputItem:
        """Return an item."""
        gateway = await self._calls.gateway()
        return read_item(await gateway.conversations.retrieve_item(TENANT, conversation_id, item_id, shown(include)))

    async def delete(self, item_id: str, *, conversation_id: str) -> Conversation:
        """Delete an item; return its conversation."""
        gateway = await self._calls.gateway()
        return read_object(await gateway.conversations.delete_item(TENANT, conversation_id, item_id), Conversation)


class AsyncModels:
    """The models that requests can name."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def list(self) -> ModelList:
        """Return the models of all backends, which are asked for them now."""
        models = await (await self._calls.gateway()).models(_no_key)
        return ModelList(data=msgspec.convert(models, list[Model]))


async def _no_key() -> None:
    """Calls inside a program need no API key, so they see every model."""


def _from(after: str | None) -> dict[str, str]:
    """Return the parameter that asks for the page after an item, in place of the request's own."""
    return {} if after is None else {"after": after}
