"""How large a request may be, how many come at once, and from where: an operator's settings, as the server has them."""

from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import ip_address

LOCAL_NAMES = frozenset({"localhost", "host.docker.internal", "host.containers.internal"})
"""Names of this machine that no public DNS can give to anything: the last two are what containers call it."""

ANY = "*"
"""Stands for every host, or every origin."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Of one process. The defaults are a server's that is embedded: it knows nothing of hosts."""

    body: int = 32 * 1024 * 1024
    """Bytes of a request's body, inflated, and of a WebSocket's message."""
    connection: int = 128 * 1024 * 1024
    """Bytes that a WebSocket connection holds: messages that wait or are worked on, and what it remembers."""
    connections: int = 10_000
    """Connections of clients, WebSockets among them."""
    hosts: frozenset[str] = frozenset({ANY})
    """Names under which clients may ask, in lower case and without port; `*` for any."""
    origins: frozenset[str] = frozenset()
    """Origins whose pages may ask, beside this server's own; `*` for any."""


def hosts_of(address: str, allowed: Iterable[str]) -> frozenset[str]:
    """Return the names under which who listens at `address` is asked.

    Who listens on this machine alone has its names, and those that are allowed; who listens elsewhere is meant to be
    found under names that nobody here knows, so that any will do until some are allowed.
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
