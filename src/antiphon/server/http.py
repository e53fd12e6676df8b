"""Requests in, replies out: what every endpoint shares."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any
from urllib.parse import parse_qs, quote

import msgspec
from starlette.types import Message, Receive, Scope, Send

from antiphon.errors import ClientError

MAX_BODY = 64 * 1024 * 1024
"""Bytes of a request's body."""

TENANT = "antiphon.tenant"
"""The key in an ASGI scope under which an application around this one says whose request it is."""

HEADERS = "antiphon.headers"
"""The key in an ASGI scope under which a request's endpoint says which headers its reply has besides."""

BACKEND = "antiphon-backend"
"""The header with the name of the backend that answers."""

Endpoint = Callable[[Scope, Receive, Send], Awaitable[None]]

Resources = Mapping[str, Mapping[str, Endpoint]]
"""Endpoints by path and method."""

_encode = msgspec.json.Encoder().encode


class ClientGone(Exception):  # noqa: N818 - nothing went wrong, there is only nobody left to answer
    """The client closed its connection."""


async def read_body(scope: Scope, receive: Receive) -> bytes:
    """Return the request's body. Raises `ClientError` (413) above `MAX_BODY` bytes, (415) for a coded body."""
    headers = dict(scope["headers"])
    if headers.get(b"content-encoding", b"identity").lower() not in {b"", b"identity"}:
        raise ClientError("The request body must not be compressed.", status=415, code="unsupported_media_type")
    if int(headers.get(b"content-length") or 0) > MAX_BODY:
        raise _too_large()
    message = await receive()
    if not message.get("more_body"):
        return _part(message)
    parts, size = [], 0
    while True:
        parts.append(_part(message))
        size += len(parts[-1])
        if size > MAX_BODY:
            raise _too_large()
        if not message.get("more_body"):
            return b"".join(parts)
        message = await receive()


def tenant_of(scope: Scope) -> str:
    """Return whose request it is, as an application around this one put it into the scope; else the nameless tenant."""
    return str(scope.get(TENANT, ""))


def path_part(scope: Scope, name: str) -> str:
    """Return a part of the path by its name in the route; no id has a NUL, and PostgreSQL would take none."""
    part: str = scope["path_params"][name]
    return part.replace("\0", "\ufffd")


def read_query(scope: Scope) -> Mapping[str, list[str]]:
    """Return the query's parameters with all their values."""
    return parse_qs(scope["query_string"].decode("latin-1"), keep_blank_values=True)


async def reply_json(send: Send, value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
    """Send a JSON reply."""
    await reply(send, status, {"content-type": "application/json", **(headers or {})}, _encode(value))


async def reply(send: Send, status: int, headers: Mapping[str, str], body: bytes) -> None:
    """Send a whole reply."""
    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    raw.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": status, "headers": raw})
    await send({"type": "http.response.body", "body": body})


def plain_name(name: str) -> str:
    """Return an operator's name for something as a header can hold it."""
    return quote(name, safe=" !#$&'()*+,/:;=?@[]")


def method_not_supported(scope: Scope, allowed: Iterable[str]) -> ClientError:
    """Return the error for a method that a path does not have."""
    text = f"Not allowed to {scope['method']} on {scope['path'][:200]}."
    return ClientError(text, status=405, code="method_not_supported", headers={"allow": ", ".join(allowed)})


def unknown_url(scope: Scope) -> ClientError:
    """Return the error for a path that is not served."""
    text = f"Unknown request URL: {scope.get('method', 'GET')} {scope['path'][:200]}. Please check the URL for typos."
    return ClientError(text, status=404, code="unknown_url")


def _part(message: Message) -> bytes:
    if message["type"] == "http.disconnect":
        raise ClientGone
    body: bytes = message.get("body", b"")
    return body


def _too_large() -> ClientError:
    text = f"The request body is larger than {MAX_BODY} bytes."
    return ClientError(text, status=413, code="request_too_large")
