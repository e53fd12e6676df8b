"""Which backends can be probed automatically: those that cost only the time of a local machine."""

import re
from ipaddress import ip_address
from urllib.parse import urlsplit

from antiphon.translation.dialects.services import SERVICES

PAID = frozenset(row.name for row in SERVICES)

_NEARBY = re.compile(
    r"localhost|[^.]+|.+\.(?:localhost|local|lan|home|internal|home\.arpa|svc|cluster\.local|test)"
)
"""Names of hosts outside public DNS; a name without a dot is that of a container or a local
network.
"""


def is_free(url: str, dialect: str) -> bool:
    """Whether a backend is on this machine or a private network, and not a service; `url` is empty
    in this process.
    """
    if dialect in PAID:
        return False
    host = urlsplit(url).hostname or ""
    if not url:
        return True
    try:
        address = ip_address(host)
    except ValueError:
        return bool(_NEARBY.fullmatch(host))
    return (
        address.is_loopback
        or (address.is_private and not address.is_unspecified)
        or address.is_link_local
    )
