"""Fetches pages at addresses from clients and models: bounded in size and time, and only from
permitted networks.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Literal
from urllib.parse import urljoin

import aiohttp
from yarl import URL

from antiphon.outbound.client import paused, private_address, reason, session
from antiphon.outbound.lookups import Asker
from antiphon.outbound.ssrf import Reach, read_url
from antiphon.version import __version__

MAX_REDIRECTS = 5
MAX_BYTES = 5 * 1024 * 1024
"""Maximum bytes of a body, inflated."""

SECONDS = 15.0
"""Seconds for everything: DNS, connections, redirects and the body."""

_REDIRECTS = {301, 302, 303, 307, 308}

FetchTrouble = Literal[
    "dead", "slow", "too_big", "wrong_type", "private", "refused", "too_many_redirects"
]
MayRequest = Callable[[URL], bool]
"""Whether the caller permits a normalized URL: called for the first and for every redirect."""


class FetchError(OSError):
    """There is no page, and `str(error)` is the reason."""

    def __init__(self, kind: FetchTrouble, message: str) -> None:
        super().__init__(message)
        self.kind: FetchTrouble = kind
        """`refused`: the URL is invalid or not permitted by the caller, or it redirects to such a
        URL.
        """


@dataclass(frozen=True, slots=True)
class Fetched:
    """The final response."""

    url: str
    """Its URL after all redirects."""
    status: int
    content_type: str
    """In lower case, without parameters; `application/octet-stream` if the server sends none."""
    charset: str
    """The charset, in lower case; empty if the server sends none."""
    body: bytes
    """Inflated. Empty if the status is not a success."""
    may_be_cached: bool = True
    """Whether its server permits caching (`Cache-Control: no-store`)."""


class Fetcher:
    """Fetches by GET. It sends no identifying data: no cookies, no credentials, no referrer."""

    def __init__(self, reach: Reach) -> None:
        self._reach = reach

    async def fetch(
        self,
        url: str,
        types: Sequence[str],
        *,
        may_request: MayRequest = lambda url: True,
        max_bytes: int = MAX_BYTES,
        seconds: float = SECONDS,
        tenant: str = "",
    ) -> Fetched:
        """Return a page. Raises `FetchError`.

        Waiting for the tenant's turn for a DNS lookup is not counted.

        `types` are the accepted content types, `text/html` or `text/*`; only a success must have
        one of them.
        """
        try:
            async with asyncio.timeout(seconds) as limit:
                reach = self._reach.on_behalf(Asker(tenant, lambda: paused(limit)))
                return await _follow(reach, url, types, may_request, max_bytes)
        except FetchError:
            raise
        except TimeoutError as error:
            raise FetchError("slow", f"it did not answer within {seconds:g} seconds") from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise FetchError(
                "private" if private_address(error) else "dead", reason(error)
            ) from error


async def _follow(
    reach: Reach, url: str, types: Sequence[str], may_request: MayRequest, max_bytes: int
) -> Fetched:
    place = _vetted(url, may_request)
    for _ in range(MAX_REDIRECTS + 1):
        pinned = await reach.pin(str(place), plain=True)
        async with (
            session(reach, pinned) as requesting,
            requesting.get(place, headers=_headers(types), allow_redirects=False) as answer,
        ):
            location = answer.headers.get("location") if answer.status in _REDIRECTS else None
            if location is None:
                return await _taken(answer, place, types, max_bytes)
            place = _vetted(location, may_request, place)
    raise FetchError("too_many_redirects", f"it redirects more than {MAX_REDIRECTS} times")


def _vetted(url: str, may_request: MayRequest, base: URL | None = None) -> URL:
    """Return the URL that is both checked and requested; the addresses of its host are checked on
    connecting.
    """
    try:
        place = read_url(urljoin(str(base), url) if base else url)
    except ValueError as error:
        raise FetchError("refused", str(error)) from error
    if not may_request(place):
        raise FetchError("refused", f"pages of {place.host} are not permitted")
    return place


def _headers(types: Sequence[str]) -> dict[str, str]:
    return {
        "accept": ", ".join(types),
        "accept-encoding": "gzip, deflate",
        "user-agent": f"antiphon/{__version__}",
    }


async def _taken(
    answer: aiohttp.ClientResponse, place: URL, types: Sequence[str], max_bytes: int
) -> Fetched:
    """Return the final response. Raises `FetchError`, before the body if the head is sufficient."""
    found = Fetched(
        url=str(place),
        status=answer.status,
        content_type=answer.content_type.lower(),
        charset=(answer.charset or "").lower(),
        body=b"",
        may_be_cached="no-store" not in answer.headers.get("cache-control", "").lower(),
    )
    if not 200 <= found.status < 300:
        return found
    if not any(fnmatchcase(found.content_type, one) for one in types):
        raise FetchError(
            "wrong_type", f"it is of the type {found.content_type[:100]}, which is not supported"
        )
    return replace(found, body=await _read(answer, max_bytes))


async def _read(answer: aiohttp.ClientResponse, max_bytes: int) -> bytes:
    """Return the body, inflated a step at a time.

    Raises `FetchError` as soon as it is too large.
    """
    body = bytearray()
    reported = answer.content_length or 0
    if reported <= max_bytes:
        async for part in answer.content.iter_any():
            body += part
            if len(body) > max_bytes:
                break
    if max(reported, len(body)) > max_bytes:
        raise FetchError("too_big", f"it has more than {max_bytes} bytes")
    return bytes(body)
