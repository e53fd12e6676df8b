"""What a `web_search` tool asks for (specification section 6), read from what the protocol leaves unread."""

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
"""Domains that one list may have."""


@dataclass(frozen=True, slots=True)
class Domains:
    """Domains that are allowed, all where none is named, less those that are blocked; subdomains are as their domain.

    All are normal: see `normal_domain`.
    """

    allowed: tuple[str, ...] = ()
    blocked: tuple[str, ...] = ()

    def admits(self, url: str) -> bool:
        """Whether this is an HTTP address that can be asked for, of a host that may be shown and opened."""
        try:
            return self.admits_host(read_url(url).raw_host or "")
        except ValueError:
            return False

    def admits_host(self, host: str) -> bool:
        """Whether pages of this host may be shown and opened."""
        names = set(_with_parents(host))
        return names.isdisjoint(self.blocked) and (not self.allowed or not names.isdisjoint(self.allowed))


def normal_domain(text: str) -> str:
    """Return a domain in the form in which two of them are compared: `HTTPS://Bücher.Example./` is `xn--…`.

    Raises `ValueError` for what is more or less than a domain.
    """
    bare = text.strip().lower()
    for scheme in ("https://", "http://"):
        bare = bare.removeprefix(scheme)
    bare = bare.removeprefix("*.").removesuffix("/").removesuffix(".")
    if not bare or any(character in bare for character in "/@?#:\\%* ") or ".." in bare or bare[0] == ".":
        raise ValueError("it is no domain")
    return URL.build(scheme="https", host=bare).raw_host or ""


def _with_parents(host: str) -> Iterator[str]:
    while host:
        yield host
        host = host.partition(".")[2]


MOST_RESULTS = 20
"""Results of a search, whoever asks for more."""

_COUNTRY = re.compile(r"[A-Za-z]{2}")
_LONGEST_PLACE = 256


@dataclass(frozen=True, slots=True)
class Context:
    """How much the model is told. Characters; some four of them are a token."""

    results: float
    """Of a search, beside the number that the settings name."""
    snippet: int
    """Of each result."""
    page: int
    """Of a page that is opened, at a time."""


CONTEXTS = {
    "low": Context(results=0.5, snippet=300, page=5_000),
    "medium": Context(results=1, snippet=600, page=12_000),
    "high": Context(results=2, snippet=1_500, page=30_000),
}
"""By `search_context_size`."""

_UNLIMITED = Context(results=2, snippet=5_000, page=100_000)
"""For `return_token_budget: "unlimited"`."""


@dataclass(frozen=True, slots=True)
class Location:
    """Where the user is, roughly. Empty where it is not said; `country` is two letters, `timezone` is of the IANA."""

    city: str = ""
    region: str = ""
    country: str = ""
    timezone: str = ""

    def __str__(self) -> str:
        place = ", ".join(filter(None, (self.city, self.region, self.country)))
        return f"{place} (time zone {self.timezone})" if place and self.timezone else place or self.timezone


@dataclass(frozen=True, slots=True)
class Options:
    """The fields of the tool."""

    domains: Domains
    location: Location
    context: Context
    is_live: bool
    """Whether pages may be fetched, rather than only taken from the cache."""
    most: int | None
    """Results that the request asks for at most."""

    def count(self, usual: int) -> int:
        """Return how many results to show, where `usual` are shown by default."""
        wanted = self.most or max(1, round(usual * self.context.results))
        return min(wanted, MOST_RESULTS)


def read_options(tool: Tool, path: str = "tools") -> Options:
    """Return what the tool at `path` of the request asks for. Raises `ClientError` (400)."""
    if not isinstance(tool, WebSearchTool):
        raise refusals.not_served(path)
    _check_content_types(_given(tool.search_content_types), f"{path}.search_content_types")
    most = _given(tool.max_results)
    if most is not None and most < 1:
        raise refusals.number_out_of_range(f"{path}.max_results", "integer", "below", 1, most)
    return Options(
        domains=_domains(_given(tool.filters), f"{path}.filters"),
        location=_location(_given(tool.user_location), f"{path}.user_location"),
        context=_context(tool, path),
        is_live=_given(tool.external_web_access) is not False,
        most=most,
    )


def _given(value: Any) -> Any:
    return None if value is UNSET else value


def _context(tool: WebSearchTool, path: str) -> Context:
    budget = _given(tool.return_token_budget)
    if budget not in (None, "default", "unlimited"):
        raise refusals.invalid_value(f"{path}.return_token_budget", str(budget), ("default", "unlimited"))
    return _UNLIMITED if budget == "unlimited" else CONTEXTS[_given(tool.search_context_size) or "medium"]


def _check_content_types(types: Sequence[str] | None, path: str) -> None:
    """Take images beside text, as Codex asks for them: what is found may be either. Images alone are not found."""
    for i, kind in enumerate(types or ()):
        if kind not in ("text", "image"):
            raise refusals.invalid_value(f"{path}[{i}]", kind, ("text", "image"))
    if types and "text" not in types:
        raise refusals.value_not_served(f"{path}[0]", types[0], ("text",))


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
            path, f"'{refusals.shown(value)}'. Expected a domain without scheme and path, such as 'example.com'."
        ) from error


def _location(given: Mapping[str, Any] | None, path: str) -> Location:
    _check_names(given, ("type", "city", "region", "country", "timezone"), path)
    fields = {name: _place(value, f"{path}.{name}") for name, value in (given or {}).items()}
    kind, country = fields.pop("type", ""), fields.get("country", "")
    if kind not in ("", "approximate"):
        raise refusals.invalid_value(f"{path}.type", kind, ("approximate",))
    if country and not _COUNTRY.fullmatch(country):
        raise refusals.invalid(f"{path}.country", f"'{refusals.shown(country)}'. Expected an ISO 3166-1 alpha-2 code.")
    return Location(**fields | {"country": country.upper()})


def _place(value: Any, path: str) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise refusals.invalid_type(path, ["string"], value)
    if len(value) > _LONGEST_PLACE:
        raise refusals.too_long(path, "string", _LONGEST_PLACE, len(value))
    if not value.isprintable():
        raise refusals.invalid(path, "it has control characters. Expected a name.")
    return value.strip()


def _check_names(given: Mapping[str, Any] | None, known: Sequence[str], path: str) -> None:
    for name in given or ():
        if name not in known:
            raise refusals.unknown(refusals.below(path, name))
