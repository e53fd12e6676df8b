"""XML with limits, as events: no entities, no deep nesting, no external resources."""

import re
from collections.abc import Callable, Iterable, Mapping
from xml.parsers import expat

from antiphon.documents.extraction.problem import Problem, damaged

DEEPEST = 500
"""Nesting depth of elements."""

_ESCAPED = re.compile("_x([0-9A-Fa-f]{4})_")

Attributes = Mapping[str, str]
"""The attributes of an element by their name without its prefix."""


def parse(
    parts: Iterable[bytes],
    start: Callable[[str, Attributes], None],
    end: Callable[[str], None],
    text: Callable[[str], None],
) -> None:
    """Call `start`, `end` and `text` for the content of a document; names have no prefixes.

    Raises `Problem`.

    A document that declares entities is rejected at the declaration: some kilobytes of them can
    expand to gigabytes.
    """
    parser = expat.ParserCreate()
    parser.buffer_text = True
    depth = 0

    def opened(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > DEEPEST:
            raise Problem(
                f"The document nests more than {DEEPEST} elements, which is not accepted."
            )
        start(local(name), {local(key): value for key, value in attributes.items()})

    def closed(name: str) -> None:
        nonlocal depth
        depth -= 1
        end(local(name))

    parser.StartElementHandler = opened
    parser.EndElementHandler = closed
    parser.CharacterDataHandler = text
    parser.EntityDeclHandler = _refuse
    try:
        for part in parts:
            parser.Parse(part, False)
        parser.Parse(b"", True)
    except expat.ExpatError as error:
        raise damaged("document") from error


def local(name: str) -> str:
    """Return a name without its prefix: documents can choose their prefixes."""
    return name.rpartition(":")[2]


def unescaped(text: str) -> str:
    """Return the text of a cell: Office writes a control character as `_x000D_`, with the code of
    the character.
    """
    return (
        _ESCAPED.sub(_character, text).replace("\r\n", "\n").replace("\r", "\n")
        if "_x" in text
        else text
    )


def _character(found: re.Match[str]) -> str:
    code = int(found[1], 16)
    return chr(code) if chr(code).isprintable() or chr(code) in "\t\n\r" else ""


def ignore(*_: object) -> None:
    """Ignore an event."""


def _refuse(*_: object) -> None:
    raise Problem("The document declares XML entities, which is not accepted.")
