"""`Antiphon`: the Responses API as an object, for programs without an event loop, and for every thread."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self, TypeVar, Unpack, overload

from antiphon.config import Settings
from antiphon.library.async_client import AsyncAntiphon
from antiphon.library.background_loop import LoopOwner
from antiphon.library.pages import ItemPages
from antiphon.library.parameters import (
    CompactParameters,
    CountParameters,
    InputPageParameters,
    PageParameters,
    ResponseParameters,
)
from antiphon.library.streams import AsyncResponseStream, ResponseStream
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
    ParsedResponse,
)
from antiphon.upstream.backend import Backend

T = TypeVar("T")


class Caller(LoopOwner):
    """Runs the asynchronous client in a thread of its own. Every usable object of the client refers to it."""

    def __init__(self, client: AsyncAntiphon) -> None:
        super().__init__(client.close)
        self.client = client


class Antiphon:
    """The Responses API inside your program: `responses`, `conversations` and `models`, as in the official SDK.

    It is `AsyncAntiphon` without `await`, with the same arguments and errors. Without arguments it is the scripted
    model `demo`, with its state in memory.

    Any thread can use it, also one with a running event loop, which waits meanwhile. It works in one thread of its own,
    which begins with the first call and ends with `close`, the end of `with`, or the end of the program. After a fork,
    a client that was used before raises `RuntimeError`.

    >>> from antiphon import Antiphon
    >>> with Antiphon() as client:
    ...     response = client.responses.create(model="demo", input="My name is Ada.")
    ...     print(response.output_text)
    I am demo, Antiphon's scripted model. I received 1 message. You said: My name is Ada.
    """

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        backend: str | Backend | None = None,
        key: str = "",
        store: str | None = None,
    ) -> None:
        self._caller = Caller(AsyncAntiphon(settings, backend=backend, key=key, store=store))
        self.responses = Responses(self._caller)
        self.conversations = Conversations(self._caller)
        self.models = Models(self._caller)

    def close(self) -> None:
        """Release connections, the store and the thread. The next process that opens the store continues its work."""
        self._caller.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class Responses:
    """Responses: create, stream, parse, retrieve, cancel, delete, compact, and list their input items."""

    def __init__(self, caller: Caller) -> None:
        self._caller, self._responses = caller, caller.client.responses
        self.input_items = InputItems(caller)
        self.input_tokens = InputTokens(caller)

    @overload
    def create(self, *, stream: Literal[False] | None = None, **parameters: Unpack[ResponseParameters]) -> Response: ...

    @overload
    def create(self, *, stream: Literal[True], **parameters: Unpack[ResponseParameters]) -> ResponseStream: ...

    def create(
        self, *, stream: bool | None = None, **parameters: Unpack[ResponseParameters]
    ) -> Response | ResponseStream:
        """Create a response and wait for it; with `stream=True`, return its events as they arrive.

        With `background=True` the response is queued, and runs while a client or a server has its store open.
        """
        if stream:
            return self._stream(self._caller.run(self._responses.create(stream=True, **parameters)))
        return self._caller.run(self._responses.create(**parameters))

    @overload
    def stream(self, **parameters: Unpack[ResponseParameters]) -> ResponseStream: ...

    @overload
    def stream(self, *, response_id: str, starting_after: int | None = None) -> ResponseStream: ...

    def stream(self, **parameters: Any) -> ResponseStream:
        """Return the events of a new response as they arrive; the request begins with the first of them.

        With `response_id`, return the events of that background response instead, to its end. `starting_after` is the
        `sequence_number` of the last event that was read: the stream resumes after it. Raises `TypeError` if the
        parameters of a new response accompany a `response_id`, or if `starting_after` has none.

        >>> from antiphon import Antiphon
        >>> with Antiphon() as client:
        ...     events = client.responses.create(model="demo", input="Hi", background=True, stream=True)
        ...     first = next(events)
        ...     with client.responses.stream(response_id=first.response.id, starting_after=0) as stream:
        ...         stream.get_final_response().status
        'completed'
        """
        return self._stream(self._responses.stream(**parameters))

    def parse(self, *, text_format: type[T], **parameters: Unpack[ResponseParameters]) -> ParsedResponse[T]:
        """Create a response and read its answer as an object of a class, which is `output_parsed`.

        `text_format` is a dataclass, a `msgspec.Struct` or a model of pydantic. Its schema is strict: all fields are
        required. Raises `TypeError` for another type, and `ValueError` for an answer that does not fit the class.

        >>> from dataclasses import dataclass
        >>> from antiphon import Antiphon
        >>> @dataclass
        ... class City:
        ...     name: str
        >>> with Antiphon() as client:
        ...     question = 'answer {"name": "Oslo"}'
        ...     client.responses.parse(model="demo", input=question, text_format=City).output_parsed
        City(name='Oslo')
        """
        return self._caller.run(self._responses.parse(text_format=text_format, **parameters))

    @overload
    def retrieve(
        self, response_id: str, *, include: Sequence[Include] | None = None, stream: Literal[False] | None = None
    ) -> Response: ...

    @overload
    def retrieve(
        self, response_id: str, *, stream: Literal[True], starting_after: int | None = None
    ) -> ResponseStream: ...

    def retrieve(
        self,
        response_id: str,
        *,
        include: Sequence[Include] | None = None,
        stream: bool | None = None,
        starting_after: int | None = None,
    ) -> Response | ResponseStream:
        """Return a stored response; with `stream=True`, the events of a background response, to its end.

        `starting_after` is the `sequence_number` of the last event that was read: the stream resumes after it.
        """
        if stream:
            resumed = self._responses.retrieve(response_id, stream=True, starting_after=starting_after)
            return self._stream(self._caller.run(resumed))
        return self._caller.run(self._responses.retrieve(response_id, include=include))

    def cancel(self, response_id: str) -> Response:
        """Cancel a background response; return it in its current state."""
        return self._caller.run(self._responses.cancel(response_id))

    def delete(self, response_id: str) -> DeletedResponse:
        """Delete a stored response."""
        return self._caller.run(self._responses.delete(response_id))

    def compact(self, **parameters: Unpack[CompactParameters]) -> CompactedResponse:
        """Compact a context; the `output` of the result is the input of the next request."""
        return self._caller.run(self._responses.compact(**parameters))

    def _stream(self, stream: AsyncResponseStream) -> ResponseStream:
        return ResponseStream(stream, self._caller)


class InputItems:
    """The input items of responses."""

    def __init__(self, caller: Caller) -> None:
        self._caller, self._items = caller, caller.client.responses.input_items

    def list(self, response_id: str, **parameters: Unpack[InputPageParameters]) -> ItemPages:
        """Return the input items of a response, newest first unless `order` is `asc`."""
        return ItemPages(self._items.list(response_id, **parameters).fetch, self._caller)


class InputTokens:
    """Counts of tokens."""

    def __init__(self, caller: Caller) -> None:
        self._caller, self._tokens = caller, caller.client.responses.input_tokens

    def count(self, **parameters: Unpack[CountParameters]) -> InputTokenCount:
        """Return how many tokens the input of such a response has; nothing is generated or stored."""
        return self._caller.run(self._tokens.count(**parameters))


class Conversations:
    """Conversations, which keep their items on the server's side."""

    def __init__(self, caller: Caller) -> None:
        self._caller, self._conversations = caller, caller.client.conversations
        self.items = ConversationItems(caller)

    def create(
        self, *, items: Sequence[Mapping[str, Any] | Item] | None = None, metadata: Mapping[str, str] | None = None
    ) -> Conversation:
        """Create a conversation with its first items."""
        return self._caller.run(self._conversations.create(items=items, metadata=metadata))

    def retrieve(self, conversation_id: str) -> Conversation:
        """Return a conversation."""
        return self._caller.run(self._conversations.retrieve(conversation_id))

    def update(self, conversation_id: str, *, metadata: Mapping[str, str] | None) -> Conversation:
        """Replace the metadata of a conversation."""
        return self._caller.run(self._conversations.update(conversation_id, metadata=metadata))

    def delete(self, conversation_id: str) -> DeletedConversation:
        """Delete a conversation with its items."""
        return self._caller.run(self._conversations.delete(conversation_id))


class ConversationItems:
    """The items of conversations."""

    def __init__(self, caller: Caller) -> None:
        self._caller, self._items = caller, caller.client.conversations.items

    def create(
        self,
        conversation_id: str,
        *,
        items: Sequence[Mapping[str, Any] | Item],
        include: Sequence[Include] | None = None,
    ) -> ItemPage:
        """Append items; return them."""
        return self._caller.run(self._items.create(conversation_id, items=items, include=include))

    def list(self, conversation_id: str, **parameters: Unpack[PageParameters]) -> ItemPages:
        """Return the items, newest first unless `order` is `asc`."""
        return ItemPages(self._items.list(conversation_id, **parameters).fetch, self._caller)

    def retrieve(self, item_id: str, *, conversation_id: str, include: Sequence[Include] | None = None) -> OutputItem:
        """Return an item."""
        return self._caller.run(self._items.retrieve(item_id, conversation_id=conversation_id, include=include))

    def delete(self, item_id: str, *, conversation_id: str) -> Conversation:
        """Delete an item; return its conversation."""
        return self._caller.run(self._items.delete(item_id, conversation_id=conversation_id))


class Models:
    """The models that requests can name."""

    def __init__(self, caller: Caller) -> None:
        self._caller, self._models = caller, caller.client.models

    def list(self) -> ModelList:
        """Return the models that the backends have now.

        >>> from antiphon import Antiphon
        >>> with Antiphon() as client:
        ...     [model.id for model in client.models.list()]
        ['demo']
        """
        return self._caller.run(self._models.list().fetch())

    def retrieve(self, model: str) -> Model:
        """Return a model that the backends have now. Raises `ClientError` (404) if no backend has it.

        >>> from antiphon import Antiphon
        >>> with Antiphon() as client:
        ...     client.models.retrieve("demo").owned_by
        'antiphon'
        """
        return self._caller.run(self._models.retrieve(model))
