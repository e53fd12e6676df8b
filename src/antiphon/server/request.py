"""A request as endpoints see it: its head, parsed once; its body, read when it is needed; and its caller."""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs

from antiphon.errors import ClientError
from antiphon.gateway import ApiKey, Gateway
from antiphon.server.body import RequestBody, Room
from antiphon.server.limits import Limits
from antiphon.server.reply import RawHeaders, Receive, Reply, Scope

TENANT = "antiphon.tenant"
"""The key in an ASGI scope under which an application around this one sets the tenant of a request."""

CACHE = "antiphon.cache"
"""The key in an ASGI scope under which it sets whether the cache is on (true or false) for the request's caller."""

ASK = {"www-authenticate": "Bearer"}

JSON = b"application/json"

JSON_TYPES = {"", "application/json", "application/octet-stream"}
"""What a body may say that it is, the last being what clients say that do not know."""


@dataclass(frozen=True, slots=True)
class Credential:
    """The API key that a request came with."""

    gateway: Gateway
    digest: bytes

    async def key(self) -> ApiKey:
        """Return the key as it stands now. Raises `ClientError` (401) where it has ended meanwhile."""
        found = await self.gateway.find_key(self.digest)
        if found is None:
            text = "Incorrect API key provided. Ask whoever runs this server for one that is good."
            raise ClientError(text, status=401, code="invalid_api_key", headers=ASK)
        return found


class HttpRequest:
    """One request. `headers` are by name, in lower case; what is to be released at its end goes into `cleanup`."""

    __slots__ = (
        *("scope", "method", "path", "headers", "path_params", "receive", "reply_headers", "cors_headers"),
        *("is_admitted", "tenant", "credential", "uses_cache", "stack", "incoming"),
    )

    def __init__(self, scope: Scope, receive: Receive, limits: Limits, room: Room) -> None:
        self.scope = scope
        self.method: str = scope.get("method", "GET")
        self.path: str = scope["path"]
        if root := scope.get("root_path"):
            self.path = _below(root, self.path)
        self.headers: Mapping[bytes, bytes] = dict(scope["headers"])
        self.path_params: Mapping[str, str] = {}
        self.reply_headers: RawHeaders = []
        """Headers that its reply has besides."""
        self.cors_headers: RawHeaders = []
        self.is_admitted = False
        """Whether it may be read: where it is refused before, nothing is said of its body."""
        self.tenant: str = scope.get(TENANT, "")
        self.credential: Credential | None = None
        self.uses_cache: bool | None = scope.get(CACHE)
        self.stack: AsyncExitStack | None = None
        self.incoming = RequestBody(self.headers, receive, limits.body, room)
        self.receive: Receive = self.incoming.receive if scope["type"] == "http" else receive

    async def body(self) -> bytes:
        """Return the request's JSON. Raises `ClientError` (415) where it says that it is something else."""
        body = await self.incoming.read()
        if body and (kind := self.headers.get(b"content-type", JSON)) != JSON:
            _check_media_type(kind)
        return body

    @property
    def cleanup(self) -> AsyncExitStack:
        """What is exited when the reply was sent, or failed to be; made on first use."""
        if self.stack is None:
            self.stack = AsyncExitStack()
        return self.stack

    def query(self) -> Mapping[str, list[str]]:
        """Return the query's parameters with all their values."""
        return parse_qs(self.scope["query_string"].decode("latin-1"), keep_blank_values=True)

    def path_id(self, name: str) -> str:
        """Return an id of the path by its name in the route; no id has a NUL, and PostgreSQL would take none."""
        return self.path_params[name].replace("\0", "\ufffd")

    async def key(self) -> ApiKey | None:
        """Return the API key as it stands now, None without one. Raises `ClientError` (401) where it has ended."""
        return None if self.credential is None else await self.credential.key()


Endpoint = Callable[[HttpRequest], Awaitable[Reply]]

Resources = Mapping[str, Mapping[str, Endpoint]]
"""Endpoints by path and method. A part of a path stands in braces, and with `:path` has any number of slashes."""


def method_not_supported(http: HttpRequest, allowed: Any) -> ClientError:
    """Return the error for a method that a path does not have."""
    text = f"Not allowed to {http.method} on {http.scope['path'][:200]}."
    return ClientError(text, status=405, code="method_not_supported", headers={"allow": ", ".join(allowed)})


def unknown_url(http: HttpRequest) -> ClientError:
    """Return the error for a path that is not served."""
    text = f"Unknown request URL: {http.method} {http.scope['path'][:200]}. Please check the URL for typos."
    return ClientError(text, status=404, code="unknown_url")


def upgrade_not_supported() -> ClientError:
    """Return the error for a WebSocket upgrade: Codex falls back to HTTP at 426 at once; 405 costs it five tries."""
    text = "WebSocket mode is not served here; use HTTP."
    return ClientError(text, status=426, code="upgrade_not_supported")


def _below(root: str, path: str) -> str:
    """Return a path below the prefix under which an application around this one has mounted it."""
    rest = path.removeprefix(root)
    return rest if path == root or rest.startswith("/") else path


def _check_media_type(header: bytes) -> None:
    kind, _, parameters = header.decode("latin-1").lower().partition(";")
    charset = parameters.partition("charset=")[2].partition(";")[0].strip(' "')
    if kind.strip() not in JSON_TYPES or charset not in {"", "utf-8", "utf8"}:
        named = header.decode("latin-1")[:100]
        text = f"The body's Content-Type '{named}' is not supported. Send application/json in UTF-8."
        raise ClientError(text, status=415, code="unsupported_media_type")
