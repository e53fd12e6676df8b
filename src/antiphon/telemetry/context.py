"""In whose service something is done: known to every line of the log that is written meanwhile, and to nobody else.

Each request, each message on a WebSocket and each background response has a task of its own, and with it a place of its
own for this (`contextvars`): what is noted in one is not seen in another.
"""

from contextvars import ContextVar

from msgspec import Struct
from msgspec.structs import replace


class About(Struct, frozen=True, gc=False):
    """What is known of the work under way; empty where it is not."""

    request_id: str = ""
    """The request's, as the client is told it in `x-request-id`."""
    response_id: str = ""
    backend: str = ""
    """The name of the backend that was asked last."""
    model: str = ""
    """The model that answered, as its backend or the operator lists it; `other` for a name that a client made up."""
    cache: str = ""
    """What the cache was to the response: `hit` or `miss`."""
    api_key_id: str = ""
    """The id of the API key that the request came with."""
    outcome: str = ""
    """The response's status, once it has ended."""
    corrected: str = ""
    """What was wrong in what the model said, and what was done about it, such as `arguments repaired`."""
    trace_id: str = ""
    is_exchange: bool = False
    """It is one HTTP request with one reply."""


current: ContextVar[About] = ContextVar("about", default=About())  # noqa: B039 - it is frozen
"""What is known of the work that this task does."""


def about() -> About:
    """Return what is known of the work that this task does."""
    return current.get()


def begin(known: About) -> None:
    """Begin another work; what was known of the one before is not of this one."""
    current.set(known)


def note(**known: str) -> None:
    """Add to what is known of this work, by the names of `About`."""
    current.set(replace(current.get(), **known))
