"""Checkpoints of tool calls while this server executes them, so that no call that can do
harm is repeated after a crash.

A background response saves the rest of the model answer, from its first unfinished call, before it
executes a call in it, and again after each call. A worker that resumes the response emits the
results of the calls that finished; for a call that was in progress it cannot know whether it was
executed.
"""

from typing import Protocol

import msgspec
from msgspec import Raw, Struct

from antiphon.protocol.response import Usage
from antiphon.protocol.tool_bindings import Kind


class ToolCallRecord(Struct, kw_only=True):
    """One item of the model's answer."""

    index: int
    """Its output index in the response."""
    item: Raw
    """Its JSON; `null` for an unfinished call."""
    sealed: str | None = None
    is_done: bool = True
    kind: Kind = "function"
    namespace: str = ""
    name: str = ""
    call_id: str = ""
    arguments: str = ""
    joins_next: bool = False
    approval_request_id: str | None = None
    container_id: str = ""


class Checkpoint(Struct, kw_only=True):
    """The progress of a response with its tool calls."""

    calls: list[ToolCallRecord] = []
    """The last answer with calls, from its first unfinished call."""
    usage: Usage | None = None
    """The tokens that were reported so far."""
    rounds: int = 0
    """How often the model had called tools before."""


class Checkpoints(Protocol):
    """Stores checkpoints."""

    async def save_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Store this durably, replacing the previous checkpoint."""
        ...


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Checkpoint).decode


def to_bytes(checkpoint: Checkpoint) -> bytes:
    """Encode a checkpoint for the store."""
    return _encode(checkpoint)


def from_bytes(body: bytes) -> Checkpoint:
    """Decode a checkpoint from the store, where an empty one has no bytes."""
    return _decode(body) if body else Checkpoint()
