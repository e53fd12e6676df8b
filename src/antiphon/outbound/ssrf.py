"""Addresses from clients: the URL is parsed once, resolved once, and every address is checked."""

import re
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from antiphon.errors import ClientError
from antiphon.outbound.lookups import NO_CALLER, Asker, Lookups, lookup_turns
from antiphon.packages import load_module

if TYPE_CHECKING:
    from yarl import URL

Address = IPv4Address | IPv6Address

_NAT64 = IPv6Network("64:ff9b::/96")
_COMPATIBLE = IPv6Network("::/96")
_NOT_PUBLIC = (
    IPv4Network("192.0.0.0/24"),  # a cloud's metadata, which Python's older tables treat as public
    IPv4Network("168.63.129.16/32"),  # a cloud's own services, at an address of the public range
    IPv6Network(
        "64:ff9b:1::/48"
    ),  # local NAT64: each network chooses the position of the IPv4 address
)


def is_public(address: str) -> bool:
    """Whether an address, and every IPv4 address that is embedded in it, is one of the public
    internet.

    Raises `ValueError` for a text that is not an address.
    """
    return all(map(is_public_itself, addresses_in(address)))


def is_public_itself(address: Address) -> bool:
    """Whether an address is public, regardless of embedded ones."""
    if isinstance(address, IPv6Address) and address.is_site_local:
        return False
    if any(address in network for network in _NOT_PUBLIC):
        return False
    return address.is_global and not (
        address.is_multicast or address.is_reserved or address.is_unspecified
    )


def addresses_in(address: str) -> Iterator[Address]:
    """The address, or those that it embeds: mapped, compatible, 6to4, Teredo, NAT64, ISATAP.

    Raises `ValueError` for a text that is not an address. A zone is ignored.
    """
    found = ip_address(address.partition("%")[0])
    if isinstance(found, IPv4Address):
        yield found
        return
    packed = [found.ipv4_mapped, found.sixtofour, *(found.teredo or ())]
    is_translated = found in _NAT64
    if is_translated or found in _COMPATIBLE or _is_isatap(found):
        packed.append(IPv4Address(int(found) & 0xFFFFFFFF))
    yield from (one for one in packed if one is not None)
    # A mapped address is its inner one; the others are also routed by their outer address.
    if found.ipv4_mapped is None and not is_translated:
        yield found


def _is_isatap(address: IPv6Address) -> bool:
    return int(address) >> 32 & 0xFDFFFFFF == 0x00005EFE


LONGEST = 8192
"""Characters."""

_FORM = re.compile(
    r"https?://(?:\[[0-9a-f:.]+\]|[^\s\\@%:\[\]/?#]+)(?::[0-9]{0,5})?(?:[/?#].*)?", re.IGNORECASE
)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_NAME = re.compile(r"[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*", re.IGNORECASE)
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*", re.IGNORECASE)
_LONGEST_NAME = 253


def read_url(text: str) -> "URL":
    """Return an `http` or `https` URL in the form in which it is requested.

    Raises `ValueError` with the reason.

    Parts that programs parse in different ways are rejected: a user, a backslash or an escape in
    the host, characters that some parsers drop, an IPv4 address in any form except the usual one. A
    name's last dot and the fragment are removed, and an internationalized name becomes the one that
    is resolved.
    """
    if len(text) > LONGEST or _CONTROL.search(text) or not _FORM.fullmatch(text):
        raise ValueError("it is not a plain http or https URL")
    yarl = load_module("yarl")  # not every server requests addresses from clients
    try:
        url: URL = yarl.URL(text).with_fragment(None)
        host = (url.raw_host or "").removesuffix(".")
        url = yarl.URL(str(url.with_host(host)))
    except ValueError as error:
        raise ValueError("it is not a valid URL") from error
    if not url.port or url.raw_host != host or not _is_host(host):
        raise ValueError("its host is ambiguous: programs parse it differently")
    return url


def is_address(host: str) -> bool:
    """Whether a host is an IP address, in its usual form."""
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _is_host(host: str) -> bool:
    is_name = len(host) <= _LONGEST_NAME and _NAME.fullmatch(host)
    return is_address(host) or (bool(is_name) and not _NUMBER.fullmatch(host.rpartition(".")[2]))


Network = IPv4Network | IPv6Network
Resolve = Callable[[str, Asker], Awaitable[list[str]]]
"""Returns every address of a name. Raises `OSError` if it has none."""


class PrivateAddressError(OSError):
    """The address belongs to a private network that no setting lists; the message names the
    setting.
    """


@dataclass(frozen=True, slots=True)
class Pinned:
    """A checked URL, and the addresses to connect to. Its name must not be resolved again.

    `url` is normalized: `url.raw_host` is the name for the `Host` header and for TLS, `url.port` is
    never None.
    """

    url: "URL"
    addresses: tuple[str, ...]
    """IPv4 and IPv6 addresses, at least one, in the order in which to try them."""


@dataclass(frozen=True, slots=True)
class Reach:
    """The permitted addresses: public ones always, private ones inside `networks`."""

    networks: tuple[Network, ...] = ()
    setting: str = "outgoing_networks"
    """The setting that would permit more."""
    resolve: Resolve = field(default_factory=lambda: Lookups(lookup_turns()))
    asker: Asker = NO_CALLER
    """The tenant for which names are resolved."""

    def on_behalf(self, asker: Asker) -> "Reach":
        """Return this reach for the operations of one tenant."""
        return replace(self, asker=asker)

    def admits(self, address: str) -> bool:
        """Whether connecting to an address, and to all embedded ones, is permitted.

        Raises `ValueError` if invalid.
        """
        return self.lists(address) or all(
            is_public_itself(one) or self._has(one) for one in addresses_in(address)
        )

    def lists(self, address: str) -> bool:
        """Whether an address, or one embedded in it, is inside `networks`.

        Raises `ValueError` for an invalid one.
        """
        return self._has(ip_address(address.partition("%")[0])) or all(
            map(self._has, addresses_in(address))
        )

    async def addresses(self, host: str, *, is_plain: bool = False) -> tuple[str, ...]:
        """Return the addresses of a host, all of which are permitted; connect to these and no
        others.

        With `is_plain` they must be in `networks`, since the connection is not encrypted. Raises
        `PrivateAddressError`, and `OSError` for an unknown name.
        """
        found = [host] if is_address(host) else await self.resolve(host, self.asker)
        if not found:
            raise OSError("DNS has no address for it")
        if not all(map(self.admits, found)):
            raise PrivateAddressError(
                f"its address is private, which the setting `{self.setting}` does not permit"
            )
        if is_plain and not all(map(self.lists, found)):
            raise PrivateAddressError(
                f"plain http is permitted only in the networks of the setting `{self.setting}`; "
                "use https"
            )
        return tuple(dict.fromkeys(found))

    async def pin(self, url: str, *, plain: bool = False) -> Pinned:
        """Parse a URL and resolve it. `plain` permits `http` even if no network is listed.

        Raises `ValueError` for an invalid URL, `PrivateAddressError`, and `OSError` for an unknown
        name.
        """
        read = read_url(url)
        host = read.raw_host or ""
        return Pinned(
            read, await self.addresses(host, is_plain=read.scheme == "http" and not plain)
        )

    def _has(self, address: Address) -> bool:
        return any(address in network for network in self.networks)


def read_networks(texts: Iterable[str]) -> tuple[Network, ...]:
    """Return networks from CIDR texts; a single address is a network of one.

    Raises `ValueError`.
    """
    return tuple(map(ip_network, texts))


ANYWHERE = read_networks(("0.0.0.0/0", "::/0"))
"""The networks of a `Reach` to everything."""


def check_url(url: str, reach: Reach, param: str = "url") -> None:
    """Raise `ClientError` (400) unless this is a URL that can be requested; names are resolved only
    later.

    `https`, and `http` if private networks are permitted.
    """
    schemes = ("https", "http") if reach.networks else ("https",)
    try:
        parts = urlsplit(url)
        read = read_url(url)
    except ValueError as error:
        raise _refused(param, str(error)) from error
    if read.scheme not in schemes or not url.isascii() or " " in url:
        raise _refused(param, f"expected an {' or '.join(schemes)} URL")
    if parts.fragment:
        raise _refused(param, "it must not have a fragment")
    host = read.raw_host or ""
    if is_address(host) and not reach.admits(host):
        raise _refused(param, "its address is not public")


def _refused(param: str, reason: str) -> ClientError:
    return ClientError(f"Invalid '{param}': {reason}.", code="invalid_value", param=param)
