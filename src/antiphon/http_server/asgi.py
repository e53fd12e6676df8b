"""The types of the ASGI specification, and what this server adds to it: two keys, and the
connection of a request.
"""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Protocol

Scope = MutableMapping[str, Any]

Message = MutableMapping[str, Any]

Receive = Callable[[], Awaitable[Message]]

Send = Callable[[Message], Awaitable[None]]

AsgiApp = Callable[[Scope, Receive, Send], Awaitable[None]]
"""An application of the ASGI specification."""

RawHeaders = list[tuple[bytes, bytes]]

BODY = "http_server.body"
"""The key in a message of a WebSocket under which this server puts a large text, as unchecked
bytes.
"""

CONNECTION = "http_server.connection"
"""The key in a scope of HTTP under which this server puts the `ClientConnection`."""


class ConnectionSlots(Protocol):
    """The application's count of the connections of each tenant."""

    def take(self, tenant: str) -> bool:
        """Acquire a slot if one is free for this tenant, and return whether it was."""
        ...

    def leave(self, tenant: str) -> None:
        """Release the slot."""
        ...


class ClientConnection(Protocol):
    """An HTTP connection, which can carry several requests."""

    tenant: str
    """The tenant that it counts for; empty for none."""

    def belong(self, tenant: str, slots: ConnectionSlots) -> bool:
        """Count for this tenant until the connection ends; return whether the tenant may have one
        more.
        """
        ...
