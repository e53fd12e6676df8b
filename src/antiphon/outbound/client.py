"""An HTTP client that connects only to checked addresses: resolved once, every one checked, then
pinned.
"""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from antiphon.outbound.lookups import Asker
from antiphon.outbound.ssrf import Pinned, PrivateAddressError, Reach, check_url

MAX_ANSWER = 64 * 1024
"""Bytes of a response that are read."""


class PinnedResolver(AbstractResolver):
    """Returns the addresses of one URL, which were resolved and checked before, and of no other
    host.
    """

    def __init__(self, pinned: Pinned) -> None:
        self._pinned = pinned

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Return the addresses. Raises `OSError` for another host."""
        if host != self._pinned.url.raw_host:
            raise OSError("its address was not resolved")
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                proto=0,
                flags=socket.AI_NUMERICHOST,
            )
            for address in self._pinned.addresses
        ]

    async def close(self) -> None:
        """Do nothing: there is nothing to close."""


def connector(reach: Reach, pinned: Pinned) -> aiohttp.TCPConnector:
    """Return aiohttp's connections to one URL within a reach."""

    def open_socket(info: tuple[Any, ...]) -> socket.socket:
        """Every connection passes here, including one to a URL's literal address, which no resolver
        sees.
        """
        if not reach.admits(str(info[4][0])):
            raise PrivateAddressError(
                f"its address is private, which the setting `{reach.setting}` does not permit"
            )
        return socket.socket(*info[:3])

    # Reused connections would outlive the check of their address.
    return aiohttp.TCPConnector(
        resolver=PinnedResolver(pinned),
        socket_factory=open_socket,
        use_dns_cache=False,
        force_close=True,
    )


def session(reach: Reach, pinned: Pinned) -> aiohttp.ClientSession:
    """Return a session for one request, without cookies, password files and proxies of the
    environment.

    A session for many requests would have one connection limit, which tenants would not share
    fairly.
    """
    return aiohttp.ClientSession(
        connector=connector(reach, pinned),
        timeout=aiohttp.ClientTimeout(total=None),
        trust_env=False,
        cookie_jar=aiohttp.DummyCookieJar(),
    )


@contextmanager
def paused(limit: asyncio.Timeout) -> Iterator[None]:
    """Pause the clock of a time limit inside the block, while an operation waits for its tenant's
    turn.
    """
    loop = asyncio.get_running_loop()
    ends = limit.when()
    if ends is None or limit.expired():
        yield
        return
    left = ends - loop.time()
    limit.reschedule(None)
    try:
        yield
    finally:
        limit.reschedule(loop.time() + left)


class OutboundClient:
    """Posts to addresses within a reach, within `timeout` seconds. Redirects are not followed."""

    def __init__(self, reach: Reach, timeout: float) -> None:
        self._reach = reach
        self._timeout = timeout

    async def post(self, url: str, body: bytes, headers: dict[str, str], tenant: str = "") -> int:
        """Post, return the status.

        Raises `ClientError` for a rejected URL, `OSError` if the server does not answer.
        """
        check_url(url, self._reach)
        try:
            async with asyncio.timeout(self._timeout) as limit:
                reach = self._reach.on_behalf(Asker(tenant, lambda: paused(limit)))
                return await _post(reach, await reach.pin(url, plain=True), body, headers)
        except (aiohttp.ClientError, OSError, UnicodeError, ValueError) as error:
            raise OSError(reason(error)) from error


async def _post(reach: Reach, pinned: Pinned, body: bytes, headers: dict[str, str]) -> int:
    async with (
        session(reach, pinned) as requesting,
        requesting.post(pinned.url, data=body, headers=headers, allow_redirects=False) as answer,
    ):
        await answer.content.read(MAX_ANSWER)
        return answer.status


def private_address(error: BaseException) -> PrivateAddressError | None:
    """Return the private address error that aiohttp's error wraps, or None."""
    causes = (error, error.__cause__, getattr(error, "os_error", None))
    return next((one for one in causes if isinstance(one, PrivateAddressError)), None)


def reason(error: BaseException) -> str:
    """Return in plain words why the request failed."""
    if isinstance(error, TimeoutError):
        return "it did not answer in time"
    if isinstance(error, aiohttp.ClientSSLError):
        return "its TLS certificate is invalid, or it does not use TLS"
    if isinstance(error, aiohttp.ClientPayloadError):
        return "its response was incomplete"
    return str(private_address(error) or "it is unreachable")
