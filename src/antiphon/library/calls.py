"""The API's methods as coroutines over the gateway, from keyword arguments to typed objects."""

import weakref
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import aclosing, contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from antiphon.errors import AntiphonError, BackendError
from antiphon.gateway import (
    CutOff,
    Gateway,
    JsonObject,
    LargeObject,
    RequestIdentity,
    Run,
    about,
    encode_large,
    going_away,
    within_request,
)
from antiphon.ids import new_id, response_id_of
from antiphon.library.call import ApiCall, encoded, path
from antiphon.library.options import Options, limited
from antiphon.library.pages import AsyncPages, Listed, last_id
from antiphon.library.parameters import as_query, following, with_extra, without_options
from antiphon.library.reading import own_event, read_event, read_image_event, read_object
from antiphon.library.service import LibraryService
from antiphon.library.streams import LOST, AsyncResponseStream, AsyncStream, Batches, cut_off
from antiphon.protocol.events import Event, Keepalive
from antiphon.protocol.objects import ApiObject
from antiphon.protocol.requests import CreateResponse, Include
from antiphon.protocol.resources import InputItemsQuery
from antiphon.protocol.response import Response
from antiphon.protocol.results import InputTokenCount
from antiphon.protocol.validation.queries import (
    decode_include,
    decode_input_items_query,
    decode_stream_query,
)
from antiphon.protocol.validation.validate import decode_json
from antiphon.sizes import LARGE

if TYPE_CHECKING:
    from antiphon.library.api import Api
    from antiphon.library.contents import BinaryContent

T = TypeVar("T", bound=ApiObject)
R = TypeVar("R", bound=msgspec.Struct)

TENANT = ""
"""The tenant of calls inside a program, as of a server's requests without an API key."""


DATA = b"data: "
DONE = b"data: [DONE]"


class Calls:
    """What the resources of a client share."""

    def __init__(self, service: LibraryService) -> None:
        self._service = service
        self._api: Api | None = None
        self._streams: weakref.WeakSet[AsyncStream[Any]] = weakref.WeakSet()

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
        if self._api is not None:
            await self._api.close()
        await self._service.close()

    async def gateway(self) -> Gateway:
        """Return the gateway; everything behind it opens at first use."""
        return (await self._service.open()).gateway

    async def api(self) -> "Api":
        """Return the HTTP API in this process, which is loaded and created at first use."""
        await self._service.open()  # raises RuntimeError if the client is closed
        if self._api is None:
            from antiphon.library.api import Api  # noqa: PLC0415 - for the methods and options that need HTTP

            self._api = Api(self._service)
        return self._api

    async def call(
        self,
        kind: type[T],
        call: ApiCall,
        options: Options,
        direct: Callable[[Gateway], Awaitable[JsonObject | T]],
    ) -> T:
        """Return the result of the gateway as a typed object; of the HTTP API, if the call has
        headers.
        """
        if options.headers:
            return await self.send(kind, call, options)
        async with limited(options.timeout):
            with identified():
                result = await direct(await self.gateway())
                return await self.read(kind, result) if isinstance(result, dict) else result

    async def plain(
        self, call: ApiCall, options: Options, direct: Callable[[Gateway], Awaitable[JsonObject]]
    ) -> JsonObject:
        """Return the result as plain data, otherwise as `call`."""
        if options.headers:
            body, _ = await self._reply(call, options)
            result: JsonObject = decode_json(body)
            return result
        async with limited(options.timeout):
            with identified():
                return await direct(await self.gateway())

    async def send(self, kind: type[T], call: ApiCall, options: Options) -> T:
        """Return the result of the HTTP API as a typed object."""
        body, _ = await self._reply(call, options)
        return await (await self.gateway()).offload(TENANT, len(body), _read_body, body, kind)

    def pages(
        self,
        kind: type[T],
        where: str,
        parameters: Mapping[str, Any],
        cursor: Callable[[Listed[Any]], str | None] = last_id,
    ) -> AsyncPages[T]:
        """Return a list of the HTTP API: the objects of this kind at a path."""
        from antiphon.protocol.hosted_results import ListPage  # noqa: PLC0415 - for these lists alone

        options = Options.of(parameters)
        filters = without_options(parameters)

        async def fetch(after: str | None) -> Listed[T]:
            query = as_query({**filters, **following(after)})
            return await self.send(ListPage[kind], ApiCall("GET", where, query), options)  # type: ignore[valid-type]

        return AsyncPages(fetch, cursor)

    async def content(self, where: str, options: Options) -> "BinaryContent":
        """Return the content at a path of the HTTP API."""
        from antiphon.library.contents import BinaryContent  # noqa: PLC0415 - for files alone

        body, _ = await self._reply(ApiCall("GET", where), options)
        return BinaryContent(body)

    async def image_events(self, call: ApiCall, options: Options) -> AsyncStream[Any]:
        """Return the events of images, once the first has arrived.

        Raises the error of the request.
        """
        gateway = await self.gateway()
        api = await self.api()

        async def source() -> AsyncGenerator[Sequence[Any], None]:
            has_events = False
            async with aclosing(api.lines(call, options)) as batches:
                async for lines in batches:
                    for line in lines:
                        if line != DONE:
                            has_events = True
                            data = line[len(DATA) :]
                            yield [await gateway.in_thread(TENANT, read_image_event, data)]
            if not has_events:
                raise BackendError(
                    "The backend returned images without a stream. "
                    "Send the request without `stream`."
                )

        stream = AsyncStream(source())
        self._streams.add(stream)
        return await stream.begin()

    async def counted(self, call: ApiCall, options: Options) -> InputTokenCount:
        """Return a count of the HTTP API; a header of the reply states whether it is exact."""
        body, headers = await self._reply(call, options)
        is_exact = headers.get(b"antiphon-token-count") == b"exact"
        return InputTokenCount(input_tokens=decode_json(body)["input_tokens"], is_exact=is_exact)

    async def create(self, parameters: Mapping[str, Any]) -> Response:
        """Create a response; return it whole, or queued if it is a background response."""
        options = Options.of(parameters)
        if options.headers:
            return await self.send(Response, _response_call(parameters, stream=False), options)
        async with limited(options.timeout):
            with identified():
                gateway, request, body, identity = await self._request(parameters, stream=False)
                if request.model in gateway.known_agents.names:  # only the HTTP API calls them
                    call = _response_call(parameters, stream=False)
                    return await self.send(Response, call, options)
                if request.background:
                    queued = await gateway.queue.enqueue(request, body, identity)
                    return read_object(msgspec.to_builtins(queued.response), Response)
                run = await gateway.create(request, identity)
                response = await run.result()
                return await self.read(Response, msgspec.to_builtins(response), identity.work)

    async def batches(self, parameters: Mapping[str, Any]) -> AsyncGenerator[Sequence[Event], None]:
        """Create a response; yield its events as they arrive."""
        options = Options.of(parameters)
        if options.headers:
            source = self._sent(_response_call(parameters, stream=True), options)
        else:
            async with limited(options.timeout):
                with identified():
                    source = await self._begun(parameters, options)
        async with aclosing(
            source if options.timeout is None else within(options.timeout, source)
        ) as batches:
            async for batch in batches:
                yield batch

    async def replayed(
        self, response_id: str, starting_after: int | None, options: Options
    ) -> AsyncGenerator[Sequence[Event], None]:
        """Yield the events of a background response after a number, to the end."""
        query = as_query({"starting_after": starting_after})
        if options.headers:
            call = ApiCall("GET", path("/responses/{}", response_id), {**query, "stream": ["true"]})
            source = self._sent(call, options)
        else:
            with identified():
                gateway = await self.gateway()
                after = decode_stream_query(query).starting_after
                await gateway.replays.check(TENANT, response_id)
            source = _replayed(gateway, response_id, -1 if after is None else after)
        async with aclosing(
            source if options.timeout is None else within(options.timeout, source)
        ) as batches:
            async for batch in batches:
                yield batch

    async def decoded(
        self, parameters: Mapping[str, Any], decode: Callable[[bytes], R]
    ) -> tuple[R, int]:
        """Return parameters as a request, and the bytes of its JSON. Raises `ClientError`."""
        body = encoded(without_options(parameters))
        size = len(body)
        return await (await self.gateway()).offload(TENANT, size, decode, body), size

    async def read(self, kind: type[T], data: JsonObject, size: int = 0) -> T:
        """Return what the gateway returned for a request of `size` bytes as a typed object."""
        gateway = await self.gateway()
        if isinstance(data, LargeObject):
            return await gateway.in_thread(TENANT, _read_large, data, kind)
        return await gateway.offload(TENANT, size, read_object, data, kind)

    async def _reply(self, call: ApiCall, options: Options) -> tuple[bytes, Mapping[bytes, bytes]]:
        async with limited(options.timeout):
            return await (await self.api()).send(call, options)

    async def _begun(self, parameters: Mapping[str, Any], options: Options) -> Batches:
        gateway, request, body, identity = await self._request(parameters, stream=True)
        if request.model in gateway.known_agents.names:
            return self._sent(_response_call(parameters, stream=True), options)
        if request.background:
            queued = await gateway.queue.enqueue(request, body, identity)
            return _replayed(gateway, queued.response.id, -1)
        return _created(await gateway.create(request, identity))

    async def _sent(self, call: ApiCall, options: Options) -> AsyncGenerator[Sequence[Event], None]:
        gateway = await self.gateway()
        api = await self.api()
        async with aclosing(api.lines(call, options)) as batches:
            async for lines in batches:
                async for events in _read_lines(gateway, lines):
                    # A `keepalive` says that the model is silent, which a `timeout` limits.
                    if spoken := [event for event in events if not isinstance(event, Keepalive)]:
                        yield spoken

    async def _request(
        self, parameters: Mapping[str, Any], *, stream: bool
    ) -> tuple[Gateway, CreateResponse, bytes, RequestIdentity]:
        gateway = await self.gateway()
        if not gateway.process.accepts_work:
            raise going_away()
        body = encoded(_creation(parameters, stream=stream))
        request, work = await gateway.decode(TENANT, body)
        if request.prompt is not None:
            request, body = await gateway.prompts.resolve(TENANT, request, len(body))
        response_id = response_id_of(about().request_id)
        identity = RequestIdentity(TENANT, response_id, size=len(body), work=work)
        return gateway, request, body, identity


@contextmanager
def identified() -> Iterator[None]:
    """Give the call inside a request id, which is in the log, and in `request_id` of its error."""
    request_id = new_id("req")
    with within_request(request_id):
        try:
            yield
        except AntiphonError as error:
            error.request_id = error.request_id or request_id
            raise


async def within(seconds: float, source: Batches) -> AsyncGenerator[Sequence[Event], None]:
    """Yield what the source yields; wait for each at most this time. Raises `APITimeoutError`."""
    async with aclosing(source):
        while True:
            async with limited(seconds):
                batch = await anext(source, None)
            if batch is None:
                return
            yield batch


def _creation(parameters: Mapping[str, Any], *, stream: bool) -> dict[str, Any]:
    return {**with_extra(parameters), "stream": stream}


def _response_call(parameters: Mapping[str, Any], *, stream: bool) -> ApiCall:
    return ApiCall("POST", "/responses", body=_creation(parameters, stream=stream))


def page_query(parameters: Mapping[str, Any]) -> InputItemsQuery:
    """Return the parameters of a list as its query. Raises `ClientError`."""
    return decode_input_items_query(as_query(parameters))


def displayed(include: Sequence[Include] | None) -> Collection[Include]:
    """Return `include` after validation. Raises `ClientError`."""
    return decode_include({"include": list(include or ())})


async def _created(run: Run) -> AsyncGenerator[Sequence[Event], None]:
    async with aclosing(run.events()) as batches:
        async for batch in batches:
            yield [own_event(event) for event in batch]


async def _replayed(
    gateway: Gateway, response_id: str, after: int
) -> AsyncGenerator[Sequence[Event], None]:
    async with aclosing(gateway.replays.events(TENANT, response_id, after)) as frames:
        async for body in _whole(frames):
            lines = [line for line in body.split(b"\n") if line.startswith(b"data: ")]
            async for events in _read_lines(gateway, lines):
                yield events


async def _whole(frames: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    """Yield the frames of a replay.

    Raises `AntiphonError` if the log ends before the response does.
    """
    try:
        async for body in frames:
            yield body
    except CutOff:
        raise cut_off(LOST) from None


async def _read_lines(
    gateway: Gateway, lines: Sequence[bytes]
) -> AsyncGenerator[Sequence[Event], None]:
    """Yield the events in lines that arrived together; large ones one by one."""
    size = sum(map(len, lines))
    for some in [lines] if size <= LARGE else [[line] for line in lines]:
        yield await gateway.offload(TENANT, size, _events, some)


def _events(lines: Sequence[bytes]) -> Sequence[Event]:
    return [read_event(decode_json(line[len(DATA) :])) for line in lines]


def _read_body(body: bytes, kind: type[T]) -> T:
    return read_object(decode_json(body), kind)


def _read_large(data: JsonObject, kind: type[T]) -> T:
    return read_object(decode_json(encode_large(data)), kind)
