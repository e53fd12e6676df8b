"""The API's methods as coroutines over the gateway, from keyword arguments to typed objects."""

import weakref
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import aclosing, suppress
from typing import Any, TypeVar

import msgspec

from antiphon.gateway import CutOff, Gateway, JsonObject, LargeObject, RequestIdentity, Run, encode_large, going_away
from antiphon.library.parameters import as_query
from antiphon.library.reading import own_event, read_event, read_object
from antiphon.library.service import Service
from antiphon.library.streams import LOST, AsyncResponseStream, Batches, cut_off
from antiphon.protocol.events import Event
from antiphon.protocol.objects import ApiObject
from antiphon.protocol.requests import CreateResponse, Include
from antiphon.protocol.resources import InputItemsQuery
from antiphon.protocol.response import Response
from antiphon.protocol.validation.queries import decode_include, decode_input_items_query, decode_stream_query
from antiphon.protocol.validation.validate import LARGE, decode_json, decode_request

T = TypeVar("T", bound=ApiObject)
R = TypeVar("R", bound=msgspec.Struct)

TENANT = ""
"""The tenant of calls inside a program, as of a server's requests without an API key."""


class Calls:
    """What the resources of a client share."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._gateway: Gateway | None = None
        self._streams: weakref.WeakSet[AsyncResponseStream] = weakref.WeakSet()

    def stream(self, batches: Batches) -> AsyncResponseStream:
        """Return a stream of these events, which `close` closes if it is still open then."""
        stream = AsyncResponseStream(batches)
        self._streams.add(stream)
        return stream

    async def close(self) -> None:
        """Close the open streams, then everything that they need."""
        for stream in list(self._streams):
            with suppress(RuntimeError):  # another task is reading it, and will see the end
                await stream.close()
        await self._service.close()

    async def gateway(self) -> Gateway:
        """Return the gateway; everything behind it opens at first use."""
        engine = (await self._service.open()).engine
        if self._gateway is None:
            self._gateway = Gateway(engine)
        return self._gateway

    async def create(self, parameters: Mapping[str, Any]) -> Response:
        """Create a response; return it whole, or queued if it is a background response."""
        gateway, request, body, ticket = await self._request(parameters, stream=False)
        if request.background:
            queued = await gateway.enqueue(request, body, ticket)
            return read_object(msgspec.to_builtins(queued.response), Response)
        run = await gateway.create(request, ticket)
        response = await run.result()
        return await self.read(Response, msgspec.to_builtins(response), is_large=ticket.is_large)

    async def batches(self, parameters: Mapping[str, Any]) -> AsyncGenerator[Sequence[Event], None]:
        """Create a response; yield its events as they arrive."""
        gateway, request, body, ticket = await self._request(parameters, stream=True)
        if request.background:
            queued = await gateway.enqueue(request, body, ticket)
            source = _replayed(gateway, queued.response.id, -1)
        else:
            source = _made(await gateway.create(request, ticket))
        async with aclosing(source):
            async for batch in source:
                yield batch

    async def replayed(self, response_id: str, starting_after: int | None) -> AsyncGenerator[Sequence[Event], None]:
        """Yield the events of a background response after a number, to the end."""
        gateway = await self.gateway()
        query = decode_stream_query(as_query({"starting_after": starting_after}))
        await gateway.check_replay(TENANT, response_id)
        after = -1 if query.starting_after is None else query.starting_after
        async with aclosing(_replayed(gateway, response_id, after)) as source:
            async for batch in source:
                yield batch

    async def decoded(self, parameters: Mapping[str, Any], decode: Callable[[bytes], R]) -> tuple[R, bool]:
        """Return parameters as a request, and whether it is large. Raises `ClientError`."""
        body = encoded(parameters)
        if len(body) <= LARGE:
            return decode(body), False
        return await (await self.gateway()).offload(TENANT, decode, body), True

    async def read(self, kind: type[T], data: JsonObject, *, is_large: bool = False) -> T:
        """Return what the gateway returned as a typed object; a large one is read in a thread."""
        if not is_large and not isinstance(data, LargeObject):
            return read_object(data, kind)
        return await (await self.gateway()).offload(TENANT, _read_large, data, kind)

    async def _request(
        self, parameters: Mapping[str, Any], *, stream: bool
    ) -> tuple[Gateway, CreateResponse, bytes, RequestIdentity]:
        gateway = await self.gateway()
        if not gateway.accepts_work:
            raise going_away()
        extra = parameters.get("extra_body") or {}
        named = {name: value for name, value in parameters.items() if name != "extra_body"}
        body = encoded({**named, **extra, "stream": stream})
        request, is_large = await self._decoded_request(gateway, body)
        if request.prompt is not None:
            request, body = await gateway.prompts.resolve(TENANT, request, len(body))
        ticket = RequestIdentity(TENANT, gateway.new_id("resp"), size=len(body), is_large=is_large)
        return gateway, request, body, ticket

    async def _decoded_request(self, gateway: Gateway, body: bytes) -> tuple[CreateResponse, bool]:
        if len(body) <= LARGE:
            return decode_request(body, gateway.accepts), False
        return await gateway.offload(TENANT, decode_request, body, gateway.accepts), True


def encoded(parameters: Mapping[str, Any]) -> bytes:
    """Return parameters as JSON; objects of the official SDK are sent as it sends them. Raises `TypeError`."""
    return msgspec.json.encode(parameters, enc_hook=_plain)


def _plain(value: Any) -> Any:
    dump = getattr(value, "model_dump", None)
    if dump is None:
        raise TypeError(f"A parameter holds a value of the type '{type(value).__name__}', which has no form in JSON.")
    return dump(mode="json", exclude_unset=True, warnings=False)


def page_query(parameters: Mapping[str, Any]) -> InputItemsQuery:
    """Return the parameters of a list as its query. Raises `ClientError`."""
    return decode_input_items_query(as_query(parameters))


def shown(include: Sequence[Include] | None) -> Collection[Include]:
    """Return `include` after validation. Raises `ClientError`."""
    return decode_include({"include": list(include or ())})


async def _made(run: Run) -> AsyncGenerator[Sequence[Event], None]:
    async with aclosing(run.events()) as batches:
        async for batch in batches:
            yield [own_event(event) for event in batch]


async def _replayed(gateway: Gateway, response_id: str, after: int) -> AsyncGenerator[Sequence[Event], None]:
    async with aclosing(gateway.replay(TENANT, response_id, after)) as frames:
        async for body in _whole(frames):
            events = [line for line in body.split(b"\n") if line.startswith(b"data: ")]
            if len(body) <= LARGE:
                yield [_event(line) for line in events]
            else:
                for line in events:
                    yield [await gateway.offload(TENANT, _event, line)]


async def _whole(frames: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    """Yield the frames of a replay. Raises `AntiphonError` if the log ends before the response does."""
    try:
        async for body in frames:
            yield body
    except CutOff:
        raise cut_off(LOST) from None


def _event(line: bytes) -> Event:
    return read_event(decode_json(line[len(b"data: ") :]))


def _read_large(data: JsonObject, kind: type[T]) -> T:
    return read_object(decode_json(encode_large(data)) if isinstance(data, LargeObject) else data, kind)
