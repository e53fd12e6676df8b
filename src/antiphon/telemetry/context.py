"""The context of the current work: available to every log line written meanwhile, and to no other
work.

Each request, each message on a WebSocket and each background response has its own task, and with it
its own context (`contextvars`): values set in one are not visible in another.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from msgspec import Struct
from msgspec.structs import replace


class About(Struct, frozen=True, gc=False):
    """The facts about the current work; empty if unknown."""

    request_id: str = ""
    """The request's id, which the client receives in `x-request-id`."""
    response_id: str = ""
    backend: str = ""
    """The name of the backend that was called last."""
    model: str = ""
    """The model that answered, as its backend or the operator lists it; `other` for a name that a
    client invented.
    """
    cache: str = ""
    """The result of the cache lookup: `hit` or `miss`."""
    api_key_id: str = ""
    """The id of the request's API key."""
    outcome: str = ""
    """The response's status, once it has ended."""
    corrected: str = ""
    """Faults in the model's output, and their corrections, such as `arguments repaired`."""
    trace_id: str = ""
    is_exchange: bool = False
    """The work is one HTTP request with one reply."""
    is_message: bool = False
    """The work is a message on a WebSocket."""


current: ContextVar[About] = ContextVar("about", default=About())  # noqa: B039 - it is frozen
"""The facts about the work of this task."""


def about() -> About:
    """Return the facts about the work of this task."""
    return current.get()


def begin(known: About) -> None:
    """Begin other work; the facts about the previous work do not apply to it."""
    current.set(known)


def note(**known: str) -> None:
    """Add facts about this work, by the names of `About`."""
    current.set(replace(current.get(), **known))


@contextmanager
def within_request(request_id: str) -> Iterator[None]:
    """Do the work inside as that of a request of a program, which has no HTTP exchange."""
    token = current.set(About(request_id))
    try:
        yield
    finally:
        current.reset(token)
