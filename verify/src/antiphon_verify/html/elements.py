"""Elements of pages and pictures: escaped text, the frame of a page, signs, scores, the legend."""

import html
from collections.abc import Iterable, Sequence
from pathlib import Path
from string import Template

from antiphon_verify.reading import legible
from antiphon_verify.report import Result
from antiphon_verify.wording import LEVELS, MEANINGS, tally

VOID = {"input", "rect", "wbr"}
"""Void elements."""


class Markup(str):
    """Text that is already markup."""

    __slots__ = ()


Content = Markup | str | int
"""What an element can contain."""


def escaped(text: str) -> Markup:
    """Return text as markup that shows it, with invisible characters as their numbers."""
    return Markup(html.escape(legible(text)))


def tag(name: str, *content: Content, **attributes: str | int | bool | None) -> Markup:
    """Return an element. `class_` becomes `class` and `aria_label` becomes `aria-label`; None and
    False are omitted.
    """
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
    "skipped": "–",  # noqa: RUF001 - a visible dash
    "not in report": "·",
}
"""The sign next to each word, so that neither colour nor word is the only cue."""


def page(name: str, title: str, *body: Content) -> str:
    """Return a whole page in one file, without external resources or scripts."""
    template = Template((FOLDER / "page.html").read_text("utf-8"))
    style = (FOLDER / "page.css").read_text("utf-8").strip()
    return template.substitute(name=name, title=escaped(title), style=style, body=joined(*body))


def sign(word: str) -> Markup:
    """Return the sign of a state, hidden from screen readers."""
    return tag("span", SIGNS[word], class_="sign", aria_hidden="true")


def signed(word: str) -> Markup:
    """Return the sign and the word of a state."""
    return tag(
        "span", sign(word), " ", tag("span", word, class_="word"), class_=f"state {kebab(word)}"
    )


def kebab(word: str) -> str:
    """Return a word as a class name."""
    return word.replace(" ", "-")


def prose(text: str) -> Markup:
    """Return a sentence with the text between backticks as code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escaped(text)
    return joined(*(tag("code", part) if index % 2 else part for index, part in enumerate(parts)))


def breakable(name: str) -> Markup:
    """Return a name that can break after its colons."""
    first, *rest = name.split(":")
    return joined(first, *(joined(":", tag("wbr"), part) for part in rest))


def score(results: Iterable[Result | None]) -> Markup:
    """Return a cell with how many passed of those that were judged."""
    passed, judged = tally(results)
    if not judged:
        return tag("td", "-", class_="none")
    word = "passed" if passed == judged else "failed"
    return tag("td", sign(word), f" {passed}/{judged}", class_=word)


def legend(words: Sequence[str]) -> Markup:
    """Return the legend of the signs and the levels."""
    states = [joined(tag("dt", signed(word)), tag("dd", MEANINGS[word])) for word in words]
    levels = [joined(tag("dt", level), tag("dd", meaning)) for level, meaning in LEVELS.items()]
    return tag("dl", *states, *levels, class_="legend")


def scrolled(label: str, *content: Content) -> Markup:
    """Return a box in which a wide table scrolls, also with the keyboard."""
    return tag("div", *content, class_="scroll", role="region", aria_label=label, tabindex="0")
