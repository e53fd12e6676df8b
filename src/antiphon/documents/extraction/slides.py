"""Presentations: pptx."""

import zipfile

from antiphon.documents.extraction import archive, markup
from antiphon.documents.extraction.charts import related, write_related_charts
from antiphon.documents.extraction.markup import Attributes
from antiphon.documents.extraction.output import Output


def read_pptx(content: bytes, output: Output) -> None:
    """Write the text of a presentation, slide by slide in their order, each with its charts, notes
    and comments.
    """
    with archive.opened(content) as opened:
        names = set(opened.namelist())
        places = [place for place in _slides(opened) if place in names]
        output.pages = len(places)
        for number, place in enumerate(places, 1):
            output.mark(f"## Slide {number}\n\n")
            write_paragraphs(opened, place, output)
            write_related_charts(opened, place, output)
            targets = [target for target in related(opened, place).values() if target in names]
            for head, folder in (
                ("", "/diagrams/data"),
                ("Notes:\n", "/notesSlides/"),
                ("Comments:\n", "/comments/"),
            ):
                for target in targets:
                    if folder in target:
                        output.mark(head)
                        write_paragraphs(opened, target, output)


def _slides(opened: zipfile.ZipFile) -> list[str]:
    ids: list[str] = []

    def start(element: str, attributes: Attributes) -> None:
        if element == "sldId":  # its number is `id`, and `r:id` comes after it
            ids.append(attributes.get("id", ""))

    name = "ppt/presentation.xml"
    markup.parse(archive.parts(opened, name), start, markup.ignore, markup.ignore)
    places = related(opened, name)
    return [places[one] for one in ids if one in places]


def write_paragraphs(opened: zipfile.ZipFile, place: str, output: Output) -> None:
    """Write the paragraphs of a part in DrawingML, or of comments."""
    is_text = False
    is_field = False

    def start(element: str, attributes: Attributes) -> None:
        nonlocal is_text, is_field
        if element in ("t", "text"):
            is_text = True
        elif element == "fld":  # the number of the slide, a date
            is_field = True
        elif element == "br":
            output.write("\n")

    def end(element: str) -> None:
        nonlocal is_text, is_field
        if element in ("t", "text"):
            is_text = False
        elif element == "fld":
            is_field = False
        if element in ("p", "text"):
            output.write("\n")

    def text(content: str) -> None:
        if is_text and not is_field:
            output.write(content)

    markup.parse(archive.parts(opened, place), start, end, text)
    output.write("\n")
