"""The grammar of a stream of Anthropic's Messages API, as 526 recorded streams have it.

```text
stream   = message_start  { ping | block }  message_delta  message_stop
block(i) = content_block_start(i)  { content_block_delta(i) | ping }  content_block_stop(i)      i = 0, 1, 2 …
failed   = a prefix of stream, then error
```
"""  # noqa: E501 - a table, a diagram or an example

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from antiphon_verify.reading import peek

Rule = Literal["named", "ends", "blocks", "deltas", "input", "thinking", "usage"]
"""`named`: an event has the name of its type. `ends`: `message_start` is first, and the stream ends
once. `blocks` follow each other, with indexes without gaps. `deltas` fit their block. `input` is at
each delta the beginning of JSON. `thinking` ends with one signature. `usage` is in both events that
have it.
"""

Event = tuple[str, Mapping[str, Any]]
"""The name and the data of an event."""

TOOL_USES = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})

DELTAS: Mapping[str, frozenset[str]] = {
    "text": frozenset({"text_delta", "citations_delta"}),
    "thinking": frozenset({"thinking_delta", "signature_delta"}),
    "compaction": frozenset({"compaction_delta"}),
    **dict.fromkeys(TOOL_USES, frozenset({"input_json_delta"})),
}
"""The deltas of each block; others have none."""

OF_THE_DELTA = frozenset({"type", "delta", "usage"})
"""The fields of `message_delta` that are no fields of the message."""

_CUT_OFF = re.compile(r'-?|t(r(u)?)?|f(a(l(s)?)?)?|n(u(l)?)?|"(.*\\u?[0-9a-fA-F]{0,3})?', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Violation:
    """A rule that a stream violates, and how."""

    rule: Rule
    what: str


def violations(events: Iterable[Event]) -> list[Violation]:
    """Return what is wrong with a stream, nothing if it has the grammar."""
    checker = _Checker()
    for name, data in events:
        checker.feed(name, data)
    checker.finish()
    return checker.found


@dataclass(slots=True)
class _Checker:
    found: list[Violation] = field(default_factory=list)
    _state: Literal["new", "open", "ended", "over"] = "new"
    _next: int = 0
    """The index of the open block, or of the next one."""
    _block: Mapping[str, Any] | None = None
    _deltas: list[str] = field(default_factory=list)
    """The types of the deltas of the open block."""
    _json: str = ""

    def feed(self, name: str, data: Mapping[str, Any]) -> None:
        kind = str(data.get("type"))
        self._require("named", name == kind, f"the event {name} has the type {kind}")
        self._require("ends", self._state != "over", f"{kind} after the end")
        if kind not in ("message_start", "error"):
            self._require("ends", self._state != "new", f"{kind} before message_start")
        handle = _HANDLERS.get(kind)
        if handle is None:
            self._require("named", False, f"there is no event {kind}")
        else:
            handle(self, data)

    def finish(self) -> None:
        self._require("ends", self._state == "over", "the stream stops without an end")

    def _require(self, rule: Rule, holds: bool, what: str) -> None:
        if not holds:
            self.found.append(Violation(rule, what))

    def _start(self, data: Mapping[str, Any]) -> None:
        self._require("ends", self._state == "new", "a second message_start")
        message = data.get("message")
        is_empty = peek(message, "content") == [] and peek(message, "stop_reason") is None
        self._require("ends", is_empty, "message_start has content or a stop_reason")
        usage = peek(message, "usage")
        has_usage = isinstance(usage, dict) and {"input_tokens", "output_tokens"} <= usage.keys()
        self._require("usage", has_usage, "message_start has no usage")
        self._state = "open"

    def _open(self, data: Mapping[str, Any]) -> None:
        self._require("blocks", self._block is None, "a block begins inside another")
        self._require("blocks", self._state == "open", "a block begins after message_delta")
        self._place(data)
        block = data.get("content_block")
        self._block = block if isinstance(block, dict) else {}
        self._deltas = []
        self._json = ""

    def _grow(self, data: Mapping[str, Any]) -> None:
        if self._block is None:
            self._require("blocks", False, "a delta outside of a block")
            return
        self._place(data)
        kind = str(self._block.get("type"))
        delta = str(peek(data, "delta", "type"))
        self._require("deltas", delta in DELTAS.get(kind, ()), f"{delta} in a block {kind}")
        if delta == "input_json_delta":
            self._json += str(peek(data, "delta", "partial_json"))
            self._require("input", is_json_prefix(self._json), f"an input: {self._json[-60:]}")
        self._deltas.append(delta)

    def _close(self, data: Mapping[str, Any]) -> None:
        if self._block is None:
            self._require("blocks", False, "content_block_stop without a block")
            return
        self._place(data)
        kind = self._block.get("type")
        if kind == "thinking":
            is_signed = self._deltas.count("signature_delta") == 1
            is_last = self._deltas[-1:] == ["signature_delta"]
            is_whole = is_signed and is_last
            self._require("thinking", is_whole, "thinking does not end with its signature")
        self._block = None
        self._next += 1

    def _place(self, data: Mapping[str, Any]) -> None:
        index = data.get("index")
        self._require("blocks", index == self._next, f"the index {index} instead of {self._next}")

    def _end(self, data: Mapping[str, Any]) -> None:
        self._require("blocks", self._block is None, "message_delta inside a block")
        self._require("ends", self._state == "open", "a second message_delta")
        reason = peek(data, "delta", "stop_reason")
        self._require("ends", isinstance(reason, str), "message_delta has no stop_reason")
        usage = data.get("usage")
        has_usage = isinstance(usage, dict) and "output_tokens" in usage
        self._require("usage", has_usage, "message_delta has no usage")
        self._state = "ended"

    def _stop(self, data: Mapping[str, Any]) -> None:
        self._require("ends", self._state == "ended", "message_stop without message_delta")
        self._state = "over"

    def _fail(self, data: Mapping[str, Any]) -> None:
        error = data.get("error")
        is_whole = isinstance(error, dict) and {"type", "message"} <= error.keys()
        self._require("ends", is_whole, "an error without its fields")
        self._state = "over"

    def _ping(self, data: Mapping[str, Any]) -> None:
        """A ping can come anywhere after the start."""


_HANDLERS: Mapping[str, Callable[[_Checker, Mapping[str, Any]], None]] = {
    "message_start": _Checker._start,
    "content_block_start": _Checker._open,
    "content_block_delta": _Checker._grow,
    "content_block_stop": _Checker._close,
    "message_delta": _Checker._end,
    "message_stop": _Checker._stop,
    "ping": _Checker._ping,
    "error": _Checker._fail,
}


def fold(events: Iterable[Event]) -> dict[str, Any]:
    """Return the message of a stream, as the SDKs add it up; an empty one for a stream without
    start.
    """
    message: dict[str, Any] = {}
    inputs: dict[int, str] = {}
    for _, data in events:
        kind = data.get("type")
        if kind == "message_start":
            message = dict(peek(data, "message") or {})
            message["content"] = []
        elif kind == "content_block_start":
            message.setdefault("content", []).append(dict(data["content_block"]))
        elif kind == "content_block_delta":
            _add(message["content"][-1], data["delta"], inputs, data["index"])
        elif kind == "message_delta":
            usage = {**(message.get("usage") or {}), **(data.get("usage") or {})}
            alongside = {
                name: data[name] for name in data if name not in ("type", "delta", "usage")
            }
            message |= {**data["delta"], "usage": usage, **alongside}
    for index, text in inputs.items():
        message["content"][index]["input"] = _object(text)
    return message


def _add(
    block: dict[str, Any], delta: Mapping[str, Any], inputs: dict[int, str], index: int
) -> None:
    match delta.get("type"):
        case "text_delta":
            block["text"] += delta["text"]
        case "thinking_delta":
            block["thinking"] += delta["thinking"]
        case "signature_delta":
            block["signature"] = delta["signature"]
        case "citations_delta":
            block["citations"] = [*(block.get("citations") or []), delta["citation"]]
        case "input_json_delta":
            inputs[index] = inputs.get(index, "") + delta["partial_json"]
        case "compaction_delta":
            block |= {name: value for name, value in delta.items() if name != "type"}


def _object(text: str) -> dict[str, Any]:
    """Return an input; an empty one if it is not an object."""
    try:
        value = json.loads(text or "{}")
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def is_json_prefix(text: str) -> bool:
    """Whether the text is the beginning of valid JSON."""
    if not text.strip():
        return True
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        rest = text[error.pos :]
        if error.msg.startswith("Unterminated string") or not rest.strip():
            return True
        is_escape = error.msg.startswith("Invalid \\") and len(rest) <= 6
        return is_escape or _CUT_OFF.fullmatch(rest.strip()) is not None
    return True
