"""URLs that somebody else names, read once: who looks at one and who connects to it use the same object (threat 15)."""

import re
from ipaddress import ip_address

from yarl import URL

LONGEST = 8192
"""Characters."""

_FORM = re.compile(r"https?://(?:\[[0-9a-f:.]+\]|[^\s\\@%:\[\]/?#]+)(?::[0-9]{0,5})?(?:[/?#].*)?", re.IGNORECASE)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_NAME = re.compile(r"[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*", re.IGNORECASE)
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*", re.IGNORECASE)
_LONGEST_NAME = 253


def read_url(text: str) -> URL:
    """Return an `http` or `https` URL as it will be asked for. Raises `ValueError` saying why it will not be.

    What programs read in different ways is refused rather than guessed: a user, a backslash or an escape in the host,
    characters that some leave out, an IPv4 address in any form but its usual one. A name's last dot and the fragment
    go, and a name of other letters becomes the one that is looked up.
    """
    if len(text) > LONGEST or _CONTROL.search(text) or not _FORM.fullmatch(text):
        raise ValueError("it is no plain http or https URL")
    try:
        url = URL(text).with_fragment(None)
        host = (url.raw_host or "").removesuffix(".")
        url = URL(str(url.with_host(host)))
    except ValueError as error:
        raise ValueError("it is none that could be asked for") from error
    if not url.port or url.raw_host != host or not _is_host(host):
        raise ValueError("its host is written in a way that programs read differently")
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
