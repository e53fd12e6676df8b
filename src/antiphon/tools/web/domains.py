"""Which hosts a request allows: `filters` of the `web_search` tool (specification section 6)."""

from collections.abc import Iterator
from dataclasses import dataclass

from yarl import URL

from antiphon.outbound.urls import read_url

MOST = 100
"""Domains that one list may have."""


@dataclass(frozen=True, slots=True)
class Domains:
    """Domains that are allowed, all where none is named, less those that are blocked; subdomains are as their domain.

    All are normal: see `normal_domain`.
    """

    allowed: tuple[str, ...] = ()
    blocked: tuple[str, ...] = ()

    def admits(self, url: str) -> bool:
        """Whether this is an HTTP address that can be asked for, of a host that may be shown and opened."""
        try:
            return self.admits_host(read_url(url).raw_host or "")
        except ValueError:
            return False

    def admits_host(self, host: str) -> bool:
        """Whether pages of this host may be shown and opened."""
        names = set(_with_parents(host))
        return names.isdisjoint(self.blocked) and (not self.allowed or not names.isdisjoint(self.allowed))


def normal_domain(text: str) -> str:
    """Return a domain in the form in which two of them are compared: `HTTPS://Bücher.Example./` is `xn--…`.

    Raises `ValueError` for what is more or less than a domain.
    """
    bare = text.strip().lower()
    for scheme in ("https://", "http://"):
        bare = bare.removeprefix(scheme)
    bare = bare.removeprefix("*.").removesuffix("/").removesuffix(".")
    if not bare or any(character in bare for character in "/@?#:\\%* ") or ".." in bare or bare[0] == ".":
        raise ValueError("it is no domain")
    return URL.build(scheme="https", host=bare).raw_host or ""


def _with_parents(host: str) -> Iterator[str]:
    while host:
        yield host
        host = host.partition(".")[2]
