"""Reads a request's key and headers: the tenant, its limits, an earlier reply, the cache.

Every path except those of `OPEN` needs an API key, once a key exists (specification section 13).
The key is in `Authorization: Bearer` and nowhere else, also to open a WebSocket; only the paths of
the Messages API accept `x-api-key` too. A parent
application can set the tenant in the ASGI scope; then that application has checked the key. Nothing
here is called for a request with neither.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from antiphon.errors import AntiphonError, ClientError
from antiphon.gateway import (
    Gateway,
    ReplayLog,
    RequestIdentity,
    UsageLease,
    Weight,
    check_key,
    permit,
)
from antiphon.http_server.asgi import ClientConnection
from antiphon.ids import TENANT_RULE, is_tenant_name
from antiphon.protocol.requests import CacheParam, CreateResponse, Extensions
from antiphon.protocol.validation.refusals import invalid_value
from antiphon.protocol.validation.validate import decode_object
from antiphon.server.reply import (
    CACHE,
    JSON,
    DisconnectWatch,
    FrameStream,
    Reply,
    WholeStream,
    raw_headers,
)
from antiphon.server.request import (
    MESSAGES,
    MODELS,
    REQUEST_FILE,
    TENANT,
    Credential,
    HttpRequest,
)
from antiphon.sharing.scheduler import FairScheduler
from antiphon.telemetry.context import note

HELLO = "/api/hello"
"""The path that Claude Code requests to open a connection."""

OPEN = {"/", "/healthz", "/readyz", "/metrics", "/status", HELLO}
"""Paths that need no key: the page about the server, those of monitoring programs, and
`HELLO`. Only this machine may read `/metrics` and `/status`.
"""

PAGES = "/console"
"""Begins the paths of the console's pages, which hold no data."""

SIGN_IN = "/admin/v1/session"
"""The path to which the page posts the user's key or code."""

IDEMPOTENCY_HEADER = b"idempotency-key"

CACHE_HEADER = CACHE.encode()

T = TypeVar("T")

_Wish = bool | CacheParam | None

STATED: Mapping[str, Callable[[_Wish], _Wish]] = {
    "on": lambda wish: wish or True,
    "off": lambda wish: False,
    "refresh": lambda wish: CacheParam(
        ttl=wish.ttl if isinstance(wish, CacheParam) else None, refresh=True
    ),
}
"""The effect of each value of the header `antiphon-cache` on the value in the body."""


class Authentication:
    """Finds the API key of a request."""

    def __init__(self, gateway: Gateway, *, has_console: bool = False) -> None:
        self._gateway = gateway
        self._has_console = has_console

    async def identify(self, request: HttpRequest) -> bool:
        """Set the tenant and the credential of a request, unless a parent application has.

        Raises `ClientError`.

        Return False for the console's page and its sign-in, which need no key.
        """
        if TENANT in request.scope:
            return True
        if self._has_console and b"authorization" not in request.headers:
            if request.path.startswith(PAGES) or (
                request.path == SIGN_IN and request.method == "POST"
            ):
                return False
            if b"antiphon-console" in request.headers:
                from antiphon.server.admin.access import identify_by_cookie  # noqa: PLC0415 - for the console alone

                await identify_by_cookie(request, self._gateway)
                return True
        headers = request.scope["headers"]
        is_of_both = request.path.startswith((MESSAGES, MODELS))
        provided = _either_key(request) if is_of_both else bearer(headers)
        credential = Credential(self._gateway, await self._gateway.known_keys.digest(provided))
        key = await credential.key()
        request.tenant = key.tenant
        request.credential = credential
        request.incoming.tenant = key.tenant
        note(api_key_id=key.id)
        if key.limits.models:
            permit(key.limits.models)
        if key.caches:
            request.uses_cache = True
        return True


def _either_key(request: HttpRequest) -> bytes:
    """Return the key of a request that can be one of the Messages API: its clients send it in
    `x-api-key`, or as other clients do. Raises as `bearer`.
    """
    if not request.speaks_messages:
        return bearer(request.scope["headers"])
    if key := request.headers.get(b"x-api-key", b"").strip():
        return key
    if b"authorization" not in request.headers:
        text = (
            "No API key was provided. Send it in the header x-api-key, or in Authorization as "
            "'Bearer' and the key."
        )
        raise ClientError(text, status=401, headers=REQUEST_FILE)
    return bearer(request.scope["headers"])


def check_tenant(name: object) -> None:
    """Raise `ClientError` (400) for an invalid tenant name that a parent application has set."""
    if not is_tenant_name(name):
        text = (
            "The application in front of this server set an invalid tenant for this request. "
            f"{TENANT_RULE}"
        )
        raise ClientError(text, code="invalid_tenant")


class Connections:
    """Shares the connections between tenants: one tenant alone has at most about 80 % of them.

    Until it ends, a connection counts for the tenant of its last request with an API key.
    """

    def __init__(self, most: int) -> None:
        self.slots = FairScheduler(most, leaves_room=True)

    def admit(self, request: HttpRequest, connection: ClientConnection | None) -> None:
        """Count the connection of a request.

        Raises `AntiphonError` (503) if its tenant has too many.

        Without a `connection`, as for a WebSocket, it is counted for as long as the request lasts.
        """
        tenant = request.tenant
        if connection is not None:
            is_admitted = connection.belong(tenant, self.slots)
        elif is_admitted := self.slots.take(tenant):
            request.cleanup.callback(self.slots.leave, tenant)
        if not is_admitted:
            error = AntiphonError.overloaded(
                "Your tenant has too many open connections to this server. Close some of them."
            )
            error.headers["connection"] = "close"
            raise error


def bearer(headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Return the key that a request's head presents.

    Raises `ClientError`: 401 for none, 400 for several.
    """
    provided = [value for name, value in headers if name == b"authorization"]
    if len(provided) > 1:
        raise ClientError("There are several Authorization headers. Send one.")
    scheme, _, key = provided[0].partition(b" ") if provided else (b"", b"", b"")
    if scheme.lower() != b"bearer" or not key.strip():
        text = (
            "No API key was provided. Send it in the header Authorization, as 'Bearer' and the key."
        )
        raise ClientError(text, status=401, headers=REQUEST_FILE)
    return key.strip()


async def decoded(
    gateway: Gateway, http: HttpRequest, body: bytes, decode: Callable[[bytes], T]
) -> T:
    """Return a body, decoded and checked by `decode`. Raises what that raises."""
    return await gateway.offload(http.tenant, len(body), decode, body)


async def acquire(
    gateway: Gateway,
    http: HttpRequest,
    model: str | None,
    weigh: Callable[[], Weight] = Weight,
    size: int = 0,
    *,
    is_queued: bool = False,
) -> UsageLease | None:
    """Return the lease of a request on its key's limits, None without a key; it is released when
    the reply was sent.

    A request without a `model` calls none. `weigh` estimates the tokens of one with `size` bytes.
    A background response `is_queued`.

    Raises `ClientError`: 400 for a model that the key does not allow, 401 for an expired key, 429
    at a limit, 503 if too many requests wait. Raises `ClientDisconnected` if the client
    disconnects.
    """
    key = await http.key()
    if key is None:
        return None
    watch = partial(DisconnectWatch, http.receive)
    lease = await gateway.lease(key, model, weigh, size, watch, is_queued=is_queued)
    http.reply_headers = raw_headers(lease.headers)
    http.cleanup.enter_context(lease)
    return lease


async def reserve(
    gateway: Gateway, http: HttpRequest, body: bytes, object_id: str
) -> RequestIdentity | Reply:
    """Return the ticket of a request with an `Idempotency-Key`, which creates the object with this
    id; the stored reply to an answered one.

    If the request fails, its key is released, so that a retry runs.
    """
    key = http.headers[IDEMPOTENCY_HEADER].decode("latin-1")
    check_key(key)
    async with DisconnectWatch(http.receive):
        found = await gateway.idempotency.admit(
            http.tenant, key, http.scope["path"], body, object_id
        )
    if isinstance(found, RequestIdentity):
        await http.cleanup.enter_async_context(gateway.idempotency.hold(found))
        return found
    if isinstance(found, ReplayLog):
        return Reply(FrameStream(gateway.replays.events(found.tenant, found.response_id)))
    return Reply(WholeStream(found.body)) if found.is_stream else Reply(found.body, JSON)


def with_cache(http: HttpRequest, request: CreateResponse) -> CreateResponse:
    """Return the request with its cache mode: from the header, else the body, else the key.

    Raises `ClientError` (400) for a header with another value.
    """
    stated = http.headers.get(CACHE_HEADER)
    provided = request.antiphon or Extensions()
    if stated is None:
        wish = provided.cache if provided.cache is not None else _usual(http, request)
    else:
        value = stated.decode("latin-1").strip().lower()
        if value not in STATED:
            raise invalid_value(CACHE, value, STATED)
        wish = STATED[value](provided.cache)
    return (
        request
        if wish is provided.cache
        else replace(request, antiphon=replace(provided, cache=wish))
    )


def _usual(http: HttpRequest, request: CreateResponse) -> bool | None:
    """Return the cache mode of the request's caller; unstored responses are not cached by
    default.
    """
    wish = http.uses_cache
    return None if wish and request.store is False else wish


def body_with_cache(body: bytes, before: CreateResponse, after: CreateResponse) -> bytes:
    """Return the body to store for the worker that runs the response and does not see the
    headers.
    """
    return (
        body
        if after is before
        else msgspec.json.encode({**decode_object(body), "antiphon": after.antiphon})
    )
