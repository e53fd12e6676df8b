"""The types of the ASGI specification, and the end of a client as every part of the server reports it."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]

Message = MutableMapping[str, Any]

Receive = Callable[[], Awaitable[Message]]

Send = Callable[[Message], Awaitable[None]]

AsgiApp = Callable[[Scope, Receive, Send], Awaitable[None]]
"""An application as the ASGI specification has it."""

RawHeaders = list[tuple[bytes, bytes]]


class ClientGone(Exception):  # noqa: N818 - nothing went wrong, there is only no client left to answer
    """The client closed its connection."""
