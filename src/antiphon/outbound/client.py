"""An HTTP client that connects only to addresses that were looked at: resolved once, every one checked, then pinned."""

import socket
from typing import Any

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from antiphon.outbound.ssrf import PrivateAddressError, Reach, check_url, read_url

MAX_ANSWER = 64 * 1024
"""Bytes of an answer that are read."""


class ReachResolver(AbstractResolver):
    """Resolves names within a reach. What it returns is what is connected to."""

    def __init__(self, reach: Reach) -> None:
        self._reach = reach

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Return the addresses of a name. Raises `PrivateAddressError`, `OSError`."""
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                proto=0,
                flags=socket.AI_NUMERICHOST,
            )
            for address in await self._reach.addresses(host)
        ]

    async def close(self) -> None:
        """There is nothing to close."""


def connector(reach: Reach) -> aiohttp.TCPConnector:
    """Return aiohttp's connections to addresses within a reach, whatever asks for them."""

    def open_socket(info: tuple[Any, ...]) -> socket.socket:
        """Every connection comes by here, also one to a URL's literal address, which no resolver sees."""
        if not reach.admits(str(info[4][0])):
            raise PrivateAddressError(f"its address is private, which `{reach.setting}` does not permit")
        return socket.socket(*info[:3])

    # Kept connections would outlive the look at their address.
    return aiohttp.TCPConnector(
        resolver=ReachResolver(reach), socket_factory=open_socket, use_dns_cache=False, force_close=True
    )


def session(reach: Reach, timeout: float | None) -> aiohttp.ClientSession:
    """Return a session that tells nothing of its own: no cookies, no password files, no proxies of the environment."""
    return aiohttp.ClientSession(
        connector=connector(reach),
        timeout=aiohttp.ClientTimeout(total=timeout),
        trust_env=False,
        cookie_jar=aiohttp.DummyCookieJar(),
    )


class Client:
    """Posts to addresses within a reach. Redirects are not followed."""

    def __init__(self, reach: Reach, timeout: float) -> None:
        self._reach = reach
        self._timeout = timeout
        self._session: aiohttp.ClientSession | None = None

    async def post(self, url: str, body: bytes, headers: dict[str, str]) -> int:
        """Post, return the status. Raises `ClientError` for a URL that is refused, `OSError` where nobody answers."""
        check_url(url, self._reach)
        if self._session is None:
            self._session = session(self._reach, self._timeout)
        try:
            async with self._session.post(read_url(url), data=body, headers=headers, allow_redirects=False) as answer:
                await answer.content.read(MAX_ANSWER)
                return answer.status
        except (aiohttp.ClientError, OSError, UnicodeError, ValueError) as error:
            raise OSError(reason(error)) from error

    async def close(self) -> None:
        """Let go of the connections."""
        if self._session is not None:
            await self._session.close()


def private_address(error: BaseException) -> PrivateAddressError | None:
    """Return the refusal of an address that aiohttp's error wraps, None where there is none."""
    causes = (error, error.__cause__, getattr(error, "os_error", None))
    return next((one for one in causes if isinstance(one, PrivateAddressError)), None)


def reason(error: BaseException) -> str:
    """Return in plain words why nobody could be asked."""
    if isinstance(error, TimeoutError):
        return "it did not answer in time"
    if isinstance(error, aiohttp.ClientSSLError):
        return "its TLS certificate is not valid, or it speaks no TLS"
    if isinstance(error, aiohttp.ClientPayloadError):
        return "its answer broke off"
    return str(private_address(error) or "it could not be reached")
