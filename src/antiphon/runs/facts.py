"""Facts about responses: what lists and timelines show of a response, kept when it is queued and when it ends."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import msgspec
from msgspec import Struct

from antiphon.errors import StoreError, log
from antiphon.protocol.items.calls import (
    ApplyPatchCall,
    ComputerCall,
    CustomToolCall,
    LocalShellCall,
    ShellCall,
    ToolSearchCall,
)
from antiphon.protocol.items.hosted import (
    CodeInterpreterCall,
    FileSearchCall,
    ImageGenerationCall,
    McpCall,
    WebSearchCall,
)
from antiphon.protocol.items.messages import FunctionCall, Message
from antiphon.protocol.requests import CreateResponse
from antiphon.protocol.response import Response, Usage
from antiphon.runs.persistence import RequestIdentity
from antiphon.storage.contract import Facts, Store
from antiphon.storage.records.facts import BACKGROUND, CACHED, STORED, STREAM, WEBSOCKET, WORDS, pair_of
from antiphon.telemetry.context import current
from antiphon.telemetry.observers import ResponseRecord, Span

TOOLS: dict[type[Any], str] = {
    FunctionCall: "function",
    CustomToolCall: "custom",
    McpCall: "mcp",
    WebSearchCall: "web_search",
    FileSearchCall: "file_search",
    CodeInterpreterCall: "code_interpreter",
    ImageGenerationCall: "image_generation",
    ComputerCall: "computer",
    LocalShellCall: "local_shell",
    ShellCall: "shell",
    ApplyPatchCall: "apply_patch",
    ToolSearchCall: "tool_search",
}
"""What facts call a tool, by the type of its calls."""

MOST_TOOLS = 20
"""Different tools of one response that are named, and characters of each."""

MOST_SPANS = 500
"""Spans of one response that are kept: the first ones."""

SOON = 0.25
"""Seconds for which facts of responses that are not stored gather before they are written."""

TRY_AGAIN = 1.0
"""Seconds between two tries to write them, where the store fails."""

MOST_WAITING = 10_000
"""Facts that wait for a store that fails; more are dropped."""

LAST_TRY = 5.0
"""Seconds that the end of the process waits for the last facts."""

NO_USAGE = Usage()

_encode = msgspec.json.Encoder().encode


class Origin(Struct, frozen=True):
    """Where a response comes from, as its facts say it."""

    model: str
    tenant: str
    key_id: str
    flags: int
    request_bytes: int
    retention: int
    """Seconds for which facts are kept."""
    attempts: int = 1


def origin_of(writer: "FactsWriter", request: CreateResponse, identity: RequestIdentity) -> Origin:
    """Return where the response to a request comes from; the request is the one that this task serves."""
    known = current.get()
    flags = STORED if request.store is not False else 0
    if request.background:
        flags |= BACKGROUND
    if request.stream:
        flags |= STREAM
    if known.request_id and not known.is_exchange:
        flags |= WEBSOCKET
    return Origin(request.model, identity.tenant, known.api_key_id, flags, identity.size, writer.retention)


class _Times(Struct, frozen=True):
    """When a response began and ended, in milliseconds since the epoch, and what came between."""

    began: int
    ended: int
    queued: int | None = None
    first: int | None = None
    calls: int = 0
    """Calls of models."""
    spans: bytes = b""


def facts_of(
    origin: Origin, response: Response, asked: Sequence[Any], now: float, record: ResponseRecord | None = None
) -> Facts:
    """Return the facts of a response as it stands; `asked` is its own input, `now` the time since the epoch.

    Without a `record` it was not made here: it was just queued, or ended from outside.
    """
    usage, output, flags = response.usage or NO_USAGE, response.output, origin.flags
    times = _Times(int(now * 1000), int(now * 1000)) if record is None else _measured(record, now)
    spans: Sequence[Span] = () if record is None else record.spans
    status, error = _outcome(response, spans, is_made_here=record is not None)
    if record is not None and record.cache == "hit":
        flags |= CACHED
    has_words, is_plain = bool(flags & STORED), len(output) == 1 and type(output[0]) is Message
    return Facts(
        id=response.id,
        tenant=origin.tenant,
        began=times.began,
        ended=None if status == "queued" else times.ended,
        status=status,
        model=origin.model,
        served_model="" if record is None else response.model,
        backend="" if record is None else record.target.state.label,
        key_id=origin.key_id,
        flags=flags,
        tools="" if is_plain or not output else _tools(output),
        queued=times.queued,
        first=times.first,
        input_tokens=usage.input_tokens,
        cached_tokens=usage.input_tokens_details.cached_tokens,
        output_tokens=usage.output_tokens,
        reasoning_tokens=usage.output_tokens_details.reasoning_tokens,
        calls=times.calls,
        attempts=origin.attempts,
        error=error,
        previous_response_id=response.previous_response_id or "",
        conversation_id=response.conversation.id if response.conversation is not None else "",
        request_bytes=origin.request_bytes,
        tags=_tags(response.metadata) if has_words and response.metadata else "",
        input=_newest(asked, "user") if has_words else "",
        output=_newest(output, "assistant") if has_words else "",
        expires_at=response.created_at + origin.retention,
        spans=times.spans,
    )


def _outcome(response: Response, spans: Sequence[Span], *, is_made_here: bool) -> tuple[str, str]:
    """Return a response's status and the code of its error.

    One that ended here in progress was not announced: its client got an error instead, or left before.
    """
    if response.status != "in_progress" or not is_made_here:
        return response.status, response.error.code if response.error is not None else ""
    error = spans[-1].error if spans else ""
    return "failed" if error else "cancelled", error


def _measured(record: ResponseRecord, now: float) -> _Times:
    """Return the times of a response that ends now, of the record in seconds of the monotonic clock."""
    since, spans = record.began, record.spans
    began, ended = int((now - time.monotonic() + since) * 1000), int(now * 1000)
    if not spans:
        return _Times(began, ended)
    rows = []
    first, calls = None, 0
    for span in spans:
        calls += span.kind == "call"
        if first is None and span.first is not None:
            first = int((span.first - since) * 1000)
        rows.append(
            (
                span.kind,
                span.name,
                int((span.began - since) * 1e6),
                None if span.ended is None else int((span.ended - since) * 1e6),
                None if span.first is None else int((span.first - since) * 1e6),
                span.error,
            )
        )
    return _Times(began, ended, int((spans[0].began - since) * 1000), first, calls, _encode((began, rows[:MOST_SPANS])))


def _newest(items: Sequence[Any], role: str) -> str:
    """Return the beginning of the newest message of a role."""
    for item in reversed(items):
        if type(item) is Message and item.role == role:
            content = item.content
            if isinstance(content, str):
                return content[:WORDS]
            for part in content:
                text = getattr(part, "text", None)
                if isinstance(text, str) and text:
                    return text[:WORDS]
    return ""


def _tools(output: Sequence[Any]) -> str:
    """Return the tools that were called: what kind they are, and their names."""
    names: dict[str, None] = {}
    for item in output:
        kind = TOOLS.get(type(item))
        if kind is None:
            continue
        names[kind] = None
        if name := getattr(item, "name", None):
            place = getattr(item, "server_label", None) or getattr(item, "namespace", None)
            whole = f"{place}.{name}" if place else name
            names["_".join(whole.split())[:WORDS]] = None
    return f" {' '.join(list(names)[:MOST_TOOLS])} " if names else ""


def _tags(metadata: Mapping[str, str]) -> str:
    """Return metadata as `Facts.tags`."""
    return "".join([pair_of(*pair) for pair in metadata.items()])


class FactsWriter:
    """Keeps the facts of responses that are not saved themselves, all that come together in one step."""

    def __init__(self, store: Store, retention: int) -> None:
        self._store = store
        self.retention = retention
        """Seconds for which facts are kept."""
        self._waiting: list[Facts] = []
        self._writing: asyncio.Task[None] | None = None

    def add(self, facts: Facts) -> None:
        """Have facts written soon."""
        if len(self._waiting) < MOST_WAITING:
            self._waiting.append(facts)
        if self._writing is None:
            self._writing = asyncio.get_running_loop().create_task(self._write())

    async def close(self) -> None:
        """Write what is left, if the store takes it soon."""
        writing, self._writing = self._writing, None
        if writing is not None:
            writing.cancel()
            with suppress(asyncio.CancelledError):
                await writing
        if self._waiting:
            with suppress(StoreError, TimeoutError):
                async with asyncio.timeout(LAST_TRY):
                    await self._store.put_facts(self._waiting)

    async def _write(self) -> None:
        try:
            while self._waiting:
                await asyncio.sleep(SOON)
                await self._write_all()
        finally:
            self._writing = None

    async def _write_all(self) -> None:
        """Write what waits, however often the store fails."""
        was_told = False
        while True:
            facts = list(self._waiting)
            try:
                await asyncio.shield(asyncio.ensure_future(self._store.put_facts(facts)))
            except StoreError as error:
                if not was_told:
                    log.warning("Facts about responses wait for the store: %s", error)
                was_told = True
                await asyncio.sleep(TRY_AGAIN)
            else:
                del self._waiting[: len(facts)]
                return
