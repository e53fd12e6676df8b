"""The handshake of a WebSocket (RFC 6455, section 4.2.1): whether a request is one, and what is
wrong with it.
"""

from antiphon.http_server.asgi import RawHeaders

FRAMING = frozenset({b"content-length", b"transfer-encoding"})
"""The headers of a request with a body."""

VERSION = b"13"
"""The only version of the protocol."""

MAX_LINE = 8000
"""Bytes of a header of a handshake: the library for WebSockets reads lines of 8 KiB."""


def is_handshake(method: bytes, version: str, headers: RawHeaders) -> bool:
    """Whether a request opens a WebSocket.

    Any other upgrade can be ignored: the request is answered without it.
    """
    found = dict(headers)
    tokens = [
        token.strip()
        for name, value in headers
        if name == b"connection"
        for token in value.lower().split(b",")
    ]
    names_it = b"upgrade" in tokens and found.get(b"upgrade", b"").lower() == b"websocket"
    return names_it and (method, version) == (b"GET", "1.1") and not FRAMING & found.keys()


def flaw_of(url: bytes, headers: RawHeaders) -> tuple[int, str] | None:
    """Return why a handshake is rejected before the library reads it: status and text; None if
    nothing is wrong.

    The library reports a long line and other characters than ASCII differently from version to
    version, and does not send the header with the supported version.
    """
    if len(url) > MAX_LINE or any(len(name) + len(value) > MAX_LINE for name, value in headers):
        return 431, f"A line of the WebSocket handshake is longer than {MAX_LINE} bytes."
    parts = [value for name, value in headers if name.startswith(b"sec-websocket-")]
    if not (url.isascii() and all(map(bytes.isascii, parts))):
        return 400, "The WebSocket handshake contains characters that are not ASCII."
    versions = [value.strip() for name, value in headers if name == b"sec-websocket-version"]
    if versions and VERSION not in versions:
        return (
            426,
            f"The WebSocket handshake has another Sec-WebSocket-Version than {VERSION.decode()}.",
        )
    return None
