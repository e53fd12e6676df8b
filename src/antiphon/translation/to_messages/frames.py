"""Events of a Messages stream as bytes: `event: <type>`, `data: <json>` and an empty line.

Blocks never overlap, and their indexes have no gaps: only `BlockFrames` assigns them. A padded
delta has spaces before its last brace, as Anthropic's have, so that its size reveals little of its
text.
"""

from typing import Any

import msgspec

from antiphon.translation.to_messages.hosted_blocks import Block

_encode = msgspec.json.Encoder().encode

PING = b'event: ping\ndata: {"type":"ping"}\n\n'
MESSAGE_STOP = b'event: message_stop\ndata: {"type":"message_stop"}\n\n'
MOST_PADDING = 31
"""Spaces at the end of a delta at most; the padding of the Responses API is shorter."""

ENDS = [b"}%b}\n\n" % (b" " * padding) for padding in range(MOST_PADDING + 1)]
"""The end of a delta, by its padding."""

FIELDS = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "signature_delta": "signature",
    "input_json_delta": "partial_json",
}
"""The field of each delta that has one text."""

TOOL_USES = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})
"""Blocks with an input, which is sent as deltas; the first of them is empty."""


def frame(kind: str, value: Any) -> bytes:
    """Return an event; `value` is its JSON object."""
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), _encode(value))


class BlockFrames:
    """Writes blocks, one after the other. `take` drains the bytes."""

    def __init__(self) -> None:
        self.index = 0
        """The index of the open block, or of the next one."""
        self.is_open = False
        self.pending: list[bytes] = []
        """The bytes to take."""

    def take(self) -> bytes:
        """Return the bytes since the last call."""
        pending = self.pending
        self.pending = []
        return b"".join(pending)

    def start(self, block: Block) -> None:
        """Open a block. A block of a tool's call begins with an empty delta."""
        value = {"type": "content_block_start", "index": self.index, "content_block": block}
        self.pending.append(frame("content_block_start", value))
        self.is_open = True
        if block["type"] in TOOL_USES:
            self.delta("input_json_delta", "")

    def stop(self) -> None:
        """Close the open block, if one is open."""
        if self.is_open:
            self.pending.append(
                frame("content_block_stop", {"type": "content_block_stop", "index": self.index})
            )
            self.is_open = False
            self.index += 1

    def head(self, kind: str) -> bytes:
        """Return the beginning of a delta in the open block, up to its text."""
        begin = (
            b"event: content_block_delta\ndata: "
            b'{"type":"content_block_delta","index":%d,"delta":{"type":"%b","%b":'
        )
        return begin % (self.index, kind.encode(), FIELDS[kind].encode())

    def delta(self, kind: str, text: str, padding: int = 0) -> None:
        """Add a text to the open block."""
        self.pending.append(self.head(kind) + _encode(text) + ENDS[padding])

    def object_delta(self, delta: Block) -> None:
        """Add a delta that is more than a text."""
        value = {"type": "content_block_delta", "index": self.index, "delta": delta}
        self.pending.append(frame("content_block_delta", value))

    def citations(self, citations: list[Block]) -> None:
        """Add citations to the open text."""
        for citation in citations:
            self.object_delta({"type": "citations_delta", "citation": citation})

    def whole(self, block: Block) -> None:
        """Write a block that is complete."""
        kind = block["type"]
        if kind == "text":
            self.start({"type": "text", "text": ""})
            self.delta("text_delta", block["text"])
            self.citations(block.get("citations") or [])
        elif kind == "thinking":
            self.start({"type": "thinking", "thinking": "", "signature": ""})
            if block["thinking"]:
                self.delta("thinking_delta", block["thinking"])
            self.delta("signature_delta", block["signature"])
        elif kind in TOOL_USES:
            self.start({**block, "input": {}})
            if block["input"]:
                self.delta("input_json_delta", _encode(block["input"]).decode())
        elif kind == "compaction":
            self.start({"type": kind, "content": None})
            self.object_delta({**block, "type": "compaction_delta"})
        else:
            self.start(block)
        self.stop()
