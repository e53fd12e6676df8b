"""Access to `/metrics` and `/status`.

A proxy on the same machine makes the requests of all its clients look local, and a proxy that adds
no header leaves no trace. So an address alone is not enough once the server is shared: requests
need a key, come from a configured network, or reach a separate listener. Headers never widen the
rights of the connection's address.
"""

import hmac
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

from msgspec import Struct

from antiphon.http_server.asgi import RawHeaders, Scope

FORWARDED = frozenset(
    {b"forwarded", b"via", b"x-real-ip", b"x-client-ip", b"true-client-ip", b"cf-connecting-ip"}
)
"""Headers that show a proxy's forwarding, in addition to all `x-forwarded-…`."""


HOW = (
    "Send the key that `metrics_key_env` names, as 'Authorization: Bearer', send the request from "
    "one of the `metrics_networks` without a proxy, or use the address of `metrics_listen`."
)
"""Advice for a client without access."""


class WatchAccess(Struct, frozen=True):
    """The operator's rules. Without rules, programs on this machine may read, while requests need
    no API key.
    """

    key: str = ""
    """The key that gives access from anywhere, empty for none."""
    networks: Sequence[IPv4Network | IPv6Network] = ()
    """Networks with access without a key."""
    has_listener: bool = False
    """A separate listener serves them."""
    is_listener: bool = False
    """This is that listener: every client may read."""

    def allows(self, scope: Scope, *, needs_key: bool) -> bool:
        """Whether the request of this scope may read; `needs_key`: the API requires API keys."""
        headers: RawHeaders = scope["headers"]
        if self.is_listener or self._has_key(headers):
            return True
        return not is_forwarded(headers) and self._is_near(scope, needs_key)

    def _has_key(self, headers: RawHeaders) -> bool:
        if not self.key:
            return False
        displayed = [value for name, value in headers if name == b"authorization"]
        scheme, _, key = displayed[0].partition(b" ") if len(displayed) == 1 else (b"", b"", b"")
        return scheme.lower() == b"bearer" and hmac.compare_digest(key.strip(), self.key.encode())

    def _is_near(self, scope: Scope, needs_key: bool) -> bool:
        """Whether the connection's address has access."""
        if not (self.key or self.networks or self.has_listener):
            return not needs_key and is_local(scope)
        address = _address(scope)
        return address is not None and any(address in network for network in self.networks)


def is_forwarded(headers: RawHeaders) -> bool:
    """Whether a header shows that a proxy forwards the request."""
    return any(name in FORWARDED or name.startswith(b"x-forwarded-") for name, _ in headers)


def is_local(scope: Scope) -> bool:
    """Whether the connection comes from this machine.

    On a Unix socket there is no address: the file guards it.
    """
    client = scope.get("client")
    server = scope.get("server")
    if client and server and client[0] == server[0]:
        return True  # an address of this machine that others can use
    if not client:
        return True
    address = _address(scope)
    return address is not None and address.is_loopback


def _address(scope: Scope) -> IPv4Address | IPv6Address | None:
    """Return the address of the client, or None."""
    client = scope.get("client")
    try:
        return ip_address(client[0].removeprefix("::ffff:")) if client else None
    except ValueError:
        return None
