"""PDF: the text of its pages, and pages as images."""

import struct
import zlib
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from antiphon.documents.extraction.output import Output
from antiphon.documents.extraction.problem import (
    damaged,
    not_installed,
    not_loaded,
    protected,
    without_text,
)

PASSWORD = 4
"""PDFium's code for a document that needs a password (`FPDF_ERR_PASSWORD`)."""
SCAN = " Its pages are probably scans: run OCR on it first, or send its pages as images."
LEVEL = 6
"""Compression level of images."""


def read_pdf(content: bytes, output: Output) -> None:
    """Write the text of a PDF, with a line before each page. Raises `Problem`."""
    document = _opened(content)
    output.pages = len(document)
    most = output.bounds.pages or output.pages
    for number in range(min(output.pages, most)):
        output.mark(f"[Page {number + 1}]\n")
        _write_page(document, number, output)
    if output.is_blank:
        raise without_text("PDF", SCAN, output.pages)
    if output.pages > most:
        output.leave_out("pages", most, output.pages)


def _write_page(document: Any, number: int, output: Output) -> None:
    from pypdfium2 import PdfiumError  # noqa: PLC0415 - an extra

    from antiphon.documents.extraction import annotations  # noqa: PLC0415 - it needs this extra

    try:
        page = document[number]
        text = page.get_textpage()
        output.write(text.get_text_bounded().replace("\r\n", "\n").strip() + "\n")
        text.close()
        for line in annotations.lines_of(document, page):
            output.write(f"{line}\n")
        page.close()
    except PdfiumError:  # a damaged page does not make the others unreadable
        output.mark("[This page is damaged and cannot be read.]\n")
    output.write("\n")


def images(content: bytes, *, first: int, count: int, pixels: int, longest: int) -> Iterator[bytes]:
    """Return pages as PNG images, `pixels` on the longer side, until their bytes exceed
    `longest`.
    """
    from pypdfium2 import PdfiumError  # noqa: PLC0415 - as below

    document = _opened(content)
    size = 0
    for number in range(first, min(first + count, len(document))):
        try:
            image = _image_of(document, number, pixels)
        except PdfiumError as error:
            raise damaged("PDF") from error
        size += len(image)
        if size > longest:
            return
        yield image


def _opened(content: bytes) -> Any:
    try:
        import pypdfium2  # noqa: PLC0415 - an extra
    except ModuleNotFoundError as error:
        raise not_installed("PDF files") from error
    except Exception as error:  # such as a shared library that the system cannot load
        raise not_loaded("PDF files") from error
    try:
        document = pypdfium2.PdfDocument(content)
    except pypdfium2.PdfiumError as error:
        if getattr(error, "err_code", None) == PASSWORD:
            raise protected("PDF") from error
        raise damaged("PDF") from error
    with suppress(pypdfium2.PdfiumError):  # a damaged form does not make the pages unreadable
        document.init_forms()  # else neither text nor images have the values of fields
    return document


def _image_of(document: Any, number: int, pixels: int) -> bytes:
    page = document[number]
    scale = pixels / max(1.0, *page.get_size())
    bitmap = page.render(scale=scale, rev_byteorder=True, no_smoothtext=False)
    image = png(bytes(bitmap.buffer), bitmap.width, bitmap.height, bitmap.stride, bitmap.n_channels)
    bitmap.close()
    page.close()
    return image


def png(data: bytes, width: int, height: int, stride: int, channels: int) -> bytes:
    """Return an image of 1 (gray), 3 (RGB) or 4 (RGBA) bytes a pixel as PNG; each row has `stride`
    bytes.
    """
    rows = b"".join(
        b"\0" + data[row * stride : row * stride + width * channels] for row in range(height)
    )
    head = struct.pack(">IIBBBBB", width, height, 8, {1: 0, 3: 2, 4: 6}[channels], 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(rows, LEVEL)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, body) for kind, body in parts)


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
