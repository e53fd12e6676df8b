"""All supported formats: module, function, and display name."""

from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module

from antiphon.documents.extraction.kinds import kind_of
from antiphon.documents.extraction.output import ExtractionBounds, Full, Output
from antiphon.documents.extraction.problem import not_installed, not_loaded, without_text

FORMATS: Mapping[str, tuple[str, str, str]] = {
    "pdf": ("pdf", "read_pdf", "PDF"),
    "docx": ("word", "read_docx", "document"),
    "odt": ("word", "read_odt", "document"),
    "pptx": ("slides", "read_pptx", "presentation"),
    "xlsx": ("sheets", "read_xlsx", "workbook"),
    "rtf": ("rtf", "read_rtf", "document"),
    "html": ("hypertext", "read_html", "page"),
    "csv": ("tables", "read_csv", "table"),
    "text": ("plain", "read_text", "file"),
}
"""A kind of file -> the module and the function that read it, and its display name."""


def read(content: bytes, filename: str, bounds: ExtractionBounds) -> tuple[str, Output]:
    """Return the kind of a file and its text. Raises `Problem`."""
    kind = kind_of(content, filename)
    module, function, what = FORMATS[kind]
    output = Output(bounds)
    try:
        reader = getattr(import_module(f"{__package__}.{module}"), function)
    except ModuleNotFoundError as error:  # a package of the extra
        raise not_installed("HTML files") from error
    except Exception as error:
        raise not_loaded("HTML files") from error
    with suppress(Full):
        reader(content, output)
    if output.is_blank:
        raise without_text(what)
    return kind, output
