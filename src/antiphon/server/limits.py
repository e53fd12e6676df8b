"""Limits of size, concurrency and origin for requests, from the operator's settings."""

from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import ip_address

LOCAL_NAMES = frozenset({"localhost", "host.docker.internal", "host.containers.internal"})
"""Names of this machine that no public DNS can resolve; containers use the last two."""

ANY = "*"
"""Means every host, or every origin."""


@dataclass(frozen=True, slots=True)
class ServerLimits:
    """Limits of one process.

    The defaults are for an embedded server, which does not know its hosts.
    """

    body: int = 32 * 1024 * 1024
    """Bytes of a request's body, inflated, and of a WebSocket's message."""
    connection: int = 128 * 1024 * 1024
    """Bytes that a WebSocket connection holds: waiting and running messages, and remembered
    responses.
    """
    connections: int = 10_000
    """Connections of clients, WebSockets among them."""
    hosts: frozenset[str] = frozenset({ANY})
    """Host names that clients may use, in lower case and without port; `*` for any."""
    origins: frozenset[str] = frozenset()
    """Origins of pages that may send requests, in addition to this server's own; `*` for any."""


def hosts_of(address: str, allowed: Iterable[str]) -> frozenset[str]:
    """Return the accepted host names of a server that listens at `address`.

    A server that listens on this machine only accepts the machine's names and the allowed names. A
    server that listens elsewhere is reached by names that it does not know, so it accepts any name
    until some are allowed.
    """
    names = {name.lower() for name in allowed}
    if not names and not is_local(address):
        return frozenset({ANY})
    return frozenset(names | LOCAL_NAMES | {address.lower()})


def is_local(host: str) -> bool:
    """Whether an address, or a name, means this machine and no other."""
    if host in LOCAL_NAMES:
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
