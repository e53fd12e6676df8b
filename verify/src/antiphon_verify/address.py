"""The address of the tested server and its API key, as the user gives them."""

import re
from collections.abc import Mapping
from urllib.parse import SplitResult, urlsplit

from antiphon_verify.errors import VerifyError

_PASSWORD = re.compile(r"(?<!/):(?!//|\d*(?:/|$))[^/]*")
"""What follows the colon of an address if it is not a port: it can be the beginning of a
password.
"""


def check_base_url(url: str) -> str:
    """Return a base URL without a final slash.

    Raises `VerifyError` unless it is one, without credentials.

    Messages and reports quote the URL, so it must not contain a key, a password or a query.
    """
    parts = _parts(url)
    if any(mark in url for mark in "@?#"):
        raise VerifyError(
            "The URL of the server must not contain a key, a password or a query. "
            "Name the variable that holds the key with --key-env."
        )
    if parts is None:
        scheme, separator, _ = url.partition("://")
        is_other = bool(separator) and scheme.lower() not in {"http", "https"}
        flaw = (
            f"has the scheme '{scheme}', and only http and https are supported"
            if is_other
            else "is not a URL"
        )
        masked = _PASSWORD.sub(":…", url)
        raise VerifyError(
            f"The server '{masked}' {flaw}. Set its base URL, such as http://127.0.0.1:11434/v1."
        )
    return url.rstrip("/")


def read_key(environment: Mapping[str, str], name: str) -> str:
    """Return the key in a variable, empty if it is not set.

    Raises `VerifyError` for characters that no header has.
    """
    key = environment.get(name, "").strip()
    if not (key.isascii() and key.isprintable()):
        raise VerifyError(
            f"The variable {name} is not a valid key: it contains characters that are not allowed "
            "in an HTTP header. "
            "Use printable ASCII characters only."
        )
    return key


def _parts(url: str) -> SplitResult | None:
    """Return the parts of a server's URL; None if it is not valid.

    `urlsplit` drops tabs and line ends.
    """
    try:
        parts = urlsplit(url)
        is_url = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return None
    return parts if is_url and url.isprintable() and " " not in url else None
