"""What the report's page and the matrix's have in common: the frame, the signs, the words, the headline."""

import html
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from string import Template

from antiphon.conformance.reading import legible
from antiphon.conformance.report import Report, Result

VOID = {"input", "rect", "wbr"}
"""Elements that hold nothing."""


class Markup(str):
    """Text that is markup already."""

    __slots__ = ()


Content = Markup | str | int
"""What an element may hold."""


def escaped(text: str) -> Markup:
    """Return text as markup that shows it, characters that would not be seen by their numbers."""
    return Markup(html.escape(legible(text)))


def tag(name: str, *content: Content, **attributes: str | int | bool | None) -> Markup:
    """Return an element. `class_` stands for `class`, `aria_label` for `aria-label`; None and False are left out."""
    begin = f"<{name}{''.join(_attribute(*pair) for pair in attributes.items())}>"
    if name in VOID:
        return Markup(f"{begin[:-1]}/>")
    return Markup(f"{begin}{joined(*content)}</{name}>")


def joined(*content: Content) -> Markup:
    """Return contents one after the other."""
    return Markup("".join(one if isinstance(one, Markup) else escaped(str(one)) for one in content))


def _attribute(name: str, value: str | int | bool | None) -> str:
    if value is None or value is False:
        return ""
    spelled = name.rstrip("_").replace("_", "-")
    return f" {spelled}" if value is True else f' {spelled}="{escaped(str(value))}"'


FOLDER = Path(__file__).parent

SIGNS = {
    "passed": "✓",
    "failed": "✕",
    "known": "≈",
    "blocked": "▪",
    "not offered": "○",
    "skipped": "–",  # noqa: RUF001 - a dash that is seen
    "not asked": "·",
}
"""What stands beside each word, so that neither colour nor word is alone."""

APIS = {"chat": "Chat Completions", "responses": "Responses", "transport": "Transport"}

MEANINGS = {
    "passed": "The server does so.",
    "failed": "It does otherwise.",
    "known": "It does otherwise, and the profile says why.",
    "blocked": "It cannot be judged while something else fails.",
    "not offered": "It says itself that it lacks this.",
    "skipped": "Nothing showed it, or it was left out.",
    "not asked": "The report does not have it.",
}

LEVELS = {
    "must": "Clients break without it.",
    "should": "OpenAI does so, and some clients rely on it.",
    "may": "A matter of taste.",
}


def page(name: str, title: str, *body: Content) -> str:
    """Return a whole page of one file, which loads nothing and runs nothing."""
    template = Template((FOLDER / "page.html").read_text("utf-8"))
    style = (FOLDER / "page.css").read_text("utf-8").strip()
    return template.substitute(name=name, title=escaped(title), style=style, body=joined(*body))


def state(result: Result | None) -> str:
    """Return an outcome, or `known` for a deviation that the profile names and that was seen, or `not asked`."""
    if result is None:
        return "not asked"
    return "known" if result.known and result.outcome == "skipped" and result.exchanges else result.outcome


def sign(word: str) -> Markup:
    """Return the sign of a state, for eyes only."""
    return tag("span", SIGNS[word], class_="sign", aria_hidden="true")


def signed(word: str) -> Markup:
    """Return the sign and the word of a state."""
    return tag("span", sign(word), " ", tag("span", word, class_="word"), class_=f"state {kebab(word)}")


def kebab(word: str) -> str:
    """Return a word as the name of a class."""
    return word.replace(" ", "-")


def tally(results: Iterable[Result | None]) -> tuple[int, int]:
    """Return how many passed, and how many were judged; a known deviation is one."""
    states = [state(result) for result in results]
    passed = states.count("passed")
    return passed, passed + states.count("failed") + states.count("known")


def headline(report: Report) -> tuple[str, str]:
    """Return the state of the whole, and in words whether the server conforms."""
    passed, broken = musts(report)
    if report.conforms:
        return "passed", f"Conforms: every must that was judged holds, {passed} of {passed}"
    if broken:
        return (
            "failed",
            f"Does not conform: {broken} of {counted(passed + broken, 'must')} {'is' if broken == 1 else 'are'} broken",
        )
    return "skipped", "Not judged: nothing showed whether any must holds"


def musts(report: Report) -> tuple[int, int]:
    """Return how many musts of the protocol hold, and how many make the server non-conformant."""
    judged = [one for one in report.results if one.level == "must" and one.kind == "protocol"]
    return sum(one.outcome == "passed" for one in judged), sum(one.is_breach for one in judged)


def counted(number: int, noun: str) -> str:
    """Return `1 must`, `2 musts`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def server(report: Report) -> str:
    """Return the name of the server, else its host and port."""
    return report.name or report.base_url.partition("://")[2].removesuffix("/v1") or report.base_url


def day(seconds: int) -> str:
    """Return a time as a reader sees it."""
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")
    except (OverflowError, ValueError, OSError):
        return f"{seconds} s"


def took(report: Report) -> str:
    """Return how long a run took, and for what."""
    seconds = f"{report.seconds:.0f}" if report.seconds >= 10 else f"{report.seconds:.1f}"
    return f"{seconds} s, {counted(report.requests, 'request')}"


def cut(text: str, longest: int) -> str:
    """Return a text on one line, its end left out where it is long."""
    words = " ".join(text.split())
    return words if len(words) <= longest else f"{words[:longest]}… ({len(words) - longest} more characters)"


def prose(text: str) -> Markup:
    """Return a sentence in which what stands between backticks is code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escaped(text)
    return joined(*(tag("code", part) if index % 2 else part for index, part in enumerate(parts)))


def breakable(name: str) -> Markup:
    """Return a name that may be broken behind its colons."""
    first, *rest = name.split(":")
    return joined(first, *(joined(":", tag("wbr"), part) for part in rest))


def score(results: Iterable[Result | None]) -> Markup:
    """Return a cell that says how many passed of those that were judged."""
    passed, judged = tally(results)
    if not judged:
        return tag("td", "-", class_="none")
    word = "passed" if passed == judged else "failed"
    return tag("td", sign(word), f" {passed}/{judged}", class_=word)


def legend(words: Sequence[str]) -> Markup:
    """Return what the signs and the levels mean."""
    states = [joined(tag("dt", signed(word)), tag("dd", MEANINGS[word])) for word in words]
    levels = [joined(tag("dt", level), tag("dd", meaning)) for level, meaning in LEVELS.items()]
    return tag("dl", *states, *levels, class_="legend")


def scrolled(label: str, *content: Content) -> Markup:
    """Return a box of its own in which a wide table scrolls, by keys too."""
    return tag("div", *content, class_="scroll", role="region", aria_label=label, tabindex="0")
