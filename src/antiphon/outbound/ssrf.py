"""Whom this server connects to where others name the address: looked up once, every address checked, then pinned."""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network

from yarl import URL

from antiphon.outbound.addresses import Address, is_public_itself, meant
from antiphon.outbound.urls import is_address, read_url

Network = IPv4Network | IPv6Network
LookUp = Callable[[str], Awaitable[list[str]]]
"""Returns every address of a name. Raises `OSError` where it has none."""

# Of our own: a name that is answered late must not keep the lookups of backends waiting.
_LOOKUPS = ThreadPoolExecutor(8, "lookup")


class PrivateAddressError(OSError):
    """The address belongs to a private network that no setting lists; the message names the setting."""


async def look_up(name: str) -> list[str]:
    """Return every address of a name, as the system knows it. Raises `OSError`."""
    find = asyncio.get_running_loop().run_in_executor
    try:
        found = await find(_LOOKUPS, socket.getaddrinfo, name, None, 0, socket.SOCK_STREAM)
    except UnicodeError as error:
        raise OSError("it is no name") from error
    return list(dict.fromkeys(str(info[4][0]) for info in found))


@dataclass(frozen=True, slots=True)
class Pinned:
    """A URL that was looked at, and where to connect to for it. Its name is not to be looked up again.

    `url` is read and normal: `url.raw_host` is the name for the `Host` header and for TLS, `url.port` is never None.
    """

    url: URL
    addresses: tuple[str, ...]
    """IPv4 and IPv6 addresses, at least one, in the order in which to try them."""


@dataclass(frozen=True, slots=True)
class Reach:
    """Which addresses may be connected to: public ones always, private ones inside `networks`."""

    networks: tuple[Network, ...] = ()
    setting: str = "outgoing_networks"
    """What would permit more."""
    look_up: LookUp = look_up

    def admits(self, address: str) -> bool:
        """Whether an address, and all that is packed into it, may be connected to. Raises `ValueError` for none."""
        return self.lists(address) or all(is_public_itself(one) or self._has(one) for one in meant(address))

    def lists(self, address: str) -> bool:
        """Whether an address, or all that is packed into it, is inside `networks`. Raises `ValueError` for none."""
        return self._has(ip_address(address.partition("%")[0])) or all(map(self._has, meant(address)))

    async def addresses(self, host: str, *, is_plain: bool = False) -> tuple[str, ...]:
        """Return the addresses of a host, all of which may be connected to; what to connect to is these and no others.

        With `is_plain` they must be listed ones, since nothing is encrypted on the way. Raises `PrivateAddressError`,
        and `OSError` for a name that is not known.
        """
        found = [host] if is_address(host) else await self.look_up(host)
        if not found:
            raise OSError("it has no address")
        if not all(map(self.admits, found)):
            raise PrivateAddressError(f"its address is private, which the setting `{self.setting}` does not permit")
        if is_plain and not all(map(self.lists, found)):
            raise PrivateAddressError(
                f"plain http is for the networks that the setting `{self.setting}` lists; use https"
            )
        return tuple(dict.fromkeys(found))

    async def pin(self, url: str, *, plain: bool = False) -> Pinned:
        """Read a URL and find where it leads. `plain` takes `http` also to where no network is listed.

        Raises `ValueError` for no URL, `PrivateAddressError`, and `OSError` for a name that is not known.
        """
        read = read_url(url)
        host = read.raw_host or ""
        return Pinned(read, await self.addresses(host, is_plain=read.scheme == "http" and not plain))

    def _has(self, address: Address) -> bool:
        return any(address in network for network in self.networks)


def read_networks(texts: Iterable[str]) -> tuple[Network, ...]:
    """Return networks that are written as CIDR, a single address as one of itself. Raises `ValueError`."""
    return tuple(map(ip_network, texts))


ANYWHERE = read_networks(("0.0.0.0/0", "::/0"))
"""The networks of a `Reach` to everything."""
