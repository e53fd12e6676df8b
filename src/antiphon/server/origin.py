"""Which requests are served: the `Host` that a request names, and the `Origin` of the page that a browser sends it for.

A page of any site can have its reader's browser send requests to servers that only the reader reaches. Browsers say
for which page they ask, so other sites' are refused. A site may also let its own name mean this machine (DNS
rebinding): then page and server are of one origin to the browser, and only the `Host` tells. Programs send no `Origin`.
"""

from collections.abc import Mapping
from functools import lru_cache

from antiphon.errors import ClientError
from antiphon.server.asgi import RawHeaders
from antiphon.server.limits import ANY, Limits, is_local
from antiphon.server.request import HttpRequest

ONCE = frozenset({b"host", b"authorization", b"origin", b"content-type", b"content-encoding", b"idempotency-key"})
"""Headers that stand once: of two, another program on the way may have read the other one."""

METHODS = b"GET, POST, DELETE"

MAX_AGE = b"600"
"""Seconds for which a browser need not ask again."""


def check_origin(request: HttpRequest, limits: Limits) -> None:
    """Raise `ClientError`: 400 where a header is missing or stands twice, 421 for the host, 403 for the origin."""
    headers, raw = request.headers, request.scope["headers"]
    if len(headers) != len(raw):
        _check_once([name for name, _ in raw])
    host = headers.get(b"host")
    if host is None and request.scope.get("http_version") == "1.1":
        raise ClientError("The request has no Host header.")
    if host is not None and ANY not in limits.hosts and not _is_known(host, limits.hosts):
        text = f"This server is not known as '{name_of(host)[:100]}'. If it should be, its operator names it in "
        raise ClientError(text + "`allowed_hosts`.", status=421)
    if b"origin" in headers:
        _check_page(headers[b"origin"], host, limits)
        request.cors_headers = _cors_headers(headers)


def _cors_headers(headers: Mapping[bytes, bytes]) -> RawHeaders:
    """Return the headers with which a browser shows the reply to the page that asked. The page has been looked at."""
    told = [(b"access-control-allow-origin", headers[b"origin"]), (b"vary", b"origin")]
    if b"access-control-request-method" in headers:
        told += [(b"access-control-allow-methods", METHODS), (b"access-control-max-age", MAX_AGE)]
        if asked := headers.get(b"access-control-request-headers"):
            told.append((b"access-control-allow-headers", asked))
    return told


def is_preflight(headers: Mapping[bytes, bytes]) -> bool:
    """Whether a browser asks by OPTIONS what a page may do, before it does it."""
    return b"origin" in headers and b"access-control-request-method" in headers


def name_of(host: bytes) -> str:
    """Return what a `Host` header says, without port, in lower case."""
    text = host.decode("latin-1").lower()
    if text.startswith("["):
        return text[1:].partition("]")[0]
    return text.partition(":")[0].rstrip(".")


def _check_once(names: list[bytes]) -> None:
    for name in ONCE:
        if names.count(name) > 1:
            raise ClientError(f"The header '{name.decode()}' stands more than once.")


@lru_cache(1000)
def _is_known(host: bytes, hosts: frozenset[str]) -> bool:
    """Whether a `Host` header names this server; clients send the same one again and again."""
    name = name_of(host)
    return name in hosts or is_local(name)


def _check_page(origin: bytes, host: bytes | None, limits: Limits) -> None:
    if ANY in limits.origins or origin.partition(b"://")[2] == host:
        return
    if origin.decode("latin-1") not in limits.origins:
        text = (
            "This page may not ask: its origin is not this server's. If it should be able to, the server's operator "
            "names its origin in `allowed_origins`."
        )
        raise ClientError(text, status=403, code="origin_not_allowed")
