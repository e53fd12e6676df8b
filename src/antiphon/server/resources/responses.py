"""`/v1/responses`: create or queue, retrieve or replay, cancel, delete, list input, compact, count
(section 1).
"""

from collections.abc import Sequence

from msgspec.structs import replace

from antiphon.errors import StoreError
from antiphon.gateway import (
    Gateway,
    RequestIdentity,
    UsageLease,
    charged_to,
    going_away,
    output_text,
    weight_of,
    weight_of_response,
)
from antiphon.ids import response_id_of
from antiphon.protocol.requests import CompactRequest, CreateResponse
from antiphon.protocol.resources import (
    CountInputTokens,
    InputItemsQuery,
    ResponsesQuery,
    RetrieveQuery,
    StreamQuery,
)
from antiphon.protocol.response import Response
from antiphon.protocol.validation.queries import (
    decode_include,
    decode_input_items_query,
    decode_responses_query,
    decode_stream_query,
    is_true,
)
from antiphon.protocol.validation.validate import decode_compact_request, decode_count
from antiphon.server.admission import (
    CACHE_HEADER,
    IDEMPOTENCY_HEADER,
    acquire,
    body_with_cache,
    decoded,
    reserve,
    with_cache,
)
from antiphon.server.described import Described, query_parameter
from antiphon.server.exchange import EventStream
from antiphon.server.reply import (
    DisconnectWatch,
    FrameStream,
    Reply,
    Resources,
    ignored_header,
    run_headers,
)
from antiphon.server.request import HttpRequest
from antiphon.server.routes import upgrade_not_supported
from antiphon.sizes import LARGE
from antiphon.telemetry.context import current


def resources(gateway: Gateway) -> Resources:
    """Return the endpoints by path."""
    api = _Responses(gateway)
    one = "/v1/responses/{response_id}"
    return {
        "/v1/responses": {"POST": api.create, "GET": api.list},
        "/v1/responses/compact": {"POST": api.compact},
        "/v1/responses/input_tokens": {"POST": api.count_tokens},
        one: {"GET": api.retrieve, "DELETE": api.delete},
        f"{one}/cancel": {"POST": api.cancel},
        f"{one}/input_items": {"GET": api.input_items},
    }


def described() -> Sequence[Described]:
    """Return the rows of `/openapi.json`."""
    one = "/v1/responses/{response_id}"
    stream = query_parameter("stream", {"type": "boolean"})
    return (
        Described("get", "/v1/responses", "List responses", query=ResponsesQuery),
        Described(
            "post",
            "/v1/responses",
            "Create a response",
            CreateResponse,
            takes_key=True,
            reply=Response,
        ),
        Described("post", "/v1/responses/compact", "Compact a context", CompactRequest),
        Described("post", "/v1/responses/input_tokens", "Count input tokens", CountInputTokens),
        Described(
            "get",
            one,
            "Get a response, or its events",
            query=(RetrieveQuery, StreamQuery),
            parameters=(stream,),
            reply=Response,
        ),
        Described("delete", one, "Delete a response"),
        Described("post", f"{one}/cancel", "Cancel a response", reply=Response),
        Described("get", f"{one}/input_items", "List input items", query=InputItemsQuery),
    )


class _Responses:
    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    async def create(self, http: HttpRequest) -> Reply:
        gateway = self._gateway
        body = await http.body()
        request, work = await gateway.decode(http.tenant, body)
        requested = request
        if http.uses_cache is not None or CACHE_HEADER in http.headers:
            request = with_cache(http, requested)
        if not gateway.process.accepts_work:
            raise going_away()
        response_id = response_id_of(current.get().request_id)
        identity: RequestIdentity | Reply
        if IDEMPOTENCY_HEADER in http.headers:
            identity = await reserve(gateway, http, body, response_id)
        else:
            identity = RequestIdentity(http.tenant, response_id, size=len(body))
        if isinstance(identity, Reply):
            return identity
        if request.prompt is not None:
            request, body = await gateway.prompts.resolve(http.tenant, request, len(body))
            requested = request
            work = len(body)
        if work > LARGE:  # the others need no copy
            identity = replace(identity, work=work)
        is_agent = request.model in gateway.known_agents.names
        lease = None
        if http.credential is not None:
            lease = await acquire(
                gateway,
                http,
                request.model,
                lambda: weight_of_response(request, body),
                len(body),
                is_queued=bool(request.background) or is_agent,
            )
        try:
            if is_agent:
                identity = charged_to(identity, lease)
                return await self._run_agent(request, body, identity, lease, http)
            if request.background:
                stored = await gateway.offload(
                    http.tenant, len(body), body_with_cache, body, requested, request
                )
                return await self._enqueue(request, stored, charged_to(identity, lease), lease)
        except StoreError as error:
            if lease is not None and error.is_uncertain:
                lease.hand_over()  # the job settles it, if there is one
            raise
        run = await gateway.create(request, identity)
        if lease is not None:
            lease.watch(run)
        if run.is_stream:
            return Reply(EventStream(run))
        async with DisconnectWatch(http.receive):
            response = await run.result()
        return Reply(replace(response, output_text=output_text(response)), run_headers(run))

    async def _run_agent(
        self,
        request: CreateResponse,
        body: bytes,
        identity: RequestIdentity,
        lease: UsageLease | None,
        http: HttpRequest,
    ) -> Reply:
        gateway = self._gateway
        agents = gateway.agents
        reply = await agents.enqueue(request, body, identity)
        if lease is not None and not reply.is_joined:
            lease.hand_over()
        tenant = identity.tenant
        if request.background:
            if request.stream:
                return Reply(FrameStream(gateway.replays.events(tenant, reply.id)))
            return Reply(reply.state)
        async with DisconnectWatch(http.receive):
            await agents.started(tenant, reply)
            if not request.stream:
                return Reply(await agents.result(tenant, reply))
        return Reply(FrameStream(agents.events(tenant, reply)))

    async def _enqueue(
        self,
        request: CreateResponse,
        body: bytes,
        identity: RequestIdentity,
        lease: UsageLease | None,
    ) -> Reply:
        queued = await self._gateway.queue.enqueue(request, body, identity)
        if lease is not None:
            lease.hand_over()
        headers = ignored_header(queued.ignored_tools)
        if request.stream:
            return Reply(
                FrameStream(
                    self._gateway.replays.events(identity.tenant, queued.response.id), headers
                )
            )
        return Reply(queued.response, headers)

    async def list(self, http: HttpRequest) -> Reply:
        if http.headers.get(b"upgrade", b"").lower() == b"websocket":
            raise upgrade_not_supported()
        query = decode_responses_query(http.query())
        await acquire(self._gateway, http, None)
        return Reply(await self._gateway.responses.list(http.tenant, query))

    async def retrieve(self, http: HttpRequest) -> Reply:
        params = http.query()
        response_id = _id(http)
        if not is_true(params, "stream"):
            response = await self._gateway.responses.retrieve(
                http.tenant, response_id, decode_include(params)
            )
            return Reply(response)
        query = decode_stream_query(params)
        await self._gateway.replays.check(http.tenant, response_id)
        after = -1 if query.starting_after is None else query.starting_after
        frames = self._gateway.replays.events(
            http.tenant, response_id, after, padding=query.include_obfuscation
        )
        return Reply(FrameStream(frames))

    async def delete(self, http: HttpRequest) -> Reply:
        return Reply(await self._gateway.responses.delete(http.tenant, _id(http)))

    async def cancel(self, http: HttpRequest) -> Reply:
        return Reply(await self._gateway.queue.cancel(http.tenant, _id(http)))

    async def input_items(self, http: HttpRequest) -> Reply:
        query = decode_input_items_query(http.query())
        await acquire(self._gateway, http, None)
        return Reply(await self._gateway.responses.input_items(http.tenant, _id(http), query))

    async def compact(self, http: HttpRequest) -> Reply:
        body = await http.body()
        request = await decoded(self._gateway, http, body, decode_compact_request)
        if not self._gateway.process.accepts_work:
            raise going_away()
        lease = await acquire(
            self._gateway, http, request.model, lambda: weight_of(body), len(body)
        )
        watch = () if lease is None else (lease.watch,)
        async with DisconnectWatch(http.receive):
            compacted = await self._gateway.compact(request, http.tenant, len(body), *watch)
        return Reply(compacted)

    async def count_tokens(self, http: HttpRequest) -> Reply:
        body = await http.body()
        request = await decoded(self._gateway, http, body, decode_count)
        if request.prompt is not None:
            request, body = await self._gateway.prompts.resolve(http.tenant, request, len(body))
        await acquire(self._gateway, http, request.model)
        async with DisconnectWatch(http.receive):
            count = await self._gateway.count_tokens(request, http.tenant, len(body))
        counted = {"object": "response.input_tokens", "input_tokens": count.input_tokens}
        return Reply(
            counted, [(b"antiphon-token-count", b"exact" if count.is_exact else b"estimate")]
        )


def _id(http: HttpRequest) -> str:
    return http.path_params["response_id"]
