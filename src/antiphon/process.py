"""The state of this process while it runs responses, and how it stops."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from antiphon.errors import AntiphonError
from antiphon.ids import new_id
from antiphon.storage.notifications import Notifier


class ActiveRun(Protocol):
    """A response that runs in this process."""

    def stop(self, error: AntiphonError) -> None:
        """Make the response fail with this error, as soon as possible."""
        ...


class Holdings(set[str]):
    """Ids of running responses that hold a lease; `begin` is called with each id that is added."""

    def __init__(self) -> None:
        super().__init__()
        self.begin: Callable[[], None] = lambda: None

    def add(self, response_id: str) -> None:
        """Add an id, before its lease is acquired."""
        super().add(response_id)
        self.begin()


@dataclass(slots=True, eq=False)
class ProcessState:
    """The name of this process, the work that it has begun, and whether it accepts more."""

    worker: str = field(default_factory=lambda: new_id("worker"))
    """The name under which this process holds leases in the store."""
    leases: Holdings = field(default_factory=Holdings)
    """Running responses that hold a lease on a conversation or a key."""
    runs: set[ActiveRun] = field(default_factory=set)
    """Responses that run in this process."""
    wakes: Notifier = field(default_factory=Notifier)
    accepts_work: bool = True
    """False once this process is shutting down."""
    is_over: bool = False
    """Clients are no longer served."""

    def drain(self) -> None:
        """Accept no new work; work that has begun continues."""
        self.accepts_work = False
        self.wakes.wake("")

    def abort(self) -> None:
        """Stop all running responses: this process is shutting down."""
        self.accepts_work = False
        self.is_over = True
        for run in list(self.runs):
            run.stop(going_away())
        self.wakes.wake("")


def going_away() -> AntiphonError:
    """Return the error for requests that arrive while this process is shutting down."""
    text = "This server is shutting down. Please retry."
    return AntiphonError(
        text, status=503, code="server_error", headers={"retry-after": "1", "connection": "close"}
    )
