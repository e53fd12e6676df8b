"""Queries the configured search provider. Every failure is a failed search, reported without the
key.
"""

import os
import socket
import ssl
from collections.abc import Mapping, Sequence
from typing import Any

import aiohttp
import msgspec

from antiphon.errors import log
from antiphon.sharing.scheduler import FairScheduler, NoRoomError
from antiphon.tools.web.hits import PageHit, Provider, ProviderRequest, SearchError, WebQuery
from antiphon.tools.web.providers import PROVIDERS

MAX_ANSWER = 4 * 1024 * 1024
"""Maximum bytes of an answer; larger answers are not search results."""

AT_ONCE = 100
"""Concurrent searches at the provider."""
WAITING = 1_000
"""Searches that can wait."""

_REASONS = {
    400: "the provider did not accept the request",
    401: "the provider rejected this server's key",
    402: "this server's quota at the provider is used up",
    403: "the provider denied access to this server",
    404: "the provider has no search API at the configured address",
    422: "the provider did not accept the request",
    429: "the provider's rate limit is reached; try again later",
    432: "this server's quota at the provider is used up",
    433: "this server's quota at the provider is used up",
}
_UNFIT = {400, 422}
"""Statuses that concern one query, not the provider."""
_ADVICE = {"searxng": {403: " Add json to search.formats in its settings."}}


def search_turns() -> FairScheduler:
    """Return the scheduler of a process's searches."""
    return FairScheduler(AT_ONCE, WAITING, leaves_room=True)


class SearchEngine:
    """A provider at its address, for all requests of this process."""

    def __init__(
        self,
        provider: Provider,
        *,
        url: str = "",
        key: str = "",
        timeout: float = 10.0,
        turns: FairScheduler | None = None,
    ) -> None:
        """`url` overrides the provider's own; `timeout` is in seconds, for a whole search.

        `turns` shares the searches between tenants; waiting for a turn does not count towards the
        timeout.
        """
        self._turns = turns or search_turns()
        self.knows_places = provider.knows_places
        self._provider = provider
        self._url = url or provider.url
        self._key = key
        self._timeout = timeout
        self._session: aiohttp.ClientSession | None = None
        self._is_unavailable = False

    async def search(self, search: WebQuery, tenant: str = "") -> Sequence[PageHit]:
        """Return the results, best first. Raises `SearchError` for every failure."""
        try:
            async with self._turns.slot(tenant):
                hits = await self._search(self._provider.request(search, self._url, self._key))
        except NoRoomError as error:
            raise SearchError("too many searches are waiting; try again later") from error
        except SearchError as error:
            if error.status not in _UNFIT:
                self._log_change(error)
            raise
        self._log_change(None)
        return hits

    async def _search(self, request: ProviderRequest) -> Sequence[PageHit]:
        try:
            return self._provider.read(_object(await self._send_request(request)))
        except TimeoutError as error:
            raise SearchError("the provider did not answer in time") from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise SearchError(f"the provider is unreachable: {_cause(error)}") from error

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()

    async def _send_request(self, request: ProviderRequest) -> bytes:
        method = "GET" if request.body is None else "POST"
        async with self._opened().request(
            method,
            request.url,
            headers=request.headers,
            params=request.params,
            json=request.body,
            # The key is sent only to the configured URL.
            allow_redirects=False,
        ) as answer:
            if answer.status != 200:
                raise _failed(answer.status)
            body = bytearray()
            async for piece in answer.content.iter_any():
                body += piece
                if len(body) > MAX_ANSWER:
                    raise SearchError("the provider's response is too large")
            return bytes(body)

    def _log_change(self, error: SearchError | None) -> None:
        """Log once that the provider fails, and once that it has recovered."""
        was_removed = self._is_unavailable
        self._is_unavailable = error is not None
        if was_removed == self._is_unavailable:
            return
        name = next(
            (name for name, one in PROVIDERS.items() if one is self._provider), "its provider"
        )
        if error is None:
            log.info("The web search with %s works again.", name)
            return
        status = f" (status {error.status})" if error.status else ""
        advice = _ADVICE.get(name, {}).get(error.status, "")
        log.warning("The web search with %s failed: %s%s.%s", name, error, status, advice)

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                # Searches have had their turn: aiohttp's own limit would be one queue
                # for all tenants.
                connector=aiohttp.TCPConnector(limit=0),
                timeout=aiohttp.ClientTimeout(total=self._timeout),
                trust_env=False,
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        return self._session


def _failed(status: int) -> SearchError:
    reason = _REASONS.get(
        status, "the provider failed" if status >= 500 else "the provider rejected it"
    )
    return SearchError(reason, status)


def _cause(error: Exception) -> str:
    """Return why a request failed, without its URL and any text of others: both can contain the
    key.
    """
    inner: BaseException = getattr(error, "os_error", error)
    match error, inner:
        case (aiohttp.ClientConnectorCertificateError(), _) | (_, ssl.SSLCertVerificationError()):
            return "its TLS certificate was rejected"
        case (aiohttp.ClientSSLError(), _) | (_, ssl.SSLError()):
            return "the TLS handshake failed"
        case (_, socket.gaierror()) | (aiohttp.ClientConnectorDNSError(), _):
            return "the DNS lookup of its name failed"
        case (aiohttp.InvalidURL(), _) | (aiohttp.NonHttpUrlClientError(), _):
            return "its URL is invalid"
        case (aiohttp.ServerDisconnectedError() | aiohttp.ClientPayloadError(), _) | (
            _,
            ConnectionResetError(),
        ):
            return "it closed the connection"
        case (_, OSError(errno=int(number))) if number > 0:
            return os.strerror(number).lower()
        case (aiohttp.ClientResponseError(), _):
            return "its answer is not HTTP"
    return "the connection failed"


def _object(body: bytes) -> Mapping[str, Any]:
    try:
        answer = msgspec.json.decode(body)
    except (ValueError, RecursionError) as error:
        raise SearchError("the provider's response is not JSON") from error
    if not isinstance(answer, dict):
        raise SearchError("the provider's response has no results")
    return answer
