"""Who may come in: every path but the few of `OPEN` asks for a key, from when there is one (specification section 13).

The key comes in `Authorization: Bearer` and nowhere else, also to open a WebSocket. What follows knows the tenant from
the scope, as an application around this one may have put it there; then that one has asked for the key.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from starlette.types import ASGIApp, Receive, Scope, Send

from antiphon.engine.keys.known import KnownKeys
from antiphon.errors import ClientError
from antiphon.server.http import CACHE, TENANT
from antiphon.storage.contract import ApiKey
from antiphon.telemetry.context import note

OPEN = {"/healthz", "/readyz", "/metrics", "/status"}
"""Paths for those who watch over the server; the last two are shown to this machine alone."""

PASS = "antiphon.pass"  # noqa: S105 - the name of one
"""The key in an ASGI scope under which the `Pass` of a request stands, where it has one."""

ASK = {"www-authenticate": "Bearer"}


@dataclass(frozen=True, slots=True)
class Pass:
    """By which key a request came in."""

    keys: KnownKeys
    digest: bytes

    async def key(self) -> ApiKey:
        """Return the key as it stands now. Raises `ClientError` (401) where it has ended meanwhile."""
        found = await self.keys.find(self.digest)
        if found is None:
            text = "Incorrect API key provided. Ask whoever runs this server for one that is good."
            raise ClientError(text, status=401, code="invalid_api_key", headers=ASK)
        return found


class Door:
    """Stands before an application: what has no good key goes no further."""

    def __init__(self, app: ASGIApp, keys: KnownKeys) -> None:
        self._app, self._keys = app, keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if TENANT not in scope and _path(scope) not in OPEN and await self._keys.are_needed():
            presented = Pass(self._keys, await self._keys.digest(bearer(scope["headers"])))
            key = await presented.key()
            scope[TENANT], scope[PASS] = key.tenant, presented
            note(api_key_id=key.id)
            if key.caches:
                scope[CACHE] = True
        await self._app(scope, receive, send)


async def api_key_of(scope: Scope) -> ApiKey | None:
    """Return the key by which a request came in, as it stands now, None where it needed none.

    Raises `ClientError` (401) where it has ended.
    """
    held: Pass | None = scope.get(PASS)
    return None if held is None else await held.key()


def bearer(headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Return the key that a request's head presents. Raises `ClientError`: 401 for none, 400 for several."""
    given = [value for name, value in headers if name == b"authorization"]
    if len(given) > 1:
        raise ClientError("There are several Authorization headers. Send one.")
    scheme, _, key = given[0].partition(b" ") if given else (b"", b"", b"")
    if scheme.lower() != b"bearer" or not key.strip():
        text = "No API key was provided. Send it in the header Authorization, as 'Bearer' and the key."
        raise ClientError(text, status=401, headers=ASK)
    return key.strip()


def _path(scope: Scope) -> str:
    path: str = scope["path"]
    return path.removeprefix(scope.get("root_path", ""))
