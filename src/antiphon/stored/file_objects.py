"""The API's objects for files and uploads, and the sanitizing of filenames."""

from collections.abc import Sequence
from typing import Any
from unicodedata import category

from antiphon.storage.records.files import StoredFile, StoredPart, StoredUpload

LONGEST_NAME = 255
"""Maximum bytes of a filename, as in file systems."""

LONGEST_ENDING = 32
"""Maximum bytes of a filename's extension that is preserved when the name is truncated."""

_DIRECTIONS = frozenset("\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Characters that end a line or change the text direction, and could display `exe.txt` as `txt.exe`."""


def shown_file(file: StoredFile) -> dict[str, Any]:
    """Return a file as an API object."""
    return {
        "id": file.id,
        "object": "file",
        "bytes": file.size,
        "created_at": file.created_at,
        "expires_at": file.expires_at,
        "filename": file.filename,
        "purpose": file.purpose,
        "status": "processed",
        "status_details": None,
    }


def shown_files(files: Sequence[StoredFile], has_more: bool) -> dict[str, Any]:
    """Return a page of files as an API object."""
    first, last = (files[0].id, files[-1].id) if files else (None, None)
    data = [shown_file(file) for file in files]
    return {"object": "list", "data": data, "first_id": first, "last_id": last, "has_more": has_more}


def shown_upload(upload: StoredUpload, file: StoredFile | None = None) -> dict[str, Any]:
    """Return an upload as an API object, with the resulting file."""
    return {
        "id": upload.id,
        "object": "upload",
        "bytes": upload.size,
        "created_at": upload.created_at,
        "expires_at": upload.expires_at,
        "filename": upload.filename,
        "purpose": upload.purpose,
        "status": upload.status,
        "file": None if file is None else shown_file(file),
    }


def shown_part(part: StoredPart) -> dict[str, Any]:
    """Return a part of an upload as an API object."""
    return {"id": part.id, "object": "upload.part", "created_at": part.created_at, "upload_id": part.upload}


def clean_filename(name: str) -> str:
    """Return the last component of a name, without control characters, in at most 255 bytes; empty if nothing remains.

    A filename is only data: this server opens no file by it, but a client that saves the content may.
    """
    last = name.replace("\\", "/").rpartition("/")[2]
    kept = "".join(mark for mark in last if category(mark) not in ("Cc", "Cs") and mark not in _DIRECTIONS).strip()
    if not kept.strip("."):
        return ""
    if len(kept.encode()) <= LONGEST_NAME:
        return kept
    stem, dot, ending = kept.rpartition(".")
    ending = f"{dot}{ending}" if stem and len(ending.encode()) < LONGEST_ENDING else ""
    room = LONGEST_NAME - len(ending.encode())
    return kept.removesuffix(ending).encode()[:room].decode("utf-8", "ignore") + ending
