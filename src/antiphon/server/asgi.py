"""The types of the ASGI specification, and the exception for a client that disconnected."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Protocol

from antiphon.sharing.scheduler import FairScheduler

Scope = MutableMapping[str, Any]

Message = MutableMapping[str, Any]

Receive = Callable[[], Awaitable[Message]]

Send = Callable[[Message], Awaitable[None]]

AsgiApp = Callable[[Scope, Receive, Send], Awaitable[None]]
"""An application of the ASGI specification."""

RawHeaders = list[tuple[bytes, bytes]]

BODY = "antiphon.body"
"""The key in a message of a WebSocket under which our own host puts a large text, as unchecked bytes."""

CONNECTION = "antiphon.connection"
"""The key in a scope of HTTP under which our own host puts the `ClientConnection`."""


class ClientConnection(Protocol):
    """An HTTP connection, which can carry several requests."""

    tenant: str
    """The tenant that it counts for; empty for none."""

    def belong(self, tenant: str, connections: FairScheduler) -> bool:
        """Count for this tenant until the connection ends; return whether the tenant may have one more."""
        ...


class ClientGone(Exception):  # noqa: N818 - not an error: no client is left to answer
    """The client closed its connection."""
