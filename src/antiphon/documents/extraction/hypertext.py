"""HTML files, as Markdown."""

from antiphon.documents.extraction import page, plain
from antiphon.documents.extraction.output import Output
from antiphon.documents.extraction.problem import Problem


def read_html(content: bytes, output: Output) -> None:
    """Write a page as Markdown.

    Links are not resolved, since a file has no address. Raises `Problem`.
    """
    html = _decoded(content).replace("\0", "")
    text, is_whole = page.as_markdown(html, "", keeps_navigation=True)
    if not is_whole:
        raise Problem(f"The page nests more than {page.DEEPEST} elements, which is not accepted.")
    if (title := page.title_of(html)) and title not in text:
        output.mark(f"Title: {title}\n\n")
    output.write(text)


def _decoded(content: bytes) -> str:
    """Return the text of a page in the charset that it declares, else like any other text: no
    charset is guessed.
    """
    has_mark = any(content.startswith(mark) for mark, _ in plain.BYTE_ORDER_MARKS)
    codec = "" if has_mark else page.declared(content)
    if not codec:
        return plain.decoded(content)
    try:
        return content.decode(codec)
    except UnicodeDecodeError as error:
        raise Problem(
            f"The page declares the charset {codec}, and is not text in it. Save it in UTF-8."
        ) from error
