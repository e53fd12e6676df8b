"""Shows a page to the model: a part at a time, or the occurrences of a text."""

from collections.abc import Iterator, Sequence
from typing import Any

from antiphon.protocol.sources import SourceNumbers
from antiphon.protocol.untrusted import framed
from antiphon.tools.base import ToolOutcome, Use
from antiphon.tools.web.citing import HOW_TO_CITE, cited
from antiphon.tools.web.options import WebSearchOptions
from antiphon.tools.web.pages import PageError, WebPage, WebPages

MOST_PLACES = 10
"""Occurrences that one search in a page shows."""
LONGEST_PATTERN = 500


async def open_page(use: Use, options: WebSearchOptions, pages: WebPages) -> ToolOutcome:
    """Show a part of a page: `url` and, from 1, `page`."""
    url = _text(use.arguments.get("url"))
    action = {"type": "open_page", "url": url}
    try:
        page = await pages.open(use, url, options)
    except PageError as error:
        return _failed("This page was not opened", error, action)
    parts = parts_of(page.text, options.context.page)
    number = _number(use.arguments.get("page"))
    if not 1 <= number <= len(parts):
        return _failed(
            "There is no such part", PageError(f"the page has {len(parts)}, counted from 1"), action
        )
    return _displayed(use, page, _part(page, parts, number), _next(page, parts, number), action)


async def find_in_page(use: Use, options: WebSearchOptions, pages: WebPages) -> ToolOutcome:
    """Show the occurrences of `pattern` in the page at `url`."""
    url = _text(use.arguments.get("url"))
    pattern = _text(use.arguments.get("pattern"))[:LONGEST_PATTERN]
    action = {"type": "find_in_page", "url": url, "pattern": pattern}
    if not pattern:
        return _failed(
            "Nothing was looked for", PageError("`find_in_page` needs a `pattern`"), action
        )
    try:
        page = await pages.open(use, url, options)
    except PageError as error:
        return _failed("This page was not opened", error, action)
    places = list(_places(page.text, pattern, options.context.snippet))
    if not places:
        text = "This does not occur in the page, at least not word for word."
        return ToolOutcome(text, {"action": action, "results": []})
    return _displayed(use, page, "\n\n…\n\n".join(places[:MOST_PLACES]), _more(len(places)), action)


def parts_of(text: str, size: int) -> list[str]:
    """Return the text in parts of at most this many characters, split between lines or words if
    possible.
    """
    parts = []
    start = 0
    while len(text) - start > size:
        end = start + size
        line = text.rfind("\n", start + size // 2, end)
        word = text.rfind(" ", start + size // 2, end)
        cut = (line if line >= 0 else word if word >= 0 else end - 1) + 1
        parts.append(text[start:cut])
        start = cut
    return [*parts, text[start:]]


def _part(page: WebPage, parts: Sequence[str], number: int) -> str:
    head = f"(part {number} of {len(parts)})\n\n" if len(parts) > 1 else ""
    return head + (parts[number - 1].strip() or "(The page has no text.)")


def _next(page: WebPage, parts: Sequence[str], number: int) -> str:
    if number < len(parts):
        return f" The page continues: open it again with `page` {number + 1}."
    return " The page is longer, but more of it is not kept." if page.is_cut else ""


def _places(text: str, pattern: str, size: int) -> Iterator[str]:
    """The text around each occurrence, with close ones joined; case is ignored."""
    folded = _folded(text)
    wanted = _folded(" ".join(pattern.split()))
    at = folded.find(wanted)
    while at >= 0:
        start = max(0, at - size // 2)
        end = at + len(wanted) + size // 2
        yield " ".join(text[start:end].split())
        at = folded.find(wanted, end)


def _folded(text: str) -> str:
    """Return the text in lower case, with each character at its position."""
    lower = text.lower()
    if len(lower) != len(text):
        lower = "".join(one.lower() if len(one.lower()) == 1 else one for one in text)
    return lower.replace("\n", " ")


def _more(count: int) -> str:
    return (
        f" It occurs in {count - MOST_PLACES} more places, which are not shown."
        if count > MOST_PLACES
        else ""
    )


def _displayed(
    use: Use, page: WebPage, text: str, more: str, action: dict[str, Any]
) -> ToolOutcome:
    numbers = SourceNumbers(use.sources)
    stated = framed(f"{cited(numbers, page.url, page.title)}\n{text}")
    return ToolOutcome(
        f"{stated}\n{HOW_TO_CITE}{more}", {"action": action, "results": []}, sources=numbers.new
    )


def _failed(what: str, error: PageError, action: dict[str, Any]) -> ToolOutcome:
    return ToolOutcome(f"{what}: {error}.", {"action": action, "results": []}, is_failed=True)


def _text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""


def _number(value: Any) -> int:
    """Return the number that the model means, 1 if it names none, 0 if it is not a number."""
    if value is None or value == "":
        return 1
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and value.isdecimal() and len(value) < 9:
        return int(value)
    return value if isinstance(value, int) else 0
