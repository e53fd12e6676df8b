"""Requests in, replies out: what every endpoint shares."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any
from urllib.parse import parse_qs, quote

import msgspec
from starlette.types import Message, Receive, Scope, Send

from antiphon.engine.tool_policy import IGNORED
from antiphon.errors import ClientError

TENANT = "antiphon.tenant"
"""The key in an ASGI scope under which an application around this one says whose request it is."""

HEADERS = "antiphon.headers"
"""The key in an ASGI scope under which a request's endpoint says which headers its reply has besides."""

JSON = b"application/json"

JSON_TYPES = {"", "application/json", "application/octet-stream"}
"""What a body may say that it is, the last being what clients say that do not know."""

CACHE = "antiphon.cache"
"""The key in an ASGI scope under which stands whether the cache is on (true or false) for whose request it is."""

BACKEND = "antiphon-backend"
"""The header with the name of the backend that answers."""

Endpoint = Callable[[Scope, Receive, Send], Awaitable[None]]

Resources = Mapping[str, Mapping[str, Endpoint]]
"""Endpoints by path and method."""

_encode = msgspec.json.Encoder().encode


class ClientGone(Exception):  # noqa: N818 - nothing went wrong, there is only nobody left to answer
    """The client closed its connection."""


async def read_body(scope: Scope, receive: Receive) -> bytes:
    """Return the request's JSON. Raises `ClientError` (415) where it says that it is something else.

    How large it may be, how slow and how it may be compressed is `Incoming`'s, which has given this `receive`.
    """
    parts = []
    while True:
        message = await receive()
        parts.append(_part(message))
        if not message.get("more_body"):
            break
    body = parts[0] if len(parts) == 1 else b"".join(parts)
    if body:
        _check_media_type(dict(scope["headers"]).get(b"content-type", JSON))
    return body


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


def ignored_header(types: Iterable[str]) -> dict[str, str]:
    """Return the header that names the types of tools which the model is not offered."""
    return {IGNORED: ", ".join(types)} if types else {}


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


def _check_media_type(header: bytes) -> None:
    if header == JSON:
        return
    kind, _, parameters = header.decode("latin-1").lower().partition(";")
    charset = parameters.partition("charset=")[2].partition(";")[0].strip(' "')
    if kind.strip() not in JSON_TYPES or charset not in {"", "utf-8", "utf8"}:
        named = header.decode("latin-1")[:100]
        text = f"The body's Content-Type '{named}' is not supported. Send application/json in UTF-8."
        raise ClientError(text, status=415, code="unsupported_media_type")
