"""The phases of a response, and the reasons why it can end before its model has finished.

PENDING ──> STREAMING <──> EMITTING      a stream began, and its reader is processing a batch
   └──────────┴──────────────┴──> FINISHING ──> ENDED
"""

from collections.abc import Mapping
from enum import Enum

from msgspec import Struct

from antiphon.errors import AntiphonError


class Phase(Enum):
    """The phase of a response."""

    __hash__ = object.__hash__  # members are singletons, and the hash of `Enum` needs a Python call

    PENDING = "pending"
    """No client has received an event of it."""
    STREAMING = "streaming"
    """It was announced."""
    EMITTING = "emitting"
    """The reader of `Run.events` is processing a batch: the run's task awaits nothing
    of its own.
    """
    FINISHING = "finishing"
    """How it ends is decided and cannot change; the end is being stored."""
    ENDED = "ended"


TRANSITIONS: Mapping[Phase, frozenset[Phase]] = {
    Phase.PENDING: frozenset({Phase.STREAMING, Phase.FINISHING}),
    Phase.STREAMING: frozenset({Phase.EMITTING, Phase.FINISHING}),
    Phase.EMITTING: frozenset({Phase.STREAMING, Phase.FINISHING}),
    Phase.FINISHING: frozenset({Phase.ENDED}),
    Phase.ENDED: frozenset(),
}
"""From each phase, the phases that can follow."""

ANNOUNCED = {Phase.STREAMING, Phase.EMITTING}

OVER = {Phase.FINISHING, Phase.ENDED}
"""Phases in which the end of the response is decided."""

StopReason = Enum("StopReason", ["DISCONNECTED", "STEERED", "SHUTDOWN", "HANDED_ON"])
"""Why a response ends before its model has finished: its reader disconnected, the client sends new
input, this process shuts down, or another process continues it.
"""


class Stop(Struct, frozen=True):
    """A request to end a response before its model has finished."""

    reason: StopReason
    error: AntiphonError | None = None
    """The error that the client receives."""
    interrupts: bool = False
    """The task that runs it is cancelled."""


class Steered(Exception):  # noqa: N818 - the client wants to say something; nothing went wrong
    """The response stops early, and another follows it (specification section 8)."""
