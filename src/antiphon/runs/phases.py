"""How far a response is, and why it may end before its model has.

PENDING ──> STREAMING <──> EMITTING      a stream began, and its reader has a batch in hand
   └──────────┴──────────────┴──> FINISHING ──> ENDED
"""

from collections.abc import Mapping
from enum import Enum

from msgspec import Struct

from antiphon.errors import AntiphonError


class Phase(Enum):
    """How far a response is."""

    __hash__ = object.__hash__  # there is one of each; that of `Enum` takes a call

    PENDING = "pending"
    """No client has seen an event of it."""
    STREAMING = "streaming"
    """It was announced."""
    EMITTING = "emitting"
    """The reader of `Run.events` has a batch in hand: the run's task does not wait for anything of its own."""
    FINISHING = "finishing"
    """It is decided how it ends, and nothing comes between; the end becomes durable."""
    ENDED = "ended"


TRANSITIONS: Mapping[Phase, frozenset[Phase]] = {
    Phase.PENDING: frozenset({Phase.STREAMING, Phase.FINISHING}),
    Phase.STREAMING: frozenset({Phase.EMITTING, Phase.FINISHING}),
    Phase.EMITTING: frozenset({Phase.STREAMING, Phase.FINISHING}),
    Phase.FINISHING: frozenset({Phase.ENDED}),
    Phase.ENDED: frozenset(),
}
"""From each phase those that may follow."""

ANNOUNCED = {Phase.STREAMING, Phase.EMITTING}

OVER = {Phase.FINISHING, Phase.ENDED}
"""It is decided how the response ends."""

StopReason = Enum("StopReason", ["DISCONNECTED", "STEERED", "SHUTDOWN", "HANDED_ON"])
"""Why a response ends before its model has: its reader left, the client has something to say, this process ends, or
another one is to make it."""


class Stop(Struct, frozen=True):
    """That a response is to end before its model has."""

    reason: StopReason
    error: AntiphonError | None = None
    """What the client gets to know."""
    interrupts: bool = False
    """The task that makes it is cancelled for that."""


class Steered(Exception):  # noqa: N818 - the client wants to say something; nothing went wrong
    """The response stops short, for another to follow it (specification section 8)."""
