"""Facts about responses: the data that lists and timelines show, stored when a response is queued
and when it ends.
"""

import time
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

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
from antiphon.protocol.tools import McpTool
from antiphon.recording.persistence import RequestIdentity
from antiphon.sharing.compression import zstd_library
from antiphon.storage.records.facts import (
    BACKGROUND,
    CACHED,
    CREDENTIALS,
    ESTIMATED,
    HAS_MESSAGE,
    LATE,
    OWN_ID,
    STORED,
    STREAM,
    SUMMED,
    WEBSOCKET,
    WINDOWS,
    WORDS,
    Facts,
    pair_of,
)
from antiphon.telemetry.context import current
from antiphon.telemetry.observers import ResponseRecord, Span
from antiphon.translation.writer import Moment

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
"""How facts name a tool, by the type of its calls."""

MOST_TOOLS = 20
"""Different tools of one response that are named, and characters of each."""

MOST_SPANS = 500
"""Spans of one response that are stored: the first ones."""

MOST_SENT = 1024 * 1024
"""Bytes of backend requests that are stored per response: compressing them takes
a few milliseconds.
"""

MOST_TOKENS, MOST_COST = 10**12, 10**15
"""Maximum tokens, and cost in nano-units, of one response that are counted:
a backend can report any number.
"""

NO_USAGE = Usage()

STREAMED = STREAM | WEBSOCKET
"""The flags of responses with a first token that their client received before the end."""

_encode = msgspec.json.Encoder().encode


class ResponseOrigin(Struct, frozen=True):
    """The origin of a response, as stored in its facts."""

    model: str
    tenant: str
    key_id: str
    flags: int
    request_bytes: int
    attempts: int = 1


def origin_of(request: CreateResponse, identity: RequestIdentity) -> ResponseOrigin:
    """Return the origin of the response to a request, which is the request
    that this task serves.
    """
    known = current.get()
    flags = STORED if request.store is not False else 0
    if request.background:
        flags |= BACKGROUND
    if request.stream:
        flags |= STREAM
    if known.is_message:
        flags |= WEBSOCKET
    if known.request_id and known.request_id[4:] != identity.response_id[5:]:  # the same digits
        flags |= OWN_ID
    for tool in request.tools or ():
        if type(tool) is McpTool:
            flags |= _credentials_of(tool)
    return ResponseOrigin(request.model, identity.tenant, known.api_key_id, flags, identity.size)


def _credentials_of(tool: McpTool) -> int:
    """Return the bits of the fields with credentials that a tool had."""
    return sum(flag for name, flag in CREDENTIALS.items() if getattr(tool, name))


class _Times(Struct, frozen=True):
    """When a response began and ended, in milliseconds since the epoch,
    and the moments in between.
    """

    began: int
    ended: int
    queued: int | None = None
    first: int | None = None
    calls: int = 0
    """Calls of models."""
    spans: bytes = b""


def facts_of(
    origin: ResponseOrigin,
    response: Response,
    own_input: Sequence[Any],
    now: float,
    record: ResponseRecord | None = None,
    usage: Usage | None = None,
    cost: int | None = None,
    moments: Sequence[Moment] | None = None,
    *,
    is_estimated: bool = False,
) -> Facts:
    """Return the facts of a response in its current state; `now` is the time since the epoch.

    `usage` are all tokens that were used, by default those of the response, and `cost` is in
    nano-units. `is_estimated` states that a backend did not report them all.

    Without a `record` it did not run here: it was just queued, or was ended from outside. `moments`
    are those of the items of its output, if they were recorded.
    """
    usage = usage or response.usage or NO_USAGE
    output = response.output
    flags = origin.flags
    times = (
        _Times(int(now * 1000), int(now * 1000))
        if record is None
        else _measured(record, now, moments)
    )
    spans: Sequence[Span] = () if record is None else record.spans
    status, error, message = _outcome(response, record)
    if usage.input_tokens > MOST_TOKENS or usage.output_tokens > MOST_TOKENS:
        usage = _bounded(usage)
    if record is not None and record.cache == "hit":
        flags |= CACHED
        usage = NO_USAGE  # the answer repeats that of the response which called the model
    if is_estimated:
        flags |= ESTIMATED
    if response.background_options:
        flags |= WINDOWS.get(response.background_options["completion_window"], 0)
    if times.ended - times.began >= LATE:
        flags |= SUMMED
    # Also by an earlier attempt, or for the cached answer.
    is_sent = times.calls or (record is not None and (record.is_resumed or record.cache == "hit"))
    has_words = bool(flags & STORED)
    is_plain = len(output) == 1 and type(output[0]) is Message
    if has_words and message:
        flags |= HAS_MESSAGE
    return Facts(
        id=response.id,
        tenant=origin.tenant,
        began=times.began,
        ended=None if status == "queued" else times.ended,
        status=status,
        model=origin.model,
        served_model="" if record is None else response.model,
        backend="" if record is None or not is_sent else record.target.state.label,
        key_id=origin.key_id,
        flags=flags,
        tools="" if is_plain or not output else _tools(output),
        queued=times.queued,
        first=times.first if flags & STREAMED else None,
        input_tokens=usage.input_tokens,
        cached_tokens=usage.input_tokens_details.cached_tokens,
        output_tokens=usage.output_tokens,
        reasoning_tokens=usage.output_tokens_details.reasoning_tokens,
        calls=times.calls,
        attempts=origin.attempts,
        error=error[:WORDS],
        previous_response_id=response.previous_response_id or "",
        conversation_id=response.conversation.id if response.conversation is not None else "",
        request_bytes=origin.request_bytes,
        tags=_tags(response.metadata) if has_words and response.metadata else "",
        input=_newest(own_input, "user") if has_words else "",
        output="" if not has_words else message[:WORDS] or _newest(output, "assistant"),
        cost=cost if cost is None or cost < MOST_COST else MOST_COST,
        spans=times.spans,
        bodies=_bodies(spans) if has_words and spans and spans[0].body else b"",
    )


def _bounded(usage: Usage) -> Usage:
    """Return the tokens that a backend reported, clamped so that sums over many responses
    do not overflow.
    """
    read = usage.input_tokens_details
    sent = usage.output_tokens_details
    read = replace(read, cached_tokens=min(read.cached_tokens, MOST_TOKENS))
    sent = replace(sent, reasoning_tokens=min(sent.reasoning_tokens, MOST_TOKENS))
    most = [min(count, MOST_TOKENS) for count in (usage.input_tokens, usage.output_tokens)]
    return replace(
        usage,
        input_tokens=most[0],
        output_tokens=most[1],
        input_tokens_details=read,
        output_tokens_details=sent,
    )


def _outcome(response: Response, record: ResponseRecord | None) -> tuple[str, str, str]:
    """Return a response's status, and the code and the message of its error.

    A response that ended while in progress was not announced: its client received an error
    or had disconnected.
    """
    failure = None if record is None else record.failure
    if failure is not None:
        return "failed", failure.code, failure.message
    if response.status == "in_progress" and record is not None:
        return "cancelled", "", ""
    error = response.error
    return (
        (response.status, "", "")
        if error is None
        else (
            response.status,
            error.code,
            error.message,
        )
    )


def _measured(record: ResponseRecord, now: float, moments: Sequence[Moment] | None) -> _Times:
    """Return the times of a response that ends now; the record has seconds
    of the monotonic clock.
    """
    since = record.began
    spans = record.spans
    began = int((now - time.monotonic() + since) * 1000)
    ended = int(now * 1000)
    if not (spans or record.adjusted):
        return _Times(began, ended)
    rows = []
    first = None
    calls = 0
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
    stored: list[Any] = rows[:MOST_SPANS]
    if record.adjusted:
        stored += [("adjusted", name, 0, None, None, "") for name in record.adjusted]
    if moments and spans:
        stored += _items(moments, now - time.monotonic() + since)
    waited = (
        int((spans[0].began - since) * 1000) if spans else None
    )  # an answer from the cache has none
    return _Times(began, ended, waited, first, calls, _encode((began, stored)))


def _items(moments: Sequence[Moment], began: float) -> list[list[Any]]:
    """Return when the items of the output were opened and closed, as rows like those of spans."""
    rows: dict[int, list[Any]] = {}
    for index, kind, moment in moments:
        at = max(0, int((moment - began) * 1e6))
        if kind is not None and len(rows) < MOST_SPANS:
            rows[index] = ["item", kind.__struct_config__.tag, at, None, None, ""]
        elif kind is None and index in rows:
            rows[index][3] = at
    return list(rows.values())


def _bodies(spans: Sequence[Span]) -> bytes:
    """Return the requests that the backends received, compressed; empty if they are too
    large to store.
    """
    sent = [span.body for span in spans if span.kind == "call"]
    if sum(map(len, sent)) > MOST_SENT:
        return b""
    compressed: bytes = zstd_library().compress(b"[%s]" % b",".join(sent), level=1)
    return compressed


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
    """Return the tools that were called: their kinds and their names."""
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
