"""The request to any search provider, and its results."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import unescape
from typing import Any, Protocol

from antiphon.tools.web.options import Domains, Location

_TAG = re.compile(r"</?[a-zA-Z][^<>]{0,200}>")
_MOST_OPERATORS = 5
"""Domains that are named in a query; more make it too long, and the results are filtered anyway."""


class SearchError(Exception):
    """A search failed; the message is the reason, worded for the model, and contains no key."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status
        """The provider's status; 0 if that is not the reason."""


@dataclass(frozen=True, slots=True)
class WebQuery:
    """One query, with the number of results, the allowed domains, and the user's location."""

    query: str
    count: int
    domains: Domains = field(default_factory=Domains)
    location: Location = field(default_factory=Location)


@dataclass(frozen=True, slots=True)
class PageHit:
    """A page that was found.

    `age` is when it was written, in the provider's words, empty if unknown.
    """

    url: str
    title: str
    snippet: str
    age: str = ""


@dataclass(frozen=True, slots=True)
class ProviderRequest:
    """A request to a provider, by GET or, with a `body`, by POST."""

    url: str
    headers: Mapping[str, str]
    params: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None


class Provider(Protocol):
    """The API of a search engine: how to send a query, and how to read the response."""

    url: str
    """Its default URL; empty if each operator has a different one."""
    key_env: str
    """The default variable that contains its key; empty if it needs none."""
    knows_places: bool
    """Whether it searches by the user's location."""

    def request(self, search: WebQuery, url: str, key: str) -> ProviderRequest:
        """Return the request for a query."""
        ...

    def read(self, answer: Mapping[str, Any]) -> Sequence[PageHit]:
        """Return the results. Raises `SearchError` if the response says that the search failed."""
        ...


def hit(url: Any, title: Any, snippet: Any, age: Any = None) -> PageHit:
    """Return a hit from a provider's untrusted values: markup removed, empty text for missing
    values.
    """
    return PageHit(_text(url), _plain(title), _plain(snippet), _text(age))


def entries(value: Any) -> list[Mapping[str, Any]]:
    """Return the objects of a value that should be a list of them."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def with_operators(search: WebQuery, *, longest: int = 2_000, words: int = 200) -> str:
    """Return the query with the operators of most search engines, if there are few domains and
    enough room.

    `longest` is the most characters that the provider accepts, `words` the most words.
    """
    allowed = search.domains.allowed
    blocked = search.domains.blocked
    operators = [f"-site:{domain}" for domain in blocked] if len(blocked) <= _MOST_OPERATORS else []
    if allowed and len(allowed) <= _MOST_OPERATORS:
        operators = [" OR ".join(f"site:{domain}" for domain in allowed), *operators]
    query = " ".join(search.query[:longest].split()[:words])
    whole = " ".join([query, *operators])
    return whole if len(whole) <= longest and len(whole.split()) <= words else query


def _text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""


def _plain(value: Any) -> str:
    return " ".join(unescape(_TAG.sub("", _text(value))).split())
