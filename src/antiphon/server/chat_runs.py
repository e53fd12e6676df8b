"""Chat completions that are answered as responses: each answer (`n`) is a run."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from antiphon.errors import AntiphonError, BackendError
from antiphon.gateway import (
    CompletionRecorder,
    Gateway,
    JsonObject,
    PassthroughSink,
    Phase,
    RequestIdentity,
    Run,
    UsageLease,
)
from antiphon.gateway.chat import (
    DONE,
    ChatRequest,
    ChunkEncoder,
    RunInsteadError,
    TotalUse,
    completion_of,
    frame,
    unanswerable,
)
from antiphon.ids import response_id_of
from antiphon.protocol.events import Event, ResponseFailedEvent
from antiphon.protocol.response import Response
from antiphon.server.admission import CACHE_HEADER, with_cache
from antiphon.server.exchange import EventStream
from antiphon.server.reply import (
    JSON,
    SSE,
    DisconnectWatch,
    ReplySink,
    ReplyStream,
    encode_json,
    run_headers,
)
from antiphon.server.request import HttpRequest
from antiphon.telemetry.context import current

CHAT = (b"antiphon-chat", b"run")
"""The header that reports that a chat completion was answered as a response."""

STREAM = {"content-type": "text/event-stream; charset=utf-8"}
PLAIN = {"content-type": "application/json"}

Batch = tuple[int, Sequence[Event]]
"""Events of an answer, with its index."""


class ForwardedOrRun:
    """A completion that is forwarded, and answered as a response if its backend refuses that."""

    def __init__(self, forwarded: ReplyStream, run: "ChatRun", *, has_other_path: bool) -> None:
        self._forwarded = forwarded
        self._run = run
        self._has_other_path = has_other_path

    async def send(self, sink: ReplySink) -> None:
        """See `ReplyStream`."""
        try:
            await self._forwarded.send(sink)
            return
        except RunInsteadError:
            pass
        except BackendError:
            if sink.status or not self._has_other_path:
                raise
        await self._run.send(sink)


class ChatRun:
    """One completion. It begins when its reply is sent."""

    def __init__(
        self,
        gateway: Gateway,
        http: HttpRequest,
        request: JsonObject,
        size: int,
        lease: UsageLease | None,
        recorder: CompletionRecorder | None,
    ) -> None:
        self._gateway = gateway
        self._http = http
        self._request = request
        self._size = size
        self._lease = lease
        self._recorder = recorder

    async def send(self, sink: ReplySink) -> None:
        """See `ReplyStream`."""
        request = self._request if self._recorder is None else self._recorder.request
        wanted = await self._gateway.chat.read(self._http.tenant, request, self._size)
        try:
            await self._send(sink, wanted)
        except AntiphonError as error:
            raise wanted.view.named(error) from None

    async def _send(self, sink: ReplySink, wanted: ChatRequest) -> None:
        others = [self._gateway.new_id("resp") for _ in range(1, wanted.view.answers)]
        ids = [response_id_of(current.get().request_id), *others]
        runs = [await self._begin(wanted, response_id) for response_id in ids]
        if self._lease is not None:
            self._lease.watch(TotalUse(runs))
        completion_id = self._gateway.new_id("chatcmpl").replace("_", "-", 1)
        out = _Output(sink, runs[0], is_stream=wanted.view.is_stream)
        into = out if self._recorder is None else self._recorder.into(out)
        if wanted.view.is_stream:
            await _ChunkStream(_Answers(runs), wanted, completion_id, into).send(sink)
        else:
            async with DisconnectWatch(sink.receive):
                responses = await _results(runs)
            body = encode_json(completion_of(responses, wanted.view, completion_id))
            await into.begin(200, runs[0].backend, PLAIN)
            await into.write(body, more_body=False)
        for run in runs:
            self._gateway.chat.remember(self._http.tenant, run.response)

    async def _begin(self, wanted: ChatRequest, response_id: str) -> Run:
        request: Any = wanted.request
        if self._http.uses_cache is not None or CACHE_HEADER in self._http.headers:
            request = with_cache(self._http, request)
        identity = RequestIdentity(self._http.tenant, response_id, size=self._size, work=self._size)
        return await self._gateway.create(request, identity)


async def _results(runs: Sequence[Run]) -> list[Response]:
    """Return the responses of all runs. Raises the error of the first that fails."""
    if len(runs) == 1:
        return [_checked(await runs[0].result())]
    tasks = [asyncio.create_task(run.result()) for run in runs]
    try:
        return [_checked(response) for response in await asyncio.gather(*tasks)]
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _checked(response: Response) -> Response:
    error = response.error
    if error is not None:
        raise BackendError(error.message, code=error.code, param=error.param or None)
    if (unknown := unanswerable(response)) is not None:
        raise unknown
    return response


class _Output:
    """Sends what a completion consists of to the client."""

    def __init__(self, sink: ReplySink, run: Run, *, is_stream: bool) -> None:
        self._sink = sink
        self._run = run
        self._is_stream = is_stream

    async def begin(self, status: int, backend: str, headers: Mapping[str, str]) -> None:
        """See `PassthroughSink`."""
        common = SSE if self._is_stream else JSON
        await self._sink.start(status, [*common, *run_headers(self._run), CHAT])

    async def write(self, part: bytes, *, more_body: bool = True) -> None:
        """See `PassthroughSink`."""
        await self._sink.write(part, more_body=more_body)


class _Answers:
    """The runs of a completion, as one stream."""

    def __init__(self, runs: Sequence[Run]) -> None:
        self.runs = runs
        self.phase = Phase.STREAMING

    async def events(self) -> AsyncIterator[Batch]:
        """Yield the events of all answers as they come, in batches of one answer each."""
        if len(self.runs) == 1:
            async with aclosing(self.runs[0].events()) as batches:
                async for batch in batches:
                    yield 0, batch
            return
        queue: asyncio.Queue[Batch | BaseException | None] = asyncio.Queue(maxsize=1)
        tasks = [
            asyncio.create_task(self._read(index, run, queue))
            for index, run in enumerate(self.runs)
        ]
        try:
            left = len(tasks)
            while left:
                found = await queue.get()
                if isinstance(found, BaseException):
                    raise found
                if found is None:
                    left -= 1
                else:
                    yield found
                    if any(isinstance(event, ResponseFailedEvent) for event in found[1]):
                        return  # the other answers end with it
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _read(
        self, index: int, run: Run, queue: "asyncio.Queue[Batch | BaseException | None]"
    ) -> None:
        try:
            async with aclosing(run.events()) as batches:
                async for batch in batches:
                    await queue.put((index, batch))
            await queue.put(None)
        except Exception as error:
            await queue.put(error)

    def keepalive_events(self) -> Batch:
        """See `Run.keepalive_events`: those of an answer that is not over."""
        index = next((index for index, run in enumerate(self.runs) if not run.is_over), 0)
        return index, self.runs[index].keepalive_events()


class _ChunkStream(EventStream):
    """The events of runs as chunks."""

    def __init__(
        self, answers: _Answers, wanted: ChatRequest, completion_id: str, out: PassthroughSink
    ) -> None:
        super().__init__(answers)  # type: ignore[arg-type] # as far as this class uses a run
        self._answers = answers
        self._view = wanted.view
        self._out = out
        self._encoders = [
            ChunkEncoder(wanted.view, completion_id, run.response.created_at, index)
            for index, run in enumerate(answers.runs)
        ]

    async def _send_events(self, batch: Any, *, more_body: bool = True) -> None:
        body = b""
        if batch:
            index, events = batch
            body = self._encoders[index].encode(events)
        if not more_body:
            body += self._end()
        if not body and more_body:
            return
        if not self._is_open:
            await self._open()
        self._last_event = self._last_sent = self._loop.time()
        await self._out.write(body, more_body=more_body)

    def _end(self) -> bytes:
        failed = next((one.error for one in self._encoders if one.error is not None), None)
        if failed is not None:
            text, param = self._view.renamed(failed["message"], failed["param"])
            return frame({"error": failed | {"message": text, "param": param}})
        first = self._encoders[0]
        usage = (
            first.usage_chunk([one.usage for one in self._encoders])
            if self._view.shows_usage
            else b""
        )
        return usage + DONE

    async def _open(self) -> None:
        self._is_open = True
        await self._out.begin(200, self._answers.runs[0].backend, STREAM)
