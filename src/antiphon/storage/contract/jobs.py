"""The store contract for background responses, their event logs, and the leases of workers."""

from collections.abc import Callable
from typing import Protocol


class Pulse(Protocol):
    """A worker's heartbeat over a separate connection. Used by one thread, which needs no event loop."""

    def beat(self) -> None:
        """Record that the worker is alive. Blocks for a few seconds at most. Raises `StoreError`."""
        ...

    def close(self) -> None:
        """Close the connection."""
        ...


class Jobs(Protocol):
    """Background responses. The row is the job: it waits in the queue, has one owner, and is fenced by a version.

    A worker is identified by a name. Its heartbeat shows that it is alive. If the heartbeat stops, other workers can
    call `expire_worker`. An expired worker keeps its jobs until other workers claim them, and its next heartbeat
    makes it alive again.
    """

    def pulse(self, worker: str) -> Pulse | None:
        """Return a heartbeat that needs neither the event loop nor its connections.

        Return None if all workers of the store run in this process: `heartbeat` is sufficient for them.
        """
        ...

    def on_change(self, listener: Callable[[str], None]) -> None:
        """Call a listener on the event loop soon after a response or its job has changed, with the response's id.

        The id is `JOBS` if a job waits to be claimed, and empty if it is unknown which response changed. A change can
        be announced more than once, and a change by another process may not be announced at all, so also poll.
        """
        ...
