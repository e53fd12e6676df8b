"""The reasons why a backend did not answer: DNS, connection, TLS, proxy, timeout, or an invalid
response.
"""

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
    """Worded for clients, without addresses."""
    detail: str
    """Worded for the operator."""
    advice: str


RUNNING = "Check that it is running."
PLACE = "Check its URL, and that this machine can connect to it."

ERRNO: dict[int, tuple[str, str]] = {
    errno.ECONNREFUSED: ("connection refused", RUNNING),
    errno.ECONNRESET: ("connection reset", RUNNING),
    errno.EPIPE: ("connection closed", RUNNING),
    errno.EHOSTUNREACH: ("no route to host", PLACE),
    errno.ENETUNREACH: ("network unreachable", PLACE),
    errno.EMFILE: (
        "this server has too many open files",
        "Raise the limit of open files (`ulimit -n`).",
    ),
}
"""The reason for an error number, and the advice."""

AUTHORITY = (
    "If its certificate is from a private authority, set `ca_file` to that "
    "authority's certificate file."
)
SCHEME = "Check whether its URL must begin with http:// or https://."


def unreachable(error: Exception, connect_timeout: float) -> Cause:
    """Return the reason for a failed connection, as a predicate.

    `connect_timeout` is in seconds.
    """
    brief, detail, advice = _no_connection(error, connect_timeout)
    return Cause(f"is unreachable: {brief}", f"is unreachable: {detail}", advice)


def unanswered(error: Exception, limit: float, setting: str = "") -> Cause:
    """Return the reason for a missing answer over a connection, as a predicate.

    `limit` is in seconds; `setting` is the one that raises it, if any does.
    """
    if isinstance(error, TimeoutError):
        text = f"did not answer within {limit:g} s"
        return Cause(
            text, text, f"Check whether it is busy{f', or raise `{setting}`' if setting else ''}."
        )
    if isinstance(error, ProtocolError):
        text = "did not answer with valid HTTP"
        return Cause(text, f"{text} ({error})", SCHEME)
    text = "closed the connection without an answer"
    return Cause(text, text, "Check its log for the reason.")


def _no_connection(error: Exception, connect_timeout: float) -> Cause:
    if isinstance(error, ConnectTimeoutError):
        text = f"no connection within {connect_timeout:g} s"
        return Cause(text, text, "Check that it is running, or raise `connect_timeout`.")
    origin = error.__cause__ or error
    match origin:
        case socket.gaierror():
            reason = origin.strerror or str(origin)
            return Cause(
                "DNS lookup failed",
                f"DNS lookup failed ({reason})",
                "Check the host name in its URL.",
            )
        case ssl.SSLCertVerificationError():
            reason = origin.verify_message or str(origin)
            return Cause(
                "TLS certificate rejected",
                f"TLS certificate rejected ({reason.rstrip('.')})",
                AUTHORITY,
            )
        case ssl.SSLError():
            reason = (origin.reason or str(origin)).replace("_", " ").lower()
            return Cause("TLS handshake failed", f"TLS handshake failed ({reason})", SCHEME)
        case ConnectError():
            return Cause(str(origin), str(origin), PLACE)
        case OSError() if origin.errno:
            text, advice = ERRNO.get(origin.errno, (os.strerror(origin.errno).lower(), PLACE))
            return Cause(text, text, advice)
    return Cause("no connection could be made", f"no connection could be made ({origin})", PLACE)
