"""Background work: jobs, their event logs, and the results of locking, as plain values."""

from collections.abc import Collection, Sequence
from enum import Enum

from msgspec import Struct

from antiphon.storage.records.responses import StoredItem, StoredResponse
from antiphon.storage.records.steps import StepWrite


class EventFrames(Struct, frozen=True):
    """Consecutive events as clients receive them: `body` has the server-sent events numbered
    `first` to `last`.
    """

    first: int
    last: int
    body: bytes


class Reservation(Struct, frozen=True):
    """The reservation for a request, and the request's API key, empty if it had none."""

    key_id: str = ""
    tokens: int = 0
    cost: int | None = None
    """In nano-units of the currency; None if no budget applies."""
    models: tuple[str, ...] = ()
    """The models that the key allowed when the request was accepted; empty for all."""


NOTHING_RESERVED = Reservation()


class Job(Struct, frozen=True):
    """A background response that has not ended, as seen by a worker that may write to it.

    `response` has the finished output items. `version` is the fence: each write states the version
    that the worker has seen, and creates a new version.
    """

    response: StoredResponse
    request: bytes
    """The request body, as the client sent it."""
    version: int
    next_number: int
    """The number of the next event. All lower numbers were assigned, including those of deleted
    events.
    """
    resume_number: int
    """The resume point: the number of the first event that is deleted if the attempt ends early."""
    attempt: int
    """The number of attempts, including this one: how often a worker has claimed the job."""
    crashes: int
    """The number of attempts that ended because their worker died."""
    taken: Reservation = NOTHING_RESERVED
    checkpoint: bytes = b""
    """The last checkpoint of its tool calls, encoded; empty before the first one."""
    is_partial: bool = False
    """Whether the job was read without its request, its items and its checkpoint, because they are
    large.
    """
    items: int = 0
    size: int = 0
    """Of a partial job: the number of the omitted items, and the bytes of everything omitted."""
    uses_idle: bool = False
    """Whether it runs in an idle slot, which it returns to any job that needs it."""
    continuation: str = ""
    queue: str = ""
    """The agent that computes it; empty for a response of a model."""

    @property
    def tenant(self) -> str:
        """The tenant of its response."""
        return self.response.tenant


class Deferral(Struct, frozen=True):
    """How long a job can wait for an idle slot, and which jobs it continues."""

    begin_by: int = 0
    """The time, in seconds since the epoch, from which it can use any slot; 0 if it never waits for
    an idle one.
    """
    continuation: str = ""
    """What related jobs of a tenant have in common: a digest of the client's name for them; empty
    without one.
    """


SOONEST = Deferral()


class DeferredJob(Struct, frozen=True):
    """A deferred job that no worker runs, as lists display it."""

    response_id: str
    tenant: str
    key_id: str
    created_at: int
    """Seconds since the epoch, as `begin_by`."""
    begin_by: int
    attempts: int
    """How often a worker has claimed it."""
    crashes: int
    model: str
    """Empty without facts, as the rest."""
    flags: int
    input: str


class Slots(Struct, frozen=True):
    """The slots of a worker that claims a job, for deferred jobs, and which jobs it ran last."""

    free: int = 1
    """Slots that no job uses. A job that is not deferred can also have one that is used as an idle
    slot.
    """
    idle: int = 1
    """Slots that a deferred job may use before it is due."""
    idle_per_tenant: int = 1_000_000
    """Jobs of one tenant that can run in idle slots of this worker."""
    recent: Collection[tuple[str, str]] = ()
    """The tenant and the `continuation` of jobs that ran here lately."""


ONE_SLOT = Slots()


class Progress(Struct, frozen=True):
    """The progress of a background response since the last call.

    `output` has the finished items, each with its output index. At a resume point no item is open:
    the next attempt continues after these frames, and only later events are deleted. A `checkpoint`
    is stored in any case, and replaces the earlier one, and so are the steps of an agent.
    """

    frames: Sequence[EventFrames] = ()
    output: Sequence[tuple[int, StoredItem]] = ()
    is_resume_point: bool = False
    checkpoint: bytes | None = None
    steps: Sequence[StepWrite] = ()


class Backlog(Struct, frozen=True):
    """The number of waiting jobs (without an owner), and of deliveries that are neither received
    nor failed.
    """

    jobs: int
    """Without those that are deferred."""
    deliveries: int
    deferred: int = 0
    overdue: int = 0
    """Deferred ones that still wait after their window."""


class Tail(Struct, frozen=True):
    """The end of a response's event log."""

    status: str
    is_streamed: bool
    generation: int
    """How often events were deleted from it. If it changed, a reader may have seen events that no
    longer exist.
    """
    frames: Sequence[EventFrames]


class LockResult(Enum):
    """The result of a write to a conversation, or of storing a job in the queue."""

    DONE = "done"
    UNKNOWN = "unknown"
    BUSY = "busy"
    """Another response holds the lock."""
    FULL = "full"
    """The tenant has reached its limit of waiting jobs."""
    DUPLICATE = "duplicate"
    """The conversation already has an item with this id."""
