"""Asking the provider that the settings name. Whatever goes wrong is a failed search, told without the key."""

from collections.abc import Mapping, Sequence
from typing import Any

import aiohttp
import msgspec

from antiphon.errors import log
from antiphon.sharing.scheduler import FairScheduler, NoRoomError
from antiphon.tools.web.hits import Hit, Provider, Request, Search, SearchError
from antiphon.tools.web.providers import PROVIDERS

MAX_ANSWER = 4 * 1024 * 1024
"""Bytes of an answer; more than this are no search results."""

AT_ONCE = 100
"""Searches that the provider is sent at once."""
WAITING = 1_000
"""Searches that may wait."""

_REASONS = {
    400: "the provider did not understand the request",
    401: "the provider refused this server's key",
    402: "what this server may ask of the provider is used up",
    403: "the provider refused this server",
    404: "the provider has no search at the address that this server knows",
    422: "the provider did not understand the request",
    429: "the provider was asked too often; try again later",
    432: "what this server may ask of the provider is used up",
    433: "what this server may ask of the provider is used up",
}
_UNFIT = {400, 422}
"""Statuses that speak of one query, and not of the provider."""
_ADVICE = {"searxng": {403: " Its settings must have json among search.formats."}}


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
        """`url` stands in place of the provider's own; `timeout` is in seconds, for a whole search.

        `turns` shares the searches between tenants; waiting for a turn is not counted in the timeout.
        """
        self._turns = turns or search_turns()
        self.knows_places = provider.knows_places
        self._provider = provider
        self._url = url or provider.url
        self._key = key
        self._timeout = timeout
        self._session: aiohttp.ClientSession | None = None
        self._is_gone = False

    async def search(self, search: Search, tenant: str = "") -> Sequence[Hit]:
        """Return what was found, best first. Raises `SearchError` for every failure."""
        try:
            async with self._turns.slot(tenant):
                hits = await self._search(self._provider.request(search, self._url, self._key))
        except NoRoomError as error:
            raise SearchError("too many searches are waiting; try again later") from error
        except SearchError as error:
            if error.status not in _UNFIT:
                self._tell(error)
            raise
        self._tell(None)
        return hits

    async def _search(self, request: Request) -> Sequence[Hit]:
        try:
            return self._provider.read(_object(await self._ask(request)))
        except TimeoutError as error:
            raise SearchError("the provider did not answer in time") from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise SearchError("the provider could not be reached") from error

    async def close(self) -> None:
        """Let go of the connections."""
        if self._session is not None:
            await self._session.close()

    async def _ask(self, request: Request) -> bytes:
        method = "GET" if request.body is None else "POST"
        async with self._opened().request(
            method,
            request.url,
            headers=request.headers,
            params=request.params,
            json=request.body,
            # The key goes where the settings say and nowhere else.
            allow_redirects=False,
        ) as answer:
            if answer.status != 200:
                raise _failed(answer.status)
            body = bytearray()
            async for piece in answer.content.iter_any():
                body += piece
                if len(body) > MAX_ANSWER:
                    raise SearchError("the provider's answer is too long")
            return bytes(body)

    def _tell(self, error: SearchError | None) -> None:
        """Tell the operator once that the provider is gone, and once that it is back."""
        was_gone, self._is_gone = self._is_gone, error is not None
        if was_gone == self._is_gone:
            return
        name = next((name for name, one in PROVIDERS.items() if one is self._provider), "its provider")
        if error is None:
            log.info("The web search by %s works again.", name)
            return
        status = f" (status {error.status})" if error.status else ""
        advice = _ADVICE.get(name, {}).get(error.status, "")
        log.warning("The web search by %s fails: %s%s.%s", name, error, status, advice)

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                # Searches have had their turn: aiohttp's own limit would be one queue for all tenants.
                connector=aiohttp.TCPConnector(limit=0),
                timeout=aiohttp.ClientTimeout(total=self._timeout),
                trust_env=False,
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        return self._session


def _failed(status: int) -> SearchError:
    reason = _REASONS.get(status, "the provider has a fault" if status >= 500 else "the provider refused it")
    return SearchError(reason, status)


def _object(body: bytes) -> Mapping[str, Any]:
    try:
        answer = msgspec.json.decode(body)
    except (ValueError, RecursionError) as error:
        raise SearchError("the provider's answer is not JSON") from error
    if not isinstance(answer, dict):
        raise SearchError("the provider's answer has no results")
    return answer
