"""WebSocket mode of `/v1/responses`: many responses on one connection, which remembers them
(specification section 8).

`Lanes` decides what starts when, `Recall` what can be continued, `Steering` handles input to a
running response; this file performs it. The connection is read all the time, so that a disconnect
is noticed.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import msgspec

from antiphon.errors import AntiphonError, ClientError, reportable
from antiphon.gateway import (
    CHAINABLE,
    Gateway,
    RequestIdentity,
    Run,
    StoredItem,
    UsageLease,
    Weight,
    going_away,
    weight_of_response,
)
from antiphon.protocol.events import Event
from antiphon.protocol.requests import CreateResponse
from antiphon.protocol.validation.known_tools import remember
from antiphon.protocol.websocket import (
    Steer,
    decode_message,
    following,
    lane_of,
    read_create,
    read_steer,
    take_lane,
    with_input,
)
from antiphon.server.admission import with_cache
from antiphon.server.exchange import HttpExchange
from antiphon.server.request import ClientDisconnected, HttpRequest
from antiphon.server.websocket.channel import BROKEN, GOING_AWAY, EventChannel, Unheard
from antiphon.server.websocket.lane_stream import LaneStream
from antiphon.server.websocket.lanes import LaneRequest, Lanes
from antiphon.server.websocket.session_memory import Lane, Recall
from antiphon.server.websocket.steering import (
    Steering,
    SteeringRefused,
    Submission,
    failed,
    messages,
    required_input,
)
from antiphon.sharing.memory import Account, weight_of_json
from antiphon.sizes import LARGE
from antiphon.telemetry.context import About, about, begin

OPEN_FOR = 3600.0
"""Seconds after which a connection accepts no more requests."""

AT_ONCE = 16
"""Messages of a client, sent at once, after which other connections have a turn."""

SOCKETS = "websockets"
"""The topic on which connections wait for the end of this process."""


def endpoint(gateway: Gateway) -> Callable[[HttpExchange], Awaitable[None]]:
    """Return the endpoint of WebSocket requests."""

    async def open_websocket(exchange: HttpExchange) -> None:
        if not gateway.process.accepts_work:
            raise going_away()
        channel = EventChannel(exchange)
        await channel.accept()
        gateway.measures.websockets.add()
        request = exchange.request
        account = Account(gateway.memory, request.tenant, exchange.limits.connection)
        try:
            await WebSocketConnection(gateway, request, channel, account).serve()
        finally:
            account.close()
            gateway.measures.websockets.add(by=-1)

    return open_websocket


def limit_reached() -> ClientError:
    """Return the error for a request on a connection that is too old (specification section 8)."""
    return ClientError(
        "Responses websocket connection limit reached (60 minutes). Create a new websocket "
        "connection to continue.",
        code="websocket_connection_limit_reached",
    )


class WebSocketConnection:
    """One client's WebSocket, from its acceptance to its end."""

    def __init__(
        self, gateway: Gateway, http: HttpRequest, channel: EventChannel, account: Account
    ) -> None:
        self._gateway = gateway
        self._http = http
        self._channel = channel
        self._account = account
        self._forget()
        self._runs: dict[str, tuple[Run, Lane]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._why_over: Callable[[], AntiphonError] | None = None
        self._is_left = False

    async def serve(self) -> None:
        """Answer the client's requests, until it disconnects or must."""
        sides = [asyncio.create_task(side) for side in (self._listen(), self._watch())]
        try:
            await asyncio.wait(sides, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._is_left = True
            await _end([*sides, *self._tasks])
            self._forget()

    def _forget(self) -> None:
        """Drop messages and responses: references to an ended connection may exist for a while."""
        self._lanes, self._recall, self._steering = (
            Lanes(),
            Recall(self._account),
            Steering(self._account),
        )

    async def _listen(self) -> None:
        received = 0
        try:
            while (body := await self._channel.receive_event()) is not None:
                await self._take(body)
                received += 1
                if not received % AT_ONCE:
                    await asyncio.sleep(0)
        except ClientDisconnected:
            pass
        except Unheard as unheard:
            await self._close(unheard.error, unheard.code)
        except Exception as error:
            await self._close(reportable(error), BROKEN)

    async def _watch(self) -> None:
        """Close the connection when it is too old or the server ends; running responses finish
        first.
        """
        gateway = self._gateway
        loop = asyncio.get_running_loop()
        until = loop.time() + OPEN_FOR
        with gateway.process.wakes.expect(SOCKETS) as change:
            while gateway.process.accepts_work and (left := until - loop.time()) > 0:
                await change.wait(left)
        self._why_over = limit_reached if gateway.process.accepts_work else going_away
        while self._tasks:
            await asyncio.wait(self._tasks)
        await self._close(self._why_over(), GOING_AWAY)

    async def _close(self, error: AntiphonError, code: int) -> None:
        with suppress(ClientDisconnected):
            await self._channel.refuse(error)
        await self._channel.close(code)

    # Messages of the client.

    async def _take(self, body: bytes) -> None:
        lane: Lane = None
        try:
            message = await self._read(body)
            if message is None:
                return
            data, tools = message
            if data["type"] == "response.steer":
                await self._steer(data, len(body))
                return
            lane = take_lane(data)
            if self._why_over is not None:
                raise self._why_over()
            self._enter(LaneRequest(lane, body, data, tools))
        except AntiphonError as error:
            await self._channel.refuse(error, lane)
        else:
            self._begin_next()

    async def _read(self, body: bytes) -> tuple[dict[str, Any], bytes] | None:
        """Return a message as data, with the JSON of new tools; None for one that is rejected, as
        no memory is free.

        The bytes of a large message are reserved while it waits for a thread; a rejected one does
        not wait.
        """
        size = len(body)
        if size <= LARGE:
            return self._message(body)
        try:
            self._account.take(size)
        except AntiphonError as error:
            await self._channel.refuse(error, lane_of(body))
            return None
        try:
            return await self._gateway.in_thread(self._http.tenant, self._message, body)
        finally:
            self._account.release(size)

    def _message(self, body: bytes) -> tuple[dict[str, Any], bytes]:
        return decode_message(body, self._gateway.tools, self._http.tenant)

    def _enter(self, request: LaneRequest) -> None:
        """Queue a request, which may start now; its bytes are reserved until it is answered."""
        self._account.take(len(request.body))
        try:
            self._lanes.enter(request)
        except ClientError:
            self._account.release(len(request.body))
            raise

    async def _steer(self, data: dict[str, Any], size: int) -> None:
        """End a response early for the client's new input.

        Raises `ClientError` if no response is named.
        """
        target = data.get("previous_response_id")
        provided = data.get("input")
        try:
            steer = await self._gateway.offload(self._http.tenant, size, read_steer, data)
        except ClientError as error:
            if not isinstance(target, str):
                raise
            event: Event = failed(
                "invalid_input", error.message, {"previous_response_id": target, "input": provided}
            )
            await self._channel.report([event], self._lane_of(target))
        else:
            await self._submit(steer, size)

    async def _submit(self, steer: Steer, size: int) -> None:
        target = steer.previous_response_id
        run, lane = self._runs.get(target, (None, None))
        submission = Submission(self._gateway.new_id("steer"), steer, size)
        try:
            self._steering.submit(submission, is_over=run is not None and run.is_over)
        except SteeringRefused as refused:
            reported = failed(
                refused.code, str(refused), {"previous_response_id": target, "input": steer.input}
            )
            await self._channel.report([reported], lane)
            return
        if run is not None:
            events = run.append_event(submission.accepted())
            run.steer()
            await self._channel.report(events, lane)

    def _lane_of(self, response_id: str) -> Lane:
        return self._runs[response_id][1] if response_id in self._runs else None

    # Answers.

    def _begin_next(self) -> None:
        while not self._is_left and (requested := self._lanes.next()) is not None:
            task = asyncio.create_task(self._answer(requested))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _answer(self, request: LaneRequest) -> None:
        known = about()
        # Of the socket; that of the response follows.
        begin(
            About(
                known.request_id,
                trace_id=known.trace_id,
                api_key_id=known.api_key_id,
                is_message=True,
            )
        )
        memory = Account(self._gateway.memory, self._http.tenant)
        try:
            if len(request.body) > LARGE:
                memory.take(
                    weight_of_json(request.body) - len(request.body)
                )  # its bytes are reserved already
            await self._create(request)
        except ClientDisconnected:
            pass  # the reader notices the disconnect
        except Exception as error:
            with suppress(ClientDisconnected):
                await self._channel.refuse(reportable(error), request.lane)
        finally:
            memory.close()
            self._account.release(len(request.body))
            self._lanes.leave(request.lane)
            self._begin_next()

    async def _create(self, requested: LaneRequest) -> None:
        """Run the requested response, and the automatic follow-ups."""
        lane = requested.lane
        size = len(requested.body)
        gateway = self._gateway
        tenant = self._http.tenant
        if requested.data is not None:
            data = requested.data
        else:  # it waited, and was decoded before
            data, requested.tools = await gateway.offload(
                tenant, size, self._message, requested.body
            )
            take_lane(data)
        parent = data.get("previous_response_id")
        try:
            read = partial(read_create, takes=gateway.accepts, tools=requested.tools)
            create = await gateway.offload(tenant, size, read, data)
            remember(create.request, gateway.tools, tenant)
            request = with_cache(self._http, create.request)
            request = with_input(request, messages(self._steering.pending(parent)))
            if request.prompt is not None:
                request, _ = await gateway.prompts.resolve(tenant, request, size)
            run, stated = await self._make(lane, request, generates=create.generates, size=size)
        except Exception:
            self._recall.fail(lane, parent)
            raise
        self._steering.commit(parent)
        while stated:
            if owed := required_input(run.response):
                self._steering.save(run.response.id, stated)
                await self._notify_each(lane, run, (one.pending(owed) for one in stated))
                return
            request = following(request, run.response.id, messages(stated))
            run, following_stated = await self._follow(lane, request, run, stated)
            self._steering.release(stated)
            stated = following_stated

    async def _follow(
        self, lane: Lane, request: CreateResponse, run: Run, stated: list[Submission]
    ) -> tuple[Run, list[Submission]]:
        try:
            return await self._make(lane, request)
        except ClientDisconnected:
            raise
        except Exception as error:
            message = reportable(error).message
            self._recall.fail(lane, run.response.id)
            await self._notify_each(lane, run, (one.failed(message) for one in stated))
            return run, []

    async def _notify_each(self, lane: Lane, run: Run, events: Iterable[Event]) -> None:
        for event in events:
            await self._channel.report(run.append_event(event), lane)

    async def _make(
        self, lane: Lane, request: CreateResponse, *, generates: bool = True, size: int = 0
    ) -> tuple[Run, list[Submission]]:
        """Run one response; return it with the input that it received.

        Raises `AntiphonError` if nothing was sent.
        """
        if not self._gateway.process.accepts_work:
            raise going_away()
        recalled = self._recall.find(request.previous_response_id)
        identity = RequestIdentity(self._http.tenant, size=size, work=size)
        key = await self._http.key()
        if key is None:
            return await self._make_granted(
                lane, request, identity, recalled, None, generates=generates
            )
        weigh = partial(_weight, request)
        with await self._gateway.lease(key, request.model, weigh, size) as lease:
            return await self._make_granted(
                lane, request, identity, recalled, lease, generates=generates
            )

    async def _make_granted(
        self,
        lane: Lane,
        request: CreateResponse,
        identity: RequestIdentity,
        recalled: Sequence[StoredItem] | None,
        lease: UsageLease | None,
        *,
        generates: bool,
    ) -> tuple[Run, list[Submission]]:
        run = await self._gateway.create(request, identity, recalled=recalled, generates=generates)
        if lease is not None:
            lease.watch(run)
        # on a socket an `error` answers a rejected request: clients treat it as the end
        run.leave_out_error()
        response_id = run.response.id
        self._runs[response_id] = run, lane
        self._steering.begin(response_id, request)
        stated: list[Submission] = []

        async def settle() -> None:
            stated.extend(await self._settle(lane, run))

        try:
            await LaneStream(self._channel, lane, run, settle).serve()
        finally:
            self._runs.pop(response_id, None)
            self._steering.end(run.response)  # the client was not informed of an unused one
        return run, stated

    async def _settle(self, lane: Lane, run: Run) -> list[Submission]:
        """A response has ended, and its client will be notified: record whether it can be
        continued.
        """
        response = run.response
        items = (
            await run.chain_items() if response.status in CHAINABLE and not response.store else None
        )
        self._runs.pop(response.id, None)
        if response.status in CHAINABLE:
            self._recall.advance(lane, response.id, items)
        else:
            self._recall.fail(lane, response.previous_response_id)
        return self._steering.end(response)


def _weight(request: CreateResponse) -> Weight:
    return weight_of_response(request, msgspec.json.encode(request.input))


async def _end(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    for task in tasks:
        with suppress(asyncio.CancelledError):
            task.exception()  # else a task keeps its cancellation, and each message in progress
