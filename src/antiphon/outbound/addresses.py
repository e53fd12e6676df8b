"""Which addresses are public. Whatever may lead into a private network is not (threats 14 to 17)."""

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

Address = IPv4Address | IPv6Address

_NAT64 = IPv6Network("64:ff9b::/96")
_COMPATIBLE = IPv6Network("::/96")
_NOT_PUBLIC = (
    IPv4Network("192.0.0.0/24"),  # a cloud's metadata, which Python's older tables take for public
    IPv4Network("168.63.129.16/32"),  # a cloud's own services, at an address of the public range
    IPv6Network("64:ff9b:1::/48"),  # NAT64 of one's own network: where the IPv4 address stands is its own choice
)


def is_public(address: str) -> bool:
    """Whether an address, and every IPv4 address that is packed into it, is one of the public internet.

    Raises `ValueError` for what is no address.
    """
    return all(map(is_public_itself, meant(address)))


def is_public_itself(address: Address) -> bool:
    """Whether an address is public, whatever may be packed into it."""
    if isinstance(address, IPv6Address) and address.is_site_local:
        return False
    if any(address in network for network in _NOT_PUBLIC):
        return False
    return address.is_global and not (address.is_multicast or address.is_reserved or address.is_unspecified)


def meant(address: str) -> Iterator[Address]:
    """The address, or those that it stands for: mapped, compatible, 6to4, Teredo, NAT64, ISATAP.

    Raises `ValueError` for what is no address. A zone is left out.
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
    # A mapped address is its inner one; the others are routed by what they are as well.
    if found.ipv4_mapped is None and not is_translated:
        yield found


def _is_isatap(address: IPv6Address) -> bool:
    return int(address) >> 32 & 0xFDFFFFFF == 0x00005EFE
