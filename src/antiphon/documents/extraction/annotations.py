"""What a page of a PDF has besides its content: values of form fields, and comments."""

from collections.abc import Callable, Iterator
from ctypes import POINTER, c_ushort, cast, create_string_buffer
from typing import Any

import pypdfium2.raw as pdfium

_CHOICES = frozenset({pdfium.FPDF_FORMFIELD_CHECKBOX, pdfium.FPDF_FORMFIELD_RADIOBUTTON})
_TEXTS = frozenset({pdfium.FPDF_FORMFIELD_TEXTFIELD, pdfium.FPDF_FORMFIELD_COMBOBOX})


def lines_of(document: Any, page: Any) -> Iterator[str]:
    """Yield a line for each form field with a value, and for each comment.

    A value can have lines of its own.
    """
    for number in range(pdfium.FPDFPage_GetAnnotCount(page)):
        annotation = pdfium.FPDFPage_GetAnnot(page, number)
        if not annotation:
            continue
        try:
            line = _line(document.formenv, annotation)
        finally:
            pdfium.FPDFPage_CloseAnnot(annotation)
        if line:
            yield line


def _line(forms: Any, annotation: Any) -> str:
    kind = pdfium.FPDFAnnot_GetSubtype(annotation)
    if kind == pdfium.FPDF_ANNOT_WIDGET:
        value = _value(forms, annotation) if forms else ""
        if not value:
            return ""
        names = (pdfium.FPDFAnnot_GetFormFieldAlternateName, pdfium.FPDFAnnot_GetFormFieldName)
        name = next(filter(None, (_read(read, forms, annotation) for read in names)), "")
        return f"[Form field {name}: {value}]"
    if kind == pdfium.FPDF_ANNOT_POPUP:  # it shows the text of another one
        return ""
    text = _read(pdfium.FPDFAnnot_GetStringValue, annotation, b"Contents")
    return f"[Comment: {text}]" if text else ""


def _value(forms: Any, annotation: Any) -> str:
    kind = pdfium.FPDFAnnot_GetFormFieldType(forms, annotation)
    if kind in _TEXTS:
        return _read(pdfium.FPDFAnnot_GetFormFieldValue, forms, annotation)
    if kind in _CHOICES and pdfium.FPDFAnnot_IsChecked(forms, annotation):
        return _read(pdfium.FPDFAnnot_GetFormFieldExportValue, forms, annotation) or "yes"
    if kind == pdfium.FPDF_FORMFIELD_LISTBOX:
        chosen = [
            _read(pdfium.FPDFAnnot_GetOptionLabel, forms, annotation, option)
            for option in range(pdfium.FPDFAnnot_GetOptionCount(forms, annotation))
            if pdfium.FPDFAnnot_IsOptionSelected(forms, annotation, option)
        ]
        return ", ".join(chosen)
    return ""


def _read(function: Callable[..., int], *arguments: Any) -> str:
    """Return a text of PDFium: a call states its size in bytes, another one fills a buffer with
    UTF-16.
    """
    size = function(*arguments, None, 0)
    if size <= 2:
        return ""
    buffer = create_string_buffer(size)
    function(*arguments, cast(buffer, POINTER(c_ushort)), size)
    return (
        buffer.raw[: size - 2]
        .decode("utf-16-le", "replace")
        .replace("\r\n", "\n")
        .replace("\r", "\n")
        .strip()
    )
