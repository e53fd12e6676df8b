"""Opens pages: only addresses that the model received, that the request allows, and that can be
read.
"""

import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from yarl import URL

from antiphon.errors import log
from antiphon.outbound.fetch import Fetched, Fetcher, FetchError, FetchTrouble
from antiphon.outbound.ssrf import read_url
from antiphon.protocol.untrusted import clean
from antiphon.sharing.scheduler import FairScheduler, NoRoomError
from antiphon.tools.base import Use
from antiphon.tools.web.options import WebSearchOptions
from antiphon.tools.web.reading import Reader, ReadingError

T = TypeVar("T")

MOST_PAGES = 32 * 1024 * 1024
"""Bytes, about."""
OLDEST = 15 * 60.0
"""Seconds."""


Key = tuple[str, str]
"""Tenant and URL."""


class ByteLimitedCache(Generic[T]):
    """A cache of recently used entries, limited by bytes and age.

    Above the limit, the tenant with the most bytes loses its least recently used entry.
    """

    def __init__(
        self,
        *,
        most: int = MOST_PAGES,
        oldest: float = OLDEST,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._most = most
        self._oldest = oldest
        self._clock = clock
        self._saved: OrderedDict[Key, tuple[float, int, T]] = OrderedDict()
        self._sizes: Counter[str] = Counter()

    def get(self, key: Key) -> T | None:
        """Return a cached entry, None if it is missing or too old."""
        if key not in self._saved:
            return None
        since, _, value = self._saved[key]
        if self._clock() - since > self._oldest:
            self._drop(key)
            return None
        self._saved.move_to_end(key)
        return value

    def put(self, key: Key, value: T, size: int) -> None:
        """Cache an entry of this many bytes."""
        if key in self._saved:
            self._drop(key)
        self._saved[key] = (self._clock(), size, value)
        self._sizes[key[0]] += size
        while self._sizes.total() > self._most:
            largest = max(self._sizes, key=lambda tenant: self._sizes[tenant])
            self._drop(next(key for key in self._saved if key[0] == largest))

    def _drop(self, key: Key) -> None:
        self._sizes[key[0]] -= self._saved.pop(key)[1]
        if self._sizes[key[0]] <= 0:
            del self._sizes[key[0]]


TYPES = (
    *("text/html", "application/xhtml+xml", "text/*"),
    *("application/json", "application/*+json", "application/xml", "application/*+xml"),
)
"""Content types that are read; the first two are HTML."""

_LONGEST_TITLE = 200

_TROUBLES: dict[FetchTrouble, str] = {
    "dead": "it is unreachable",
    "slow": "it did not answer in time",
    "too_big": "it is too large",
    "wrong_type": "it is neither HTML nor any other text, such as JSON or XML; files of other "
    "kinds are not read",
    "private": "its address is private, which this server does not permit",
    "refused": "its address, or a redirect, is not permitted by this request",
    "too_many_redirects": "it redirects too many times",
}
"""In this server's words, since those of a page's server could be instructions for the model."""


class PageError(Exception):
    """A page was not opened; the message is the reason, worded for the model."""


@dataclass(frozen=True, slots=True)
class WebPage:
    """The cleaned text of a page."""

    url: str
    """As requested, without its fragment."""
    title: str
    text: str
    is_cut: bool


FETCHES = 128
"""Pages that are fetched at once."""
WAITING = 1_000
"""Fetches that can wait."""


def fetch_turns() -> FairScheduler:
    """Return the scheduler of a process's fetches of pages."""
    return FairScheduler(FETCHES, WAITING, leaves_room=True)


class WebPages:
    """The pages that this process reads."""

    def __init__(
        self,
        fetcher: Fetcher,
        reader: Reader | None = None,
        cache: ByteLimitedCache[WebPage] | None = None,
        turns: FairScheduler | None = None,
    ) -> None:
        """`turns` shares the fetches of pages between tenants."""
        self._fetcher = fetcher
        self._reader = reader or Reader()
        self._cache = cache or ByteLimitedCache()
        self._turns = turns or fetch_turns()

    async def open(self, use: Use, text: str, options: WebSearchOptions) -> WebPage:
        """Return the page that the model requests as `given`.

        Raises `PageError` for every failure.
        """
        url = _address(use, text)
        if not options.domains.admits(url):
            raise PageError("this request does not allow pages of that domain")
        # A page that was fetched for one tenant is not returned to another.
        stored = self._cache.get((use.tenant, url))
        if stored:
            return stored
        if not options.is_live:
            raise PageError(
                "this request does not allow pages to be fetched, and this one is not at hand. "
                "Use what the search found"
            )
        fetched = await self._fetch(url, options, use.tenant)
        page = await self._read(url, fetched, use.tenant)
        if fetched.may_be_cached:
            self._cache.put((use.tenant, url), page, len(page.text) * 2)
        return page

    async def _fetch(self, url: str, options: WebSearchOptions, tenant: str) -> Fetched:
        def may_request(place: URL) -> bool:
            return options.domains.admits_host(place.raw_host or "")

        try:
            async with self._turns.slot(tenant):
                fetched = await self._fetcher.fetch(
                    url, TYPES, may_request=may_request, tenant=tenant
                )
        except NoRoomError as error:
            raise PageError("too many pages are being fetched at once; try again later") from error
        except FetchError as error:
            if error.kind == "private":
                # Without the URL: the model chose it. The reason names the setting.
                log.info("Cannot open a page: %s.", error)
            raise PageError(_TROUBLES[error.kind]) from error
        if not 200 <= fetched.status < 300:
            raise PageError(f"its server answered with status {fetched.status}")
        return fetched

    async def _read(self, url: str, fetched: Fetched, tenant: str) -> WebPage:
        is_html = fetched.content_type in TYPES[:2]
        try:
            text = await self._reader.read(
                fetched.body,
                url=fetched.url,
                charset=fetched.charset,
                is_html=is_html,
                tenant=tenant,
            )
        except ReadingError as error:
            raise PageError(str(error)) from error
        title = " ".join(clean(text.title).split())[:_LONGEST_TITLE]
        return WebPage(url, title or url, clean(text.text), text.is_cut)


def _address(use: Use, provided: str) -> str:
    """Return the address that the model means, if it received it. Raises `PageError`.

    An address that the model composed itself could leak data that it knows.
    """
    text = provided.strip()
    has_scheme = "://" in text
    url = text if has_scheme else f"https://{text}"
    if not has_scheme and "." not in text.partition("/")[0]:
        # A word of the user is not an address: resolving it would reveal it to DNS servers.
        raise PageError("this is not the address of a page")
    try:
        read = str(read_url(url))
    except ValueError as error:
        raise PageError("this is not the address of a page") from error
    if not any(one in use.sources or use.was_provided(one) for one in _spellings(text)):
        raise PageError(
            "its address is in none of the texts that you received, neither from the user nor "
            "from a search or a page. Only an address from these can be opened, word for word, "
            "since an invented one could leak what you know. Search for the page instead"
        )
    return read


def _spellings(text: str) -> Iterator[str]:
    """The forms in which the model may have received it: with its fragment and last slash, and
    without its scheme.
    """
    bare = text.partition("#")[0]
    yield from (text, bare, bare.removesuffix("/"))
    host = bare.partition("://")[2].partition("/")[0]
    if "." in host:
        yield bare.partition("://")[2].removesuffix("/")
