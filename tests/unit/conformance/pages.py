"""Pages as a parser reads them: which elements, texts, anchors and addresses they have, and what is
wrong with them.
"""

from dataclasses import dataclass, field
from html.parser import HTMLParser

from antiphon_verify.html.elements import VOID

ALONE = VOID | {"meta", "link"}
LOADING = {
    "src",
    "href",
    "srcset",
    "data",
    "action",
    "formaction",
    "poster",
    "background",
    "xlink:href",
}


@dataclass
class Element:
    name: str
    attributes: dict[str, str]
    begin: int = 0
    texts: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(self.texts)


@dataclass
class Page(HTMLParser):
    """A page read: `faults` are ends without a beginning, and beginnings without an end."""

    elements: list[Element] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    open: list[Element] = field(default_factory=list)
    _texts: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs}, len(self._texts))
        self.elements.append(element)
        if tag not in ALONE:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ALONE:
            self.faults.append(f"<{tag}/>")
        self.elements.append(Element(tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        element = self.open.pop() if self.open else Element("nothing", {})
        element.texts = self._texts[element.begin :]
        if element.name != tag:
            self.faults.append(f"</{tag}>")

    def handle_data(self, data: str) -> None:
        self._texts.append(data)

    def named(self, name: str) -> list[Element]:
        return [element for element in self.elements if element.name == name]

    def classed(self, name: str) -> list[Element]:
        return [
            element
            for element in self.elements
            if name in element.attributes.get("class", "").split()
        ]

    @property
    def ids(self) -> list[str]:
        return [element.attributes["id"] for element in self.elements if "id" in element.attributes]

    @property
    def addresses(self) -> list[str]:
        return [
            value
            for each in self.elements
            for name, value in each.attributes.items()
            if name in LOADING
        ]

    @property
    def text(self) -> str:
        return self.elements[0].text if self.elements else ""


def read(page: str) -> Page:
    """Return a page read to its end."""
    parsed = Page()
    parsed.feed(page)
    parsed.close()
    parsed.faults += [f"<{element.name}>" for element in parsed.open]
    return parsed


def assert_sound(page: str) -> Page:
    """Whatever stands on a page, it is well-formed, loads nothing, runs nothing, and jumps only to
    what it has.
    """
    parsed = read(page)
    names = {element.name for element in parsed.elements}
    jumps = {address[1:] for address in parsed.addresses if address.startswith("#")}
    handlers = {
        name for each in parsed.elements for name in each.attributes if name.startswith("on")
    }

    assert not parsed.faults
    assert page.startswith("<!DOCTYPE html>\n")
    assert not names & {
        "script",
        "img",
        "iframe",
        "object",
        "embed",
        "form",
        "video",
        "audio",
        "base",
    }
    assert not handlers
    assert all(address.startswith(("#", "data:,")) for address in parsed.addresses)
    assert "url(" not in page.partition("</style>")[0]
    assert "@import" not in page.partition("</style>")[0]
    assert jumps <= set(parsed.ids)
    assert len(parsed.ids) == len(set(parsed.ids))
    page.encode()
    return parsed


def levels(parsed: Page) -> list[int]:
    """Return the levels of the headings in their order."""
    return [
        int(each.name[1])
        for each in parsed.elements
        if each.name in {"h1", "h2", "h3", "h4", "h5", "h6"}
    ]
