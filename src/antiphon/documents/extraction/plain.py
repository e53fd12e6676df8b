"""Text, Markdown, source code, JSON, XML: unchanged, in UTF-8 or UTF-16."""

import codecs

from antiphon.documents.extraction.output import Output
from antiphon.documents.extraction.problem import Problem

BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def read_text(content: bytes, output: Output) -> None:
    """Write text unchanged."""
    output.write(decoded(content))


def decoded(content: bytes) -> str:
    """Return text. Raises `Problem` for bytes that are neither UTF-8 nor UTF-16 with a byte order
    mark.
    """
    codec = next((codec for mark, codec in BYTE_ORDER_MARKS if content.startswith(mark)), "utf-8")
    try:
        text = content.decode(codec)
    except UnicodeDecodeError as error:
        raise Problem(
            "The file is not text in UTF-8 or UTF-16. Save it in UTF-8, or send another format."
        ) from error
    if "\0" in text:
        raise Problem(
            "The file is not text: it contains zero bytes. Send a supported format.",
            "unsupported_file",
        )
    return text
