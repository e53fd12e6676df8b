"""`/admin/v1/session`: sign in to the console with an API key or a one-time code, describe the
session, sign out.
"""

import math
from collections.abc import Sequence

from antiphon.errors import ClientError
from antiphon.gateway import ApiKey, Gateway, JsonObject, Role
from antiphon.http_server.asgi import RawHeaders
from antiphon.protocol.console import SignIn
from antiphon.protocol.validation.validate import decode_body
from antiphon.server import limits
from antiphon.server.admin.access import (
    COOKIE,
    SECURE_COOKIE,
    SESSION,
    Viewer,
    check_same_origin,
    find_session,
    is_encrypted,
    is_here,
    lacks,
    viewer,
)
from antiphon.server.admin.audit import audit
from antiphon.server.described import Described
from antiphon.server.reply import Reply, Resources
from antiphon.server.request import REQUEST_FILE, HttpRequest, name_of
from antiphon.version import __version__

DAY = 86_400

MOST_BYTES = 16 * 1024
"""Bytes of the largest sign-in body: its sender is not authenticated."""


def resources(gateway: Gateway) -> Resources:
    """Return the endpoints by path."""
    api = _Session(gateway)
    return {"/admin/v1/session": {"POST": api.sign_in, "GET": api.retrieve, "DELETE": api.sign_out}}


def described() -> Sequence[Described]:
    """Return the rows of `/openapi.json`."""
    path = "/admin/v1/session"
    return (
        Described("post", path, "Sign in to the console", SignIn),
        Described("get", path, "Describe the session"),
        Described("delete", path, "Sign out"),
    )


class _Session:
    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._attempts = gateway.failed_attempts

    async def sign_in(self, http: HttpRequest) -> Reply:
        check_same_origin(http)
        name = _cookie_name(http)
        http.incoming.bound(MOST_BYTES)
        request = decode_body(await http.body(), SignIn)
        if (request.key is None) is (request.code is None):
            raise ClientError(
                "Send either 'key', an API key, or 'code', a one-time code.", param="key"
            )
        if request.code is not None:
            key = None
            digest = await self._redeem(http, request.code)
        else:
            key, digest = await self._checked(http, request.key or "")
        if (old := await find_session(http, self._gateway)) is not None:
            await self._gateway.sessions.end(old)
        token, http.scope[SESSION] = await self._gateway.sessions.begin(key, digest)
        caller = (
            Viewer(Role.ADMIN) if key is None else Viewer(key.role, key.tenant, key.id, key.name)
        )
        audit(
            "sign_in",
            key_id=caller.key_id,
            tenant=caller.tenant,
            role=caller.role.value,
            address=_address(http),
        )
        return Reply(await self._displayed(http, caller, key), _cookie(name, token))

    async def retrieve(self, http: HttpRequest) -> Reply:
        caller = await viewer(http, self._gateway)
        return Reply(await self._displayed(http, caller, await http.key()))

    async def sign_out(self, http: HttpRequest) -> Reply:
        check_same_origin(http)
        caller = await viewer(http, self._gateway)
        if (session := await find_session(http, self._gateway)) is not None:
            await self._gateway.sessions.end(session)
            audit("sign_out", key_id=caller.key_id, tenant=caller.tenant)
        ended = [header for name in (COOKIE, SECURE_COOKIE) for header in _cookie(name, "")]
        return Reply({"object": "session", "deleted": True}, ended)

    async def _redeem(self, http: HttpRequest, code: str) -> bytes:
        if not await self._gateway.sessions.redeem(code):
            raise self._failed(
                http, "This link has expired or was used. Run `antiphon console` for a new one."
            )
        return b""

    async def _checked(self, http: HttpRequest, displayed: str) -> tuple[ApiKey, bytes]:
        """Return the key that a client presents, and its digest.

        Raises `ClientError`: 401, 403 for its role.
        """
        gateway = self._gateway
        if not await gateway.known_keys.are_needed():
            gateway.known_keys.forget()  # the key may have been created a moment ago
        if not await gateway.known_keys.are_needed():
            text = (
                "This server has no API key. Create one with `antiphon keys create --role admin`."
            )
            raise self._failed(http, text)
        digest = await gateway.known_keys.digest(displayed.encode())
        key = await gateway.known_keys.find(digest)
        if key is None:
            raise self._failed(
                http, "Incorrect API key provided. Ask the server's operator for a valid key."
            )
        if not key.role.includes(Role.READ):
            raise lacks(Role.READ, key.id)
        return key, digest

    def _failed(self, http: HttpRequest, text: str) -> ClientError:
        """Return the error for a wrong key or code: 401, or 429 if its address sent many of them.

        A valid key or code signs in nevertheless, since behind a proxy all clients have one
        address. Both have 256 random bits, so guessing is no threat: the limit bounds the audit
        log.
        """
        address = _address(http)
        wait = self._attempts.wait(address)
        if wait > 0:
            text = (
                "Too many failed attempts to sign in came from your address. Try again in "
                f"{math.ceil(wait)} s."
            )
            again = {"retry-after": str(math.ceil(wait))}
            return ClientError(text, status=429, code="too_many_attempts", headers=again)
        self._attempts.add(address)
        audit("sign_in_failed", address=address)
        return ClientError(text, status=401, code="invalid_api_key", headers=REQUEST_FILE)

    async def _displayed(self, http: HttpRequest, caller: Viewer, key: ApiKey | None) -> JsonObject:
        gateway = self._gateway
        session = http.scope.get(SESSION)
        return {
            "object": "session",
            "role": caller.role.value,
            "tenant": caller.tenant or None,
            "key_id": caller.key_id or None,
            "key_name": caller.name or None,
            "key_shown": None if key is None else key.displayed,
            "needs_key": await gateway.known_keys.are_needed(),
            "expires_at": None if session is None else session.expires_at,
            "version": __version__,
            "currency": gateway.usage.currency,
            "has_prices": gateway.models.have_prices,
            "retention_days": gateway.retention // DAY,
        }


def _cookie_name(http: HttpRequest) -> bytes:
    """Return the name of the cookie for this client.

    Raises `ClientError` (403) if others could read it.

    Without TLS, a session starts only at a name of this machine, and on this machine: then nothing
    that the browser sends crosses a network.
    """
    if is_encrypted(http):
        return SECURE_COOKIE
    if not limits.is_local(name_of(http.headers.get(b"host", b""))) and not is_here(http):
        text = (
            "Sign in by HTTPS, or at http://localhost: others could read your session on the way. "
            "An SSH tunnel works."
        )
        raise ClientError(text, status=403, code="https_required")
    return COOKIE


def _cookie(name: bytes, token: str) -> RawHeaders:
    """Return the header that sets the session's cookie, or without a token deletes it."""
    lasts = 7 * DAY if token else 0
    secure = b"; Secure" if name == SECURE_COOKIE else b""
    value = b"%s=%s; Path=/; Max-Age=%d; HttpOnly; SameSite=Strict%s" % (
        name,
        token.encode(),
        lasts,
        secure,
    )
    return (
        [(b"set-cookie", value), (b"cache-control", b"no-store")]
        if token
        else [(b"set-cookie", value)]
    )


def _address(http: HttpRequest) -> str:
    """Return the address of the connection; clients behind one proxy, and on a Unix socket, share
    one.
    """
    client = http.scope.get("client")
    return client[0] if client else ""
