"""HTML made of elements: what is no markup already is escaped, so nothing a server sends can become any."""

import html
import re

UNSEEN = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"
)
"""Characters that no page shall hold: controls, half a character, and those that turn the direction of writing."""

VOID = {"input", "rect", "wbr"}
"""Elements that hold nothing."""


class Markup(str):
    """Text that is markup already."""

    __slots__ = ()


Content = Markup | str | int
"""What an element may hold."""


def escaped(text: str) -> Markup:
    """Return text as markup that shows it, characters that would not be seen by their numbers."""
    return Markup(html.escape(UNSEEN.sub(_numbered, text)))


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


def _numbered(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"
