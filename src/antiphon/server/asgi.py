"""The types of the ASGI specification, and the end of a client as every part of the server reports it."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Protocol

from antiphon.sharing.scheduler import FairScheduler

Scope = MutableMapping[str, Any]

Message = MutableMapping[str, Any]

Receive = Callable[[], Awaitable[Message]]

Send = Callable[[Message], Awaitable[None]]

AsgiApp = Callable[[Scope, Receive, Send], Awaitable[None]]
"""An application as the ASGI specification has it."""

RawHeaders = list[tuple[bytes, bytes]]

BODY = "antiphon.body"
"""The key in a message of a WebSocket under which our own host puts a large text, as bytes that nobody has checked."""

CONNECTION = "antiphon.connection"
"""The key in a scope of HTTP under which our own host puts the `ClientConnection`."""


class ClientConnection(Protocol):
    """A connection of HTTP, which may bring one request after the other."""

    tenant: str
    """The tenant that it counts as; empty for none."""

    def belong(self, tenant: str, connections: FairScheduler) -> bool:
        """Count as this tenant's until the connection ends; return whether it may have one more."""
        ...


class ClientGone(Exception):  # noqa: N818 - nothing went wrong, there is only no client left to answer
    """The client closed its connection."""
