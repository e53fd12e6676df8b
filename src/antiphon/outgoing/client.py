"""An HTTP client that connects only to addresses that were looked at: resolved once, every one checked, then pinned."""

import asyncio
import socket
from typing import Any
from urllib.parse import urlsplit

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from antiphon.errors import ClientError
from antiphon.outgoing.addresses import is_public

MAX_ANSWER = 64 * 1024
"""Bytes of an answer that are read."""


class PrivateAddressError(OSError):
    """The address belongs to a private network."""


def check_url(url: str, *, takes_private: bool, param: str = "url") -> None:
    """Raise `ClientError` (400) unless this is an `https` URL that may be asked; names are resolved only later.

    `takes_private` allows `http` and private addresses too.
    """
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        parts, host = urlsplit(""), None
    schemes = ("https", "http") if takes_private else ("https",)
    if parts.scheme not in schemes or not host or not url.isascii() or any(c.isspace() or c == "\\" for c in url):
        raise _refused(param, f"expected an {' or '.join(schemes)} URL")
    if parts.username is not None or parts.password is not None or parts.fragment:
        raise _refused(param, "a user, a password or a fragment has no place in it")
    if not takes_private and _is_literally_private(host):
        raise _refused(param, "its address is not public")


def _is_literally_private(host: str) -> bool:
    try:
        return not is_public(host)
    except ValueError:
        return False


def _refused(param: str, reason: str) -> ClientError:
    return ClientError(f"Invalid '{param}': {reason}.", code="invalid_value", param=param)


class VettingResolver(AbstractResolver):
    """Resolves a name and refuses it if any of its addresses is private. What it returns is what is connected to."""

    def __init__(self, *, takes_private: bool) -> None:
        self._takes_private = takes_private

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Return the addresses of a name. Raises `PrivateAddressError`."""
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
        addresses = list(dict.fromkeys((info[0], str(info[4][0])) for info in found))
        if not self._takes_private and not all(is_public(address) for _, address in addresses):
            raise PrivateAddressError("it leads to a private address")
        return [
            ResolveResult(hostname=host, host=address, port=port, family=kind, proto=0, flags=socket.AI_NUMERICHOST)
            for kind, address in addresses
        ]

    async def close(self) -> None:
        """There is nothing to close."""


class Client:
    """Posts to public addresses. Redirects are not followed, and proxies of the environment are not used."""

    def __init__(self, *, takes_private: bool, timeout: float) -> None:
        self._takes_private = takes_private
        self._timeout = timeout
        self._session: aiohttp.ClientSession | None = None

    async def post(self, url: str, body: bytes, headers: dict[str, str]) -> int:
        """Post, return the status. Raises `ClientError` for a URL that is refused, `OSError` where nobody answers."""
        check_url(url, takes_private=self._takes_private)
        try:
            async with self._opened().post(url, data=body, headers=headers, allow_redirects=False) as answer:
                await answer.content.read(MAX_ANSWER)
                return answer.status
        except (aiohttp.ClientError, TimeoutError, UnicodeError, ValueError) as error:
            raise OSError(_reason(error)) from error

    async def close(self) -> None:
        """Let go of the connections."""
        if self._session is not None:
            await self._session.close()

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            resolver = VettingResolver(takes_private=self._takes_private)
            # Kept connections would outlive the look at their address.
            connector = aiohttp.TCPConnector(resolver=resolver, use_dns_cache=False, force_close=True)
            timeout = aiohttp.ClientTimeout(total=self._timeout)
            self._session = aiohttp.ClientSession(
                connector=connector, timeout=timeout, trust_env=False, cookie_jar=aiohttp.DummyCookieJar()
            )
        return self._session


def _reason(error: Any) -> str:
    cause = error.__cause__ or getattr(error, "os_error", None)
    if isinstance(error, TimeoutError):
        return "it did not answer in time"
    if isinstance(cause, PrivateAddressError) or isinstance(error, PrivateAddressError):
        return str(cause or error)
    return "it could not be reached"
