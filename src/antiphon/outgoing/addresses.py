"""Which addresses are public. Whatever may lead into a private network is not (threats 14 to 17)."""

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

_NAT64 = (IPv6Network("64:ff9b::/96"), IPv6Network("64:ff9b:1::/48"))
_COMPATIBLE = IPv6Network("::/96")


def is_public(address: str) -> bool:
    """Whether an address, and every IPv4 address that is packed into it, is one of the public internet.

    Raises `ValueError` for what is no address.
    """
    return all(_is_public(one) for one in _meant(ip_address(address.partition("%")[0])))


def _is_public(address: IPv4Address | IPv6Address) -> bool:
    if isinstance(address, IPv6Address) and address.is_site_local:
        return False
    return address.is_global and not (address.is_multicast or address.is_reserved or address.is_unspecified)


def _meant(address: IPv4Address | IPv6Address) -> Iterator[IPv4Address | IPv6Address]:
    """The address, or those that it stands for: mapped, compatible, 6to4, Teredo, NAT64."""
    if isinstance(address, IPv4Address):
        yield address
        return
    packed = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
    if any(address in network for network in (*_NAT64, _COMPATIBLE)):
        packed.append(IPv4Address(int(address) & 0xFFFFFFFF))
    inner = [one for one in packed if one is not None]
    yield from inner
    # A mapped address is its inner one; the others are routed by what they are as well.
    if address.ipv4_mapped is None and not any(address in network for network in _NAT64):
        yield address
