"""The fields of a form as typed data, or the one error that describes the problem."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, get_args

from antiphon.errors import ClientError
from antiphon.protocol.files import CompleteUpload, CreateUpload, FileForm, FilesQuery, Purpose
from antiphon.protocol.validation import refusals
from antiphon.protocol.validation.queries import decode_query
from antiphon.protocol.validation.validate import decode_object, fit

_NESTED = re.compile(r"(\w+)\[(\w+)\]")
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")


def decode_file_form(fields: Mapping[str, str]) -> FileForm:
    """Return the form of `POST /files`, in which `expires_after` is `expires_after[anchor]` and
    `expires_after[seconds]`.

    Raises `ClientError` (400).
    """
    data: dict[str, Any] = {}
    for name, value in fields.items():
        if nested := _NESTED.fullmatch(name):
            inner = data.setdefault(nested[1], {})
            if isinstance(inner, dict):
                inner[nested[2]] = int(value) if _INTEGER.fullmatch(value) else value
        else:
            data[name] = value
    return fit(data, FileForm)


def check_purpose(purpose: str) -> None:
    """Raise `ClientError` (400) for an unknown purpose: before the file is received, if the form
    has it first.
    """
    if purpose not in get_args(Purpose):
        raise refusals.invalid_value("purpose", purpose, get_args(Purpose))


def decode_files_query(params: Mapping[str, Sequence[str]]) -> FilesQuery:
    """Return the query of `GET /files`. Raises `ClientError` (400)."""
    return decode_query(params, FilesQuery)


def decode_create_upload(body: bytes) -> CreateUpload:
    """Return the body of `POST /uploads`. Raises `ClientError` (400)."""
    return fit(decode_object(body), CreateUpload)


def decode_complete_upload(body: bytes) -> CompleteUpload:
    """Return the body of `POST /uploads/{id}/complete`. Raises `ClientError` (400)."""
    request = fit(decode_object(body), CompleteUpload)
    if request.md5 is not None and not re.fullmatch("[0-9a-fA-F]{32}", request.md5):
        raise ClientError(
            "Invalid 'md5': expected 32 hexadecimal digits.", code="invalid_value", param="md5"
        )
    return request
