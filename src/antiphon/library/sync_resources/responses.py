"""Responses of `Antiphon`, their input items, and counts of tokens.

Written by `scripts/sync_client.py`.
"""

from collections.abc import Sequence
from typing import Any, Literal, TypeVar, Unpack, overload

from antiphon.library.background_loop import LoopOwner
from antiphon.library.pages import Pages
from antiphon.library.parameters import (
    CallOptions,
    CompactParameters,
    CountParameters,
    InputPageParameters,
    ResponseParameters,
)
from antiphon.library.resources.responses import AsyncInputItems, AsyncInputTokens, AsyncResponses
from antiphon.library.signatures import spelled_out
from antiphon.library.streams import AsyncResponseStream, ResponseStream
from antiphon.protocol.requests import Include
from antiphon.protocol.response import OutputItem, Response
from antiphon.protocol.results import (
    CompactedResponse,
    DeletedResponse,
    InputTokenCount,
    ParsedResponse,
)

T = TypeVar("T")


class Responses:
    """Responses: create, stream, parse, retrieve, cancel, delete, compact, and list their input
    items."""

    def __init__(self, resource: AsyncResponses, owner: LoopOwner) -> None:
        self._resource = resource
        self._owner = owner
        self.input_items = InputItems(resource.input_items, owner)
        self.input_tokens = InputTokens(resource.input_tokens, owner)

    @overload
    def create(
        self, *, stream: Literal[False] | None = None, **parameters: Unpack[ResponseParameters]
    ) -> Response: ...

    @overload
    def create(
        self, *, stream: Literal[True], **parameters: Unpack[ResponseParameters]
    ) -> ResponseStream: ...

    @spelled_out
    def create(
        self, *, stream: bool | None = None, **parameters: Unpack[ResponseParameters]
    ) -> Response | ResponseStream:
        """Create a response and wait for it; with `stream=True`, return its events as they arrive.

        With `background=True` the response is queued, and runs while a client or a server has its
        store open.
        """
        method: Any = self._resource.create
        result_stream: Any = self._owner.run(method(stream=stream, **parameters))
        result: Response | ResponseStream = (
            ResponseStream(result_stream, self._owner)
            if isinstance(result_stream, AsyncResponseStream)
            else result_stream
        )
        return result

    @overload
    def stream(self, **parameters: Unpack[ResponseParameters]) -> ResponseStream: ...

    @overload
    def stream(
        self, *, response_id: str, starting_after: int | None = None, **options: Unpack[CallOptions]
    ) -> ResponseStream: ...

    @spelled_out
    def stream(
        self,
        *,
        response_id: str | None = None,
        starting_after: int | None = None,
        **parameters: Unpack[ResponseParameters],
    ) -> ResponseStream:
        """Return the events of a new response as they arrive; the request begins with the first of them.

        With `response_id`, return the events of that background response instead, to its end. `starting_after` is the
        `sequence_number` of the last event that was read: the stream resumes after it. Raises `TypeError` if the
        parameters of a new response accompany a `response_id`, or if `starting_after` has none.

        >>> from antiphon import Antiphon
        >>> with Antiphon() as client:
        ...     queued = client.responses.create(model="demo", input="Hi", background=True, stream=True)
        ...     first = next(queued)
        ...     with client.responses.stream(response_id=first.response.id, starting_after=0) as stream:
        ...         response = stream.get_final_response()
        ...         print(response.status)
        completed
        """  # noqa: E501 - a table, a diagram or an example
        method: Any = self._resource.stream
        return ResponseStream(
            method(response_id=response_id, starting_after=starting_after, **parameters),
            self._owner,
        )

    @spelled_out
    def parse(
        self, *, text_format: type[T], **parameters: Unpack[ResponseParameters]
    ) -> ParsedResponse[T]:
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
        ...     response = client.responses.parse(model="demo", input=question, text_format=City)
        ...     print(response.output_parsed)
        City(name='Oslo')
        """  # noqa: E501 - a table, a diagram or an example
        return self._owner.run(self._resource.parse(text_format=text_format, **parameters))

    @overload
    def retrieve(
        self,
        response_id: str,
        *,
        include: Sequence[Include] | None = None,
        stream: Literal[False] | None = None,
        **options: Unpack[CallOptions],
    ) -> Response: ...

    @overload
    def retrieve(
        self,
        response_id: str,
        *,
        stream: Literal[True],
        starting_after: int | None = None,
        **options: Unpack[CallOptions],
    ) -> ResponseStream: ...

    @spelled_out
    def retrieve(
        self,
        response_id: str,
        *,
        include: Sequence[Include] | None = None,
        stream: bool | None = None,
        starting_after: int | None = None,
        **options: Unpack[CallOptions],
    ) -> Response | ResponseStream:
        """Return a stored response; with `stream=True`, the events of a background response, to its
        end.

        `starting_after` is the `sequence_number` of the last event that was read: the stream
        resumes after it.
        """
        method: Any = self._resource.retrieve
        result_stream: Any = self._owner.run(
            method(
                response_id,
                include=include,
                stream=stream,
                starting_after=starting_after,
                **options,
            )
        )
        result: Response | ResponseStream = (
            ResponseStream(result_stream, self._owner)
            if isinstance(result_stream, AsyncResponseStream)
            else result_stream
        )
        return result

    @spelled_out
    def cancel(self, response_id: str, **options: Unpack[CallOptions]) -> Response:
        """Cancel a background response; return it in its current state."""
        return self._owner.run(self._resource.cancel(response_id, **options))

    @spelled_out
    def delete(self, response_id: str, **options: Unpack[CallOptions]) -> DeletedResponse:
        """Delete a stored response."""
        return self._owner.run(self._resource.delete(response_id, **options))

    @spelled_out
    def compact(self, **parameters: Unpack[CompactParameters]) -> CompactedResponse:
        """Compact a context; the `output` of the result is the input of the next request."""
        return self._owner.run(self._resource.compact(**parameters))


class InputItems:
    """The input items of responses."""

    def __init__(self, resource: AsyncInputItems, owner: LoopOwner) -> None:
        self._resource = resource
        self._owner = owner

    @spelled_out
    def list(
        self, response_id: str, **parameters: Unpack[InputPageParameters]
    ) -> Pages[OutputItem]:
        """Return the input items of a response, newest first unless `order` is `asc`."""
        return Pages(self._resource.list(response_id, **parameters), self._owner)


class InputTokens:
    """Counts of tokens."""

    def __init__(self, resource: AsyncInputTokens, owner: LoopOwner) -> None:
        self._resource = resource
        self._owner = owner

    @spelled_out
    def count(self, **parameters: Unpack[CountParameters]) -> InputTokenCount:
        """Return how many tokens the input of such a response has; nothing is generated or
        stored."""
        return self._owner.run(self._resource.count(**parameters))
