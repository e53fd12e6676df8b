"""The options of a `web_search` tool (specification section 6), which the protocol layer does not
parse.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec import UNSET
from yarl import URL

from antiphon.outbound.ssrf import read_url
from antiphon.protocol.tools import Tool, WebSearchTool
from antiphon.protocol.validation import refusals

MOST_DOMAINS = 100
"""Domains that one list can have."""


@dataclass(frozen=True, slots=True)
class Domains:
    """Domains that are allowed, all if none is named, minus those that are blocked; subdomains
    follow their domain.

    All are normalized: see `normal_domain`.
    """

    allowed: tuple[str, ...] = ()
    blocked: tuple[str, ...] = ()

    def admits(self, url: str) -> bool:
        """Whether this is a valid HTTP address, with a host that can be shown and opened."""
        try:
            return self.admits_host(read_url(url).raw_host or "")
        except ValueError:
            return False

    def admits_host(self, host: str) -> bool:
        """Whether pages of this host can be shown and opened."""
        names = set(_with_parents(host))
        return names.isdisjoint(self.blocked) and (
            not self.allowed or not names.isdisjoint(self.allowed)
        )


def normal_domain(text: str) -> str:
    """Return a domain in a comparable form: `HTTPS://Bücher.Example./` is `xn--…`.

    Raises `ValueError` for a value that is not exactly a domain.
    """
    bare = text.strip().lower()
    for scheme in ("https://", "http://"):
        bare = bare.removeprefix(scheme)
    bare = bare.removeprefix("*.").removesuffix("/").removesuffix(".")
    if (
        not bare
        or any(character in bare for character in "/@?#:\\%* ")
        or ".." in bare
        or bare[0] == "."
    ):
        raise ValueError("it is not a domain")
    return URL.build(scheme="https", host=bare).raw_host or ""


def _with_parents(host: str) -> Iterator[str]:
    while host:
        yield host
        host = host.partition(".")[2]


MOST_RESULTS = 20
"""Results of a search, even if more are requested."""

_COUNTRY = re.compile(r"[A-Za-z]{2}")
_LONGEST_PLACE = 256


@dataclass(frozen=True, slots=True)
class ContextSize:
    """How much text the model receives. Characters; about four of them are a token."""

    results: float
    """Of a search, for the default number of results."""
    snippet: int
    """Of each result."""
    page: int
    """Of an opened page, at a time."""


CONTEXTS = {
    "low": ContextSize(results=0.5, snippet=300, page=5_000),
    "medium": ContextSize(results=1, snippet=600, page=12_000),
    "high": ContextSize(results=2, snippet=1_500, page=30_000),
}
"""By `search_context_size`."""

_UNLIMITED = ContextSize(results=2, snippet=5_000, page=100_000)
"""For `return_token_budget: "unlimited"`."""


@dataclass(frozen=True, slots=True)
class Location:
    """The user's approximate location.

    Empty if unknown; `country` is two letters, `timezone` is of the IANA.
    """

    city: str = ""
    region: str = ""
    country: str = ""
    timezone: str = ""

    def __str__(self) -> str:
        place = ", ".join(filter(None, (self.city, self.region, self.country)))
        return (
            f"{place} (time zone {self.timezone})"
            if place and self.timezone
            else place or self.timezone
        )


@dataclass(frozen=True, slots=True)
class WebSearchOptions:
    """The fields of the tool."""

    domains: Domains
    location: Location
    context: ContextSize
    is_live: bool
    """Whether pages can be fetched, rather than only read from the cache."""
    most: int | None
    """Maximum results that the request sets."""

    def count(self, usual: int) -> int:
        """Return how many results to show; `usual` is the default."""
        wanted = self.most or max(1, round(usual * self.context.results))
        return min(wanted, MOST_RESULTS)


def read_options(tool: Tool, path: str = "tools") -> WebSearchOptions:
    """Return the options of the tool at `path` of the request. Raises `ClientError` (400)."""
    if not isinstance(tool, WebSearchTool):
        raise refusals.unsupported(path)
    _check_content_types(_provided(tool.search_content_types), f"{path}.search_content_types")
    most = _provided(tool.max_results)
    if most is not None and most < 1:
        raise refusals.number_out_of_range(f"{path}.max_results", "integer", "below", 1, most)
    return WebSearchOptions(
        domains=_domains(_provided(tool.filters), f"{path}.filters"),
        location=_location(_provided(tool.user_location), f"{path}.user_location"),
        context=_context(tool, path),
        is_live=_provided(tool.external_web_access) is not False,
        most=most,
    )


def _provided(value: Any) -> Any:
    return None if value is UNSET else value


def _context(tool: WebSearchTool, path: str) -> ContextSize:
    budget = _provided(tool.return_token_budget)
    if budget not in (None, "default", "unlimited"):
        raise refusals.invalid_value(
            f"{path}.return_token_budget", str(budget), ("default", "unlimited")
        )
    return (
        _UNLIMITED
        if budget == "unlimited"
        else CONTEXTS[_provided(tool.search_context_size) or "medium"]
    )


def _check_content_types(types: Sequence[str] | None, path: str) -> None:
    """Accept images in addition to text, as Codex requests them: results can be either.

    Images alone are rejected.
    """
    for i, kind in enumerate(types or ()):
        if kind not in ("text", "image"):
            raise refusals.invalid_value(f"{path}[{i}]", kind, ("text", "image"))
    if types and "text" not in types:
        raise refusals.unsupported_value(f"{path}[0]", types[0], ("text",))


def _domains(filters: Mapping[str, Any] | None, path: str) -> Domains:
    _check_names(filters, ("allowed_domains", "blocked_domains"), path)
    read = {name: _domain_list(value, f"{path}.{name}") for name, value in (filters or {}).items()}
    return Domains(read.get("allowed_domains", ()), read.get("blocked_domains", ()))


def _domain_list(value: Any, path: str) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        raise refusals.invalid_type(path, ["array of strings"], value)
    if len(value) > MOST_DOMAINS:
        raise refusals.too_long(path, "array", MOST_DOMAINS, len(value))
    return tuple(_domain(each, f"{path}[{i}]") for i, each in enumerate(value))


def _domain(value: Any, path: str) -> str:
    if not isinstance(value, str):
        raise refusals.invalid_type(path, ["string"], value)
    try:
        return normal_domain(value)
    except ValueError as error:
        raise refusals.invalid(
            path,
            f"'{refusals.quoted(value)}'. Expected a domain without scheme and path, "
            "such as 'example.com'.",
        ) from error


def _location(provided: Mapping[str, Any] | None, path: str) -> Location:
    _check_names(provided, ("type", "city", "region", "country", "timezone"), path)
    fields = {name: _place(value, f"{path}.{name}") for name, value in (provided or {}).items()}
    kind = fields.pop("type", "")
    country = fields.get("country", "")
    if kind not in ("", "approximate"):
        raise refusals.invalid_value(f"{path}.type", kind, ("approximate",))
    if country and not _COUNTRY.fullmatch(country):
        raise refusals.invalid(
            f"{path}.country", f"'{refusals.quoted(country)}'. Expected an ISO 3166-1 alpha-2 code."
        )
    return Location(**fields | {"country": country.upper()})


def _place(value: Any, path: str) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise refusals.invalid_type(path, ["string"], value)
    if len(value) > _LONGEST_PLACE:
        raise refusals.too_long(path, "string", _LONGEST_PLACE, len(value))
    if not value.isprintable():
        raise refusals.invalid(path, "it contains control characters. Expected a name.")
    return value.strip()


def _check_names(provided: Mapping[str, Any] | None, known: Sequence[str], path: str) -> None:
    for name in provided or ():
        if name not in known:
            raise refusals.unknown(refusals.below(path, name))
