"""Checkpoints of tool calls while this server executes them, so that no call is repeated after a crash.

A background response saves everything that one answer of the model contained before it executes the first call, and
again after each call. The worker that resumes the response emits the results of the calls that finished; of a call
that was in progress it cannot know whether it was executed.
"""

from typing import Protocol

import msgspec
from msgspec import Raw, Struct

from antiphon.protocol.response import Usage
from antiphon.protocol.tool_bindings import Kind


class ToolCallRecord(Struct, kw_only=True):
    """One item of such an answer."""

    index: int
    """Its place in the response's output."""
    item: Raw
    """Its JSON as far as it is known: of a call that is not done, what was emitted."""
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
    """How far a response has come with its tool calls."""

    calls: list[ToolCallRecord] = []
    """Everything that the last answer with calls contained."""
    usage: Usage | None = None
    """The tokens that were reported until then."""
    rounds: int = 0
    """How often the model had asked for tools before."""


class Checkpoints(Protocol):
    """Stores checkpoints."""

    async def save_checkpoint(self, work: Checkpoint) -> None:
        """Make this durable, in place of what was there."""
        ...


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Checkpoint).decode


def to_bytes(work: Checkpoint) -> bytes:
    """Return work as the store keeps it."""
    return _encode(work)


def from_bytes(body: bytes) -> Checkpoint:
    """Return the work that was kept."""
    return _decode(body) if body else Checkpoint()
