"""Calls of this server's tools as they are kept while they are carried out, so that a crash makes none twice.

A background response notes all that one answer of the model brought before it carries out the first of its calls, and
again whenever one was carried out. Who takes the response up tells what came of the calls that were made; of one that
was under way nobody knows whether it was.
"""

from typing import Protocol

import msgspec
from msgspec import Raw, Struct

from antiphon.protocol.response import Usage
from antiphon.protocol.tool_bindings import Kind


class Called(Struct, kw_only=True):
    """One item of such an answer."""

    index: int
    """Its place in the response's output."""
    item: Raw
    """Its JSON as far as it is known: of a call that is not done, what was told of it."""
    sealed: str | None = None
    is_done: bool = True
    kind: Kind = "function"
    namespace: str = ""
    name: str = ""
    call_id: str = ""
    arguments: str = ""
    joins_next: bool = False
    approval_request_id: str | None = None


class Work(Struct, kw_only=True):
    """How far a response has come with such calls."""

    calls: list[Called] = []
    """All that the answer brought which called last."""
    usage: Usage | None = None
    """The tokens that were reported until then."""
    rounds: int = 0
    """How often the model had asked for tools before."""


class Notes(Protocol):
    """Keeps what is being carried out."""

    async def put_down(self, work: Work) -> None:
        """Make this durable, in place of what was there."""
        ...


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Work).decode


def to_bytes(work: Work) -> bytes:
    """Return work as the store keeps it."""
    return _encode(work)


def from_bytes(body: bytes) -> Work:
    """Return the work that was kept."""
    return _decode(body) if body else Work()
