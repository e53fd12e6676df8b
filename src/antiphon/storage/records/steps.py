"""The journal of an agent: what it did once for a response, as plain values."""

from collections.abc import Sequence
from enum import IntEnum

from msgspec import Struct

STATE, REQUEST, ANSWERED, RUN = -1, -2, -3, -4
"""The places of what is no step of a handler: the state that it saved; the request that began its
run, if a later response may continue it; which response has the client's answers; and the responses
that it continues, the first one first.
"""


class StepState(IntEnum):
    """How far a step is."""

    BEGUN = 1
    """It was begun. If its worker died, whether it took effect is unknown."""
    DONE = 2
    FAILED = 3
    """It raised, after its retries: a later attempt gets the same error."""
    ITEM = 4
    """An output item that was closed; the body is its output index."""
    WAITS = 5
    """It waits for the client's answer, in a later response."""


class Step(Struct, frozen=True):
    """One step of an agent's response. Times are in milliseconds since the epoch."""

    place: int
    """The order in which the steps of a response began, from 0: no two share one."""
    key: str
    """Its name within the response: the scopes, the name, and the ordinal of this name there."""
    state: StepState
    digest: bytes
    """Of the input: another input under the same key means that the agent has changed."""
    body: bytes
    """Its result, or what a later attempt needs to continue it."""
    began: int
    ended: int | None
    attempt: int
    version: str
    """The version of the agent's code that began it."""
    is_partial: bool = False
    """Whether it was read without its body, because that is large."""


class StepOutline(Struct, frozen=True):
    """A step as it is listed: with the bytes of its body in place of the body."""

    place: int
    key: str
    state: StepState
    size: int
    began: int
    ended: int | None
    attempt: int
    version: str


class StepWrite(Struct, frozen=True):
    """A step that begins, or that replaces an earlier state of itself, of `replaces` bytes."""

    step: Step
    replaces: int = 0

    @property
    def growth(self) -> int:
        """The bytes that the journal gains."""
        return size_of(self.step) - self.replaces


def size_of(step: Step) -> int:
    """Return the bytes for which a step counts."""
    return len(step.key.encode()) + len(step.body)


class Waiting(Struct, frozen=True):
    """A response that waits for the client, or waited until it was answered."""

    response_id: str
    steps: Sequence[Step]
    """Those that wait."""
    is_answered: bool


class Answers(Struct, frozen=True):
    """The answers of a client to a response that waits for them."""

    waiting: str
    """The response that waits."""
    digest: bytes
    """Of the answers: equal ones are a repetition."""


class Continued(Struct, frozen=True):
    """The response that already continues another one, which waited for the client."""

    response_id: str
    """Empty if the one that waited is not stored any more."""
    status: str
    """Empty if it is not stored any more."""
    is_same: bool
    """Whether it has the same answers."""
