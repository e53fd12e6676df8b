"""A reader of Messages streams: what an SDK would make of one, and where it violates the grammar.

```text
stream   = message_start  { ping | block }  message_delta  message_stop
block(i) = content_block_start(i)  { content_block_delta(i) | ping }  content_block_stop(i)      i = 0, 1, 2 …
failed   = a prefix of stream, then error
```

The grammar is that of 526 recorded streams, in which it has no violation.
"""  # noqa: E501 - a table, a diagram or an example

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

Event = tuple[str, dict[str, Any]]

TOOL_USES = {"tool_use", "server_tool_use", "mcp_tool_use"}

DELTAS: Mapping[str, set[str]] = {
    "text": {"text_delta", "citations_delta"},
    "thinking": {"thinking_delta", "signature_delta"},
    "compaction": {"compaction_delta"},
    **{kind: {"input_json_delta"} for kind in TOOL_USES},
}
"""The deltas of each block; others have none."""

_CUT_OFF = re.compile(r'-?|t(r(u)?)?|f(a(l(s)?)?)?|n(u(l)?)?|"(.*\\u?[0-9a-fA-F]{0,3})?', re.DOTALL)


def events_in(stream: bytes) -> Iterator[Event]:
    """Yield the name and the data of each event."""
    for block in stream.decode().replace("\r\n", "\n").split("\n\n"):
        fields = dict(
            line.split(":", 1) for line in block.split("\n") if line and not line.startswith(":")
        )
        if "data" in fields:
            yield fields.get("event", "").strip(), json.loads(fields["data"])


def fold(stream: bytes) -> dict[str, Any]:
    """Return the message of a stream, as the SDKs accumulate it."""
    message: dict[str, Any] = {}
    inputs: dict[int, str] = {}
    for _, data in events_in(stream):
        kind = data["type"]
        if kind == "message_start":
            message = data["message"]
        elif kind == "content_block_start":
            message["content"].append(data["content_block"])
        elif kind == "content_block_delta":
            _grow(message["content"][data["index"]], data["delta"], inputs, data["index"])
        elif kind == "message_delta":
            message |= data["delta"]
            message["usage"] |= data["usage"]
            message |= {
                name: value
                for name, value in data.items()
                if name not in ("type", "delta", "usage")
            }
        elif kind == "error":
            raise AssertionError(data)
    for index, text in inputs.items():
        message["content"][index]["input"] = _object(text)
    return message


def _grow(block: dict[str, Any], delta: dict[str, Any], inputs: dict[int, str], index: int) -> None:
    match delta["type"]:
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
    try:
        value = json.loads(text or "{}")
    except ValueError:
        return {}  # the SDKs keep what they can read of it
    return value if isinstance(value, dict) else {}


def violations(stream: bytes) -> list[str]:
    """Return what is wrong with a stream, nothing if it matches the grammar."""
    checker = _Checker()
    for name, data in events_in(stream):
        checker.feed(name, data)
    checker.finish()
    return checker.found


class _Checker:
    def __init__(self) -> None:
        self.found: list[str] = []
        self._state = "new"
        self._next = 0
        self._block: dict[str, Any] | None = None
        self._deltas: list[dict[str, Any]] = []
        self._json = ""

    def _require(self, holds: bool, what: str) -> None:
        if not holds:
            self.found.append(f"block {self._next}: {what}" if self._block else what)

    def feed(self, name: str, data: dict[str, Any]) -> None:
        kind = data.get("type", "")
        self._require(name == kind, f"the event {name} has the type {kind}")
        self._require(self._state != "over", f"{kind} after the end")
        if kind != "message_start":
            self._require(self._state != "new" or kind == "error", f"{kind} before message_start")
        handle = getattr(self, f"on_{kind}", None)
        if handle is None:
            self.found.append(f"unknown event {kind}")
        else:
            handle(data)

    def finish(self) -> None:
        self._require(self._state == "over", "the stream does not end")

    def on_message_start(self, data: dict[str, Any]) -> None:
        self._require(self._state == "new", "a second message_start")
        message = data["message"]
        self._require(
            message["content"] == [] and message["stop_reason"] is None, "a message that has begun"
        )
        self._require(
            {"input_tokens", "output_tokens"} <= set(message["usage"]),
            "message_start without usage",
        )
        self._state = "open"

    def on_ping(self, data: dict[str, Any]) -> None:
        pass

    def on_content_block_start(self, data: dict[str, Any]) -> None:
        self._require(self._block is None, "a block inside another")
        self._require(self._state == "open", "a block after message_delta")
        self._require(data["index"] == self._next, f"index {data['index']}, not {self._next}")
        self._block = data["content_block"]
        self._deltas = []
        self._json = ""

    def on_content_block_delta(self, data: dict[str, Any]) -> None:
        if self._block is None:
            self.found.append("a delta outside of a block")
            return
        delta = data["delta"]
        self._require(data["index"] == self._next, f"a delta of {data['index']}")
        allowed = DELTAS.get(self._block["type"], set())
        self._require(delta["type"] in allowed, f"{delta['type']} in {self._block['type']}")
        if delta["type"] == "input_json_delta":
            if not self._deltas:
                self._require(
                    delta["partial_json"] == "", "the first delta of an input is not empty"
                )
            self._json += delta["partial_json"]
            self._require(
                is_json_prefix(self._json), f"an input that is not JSON: {self._json[-60:]}"
            )
        self._deltas.append(delta)

    def on_content_block_stop(self, data: dict[str, Any]) -> None:
        if self._block is None:
            self.found.append("a stop without a block")
            return
        self._require(data["index"] == self._next, f"a stop of {data['index']}")
        kinds = [delta["type"] for delta in self._deltas]
        if self._block["type"] == "thinking":
            self._require(kinds.count("signature_delta") == 1, "thinking without one signature")
            self._require(kinds[-1:] == ["signature_delta"], "the signature is not last")
        if self._block["type"] in TOOL_USES:
            self._require(bool(kinds or self._block["input"]), "an input without deltas")
        self._block = None
        self._next += 1

    def on_message_delta(self, data: dict[str, Any]) -> None:
        self._require(self._block is None, "message_delta inside a block")
        self._require(self._state == "open", "a second message_delta")
        self._require(
            data["delta"].get("stop_reason") is not None, "message_delta without a stop_reason"
        )
        self._require("output_tokens" in data["usage"], "message_delta without usage")
        self._state = "ended"

    def on_message_stop(self, data: dict[str, Any]) -> None:
        self._require(self._state == "ended", "message_stop without message_delta")
        self._state = "over"

    def on_error(self, data: dict[str, Any]) -> None:
        self._require(
            {"type", "message"} <= set(data.get("error", {})), "an error without its fields"
        )
        self._state = "over"


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
