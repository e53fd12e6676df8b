"""`/v1/chat/completions` and `/v1/embeddings`: validated, then forwarded; the answer is returned
byte for byte.

With `store: true`, a completion is recorded, and can be retrieved.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from antiphon.gateway import (
    REDIRECTING,
    CompletionRecorder,
    Gateway,
    JsonObject,
    Passing,
    Tally,
    UsageLease,
    Weight,
    has_budget,
    redirected,
    weight_of,
    weight_of_chat,
)
from antiphon.http_server.asgi import RawHeaders
from antiphon.protocol.resources import (
    CompletionMessagesQuery,
    CompletionsQuery,
    UpdateChatCompletion,
)
from antiphon.protocol.validation.queries import (
    decode_completion_messages_query,
    decode_completions_query,
)
from antiphon.protocol.validation.validate import (
    decode_chat_request,
    decode_embeddings_request,
    decode_update_completion,
)
from antiphon.server.admission import acquire, decoded
from antiphon.server.described import Described
from antiphon.server.reply import (
    BACKEND,
    UNBUFFERED,
    DisconnectWatch,
    Endpoint,
    Reply,
    ReplySink,
    Resources,
    plain_name,
)
from antiphon.server.request import HttpRequest

CHAT = "/chat/completions"

_PASSED_HEADERS = ("content-type", "cache-control")


def resources(gateway: Gateway) -> Resources:
    """Return the endpoints by path."""
    chat = _endpoint(gateway, CHAT, decode_chat_request, weight_of_chat)
    embeddings = _endpoint(
        gateway, "/embeddings", decode_embeddings_request, lambda request, body: weight_of(body, 0)
    )
    stored = _Stored(gateway)
    one = "/v1/chat/completions/{completion_id}"
    return {
        "/v1/chat/completions": {"POST": chat, "GET": stored.list},
        one: {"GET": stored.retrieve, "POST": stored.update, "DELETE": stored.delete},
        f"{one}/messages": {"GET": stored.list_messages},
        "/v1/embeddings": {"POST": embeddings},
    }


def described() -> Sequence[Described]:
    """Return the rows of `/openapi.json`."""
    path = "/v1/chat/completions"
    one = f"{path}/{{completion_id}}"
    chat = {
        "type": "object",
        "required": ["model", "messages"],
        "properties": {
            "model": {"type": "string"},
            "messages": {"type": "array", "minItems": 1, "items": {"type": "object"}},
            "stream": {"type": ["boolean", "null"]},
            "store": {"type": ["boolean", "null"]},
        },
    }
    embeddings = {
        "type": "object",
        "required": ["model", "input"],
        "properties": {"model": {"type": "string"}, "input": {"type": ["string", "array"]}},
    }
    return (
        Described("post", path, "Create a chat completion", chat),
        Described("get", path, "List stored chat completions", query=CompletionsQuery),
        Described("get", one, "Get a stored chat completion"),
        Described("post", one, "Update a stored chat completion", UpdateChatCompletion),
        Described("delete", one, "Delete a stored chat completion"),
        Described(
            "get", f"{one}/messages", "List messages of its request", query=CompletionMessagesQuery
        ),
        Described("post", "/v1/embeddings", "Create embeddings", embeddings),
    )


def _endpoint(
    gateway: Gateway,
    path: str,
    decode: Callable[[bytes], dict[str, Any]],
    weigh: Callable[[dict[str, Any], bytes], Weight],
) -> Endpoint:
    async def pass_on(http: HttpRequest) -> Reply:
        body = await http.body()
        request = await decoded(gateway, http, body, decode)
        await check_redirects(http, request)
        weighed = partial(weigh, request, body)
        lease = await acquire(gateway, http, request["model"], weighed, len(body))
        sent = request
        recorder = None
        if request.get("store") and path == CHAT:
            recorder = await gateway.chat_completions.record(request, http.tenant, len(body))
            sent = http.cleanup.enter_context(recorder).request
        passing = await gateway.passing(path, sent, http.tenant, lease, len(body))
        if passing is not None and not passing.may_run:
            return Reply(_PassedOn(passing, request, lease, recorder))
        from antiphon.server.chat_runs import ChatRun, ForwardedOrRun  # noqa: PLC0415 - few completions are runs

        run = ChatRun(gateway, http, request, len(body), lease, recorder)
        if passing is None:
            return Reply(run)
        forwarded = _PassedOn(passing, request, lease, recorder)
        return Reply(ForwardedOrRun(forwarded, run, has_other_path=passing.has_other_path))

    return pass_on


async def check_redirects(http: HttpRequest, request: dict[str, Any]) -> None:
    """Raise `ClientError` (400) for a parameter by which a key could reach a model that it does not
    allow, or pays for at the price of another.
    """
    found = sorted(REDIRECTING & request.keys())
    key = await http.key() if found else None
    if key is None or not (key.limits.models or has_budget(key)):
        return
    reason = (
        "is restricted to certain models"
        if key.limits.models
        else "has a budget, or its tenant has"
    )
    raise redirected(found[0], reason)


class _Stored:
    """Stored completions."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._completions = gateway.chat_completions

    async def list(self, http: HttpRequest) -> Reply:
        query = decode_completions_query(http.query())
        await acquire(self._gateway, http, None)
        return Reply(await self._completions.list(http.tenant, query))

    async def retrieve(self, http: HttpRequest) -> Reply:
        return Reply(await self._completions.retrieve(http.tenant, _id(http)))

    async def update(self, http: HttpRequest) -> Reply:
        request = await decoded(self._gateway, http, await http.body(), decode_update_completion)
        return Reply(await self._completions.update(http.tenant, _id(http), request.metadata))

    async def delete(self, http: HttpRequest) -> Reply:
        return Reply(await self._completions.delete(http.tenant, _id(http)))

    async def list_messages(self, http: HttpRequest) -> Reply:
        query = decode_completion_messages_query(http.query())
        await acquire(self._gateway, http, None)
        return Reply(await self._completions.list_messages(http.tenant, _id(http), query))


def _id(http: HttpRequest) -> str:
    return http.path_params["completion_id"]


class _PassedOn:
    """An answer on its way to the client; only its tokens are read, and charged to the lease."""

    def __init__(
        self,
        passing: Passing,
        request: JsonObject,
        lease: UsageLease | None,
        recorder: CompletionRecorder | None,
    ) -> None:
        self._passing = passing
        self._request = request
        self._lease = lease
        self._recorder = recorder
        self._tally: Tally | None = None

    async def send(self, sink: ReplySink) -> None:
        """See `ReplyStream`."""
        self._sink = sink
        try:
            async with DisconnectWatch(sink.receive):
                await self._passing.run(
                    self if self._recorder is None else self._recorder.into(self)
                )
        finally:
            if self._tally is not None and self._lease is not None:
                self._lease.report(self._passing.spent(self._tally.usage(self._request)))

    async def begin(self, status: int, backend: str, headers: Mapping[str, str]) -> None:
        """The answer starts."""
        if self._lease is not None:
            self._tally = Tally(
                is_stream=headers.get("content-type", "").startswith("text/event-stream")
            )
        await self._sink.start(status, passed_headers(backend, headers))

    async def write(self, part: bytes, *, more_body: bool = True) -> None:
        """A part of it arrives."""
        if self._tally is not None:
            self._tally.feed(part)
        await self._sink.write(part, more_body=more_body)


def passed_headers(backend: str, headers: Mapping[str, str]) -> RawHeaders:
    """Return the headers of a reply that is passed on: its backend, and the backend's headers that
    clients need.
    """
    passed = [
        (name.encode(), headers[name].encode()) for name in _PASSED_HEADERS if name in headers
    ]
    is_stream = headers.get("content-type", "").startswith("text/event-stream")
    return [(BACKEND.encode(), plain_name(backend)), *passed, *([UNBUFFERED] if is_stream else [])]
