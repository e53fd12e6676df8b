"""`/admin/v1/responses`: lists, details and changes of responses, for the console and for programs
of operators.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from datetime import UTC, datetime
from functools import partial
from time import monotonic

from antiphon.errors import AntiphonError
from antiphon.gateway import Facts, Gateway, JsonObject
from antiphon.protocol.console import AdminResponsesQuery, EventsQuery, ExportQuery, StepsQuery
from antiphon.protocol.validation.queries import decode_query
from antiphon.server.admin.access import Viewer, is_still, not_signed_in, viewer
from antiphon.server.admin.audit import audit_reading
from antiphon.server.admin.lists import listed
from antiphon.server.described import Described
from antiphon.server.reply import Endpoint, FrameStream, Reply, Resources, encode_json
from antiphon.server.request import HttpRequest
from antiphon.server.resources.files import FileDownload, attachment
from antiphon.sharing.scheduler import FairScheduler

ONE = "/admin/v1/responses/{response_id}"

MOST_WATCHERS, MOST_OF_A_TENANT = 500, 100
"""Open lists of one process, and of one tenant: each change is compared with the filters of all."""

MEDIA_TYPES = {"csv": b"text/csv; charset=utf-8", "jsonl": b"application/jsonl"}
"""The media types of files with responses."""

CHECK_AFTER = 2.0
"""Seconds after which an open list checks its caller again before it shows more."""

PING = b"event: ping\ndata: {}\n\n"
OPENED = b": opened\n\n"
"""A comment that sends the headers; the first event follows when no change can be missed."""

Read = Callable[[Facts], Awaitable[JsonObject]]
"""Reads content of the response that has these facts."""


def resources(gateway: Gateway) -> Resources:
    """Return the endpoints by path."""
    api = _Responses(gateway)
    console = gateway.console
    return {
        "/admin/v1/responses": {"GET": api.list},
        "/admin/v1/responses/stream": {"GET": api.stream},
        "/admin/v1/responses/export": {"GET": api.export},
        ONE: {"GET": api.details},
        f"{ONE}/body": {"GET": api.reading(console.body)},
        f"{ONE}/input_items": {"GET": api.reading(console.input_items)},
        f"{ONE}/request": {"GET": api.reading(console.request)},
        f"{ONE}/calls": {"GET": api.reading(console.calls)},
        f"{ONE}/events": {"GET": api.events},
        f"{ONE}/steps": {"GET": api.steps},
        f"{ONE}/steps/{{step_id}}": {"GET": api.step},
    }


def described() -> Sequence[Described]:
    """Return the rows of `/openapi.json`."""
    path = "/admin/v1/responses"
    return (
        Described("get", path, "List responses", query=AdminResponsesQuery),
        Described(
            "get", f"{path}/stream", "Follow responses as they change", query=AdminResponsesQuery
        ),
        Described("get", f"{path}/export", "Export responses as a file", query=ExportQuery),
        Described("get", ONE, "Get a response's timeline, notes and chain"),
        Described("get", f"{ONE}/body", "Get a stored response"),
        Described("get", f"{ONE}/input_items", "List a response's own input items"),
        Described("get", f"{ONE}/events", "List stored events", query=EventsQuery),
        Described("get", f"{ONE}/steps", "List the steps of an agent", query=StepsQuery),
        Described("get", f"{ONE}/steps/{{step_id}}", "Get the body of a step of an agent"),
        Described("get", f"{ONE}/request", "Get the client's request, reconstructed"),
        Described("get", f"{ONE}/calls", "List the requests to the backend, reconstructed"),
    )


class _Responses:
    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._watchers = FairScheduler(MOST_WATCHERS, per_tenant=MOST_OF_A_TENANT, leaves_room=True)

    async def list(self, http: HttpRequest) -> Reply:
        caller = await self._caller(http)
        query = decode_query(http.query(), AdminResponsesQuery)
        page = await self._gateway.console.page(caller.tenant_of(query.tenant), query)
        audit_reading(
            caller,
            {row["tenant"] for row in page["data"] if row["input"] or row["output"]},
            "responses",
        )
        return Reply(page)

    async def stream(self, http: HttpRequest) -> Reply:
        caller = await self._caller(http)
        query = decode_query(http.query(), AdminResponsesQuery)
        tenant = caller.tenant_of(query.tenant)
        self._gateway.console.check_filters(query.q)
        if not self._watchers.take(caller.tenant):
            raise AntiphonError.overloaded(
                "Your tenant has too many open lists of the console. Close some of them."
            )
        http.cleanup.callback(self._watchers.leave, caller.tenant)
        return Reply(FrameStream(self._frames(http, caller, tenant, query.q)))

    async def export(self, http: HttpRequest) -> Reply:
        caller = await self._caller(http)
        query = decode_query(http.query(), ExportQuery)
        tenant = caller.tenant_of(query.tenant)
        created = datetime.fromtimestamp(self._gateway.now(), UTC)
        headers = [
            (b"content-type", MEDIA_TYPES[query.format]),
            (
                b"content-disposition",
                attachment(f"responses-{created:%Y%m%dT%H%M%SZ}.{query.format}"),
            ),
        ]
        return Reply(FileDownload(self._exported(http, caller, tenant, query), 200, headers))

    async def details(self, http: HttpRequest) -> Reply:
        caller = await self._caller(http)
        response_id = http.path_params["response_id"]
        found = await self._gateway.console.details(caller.tenant_of(None), response_id)
        return Reply(found)

    def reading(self, read: Read) -> Endpoint:
        """Return the endpoint that reads content of one response; an access to another tenant's
        response is logged.
        """

        async def get(http: HttpRequest) -> Reply:
            return await self._read(await self._caller(http), http, read)

        return get

    async def events(self, http: HttpRequest) -> Reply:
        caller = await self._caller(http)
        query = decode_query(http.query(), EventsQuery, "after")
        read = partial(self._gateway.console.events, after=query.after, limit=query.limit)
        return await self._read(caller, http, read)

    async def steps(self, http: HttpRequest) -> Reply:
        caller = await self._caller(http)
        query = decode_query(http.query(), StepsQuery, "after")
        views = self._gateway.step_views

        async def read(facts: Facts) -> JsonObject:
            return listed(await views.list(facts, query.after, query.limit + 1), query.limit)

        return await self._read(caller, http, read)

    async def step(self, http: HttpRequest) -> Reply:
        caller = await self._caller(http)
        read = partial(self._gateway.step_views.one, place=http.path_params["step_id"])
        return await self._read(caller, http, read)

    async def _read(self, caller: Viewer, http: HttpRequest, read: Read) -> Reply:
        facts = await self._gateway.console.facts(
            caller.tenant_of(None), http.path_params["response_id"]
        )
        found = await read(facts)
        audit_reading(caller, [facts.tenant], "response", response_id=facts.id)
        return Reply(found)

    async def _caller(self, http: HttpRequest) -> Viewer:
        return await viewer(http, self._gateway)

    async def _exported(
        self, http: HttpRequest, caller: Viewer, tenant: str | None, query: ExportQuery
    ) -> AsyncGenerator[bytes, None]:
        """Yield the parts of a file.

        Raises `ClientError`: 400 for an invalid filter, and 401, which aborts the file, when the
        caller loses access.
        """
        checked = monotonic()
        seen: set[str] = set()
        reading = self._gateway.console.export(tenant, query.q, query.format)
        async with aclosing(reading) as parts:
            async for part in parts:
                if monotonic() - checked >= CHECK_AFTER:
                    if not await is_still(caller, http, self._gateway):
                        raise not_signed_in()
                    checked = monotonic()
                audit_reading(caller, part.tenants - seen, "responses")
                seen |= part.tenants
                yield part.body

    async def _frames(
        self, http: HttpRequest, caller: Viewer, tenant: str | None, q: str | None
    ) -> AsyncGenerator[bytes, None]:
        """Yield changes as server-sent events, while the caller has access.

        A client that reads the list after the first event misses nothing.
        """
        yield OPENED
        checked = monotonic()
        async with aclosing(self._gateway.console.watch(tenant, q)) as batches:
            async for batch in batches:
                if monotonic() - checked >= CHECK_AFTER:
                    if not await is_still(caller, http, self._gateway):
                        return
                    checked = monotonic()
                skipped = b"event: skipped\ndata: %s\n\n" % encode_json({"count": batch.skipped})
                rows = b"".join([b"event: row\ndata: %s\n\n" % row for row in batch.changed])
                yield (skipped if batch.skipped else b"") + (rows or PING)
