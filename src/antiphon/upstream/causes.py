"""Why a backend did not answer, in words: the name, the connection, TLS, the proxy, time, or what it sent."""

import errno
import os
import socket
import ssl
from typing import NamedTuple

from antiphon.upstream.http1.connect import ConnectError, ConnectTimeoutError
from antiphon.upstream.http1.response import ProtocolError


class Cause(NamedTuple):
    """Why there is no connection, or no answer."""

    brief: str
    """In words that name no address."""
    detail: str
    """In words for the operator."""
    advice: str


RUNNING = "Check that it is running."
PLACE = "Check its URL, and that this machine may connect to it."

ERRNO: dict[int, tuple[str, str]] = {
    errno.ECONNREFUSED: ("connection refused", RUNNING),
    errno.ECONNRESET: ("connection reset", RUNNING),
    errno.EPIPE: ("connection closed", RUNNING),
    errno.EHOSTUNREACH: ("no route to host", PLACE),
    errno.ENETUNREACH: ("network unreachable", PLACE),
    errno.EMFILE: ("this server has too many files open", "Raise the limit of open files (`ulimit -n`)."),
}
"""What an error number means, and what to do."""

AUTHORITY = "If it has a certificate of an authority of your own, name that authority's file as `ca_file`."
SCHEME = "Check whether its URL should begin with http:// or https://."


def unreachable(error: Exception, connect_timeout: float) -> Cause:
    """Return why no connection came about, as a predicate. `connect_timeout` is in seconds."""
    brief, detail, advice = _no_connection(error, connect_timeout)
    return Cause(f"is unreachable: {brief}", f"is unreachable: {detail}", advice)


def unanswered(error: Exception, limit: float) -> Cause:
    """Return why no answer came over a connection, as a predicate. `limit` is in seconds."""
    if isinstance(error, TimeoutError):
        text = f"did not answer within {limit:g} s"
        return Cause(text, text, "Check whether it is busy.")
    if isinstance(error, ProtocolError):
        text = "answered with something else than HTTP"
        return Cause(text, f"{text} ({error})", SCHEME)
    text = "closed the connection without an answer"
    return Cause(text, text, "Its log may say why.")


def _no_connection(error: Exception, connect_timeout: float) -> Cause:
    if isinstance(error, ConnectTimeoutError):
        text = f"no connection within {connect_timeout:g} s"
        return Cause(text, text, "Check that it is running, or raise `connect_timeout`.")
    origin = error.__cause__ or error
    match origin:
        case socket.gaierror():
            reason = origin.strerror or str(origin)
            return Cause("DNS lookup failed", f"DNS lookup failed ({reason})", "Check the host name in its URL.")
        case ssl.SSLCertVerificationError():
            reason = origin.verify_message or str(origin)
            return Cause("TLS certificate rejected", f"TLS certificate rejected ({reason.rstrip('.')})", AUTHORITY)
        case ssl.SSLError():
            reason = (origin.reason or str(origin)).replace("_", " ").lower()
            return Cause("TLS handshake failed", f"TLS handshake failed ({reason})", SCHEME)
        case ConnectError():
            return Cause(str(origin), str(origin), PLACE)
        case OSError() if origin.errno:
            text, advice = ERRNO.get(origin.errno, (os.strerror(origin.errno).lower(), PLACE))
            return Cause(text, text, advice)
    return Cause("no connection could be made", f"no connection could be made ({origin})", PLACE)
