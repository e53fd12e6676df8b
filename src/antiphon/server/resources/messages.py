"""`/v1/messages`: Anthropic's Messages API, over the same runs as `/v1/responses`."""

from collections.abc import Sequence

from antiphon.errors import reportable
from antiphon.gateway import Gateway, RequestIdentity, Weight, going_away
from antiphon.gateway.messages import PING, MessageAnswer, MessageReader
from antiphon.ids import response_id_of
from antiphon.protocol.events import Event
from antiphon.protocol.messages.limits import limit_headers
from antiphon.protocol.requests import CreateResponse
from antiphon.server.admission import CACHE_HEADER, acquire, with_cache
from antiphon.server.described import Described
from antiphon.server.exchange import EventStream
from antiphon.server.message_errors import PLACE, REQUEST_ID, SIZE
from antiphon.server.reply import (
    SSE,
    DisconnectWatch,
    Reply,
    ReplySink,
    Resources,
    raw_headers,
    run_headers,
)
from antiphon.server.request import ClientDisconnected, HttpRequest
from antiphon.telemetry.context import about, current


def resources(gateway: Gateway) -> Resources:
    """Return the endpoints by path."""
    api = _Messages(gateway)
    return {
        "/v1/messages": {"POST": api.create},
        "/v1/messages/count_tokens": {"POST": api.count_tokens},
    }


def described() -> Sequence[Described]:
    """Return the rows of `/openapi.json`. The bodies are Anthropic's, which describes them."""
    shared = {
        "model": {"type": "string"},
        "messages": {"type": "array", "minItems": 1, "items": {"type": "object"}},
        "system": {"type": ["string", "array"]},
        "tools": {"type": "array", "items": {"type": "object"}},
    }
    message = {
        "type": "object",
        "required": ["model", "max_tokens", "messages"],
        "properties": {
            **shared,
            "max_tokens": {"type": "integer", "minimum": 0},
            "stream": {"type": ["boolean", "null"]},
        },
    }
    part = {"type": "object", "required": ["model", "messages"], "properties": shared}
    return (
        Described("post", "/v1/messages", "Create a message", message),
        Described("post", "/v1/messages/count_tokens", "Count the tokens of a message", part),
    )


class _Messages:
    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._reader = MessageReader(gateway)

    async def create(self, http: HttpRequest) -> Reply:
        body = await http.body()
        gateway = self._gateway
        wanted = await self._reader.read(http.tenant, body, http.scope["headers"])
        http.scope[PLACE] = wanted.view.place
        request: CreateResponse = wanted.request
        if http.uses_cache is not None or CACHE_HEADER in http.headers:
            request = with_cache(http, request)
        if not gateway.process.accepts_work:
            raise going_away()
        lease = None
        if http.credential is not None:
            lease = await acquire(
                gateway,
                http,
                request.model,
                lambda: Weight(wanted.size, request.max_output_tokens or 0),
            )
            if lease is not None:
                limits = dict(limit_headers(lease.headers, gateway.now()))
                http.reply_headers = [*http.reply_headers, *raw_headers(limits)]
        response_id = response_id_of(current.get().request_id)
        identity = RequestIdentity(http.tenant, response_id, size=len(body), work=len(body))
        run = await gateway.create(request, identity)
        if lease is not None:
            lease.watch(run)
        answer = MessageAnswer(run, wanted, self._reader.ratios, self._reader.diagnostics)
        http.scope[SIZE] = lambda: answer.size
        if run.is_stream:
            return Reply(MessageStream(answer))
        async with DisconnectWatch(http.receive):
            response = await run.result()
        return Reply(answer.message(response), [*run_headers(run), _request_id()])

    async def count_tokens(self, http: HttpRequest) -> Reply:
        body = await http.body()
        wanted = await self._reader.read_count(http.tenant, body, http.scope["headers"])
        http.scope[PLACE] = wanted.view.place
        key = await http.key()
        async with DisconnectWatch(http.receive):
            count, is_exact = await self._reader.count(wanted, http.tenant, key, len(body))
        how = (b"antiphon-token-count", b"exact" if is_exact else b"estimate")
        return Reply(count, [how, _request_id()])


class MessageStream(EventStream):
    """The events of a run as a stream of this API."""

    comment = PING

    def __init__(self, answer: MessageAnswer) -> None:
        super().__init__(answer.run)
        self._answer = answer
        self._encoder = answer.encoder(about().request_id)

    async def send(self, sink: ReplySink) -> None:
        """See `ReplyStream`. A fault of this server is an event too: clients never see a stream
        that just stops.
        """
        try:
            await super().send(sink)
        except ClientDisconnected:
            raise
        except Exception as error:
            if not self._is_open or self._encoder.is_over:
                raise
            await sink.write(self._encoder.fail(reportable(error)), more_body=False)

    async def _send_events(self, batch: Sequence[Event], *, more_body: bool = True) -> None:
        if not self._is_open:
            if not batch and more_body:
                return
            await self._open()
        self._last_event = self._last_sent = self._loop.time()
        if not more_body:
            self._answer.end(self._encoder)
        body = self._encoder.encode(batch)
        if body or not more_body:
            await self._sink.send(
                {"type": "http.response.body", "body": body, "more_body": more_body}
            )

    async def _open(self) -> None:
        self._is_open = True
        await self._sink.start(200, [*SSE, *run_headers(self._run), _request_id()])


def _request_id() -> tuple[bytes, bytes]:
    return (REQUEST_ID, about().request_id.encode())
