"""Presentations: pptx."""

import zipfile
from posixpath import basename, dirname, join, normpath

from antiphon.documents.extraction import archive, markup
from antiphon.documents.extraction.markup import Attributes
from antiphon.documents.extraction.output import Output


def read_pptx(content: bytes, output: Output) -> None:
    """Write the text of a presentation, slide by slide in their order, each with its notes."""
    with archive.opened(content) as opened:
        names = set(opened.namelist())
        places = [place for place in _slides(opened) if place in names]
        output.pages = len(places)
        for number, place in enumerate(places, 1):
            output.mark(f"## Slide {number}\n\n")
            _write_part(opened, place, output)
            notes = [target for target in related(opened, place).values() if "/notesSlides/" in target]
            for target in notes[:1]:
                if target in names:
                    output.mark("Notes:\n")
                    _write_part(opened, target, output)


def related(opened: zipfile.ZipFile, name: str) -> dict[str, str]:
    """Return the other parts that a part of a document refers to, by the id of the reference."""
    found: dict[str, str] = {}

    def start(element: str, attributes: Attributes) -> None:
        if element == "Relationship" and attributes.get("TargetMode") != "External":
            target = attributes.get("Target", "")
            place = target[1:] if target.startswith("/") else normpath(join(dirname(name), target))
            found[attributes.get("Id", "")] = place

    rels = join(dirname(name), "_rels", f"{basename(name)}.rels")
    if rels in opened.namelist():
        markup.parse(archive.parts(opened, rels), start, _nothing, _nothing)
    return found


def _slides(opened: zipfile.ZipFile) -> list[str]:
    ids: list[str] = []

    def start(element: str, attributes: Attributes) -> None:
        if element == "sldId":  # its number is `id`, and `r:id` comes after it
            ids.append(attributes.get("id", ""))

    name = "ppt/presentation.xml"
    markup.parse(archive.parts(opened, name), start, _nothing, _nothing)
    places = related(opened, name)
    return [places[one] for one in ids if one in places]


def _write_part(opened: zipfile.ZipFile, place: str, output: Output) -> None:
    is_text, is_field = False, False

    def start(element: str, attributes: Attributes) -> None:
        nonlocal is_text, is_field
        if element == "t":
            is_text = True
        elif element == "fld":  # the number of the slide, a date
            is_field = True
        elif element == "br":
            output.write("\n")

    def end(element: str) -> None:
        nonlocal is_text, is_field
        if element == "t":
            is_text = False
        elif element == "fld":
            is_field = False
        elif element == "p":
            output.write("\n")

    def text(content: str) -> None:
        if is_text and not is_field:
            output.write(content)

    markup.parse(archive.parts(opened, place), start, end, text)
    output.write("\n")


def _nothing(*_: object) -> None:
    """Ignore an event."""
