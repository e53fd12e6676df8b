"""HTML made of elements: what is no markup already is escaped, so nothing a server sends can become any."""

import html

from antiphon.conformance.legible import legible

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
