"""HTML files, as Markdown."""

from antiphon.documents.extraction import page
from antiphon.documents.extraction.output import Output


def read_html(content: bytes, output: Output) -> None:
    """Write a page as Markdown. Links are not resolved, since a file has no address."""
    output.write(page.read(content, url="", charset="", is_html=True, longest=len(content) + 1)["text"])
