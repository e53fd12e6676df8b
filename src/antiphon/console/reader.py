"""The console's read API: the views of responses in `/admin/v1`. A tenant of None means all
tenants.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Container, Iterable
from contextlib import aclosing
from functools import partial
from typing import ParamSpec

from msgspec.json import encode
from msgspec.structs import replace

from antiphon.console.backend_requests import stored_calls
from antiphon.console.changes import Batch, Changes, Names, newest
from antiphon.console.details import details
from antiphon.console.export import ExportPart, Format, encoding_of, export
from antiphon.console.figures import figures_object
from antiphon.console.rebuilt import rebuild_request, size_of_response
from antiphon.console.redaction import redacted
from antiphon.console.summaries import KeyNames, summary
from antiphon.errors import ClientError
from antiphon.ids import Clock
from antiphon.objects.items import INCLUDED as ON_DEMAND
from antiphon.objects.items import ItemViews, item_object, response_object
from antiphon.objects.large import built_object
from antiphon.objects.pages import JsonObject, not_found
from antiphon.objects.response_list import filters_of, page_object, read_page
from antiphon.protocol.console import FiguresParameters
from antiphon.protocol.json_pieces import LargeObject
from antiphon.protocol.json_slices import decoded
from antiphon.protocol.resources import ResponsesQuery
from antiphon.query.matching import matches
from antiphon.runs.run import Run
from antiphon.storage.operations import (
    event_log,
    facts_detail,
    facts_names,
    facts_page,
    responses,
    webhooks,
)
from antiphon.storage.operations import facts as stored_facts
from antiphon.storage.operations import figures as stored_figures
from antiphon.storage.records.facts import AGENT, BACKGROUND, Facts, FactsFamily, FactsQuery
from antiphon.storage.records.figures import HOUR, MINUTE, FiguresQuery
from antiphon.storage.records.jobs import Tail
from antiphon.storage.records.responses import StoredResponse
from antiphon.storage.records.tenants import Delivery
from antiphon.storage.store import Store

SPANS = 500
"""Maximum number of time spans in one reply with figures."""

MOST_COUNTED = 1_000
"""Maximum number to which waiting or running background responses are counted."""

EVENT_BYTES = 1024 * 1024
"""Bytes of stored events after which a reply includes no further event."""

AROUND, MOST_DELIVERIES = 10_000, 100
"""The search window for deliveries about a response's end: milliseconds after the end, and number
of deliveries.
"""

INCLUDED = tuple(wanted for wanted, _ in ON_DEMAND.values())
"""The fields of calls that are shown on demand. Fields that the request did not include are sealed
and not shown.
"""

P = ParamSpec("P")

RebuildCalls = Callable[[StoredResponse, Facts], Awaitable[JsonObject]]
"""Returns the requests to the backend of a stored response, reconstructed."""


class ConsoleReader:
    """Reads for the console.

    Methods raise `ClientError` (404) for objects that are unknown or not stored.

    `runs` are the running responses of this process; `rebuild_calls` returns the requests to the
    backend of a stored one. A response is stored for `retention` seconds; `now` is the time in
    seconds since the epoch. Costs are in `currency`.
    """

    def __init__(
        self,
        store: Store,
        views: ItemViews,
        rebuild_calls: RebuildCalls,
        runs: Iterable[object],
        retention: int,
        now: Clock,
        currency: str,
    ) -> None:
        self._store = store
        self._views = views
        self._rebuild_calls = rebuild_calls
        self._all_runs = runs
        self._retention = retention
        self._now = now
        self._currency = currency
        self._names = KeyNames(store)
        self._changes = Changes(store, partial(self._running, None), self._names.load, _encoded)

    async def page(self, tenant: str | None, query: ResponsesQuery) -> JsonObject:
        """Return a page of responses.

        The first page also has the running responses of this process.
        """
        filters = filters_of(query.q, self._now())
        is_first = query.after is None and query.before is None
        running = self._running(tenant) if is_first else []
        if running and not filters.is_empty:
            filters = await self._store.read(facts_names.resolve, tenant, filters)
            running = [one for one in running if matches(one, filters)]
        page = await read_page(self._store, tenant, query, filters)
        names = await self._names.load([one.key_id for one in page.facts])
        show = partial(summary, names=names)
        listed = page_object(page, show)
        if is_first:
            listed["running"] = [show(one) for one in newest(running)]
        return listed

    async def details(self, tenant: str | None, response_id: str) -> JsonObject:
        """Return one response with its timeline, notes and chain."""
        family = await self._family(tenant, response_id)
        names = await self._names.load([family.facts.key_id])
        return details(family, names, self._retention, await self._undelivered(family.facts))

    async def facts(self, tenant: str | None, response_id: str) -> Facts:
        """Return the facts of one response, which lead to its content and name its tenant for the
        audit log.
        """
        return (await self._family(tenant, response_id)).facts

    async def body(self, facts: Facts) -> JsonObject:
        """Return the stored response object."""
        stored = await self._stored(facts)
        body = await self._displayed(stored, _body, stored)
        return await self._views.with_images(stored.tenant, stored.output, body)

    async def input_items(self, facts: Facts) -> JsonObject:
        """Return the response's own input items."""
        stored = await self._stored(facts)
        items = await self._displayed(stored, _input_items, stored)
        return await self._views.with_images(stored.tenant, stored.input, items)

    async def request(self, facts: Facts) -> JsonObject:
        """Return the body of the client's request, reconstructed."""
        stored = await self._stored(facts)
        return await self._displayed(stored, _request, stored, facts)

    async def calls(self, facts: Facts) -> JsonObject:
        """Return the requests to the backend: as they were sent if these are stored, otherwise
        reconstructed. An agent has none: its calls of models are among its steps. A response that
        ended without a backend has none either.
        """
        stored = await self._stored(facts)
        if facts.flags & AGENT or (facts.ended is not None and not facts.backend):
            return {"object": "list", "is_rebuilt": False, "data": [], "has_more": False}
        saved = await self._store.read(stored_facts.bodies, facts.tenant, facts.id)
        if saved is not None:
            spans = await self._store.read(stored_facts.spans, facts.tenant, facts.id)
            return await self._views.capacity.offload.in_thread(
                facts.tenant, stored_calls, saved, spans
            )
        return await self._rebuild_calls(stored, facts)

    async def events(self, facts: Facts, after: int, limit: int) -> JsonObject:
        """Return up to `limit` stored events after a number, up to the event that exceeds
        `EVENT_BYTES`.
        """
        owner = facts.tenant
        found: list[JsonObject] = []
        size = 0
        place = after
        is_whole = False
        while len(found) <= limit and size < EVENT_BYTES and not is_whole:
            tail = await self._store.read(event_log.tail, owner, facts.id, place)
            if tail is None or not tail.is_streamed:
                raise ClientError(
                    "The events of this response are not stored.", status=404, code="not_stored"
                )
            found += await self._views.capacity.offload.in_thread(
                owner, _events, tail, after, limit + 1 - len(found)
            )
            size += sum(len(frames.body) for frames in tail.frames)
            is_whole = not tail.frames
            place = tail.frames[-1].last if tail.frames else place
        has_more = len(found) > limit or not is_whole
        return LargeObject(object="list", data=found[:limit], has_more=has_more)

    async def figures(self, tenant: str | None, query: FiguresParameters) -> JsonObject:
        """Return figures. Raises `ClientError` (400) for too many time spans."""
        now = int(self._now())
        until = now + 1 if query.until is None else query.until
        since = until - HOUR if query.since is None else query.since
        step = query.step or max(MINUTE, (until - since) // 90 // MINUTE * MINUTE)
        if step % MINUTE:
            raise ClientError(
                f"Invalid 'step': {step} seconds is not a whole number of minutes.", param="step"
            )
        if since >= until:
            meaning = " (now, by the server's clock)" if query.until is None else ""
            raise ClientError(
                f"Invalid 'since': {since} is not before 'until', which is {until}{meaning}.",
                param="since",
            )
        if (until - since) // step > SPANS:
            raise ClientError(
                f"Invalid 'step': at most {SPANS} spans are allowed between 'since' and 'until'.",
                param="step",
            )
        wanted = FiguresQuery(
            since,
            until,
            step,
            query.by or "",
            filters_of(query.q, now),
            series=query.series if query.by else 0,
        )
        found = await self._store.read(stored_figures.figures, tenant, wanted)
        names = await self._names.load(found.groups if query.by == "key" else ())
        displayed = figures_object(wanted, found, names)
        return displayed | await self._in_flight(tenant)

    def export(
        self, tenant: str | None, q: str | None, form: Format
    ) -> AsyncGenerator[ExportPart, None]:
        """Return the responses that match a filter line as the parts of a file.

        Raises `ClientError` (400) for an invalid line.
        """
        filters = filters_of(q, self._now())
        return export(self._store, self._names, tenant, filters, encoding_of(form, self._currency))

    def check_filters(self, q: str | None) -> None:
        """Raise `ClientError` (400) for an invalid filter line."""
        filters_of(q, self._now())

    async def watch(self, tenant: str | None, q: str | None) -> AsyncGenerator[Batch, None]:
        """Yield responses as they change, as JSON summaries, each with the number of skipped
        changes before it.
        """
        filters = filters_of(q, self._now())
        if not filters.is_empty:
            filters = await self._store.read(facts_names.resolve, tenant, filters)
        async with aclosing(self._changes.watch(tenant, filters)) as batches:
            async for batch in batches:
                yield batch

    async def _in_flight(self, tenant: str | None) -> JsonObject:
        """Return the numbers of waiting and of running responses."""
        filters = filters_of("status:queued,in_progress", 0)
        waiting = (
            await self._store.read(
                facts_page.page, tenant, FactsQuery(MOST_COUNTED, filters=filters)
            )
        ).facts
        queued = sum(one.status == "queued" for one in waiting)
        here = len(self._runs(tenant))
        return {"queued": queued, "in_flight": len(waiting) - queued + here}

    def _runs(self, tenant: str | None) -> list[Run]:
        """Return the running responses that clients of this process wait for."""
        runs = [
            run for run in self._all_runs if isinstance(run, Run) and not run.record.is_background
        ]
        return [
            run for run in runs if run.origin is not None and tenant in (None, run.origin.tenant)
        ]

    def _running(self, tenant: str | None = None, known: Container[str] = ()) -> list[Facts]:
        """Return the facts of running responses that clients of this process wait for, except those
        in `known`.
        """
        runs = [run for run in self._runs(tenant) if run.response.id not in known]
        return [facts for run in runs if (facts := run.facts_so_far()) is not None]

    async def _family(self, tenant: str | None, response_id: str) -> FactsFamily:
        family = await self._store.read(facts_detail.family, tenant, response_id)
        if family is not None and family.facts.ended is not None:
            return family
        live = self._live(tenant, response_id)
        if live is None:
            if family is None:
                raise not_found("Response", response_id)
            return family
        if family is None:
            return FactsFamily(live, runs_here=True)
        stored = family.facts  # of a background response, from when it was queued
        waited = None if live.queued is None else live.queued + live.began - stored.began
        facts = replace(live, began=stored.began, queued=waited, attempts=stored.attempts)
        return replace(family, facts=facts, runs_here=True)

    def _live(self, tenant: str | None, response_id: str) -> Facts | None:
        """Return the current facts of a response that this process runs."""
        for run in self._all_runs:
            if isinstance(run, Run) and run.response.id == response_id and run.origin is not None:
                return run.facts_so_far() if tenant in (None, run.origin.tenant) else None
        return None

    async def _undelivered(self, facts: Facts) -> list[Delivery]:
        """Return the waiting or failed webhook deliveries about a response's end; successful ones
        are not stored.

        The ids of deliveries begin with their time, so only the tenant's deliveries around that end
        are read.
        """
        if facts.ended is None or not facts.flags & BACKGROUND:
            return []
        after = f"wh_{facts.ended + AROUND:012x}"
        near = await self._store.read(webhooks.page, facts.tenant, MOST_DELIVERIES, after)
        return [one for one in near if decoded(one.body)["data"]["id"] == facts.id]

    async def _displayed(
        self,
        stored: StoredResponse,
        make: Callable[P, JsonObject],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> JsonObject:
        """Return the object that `make` creates from a response, in a thread and counted as memory
        if it is large.
        """
        return await built_object(
            self._views.capacity, stored.tenant, size_of_response(stored), make, *args, **kwargs
        )

    async def _stored(self, facts: Facts) -> StoredResponse:
        stored = await self._store.read(responses.load, facts.tenant, facts.id)
        if stored is None:
            raise ClientError(
                f"The content of the response '{facts.id[:100]}' is not stored: "
                "its request had `store: false`, it has not ended, it failed before anything was "
                "stored, or it was deleted.",
                status=404,
                code="not_stored",
            )
        return stored


def _body(stored: StoredResponse) -> JsonObject:
    body: JsonObject = redacted(response_object(stored, INCLUDED))
    return body


def _input_items(stored: StoredResponse) -> JsonObject:
    return {
        "object": "list",
        "data": [redacted(item_object(item, INCLUDED)) for item in stored.input],
    }


def _request(stored: StoredResponse, facts: Facts) -> JsonObject:
    return {
        "object": "response.request",
        "is_rebuilt": True,
        "request": rebuild_request(stored, facts),
    }


def _encoded(facts: Facts, names: Names) -> bytes:
    return encode(summary(facts, names))


def _events(tail: Tail, after: int, most: int) -> list[JsonObject]:
    """Return the events of a log after a number."""
    found: list[JsonObject] = []
    for frames in tail.frames:
        lines = [line for line in frames.body.split(b"\n") if line.startswith(b"data: ")]
        for number, line in enumerate(lines, frames.first):
            if number > after and len(found) < most:
                found.append(redacted(decoded(line.removeprefix(b"data: "))))
    return found
