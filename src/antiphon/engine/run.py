"""Performs what `turn.py` decides: awaits the backend and the store, and hands out events as they are made.

A streamed request, a plain one and an embedded call all go through `Run.events`; a plain request is a stream whose
events nobody looks at, so the two cannot disagree.
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec.structs import replace

from antiphon.backends.base import Reply
from antiphon.chat.sealed import seal
from antiphon.engine.history import Context, gather, store_item
from antiphon.engine.models import Models, Target
from antiphon.engine.response import open_response, view_of
from antiphon.engine.turn import CallModel, Finish, Turn
from antiphon.errors import AntiphonError, BackendError, StoreError, log, reportable
from antiphon.ids import Clock, NewId
from antiphon.protocol.calls import call_ids
from antiphon.protocol.events import Event
from antiphon.protocol.requests import CreateResponse
from antiphon.protocol.response import Response
from antiphon.store.base import Store, StoredResponse
from antiphon.stream.answer import AnswerReader, conclude
from antiphon.stream.chat import ChatStream
from antiphon.stream.writer import ResponseWriter

MAX_ERROR_BODY = 1024 * 1024
"""Bytes of a backend's error that are read."""

JSON_TYPES = {"application/json", "text/json"}

_encode = msgspec.json.Encoder().encode


@dataclass(slots=True)
class Engine:
    """Makes responses. `new_id` and `now` are handed in, so that a trace can be exact."""

    models: Models
    store: Store
    new_id: NewId
    now: Clock

    async def create(self, request: CreateResponse) -> "Run":
        """Begin a response. Raises `ClientError` for what can be refused before the model is asked."""
        context = await gather(request, self.store, self.new_id)
        target = await self.models.find(request.model)
        return Run(self, request, context, target)


class Run:
    """One response being made. Iterate `events`, or await `result`; once, and one of the two."""

    def __init__(self, engine: Engine, request: CreateResponse, context: Context, target: Target) -> None:
        self._engine = engine
        self._context = context
        self._target = target
        self._stored = request.store is not False
        self._names = frozenset(tool.name for tool in request.tools or ())
        self._call_ids = call_ids(context.items)
        self.is_stream = bool(request.stream)
        self._turn = Turn(request, context, target)
        self._is_started = False
        self._is_over = False
        family = target.dialect.name
        self._writer = ResponseWriter(
            response=open_response(request, engine.new_id("resp"), int(engine.now())),
            new_id=engine.new_id,
            now=engine.now,
            seal=lambda state: seal({"family": family, **state}),
            view=view_of(request),
        )

    @property
    def response(self) -> Response:
        """The response as it stands."""
        return self._writer.response

    async def result(self) -> Response:
        """Make the response and return it. Raises `AntiphonError` where it failed."""
        async with aclosing(self.events()) as batches:
            async for _ in batches:
                pass
        return self._writer.response

    def pulse(self) -> list[Event]:
        """Return what to send when the stream was silent for a while: that it began, or that it lives."""
        if self._is_over:
            return []
        if not self._start():
            self._writer.keepalive()
        return self._writer.take()

    async def events(self) -> AsyncGenerator[list[Event], None]:
        """Make the response; give its events in batches as they come. The last batch is given once it is durable.

        Raises `AntiphonError` as long as no event was given, afterwards every failure is told by events. A plain
        request gives no event before it is known to succeed. Closing the iterator early ends the backend's work.
        """
        try:
            while isinstance(step := self._turn.next(), CallModel):
                async with aclosing(self._call(step.body)) as batches:
                    async for batch in batches:
                        yield batch
        except Exception as error:
            if not self._is_started:
                raise
            self._writer.fail(reportable(error))
        except BaseException:
            await self._give_up()
            raise
        else:
            self._conclude(step)
        yield await self._end()

    async def _call(self, body: dict[str, Any]) -> AsyncGenerator[list[Event], None]:
        """Ask the backend once, and translate its answer."""
        reply = await self._target.backend.post("/chat/completions", _encode(body))
        try:
            if reply.status >= 400:
                self._turn.refused(reply.status, reply.headers, await reply.read(MAX_ERROR_BODY))
                return
            if self.is_stream and self._start():
                yield self._writer.take()
            async with aclosing(self._read(reply)) as batches:
                async for batch in batches:
                    yield batch
        finally:
            await reply.close()

    async def _read(self, reply: Reply) -> AsyncGenerator[list[Event], None]:
        chat = ChatStream(
            self._writer,
            names=self._names,
            call_ids=self._call_ids,
            preopened=self._target.preopened,
            needs_reason=not self._target.dialect.ends_without_finish_reason,
        )
        answer = AnswerReader(chat, is_json=reply.content_type in JSON_TYPES)
        try:
            async for part in reply.body:
                answer.feed(part)
                if answer.is_over:
                    break
                if batch := self._writer.take():
                    yield batch
        except BackendError as error:
            answer.fail(error)
        except BaseException:
            # The client went away: what was said so far is closed as incomplete, to be kept.
            answer.finish()
            raise
        self._turn.answered(answer.finish())
        self._target.preopened = chat.preopened

    def _start(self) -> bool:
        """Say that the response began, unless that was said; return whether it was said now."""
        if self._is_started:
            return False
        self._is_started = True
        self._writer.start()
        return True

    def _conclude(self, step: Finish) -> None:
        if step.ending.error is not None and not self.is_stream:
            raise step.ending.error
        conclude(self._writer, step.ending)

    async def _end(self) -> list[Event]:
        """Make the response durable, then tell its end."""
        self._is_over = True
        try:
            await self._save()
        except AntiphonError as error:
            if not self._is_started:
                raise
            self._writer.fail(error, self._writer.response.usage)
        self._writer.end()
        return self._writer.take()

    async def _give_up(self) -> None:
        """The client went away: keep what there is, as cancelled."""
        if self._is_started and not self._is_over:
            self._is_over = True
            self._writer.cancel()
            try:
                await self._save()
            except StoreError as error:
                log.warning("A response that its client left was not stored: %s", error)

    async def _save(self) -> None:
        if not self._stored:
            return
        response = self._writer.response
        sealed = self._writer.sealed
        await self._engine.store.save(
            StoredResponse(
                id=response.id,
                created_at=response.created_at,
                status=response.status,
                previous_response_id=response.previous_response_id,
                body=_encode(replace(response, output=[])),
                input=[store_item(item) for item in self._context.input],
                output=[store_item(item, sealed.get(item.id)) for item in response.output],
            )
        )
