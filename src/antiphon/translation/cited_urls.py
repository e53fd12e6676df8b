"""Bare URLs of sources in a text: which of them it names, and where each ends.

A URL in a text has no certain end. What follows it without a space can belong to it, as in
`https://wiki.example/Tide_(sea)`, or not, as in `https://tides.example/brest(at nine)`. So the
sources decide: the longest beginning that leads to one names it. Since a tracking parameter or a
fragment leads nowhere, it hides where the URL ends: the shortest URL to the same page is cited.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit

URL_END = re.compile(
    r"[\s<>\"`\[\]()【】|\\^{}"
    r"\u3001\u3002\u3008-\u300f\u3014-\u3017\u201c-\u201f\u00ab\u00bb\u2039\u203a"
    r"\uff01\uff08\uff09\uff0c\uff0e\uff1a\uff1b\uff1f\uff5b\uff5d\uff61-\uff64]"
)
"""A character that ends a URL; parentheses do so unless they are in pairs."""

_AFTER = ".,;:!?'*_~\u2018\u2019\u2026"
"""Punctuation that can end a URL, and usually follows it."""

_SOFT_END = re.compile(r"[()\u2018\u2019]|(?<=[A-Za-z0-9)])(?=[^\x00-\x7f])")
"""Where a URL can end: at a parenthesis, a quotation mark, or text of a language without spaces."""

_NEXT_URL = re.compile(r"(?<=[(\u0080-\U0010ffff])https?://")
"""A second URL behind the first one, without a space. One behind a `/` belongs to an archive."""

_MOST_ENDS = 16
"""Ends that are tried: hundreds of parentheses cost no more."""

_PAIRS = re.compile(r"(?:\([^()]+\)[^()]*)+")

_DEFAULT_PORTS = {"http": 80, "https": 443}


class CitedUrl(NamedTuple):
    """A URL at this place in the text, and the number of its source."""

    start: int
    end: int
    number: int


def cited_urls(text: str, number_of: Callable[[str], int | None]) -> Iterator[CitedUrl]:
    """Yield the URLs of sources in a text that begins with a URL and contains no `URL_END`, except
    parentheses.

    `number_of` returns the number of the source that a URL leads to, or None.
    """
    starts = [0, *(mark.start() for mark in _NEXT_URL.finditer(text))]
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        readings = [(one, number_of(one)) for one in _readings(text[start:end])]
        known = next((number for _, number in readings if number is not None), None)
        if known is not None:
            url = _needed([one for one, number in readings if number == known])
            yield CitedUrl(start, start + len(url), known)


def _readings(text: str) -> Sequence[str]:
    """Return the URLs that a text can begin with, the longest first."""
    found = [text, text.rstrip(_AFTER)]
    ends = [mark.start() for mark in islice(_SOFT_END.finditer(text), _MOST_ENDS)]
    for end in reversed(ends):
        # The underscore stays: `Mercury_(planet)` is not the page `Mercury`.
        found += [text[:end], text[:end].rstrip(_AFTER.replace("_", ""))]
    return list(dict.fromkeys(found))


def _needed(readings: Sequence[str]) -> str:
    """Return the shortest of these URLs, the longest first, with the pairs of parentheses that
    follow in it.
    """
    *longer, url = readings
    for one in reversed(longer):
        more = one[len(url) :]
        if more.isascii() and _PAIRS.fullmatch(more) and one == one.rstrip(_AFTER):
            url = one
    return url


def normal_url(url: str) -> str:
    """Return a key that is the same for URLs that lead to the same page."""
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").rstrip(".")
        port = parts.port
    except ValueError:
        return url
    if port and port != _DEFAULT_PORTS.get(parts.scheme):
        host = f"{host}:{port}"
    query = "&".join(each for each in parts.query.split("&") if not each.lower().startswith("utm_"))
    return SplitResult(parts.scheme, host, unquote(parts.path).rstrip("/"), query, "").geturl()
