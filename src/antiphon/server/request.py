"""A request as endpoints see it: its head, parsed once; its body, inflated and bounded as it
arrives; and its caller.

Its head also decides whether it is served at all: by its `Host`, and by the `Origin` of the page,
if a browser sends it. A page of any site can make its reader's browser send requests to servers
that only the reader can reach. Browsers send the origin of the page, so requests of other sites are
rejected. A site can also point its own name to this machine (DNS rebinding): then page and server
have one origin for the browser, and only the `Host` reveals it. Programs send no `Origin`.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from typing import Any
from urllib.parse import parse_qs

from antiphon.errors import ClientError
from antiphon.gateway import ApiKey, Gateway
from antiphon.http_server.asgi import Message, RawHeaders, Receive, Scope
from antiphon.server.inflate import Inflater, coding_of
from antiphon.server.limits import ANY, ServerLimits, is_local
from antiphon.sharing.memory import LARGE, Memory, may_be_wide, weight

TENANT = "antiphon.tenant"
"""The key in an ASGI scope under which a parent application sets the tenant of a request."""

CACHE = "antiphon.cache"
"""The key in an ASGI scope under which it sets whether the cache is on (true or false) for the
caller.
"""

OPERATOR = "antiphon.operator"
"""The key in a scope that is set for a session of `antiphon console`, which sees all tenants
without a key.
"""

ON_ERROR = "antiphon.on_error"
"""The key in a scope for a function that a client in this process sets: it receives the error of a
failed request.
"""

REQUEST_FILE = {"www-authenticate": "Bearer"}

MESSAGES = "/v1/messages"
"""Begins the paths of Anthropic's Messages API."""

MODELS = "/v1/models"
"""Begins the paths that both APIs have."""

JOINED = 4 * 1024 * 1024
"""Bytes of a body that are joined at once, in less than a millisecond."""

JSON = b"application/json"

JSON_TYPES = {"", "application/json", "application/octet-stream"}
"""Accepted content types of a body; clients that do not know the type send the last one."""

BODY_TIMEOUT = 30.0
"""Seconds from a request's head to the end of its body."""

BODY_RATE = 8 * 1024
"""Bytes of a body that add another second: a large one over a slow line is not an attack."""

ONCE = frozenset(
    {b"host", b"authorization", b"origin", b"content-type", b"content-encoding", b"idempotency-key"}
)
"""Headers that must be unique: of two, a proxy may have read the other one."""

METHODS = b"GET, POST, DELETE"

MAX_AGE = b"600"
"""Seconds for which a browser caches the preflight result."""


class ClientDisconnected(Exception):  # noqa: N818 - not an error: no client is left to answer
    """The client closed its connection."""


class RequestBody:
    """One request's messages. `receive` replaces the host's own.

    Raises `ClientError`: 413 above `limit` bytes, sent or inflated; 415 for an unknown coding, 400
    for a malformed one; 408 for a body that arrives too slowly. `AntiphonError` (503) if no memory
    is free for it.
    """

    __slots__ = (
        *("_headers", "_receive", "_limit", "_inflater", "_until", "_came", "_is_late"),
        *("memory", "tenant", "retained", "is_whole", "is_replied_to"),
    )

    def __init__(
        self,
        headers: Mapping[bytes, bytes],
        receive: Receive,
        limit: int,
        memory: Memory,
        tenant: str,
    ) -> None:
        self._headers = headers
        self._receive = receive
        self._limit = limit
        self.memory = memory
        self.tenant = tenant
        self._inflater: Inflater | None = None
        self._until = 0.0
        self._came = 0
        self.retained = 0
        """Bytes of memory that it holds."""
        self._is_late = False
        self.is_whole = (
            headers.get(b"content-length", b"0") == b"0" and b"transfer-encoding" not in headers
        )
        self.is_replied_to = False
        """Whether the reply has started: the rest of the body is discarded."""

    def bound(self, limit: int) -> None:
        """Accept fewer bytes than the server does in general, sent or inflated."""
        self._limit = min(self._limit, limit)

    async def read(self, *, is_form: bool = False) -> bytes:
        """Return all of it, which is JSON unless it `is_form`.

        Raises `ClientDisconnected` if the client disconnects before, `ClientError` (415) if the
        body is not JSON.

        The head has the content type; it is ignored for an empty body.
        """
        message = await self.receive()
        body: bytes = message.get("body", b"")
        is_wide = len(body) >= LARGE and may_be_wide(body)
        if message.get("more_body"):
            pieces = [body]
            waiting = len(body)
            whole: BytesIO | None = None
            while message.get("more_body"):
                message = await self.receive()
                piece = message.get("body", b"")
                is_wide = is_wide or may_be_wide(piece)
                pieces.append(piece)
                waiting += len(piece)
                # Grows step by step: joining 32 MB at once would block the loop too long.
                if waiting > JOINED:
                    whole = whole or BytesIO()
                    whole.writelines(pieces)
                    pieces.clear()
                    waiting = 0
            if whole is None:
                body = b"".join(pieces)
            else:
                whole.writelines(pieces)
                body = whole.getvalue()
        if message["type"] == "http.disconnect":
            raise ClientDisconnected
        if len(body) >= LARGE:
            self._hold(weight(len(body), wide=len(body) if is_wide else 0) - len(body))
        if body and not is_form and (kind := self._headers.get(b"content-type", JSON)) != JSON:
            _check_media_type(kind)
        return body

    async def stream(self, limit: int, hold: int) -> AsyncGenerator[bytes, None]:
        """Yield the body as it arrives, up to `limit` bytes; the server's own limit is for bodies
        in memory.

        It holds `hold` bytes of memory until the reply was sent. Raises `ClientDisconnected`,
        `ClientError` as `receive`, and `ClientError` (415) for a body with a coding: that would
        have to be inflated.
        """
        if self._headers.get(b"content-encoding", b"identity") != b"identity":
            text = "A form with a file cannot be sent with a Content-Encoding. Send it as it is."
            raise ClientError(text, status=415, code="unsupported_media_type")
        self._limit = limit
        self._hold(hold)
        more = True
        while more:
            retained = self.retained
            message = await self.receive()
            if message["type"] == "http.disconnect":
                raise ClientDisconnected
            more = message.get("more_body", False)
            self.memory.release(self.retained - retained, self.tenant)
            self.retained = retained
            if body := message.get("body", b""):
                yield body

    async def receive(self) -> Message:
        """See the ASGI specification.

        `asyncio.timeout` does in ten calls what the timer here does.
        """
        if self.is_whole:
            return await self._receive()
        if self.is_replied_to:
            return {**await self._receive(), "body": b""}
        loop = asyncio.get_running_loop()
        task = asyncio.current_task()
        if not self._until:
            self._until = loop.time() + BODY_TIMEOUT
            if (header := self._headers.get(b"content-encoding")) and (coding := coding_of(header)):
                self._inflater = Inflater(coding)
            if int(self._headers.get(b"content-length", 0)) > self._limit:
                raise self._too_large()
        timer = loop.call_at(self._until + self._came / BODY_RATE, self._expire, task)
        try:
            message = await self._receive()
        except asyncio.CancelledError:
            if self._is_late and task is not None and task.uncancel() == 0:
                text = (
                    "The request timed out: its body arrived too slowly. Try again, or send less."
                )
                raise ClientError(text, status=408) from None
            raise
        finally:
            timer.cancel()
        if message["type"] != "http.request":
            return message
        self.is_whole = not message.get("more_body", False)
        body = message.get("body", b"")
        self._came += len(body)
        if self._came > self._limit:
            raise self._too_large()
        if self._inflater is not None:
            return {**message, "body": await self._inflate(body, self._inflater)}
        self.memory.take(len(body), self.tenant)
        self.retained += len(body)
        return message

    def _hold(self, size: int) -> None:
        """Reserve the memory that a large body needs in addition to its bytes: values and the
        backend request.
        """
        self.memory.take(size, self.tenant)
        self.retained += size

    def _expire(self, task: "asyncio.Task[Any] | None") -> None:
        self._is_late = True
        if task is not None:
            task.cancel()

    async def _inflate(self, data: bytes, inflater: Inflater) -> bytes:
        pieces = []
        for piece in inflater.feed(data):
            if self.retained + len(piece) > self._limit:
                raise self._too_large()
            self.memory.take(len(piece), self.tenant)
            self.retained += len(piece)
            pieces.append(piece)
            if len(pieces) > 1:
                await asyncio.sleep(
                    0
                )  # let other tasks run: a whole bomb takes a tenth of a second
        if self.is_whole:
            inflater.finish()
        return b"".join(pieces)

    def _too_large(self) -> ClientError:
        text = f"The request body is larger than {self._limit} bytes."
        return ClientError(text, status=413, code="request_too_large")


@dataclass(frozen=True, slots=True)
class Credential:
    """The API key of a request."""

    gateway: Gateway
    digest: bytes

    async def key(self) -> ApiKey:
        """Return the current state of the key.

        Raises `ClientError` (401) if it has expired meanwhile.
        """
        found = await self.gateway.known_keys.find(self.digest)
        if found is None:
            text = "Incorrect API key provided. Ask the server's operator for a valid key."
            raise ClientError(text, status=401, code="invalid_api_key", headers=REQUEST_FILE)
        return found


class HttpRequest:
    """One request. `headers` are by name, in lower case; `cleanup` releases resources at its
    end.
    """

    __slots__ = (
        *(
            "scope",
            "method",
            "path",
            "headers",
            "path_params",
            "receive",
            "body",
            "reply_headers",
            "cors_headers",
        ),
        *("is_admitted", "tenant", "credential", "uses_cache", "stack", "incoming"),
    )

    def __init__(
        self, scope: Scope, receive: Receive, limits: ServerLimits, memory: Memory
    ) -> None:
        self.scope = scope
        self.method: str = scope.get("method", "GET")
        # No id has a NUL, and PostgreSQL would reject it.
        self.path: str = scope["path"].replace("\0", "\ufffd")
        if root := scope.get("root_path"):
            self.path = _below(root, self.path)
        self.headers: Mapping[bytes, bytes] = dict(scope["headers"])
        self.path_params: Mapping[str, str] = {}
        """The parts of the path by their names in the route."""
        self.reply_headers: RawHeaders = []
        """Additional headers of its reply."""
        self.cors_headers: RawHeaders = []
        self.is_admitted = False
        """Whether it may be read: if it is rejected before, its body is not mentioned."""
        self.tenant: str = scope.get(TENANT, "")
        self.credential: Credential | None = None
        self.uses_cache: bool | None = scope.get(CACHE)
        self.stack: AsyncExitStack | None = None
        self.incoming = RequestBody(self.headers, receive, limits.body, memory, self.tenant)
        self.body: Callable[[], Awaitable[bytes]] = self.incoming.read
        """Returns the request's JSON. See `RequestBody.read`."""
        self.receive: Receive = self.incoming.receive if scope["type"] == "http" else receive

    @property
    def cleanup(self) -> AsyncExitStack:
        """Exited after the reply was sent or failed; created at first use."""
        if self.stack is None:
            self.stack = AsyncExitStack()
        return self.stack

    @property
    def speaks_messages(self) -> bool:
        """Whether the request is one of Anthropic's Messages API, by its path; a list of models
        also by the header that only clients of that API send.
        """
        path = self.path
        if path.startswith(MODELS):
            return b"anthropic-version" in self.headers
        return path == MESSAGES or path.startswith(f"{MESSAGES}/")

    def query(self) -> Mapping[str, list[str]]:
        """Return the query's parameters with all their values."""
        return parse_qs(self.scope["query_string"].decode("latin-1"), keep_blank_values=True)

    async def key(self) -> ApiKey | None:
        """Return the current state of the API key, None without one.

        Raises `ClientError` (401) if it has expired.
        """
        return None if self.credential is None else await self.credential.key()


def _below(root: str, path: str) -> str:
    """Return a path below the prefix under which a parent application has mounted it."""
    rest = path.removeprefix(root)
    return rest if path == root or rest.startswith("/") else path


def _check_media_type(header: bytes) -> None:
    kind, _, parameters = header.decode("latin-1").lower().partition(";")
    charset = parameters.partition("charset=")[2].partition(";")[0].strip(' "')
    if kind.strip() not in JSON_TYPES or charset not in {"", "utf-8", "utf8"}:
        named = header.decode("latin-1")[:100]
        text = (
            f"The body's Content-Type '{named}' is not supported. Send application/json in UTF-8."
        )
        raise ClientError(text, status=415, code="unsupported_media_type")


def check_origin(request: HttpRequest, limits: ServerLimits) -> None:
    """Raise `ClientError`: 400 for a missing or repeated header, 421 for the host, 403 for the
    origin.
    """
    headers = request.headers
    raw = request.scope["headers"]
    if len(headers) != len(raw):
        _check_once([name for name, _ in raw])
    host = headers.get(b"host")
    if host is None and request.scope.get("http_version") == "1.1":
        raise ClientError("The request has no Host header.")
    if host is not None and ANY not in limits.hosts and not _is_known(host, limits.hosts):
        text = (
            f"'{name_of(host)[:100]}' in the Host header is not a name of this server. If it "
            "should be one, add it to "
        )
        raise ClientError(text + "the server's setting `allowed_hosts`.", status=421)
    if b"origin" in headers:
        _check_page(headers[b"origin"], host, limits)
        request.cors_headers = _cors_headers(headers)


def _cors_headers(headers: Mapping[bytes, bytes]) -> RawHeaders:
    """Return the CORS headers that let the requesting page read the reply.

    Its origin was checked.
    """
    reported = [(b"access-control-allow-origin", headers[b"origin"]), (b"vary", b"origin")]
    if b"access-control-request-method" in headers:
        reported += [
            (b"access-control-allow-methods", METHODS),
            (b"access-control-max-age", MAX_AGE),
        ]
        if requested := headers.get(b"access-control-request-headers"):
            reported.append((b"access-control-allow-headers", requested))
    return reported


def is_preflight(headers: Mapping[bytes, bytes]) -> bool:
    """Whether this is a CORS preflight request."""
    return b"origin" in headers and b"access-control-request-method" in headers


def name_of(host: bytes) -> str:
    """Return the name in a `Host` header, without port, in lower case."""
    text = host.decode("latin-1").lower()
    if text.startswith("["):
        return text[1:].partition("]")[0]
    return text.partition(":")[0].rstrip(".")


def _check_once(names: list[bytes]) -> None:
    for name in ONCE:
        if names.count(name) > 1:
            raise ClientError(
                f"The request has the header '{name.decode()}' more than once. Send it once."
            )


@lru_cache(1000)
def _is_known(host: bytes, hosts: frozenset[str]) -> bool:
    """Whether a `Host` header names this server; clients send the same one again and again."""
    name = name_of(host)
    return name in hosts or is_local(name)


def _check_page(origin: bytes, host: bytes | None, limits: ServerLimits) -> None:
    if ANY in limits.origins or origin.partition(b"://")[2] == host:
        return
    if origin.decode("latin-1") not in limits.origins:
        text = (
            "This page may not ask: its origin is not this server's. If it should be able to, "
            "the server's operator names its origin in `allowed_origins`."
        )
        raise ClientError(text, status=403, code="origin_not_allowed")
