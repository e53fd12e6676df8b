"""What is asked of a search provider, whichever it is, and what it finds."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import unescape
from typing import Any, Protocol

from antiphon.tools.web.options import Domains, Location

_TAG = re.compile(r"</?[a-zA-Z][^<>]{0,200}>")
_MOST_OPERATORS = 5
"""Domains that are named in a query; more make it too long, and what is found is looked at anyway."""


class SearchError(Exception):
    """A search found nothing because it failed; the message says why, in words for the model, and holds no key."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status
        """With which the provider answered; 0 where that is not why."""


@dataclass(frozen=True, slots=True)
class Search:
    """One query, with how many results are wanted and of which domains, and where its user is."""

    query: str
    count: int
    domains: Domains = field(default_factory=Domains)
    location: Location = field(default_factory=Location)


@dataclass(frozen=True, slots=True)
class Hit:
    """A page that was found. `age` is when it was written, in the provider's words, empty where it is not known."""

    url: str
    title: str
    snippet: str
    age: str = ""


@dataclass(frozen=True, slots=True)
class Request:
    """How a provider is asked, by GET or, with a `body`, by POST."""

    url: str
    headers: Mapping[str, str]
    params: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None


class Provider(Protocol):
    """The API of a search engine: how it is asked, and how its answer is read."""

    url: str
    """Where it is by default; empty where it is everybody's own."""
    key_env: str
    """Variable that holds its key by default; empty where it needs none."""
    knows_places: bool
    """Whether it searches by the user's location."""

    def request(self, search: Search, url: str, key: str) -> Request:
        """Return how to ask."""
        ...

    def read(self, answer: Mapping[str, Any]) -> Sequence[Hit]:
        """Return what was found. Raises `SearchError` where the answer says that the search failed."""
        ...


def hit(url: Any, title: Any, snippet: Any, age: Any = None) -> Hit:
    """Return a hit of what a provider says, whatever it is: markup removed, no text where there is none."""
    return Hit(_text(url), _plain(title), _plain(snippet), _text(age))


def entries(value: Any) -> list[Mapping[str, Any]]:
    """Return the objects of what should be a list of them."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def with_operators(search: Search, *, longest: int = 2_000, words: int = 200) -> str:
    """Return the query with the operators that most search engines know, where the domains are few and there is room.

    `longest` is the most characters that the provider takes, `words` the most words.
    """
    allowed, blocked = search.domains.allowed, search.domains.blocked
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
