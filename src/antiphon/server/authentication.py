"""API keys: every path but those of `OPEN` needs one, from when one was made (specification section 13).

The key comes in `Authorization: Bearer` and nowhere else, also to open a WebSocket. An application around this one may
set the tenant in the ASGI scope; then that application has checked the key.
"""

from collections.abc import Iterable

from antiphon.errors import ClientError
from antiphon.gateway import Gateway
from antiphon.server.request import ASK, TENANT, Credential, HttpRequest
from antiphon.telemetry.context import note

OPEN = {"/healthz", "/readyz", "/metrics", "/status"}
"""Paths of programs that watch the server; the last two are shown to this machine alone."""


class Authentication:
    """Finds the API key of a request."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    async def identify(self, request: HttpRequest) -> None:
        """Set the tenant and the credential of a request, unless another application has. Raises `ClientError`."""
        if TENANT in request.scope:
            return
        credential = Credential(self._gateway, await self._gateway.digest_key(bearer(request.scope["headers"])))
        key = await credential.key()
        request.tenant, request.credential = key.tenant, credential
        note(api_key_id=key.id)
        if key.caches:
            request.uses_cache = True


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
