"""The search providers, by their names in the settings."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from antiphon.tools.web.hits import (
    PageHit,
    Provider,
    ProviderRequest,
    SearchError,
    WebQuery,
    entries,
    hit,
    with_operators,
)

_LONGEST_QUERY = 400
"""Characters that Brave and Tavily accept."""
_MOST_WORDS = 50
"""Words that Brave accepts."""


class SearXNG:
    """A SearXNG instance, which must have `json` in its `search.formats`."""

    url = ""
    key_env = ""
    knows_places = False

    def request(self, search: WebQuery, url: str, key: str) -> ProviderRequest:
        """See `Provider`. The instance defines the number of results."""
        place = url.rstrip("/").removesuffix("/search")
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        return ProviderRequest(
            f"{place}/search", headers, {"q": with_operators(search), "format": "json"}
        )

    def read(self, answer: Mapping[str, Any]) -> Sequence[PageHit]:
        """See `Provider`."""
        found = entries(answer.get("results"))
        if not found and answer.get("unresponsive_engines"):
            raise SearchError("none of the search engines behind the provider answered")
        return [
            hit(one.get("url"), one.get("title"), one.get("content"), one.get("publishedDate"))
            for one in found
        ]


class Brave:
    """The Brave Search API."""

    url = "https://api.search.brave.com/res/v1/web/search"
    key_env = "BRAVE_API_KEY"
    knows_places = True

    def request(self, search: WebQuery, url: str, key: str) -> ProviderRequest:
        """See `Provider`."""
        place = {
            "X-Loc-City": search.location.city,
            "X-Loc-State-Name": search.location.region,
            "X-Loc-Country": search.location.country,
            "X-Loc-Timezone": search.location.timezone,
        }
        headers = {name: quote(value, safe=" ,.'/_-") for name, value in place.items() if value}
        params = {
            "q": with_operators(search, longest=_LONGEST_QUERY, words=_MOST_WORDS),
            "count": str(search.count),
            "result_filter": "web",
            "text_decorations": "false",
        }
        return ProviderRequest(
            url, headers | {"X-Subscription-Token": key, "Accept": "application/json"}, params
        )

    def read(self, answer: Mapping[str, Any]) -> Sequence[PageHit]:
        """See `Provider`."""
        web = answer.get("web")
        found = entries(web.get("results")) if isinstance(web, dict) else []
        return [
            hit(one.get("url"), one.get("title"), _described(one), one.get("age")) for one in found
        ]


def _described(one: Mapping[str, Any]) -> str:
    more = one.get("extra_snippets")
    texts = [one.get("description"), *(more if isinstance(more, list) else ())]
    return " … ".join(text for text in texts if isinstance(text, str))


class Tavily:
    """The Tavily Search API."""

    url = "https://api.tavily.com/search"
    key_env = "TAVILY_API_KEY"
    knows_places = False

    def request(self, search: WebQuery, url: str, key: str) -> ProviderRequest:
        """See `Provider`."""
        body = {
            "query": search.query[:_LONGEST_QUERY],
            "max_results": search.count,
            "search_depth": "basic",
            "include_domains": list(search.domains.allowed),
            "exclude_domains": list(search.domains.blocked),
        }
        return ProviderRequest(url, {"Authorization": f"Bearer {key}"}, body=body)

    def read(self, answer: Mapping[str, Any]) -> Sequence[PageHit]:
        """See `Provider`."""
        found = entries(answer.get("results"))
        return [
            hit(one.get("url"), one.get("title"), one.get("content"), one.get("published_date"))
            for one in found
        ]


PROVIDERS: dict[str, Provider] = {"searxng": SearXNG(), "brave": Brave(), "tavily": Tavily()}
"""By their names in the settings."""
