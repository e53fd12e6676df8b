"""Background work: jobs, their event logs, and what holds up a write, as plain values."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from msgspec import Struct

from antiphon.storage.records.responses import StoredItem, StoredResponse


class Frames(Struct, frozen=True):
    """Consecutive events as they go to a client: `body` is server-sent events, of the numbers `first` to `last`."""

    first: int
    last: int
    body: bytes


@dataclass(frozen=True, slots=True)
class Reservation:
    """The API key of the request, empty if it had none, and the reservation for it."""

    key_id: str = ""
    tokens: int = 0
    cost: int | None = None
    """Nano-units of the currency; None where no budget applies."""


NOTHING_RESERVED = Reservation()


@dataclass(frozen=True, slots=True)
class Job:
    """The work on a background response, as one who may write to it sees it.

    `response` holds the output items that are done. `version` is the fence: a writer names the version that it
    has seen, and every write makes a new one.
    """

    response: StoredResponse
    request: bytes
    """The body of the request, as the client sent it."""
    version: int
    next_number: int
    """The number of the next event; numbers below were assigned, also those of deleted events."""
    kept_number: int
    """The number of the first event that is dropped if this attempt ends."""
    attempt: int
    """How often it was begun, this time included."""
    lost: int
    """How often its worker died of it."""
    taken: Reservation = NOTHING_RESERVED
    called: bytes = b""
    """The last record of the calls that are running for it."""
    is_partial: bool = False
    """It was read without its request, its items and `called`, which are large."""
    items: int = 0
    size: int = 0
    """The number of the items that a partial one lacks, and the bytes of all that it lacks."""


@dataclass(frozen=True, slots=True)
class Progress:
    """What was made of a background response since the last time.

    `output` holds the items that closed, each with its output index. With `keep`, everything so far outlives this
    attempt; events since the last such moment are dropped when the work starts again. `called` is kept in any case, in
    place of what was there.
    """

    frames: Sequence[Frames] = ()
    output: Sequence[tuple[int, StoredItem]] = ()
    keep: bool = False
    called: bytes | None = None


@dataclass(frozen=True, slots=True)
class Backlog:
    """How much waits: unclaimed jobs, and deliveries that are neither received nor failed."""

    jobs: int
    deliveries: int


class Tail(Struct, frozen=True):
    """A response's event log from somewhere on."""

    status: str
    is_streamed: bool
    generation: int
    """How often half-made events were dropped. Who has seen another number has seen events that never were."""
    frames: Sequence[Frames]


class LockResult(Enum):
    """What became of a write to a conversation, or of a job that was to be queued."""

    DONE = "done"
    UNKNOWN = "unknown"
    BUSY = "busy"
    """A response holds it."""
    FULL = "full"
    """As many jobs of the tenant wait as may."""
    DUPLICATE = "duplicate"
    """It has an item of that id already."""
