"""Images and files in a request: what is text goes into the message, any other file is the dialect's part for files."""

import base64
from collections.abc import Callable
from pathlib import PurePosixPath
from typing import Any

from antiphon.protocol.items.content import InputFile, InputImage
from antiphon.protocol.validation import refusals
from antiphon.protocol.validation.media import SLICE, base64_of, data_of
from antiphon.translation.dialects.dialect import Dialect

_TEXT_TYPES = frozenset({
    "application/json", "application/jsonl", "application/x-ndjson", "application/ld+json", "application/geo+json",
    "application/xml", "application/xhtml+xml", "application/yaml", "application/x-yaml", "application/toml",
    "application/sql", "application/javascript", "application/x-javascript", "application/typescript",
    "application/x-sh", "application/x-python", "application/graphql", "application/x-tex", "application/x-subrip",
    "image/svg+xml",
})  # fmt: skip

_TEXT_EXTENSIONS = frozenset({
    ".txt", ".md", ".markdown", ".rst", ".adoc", ".tex", ".log", ".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".yaml",
    ".yml", ".toml", ".ini", ".cfg", ".conf", ".env", ".xml", ".html", ".htm", ".css", ".scss", ".less", ".svg", ".js",
    ".mjs", ".cjs", ".jsx", ".ts", ".tsx", ".py", ".pyi", ".rb", ".php", ".pl", ".lua", ".r", ".jl", ".go", ".rs",
    ".c", ".h", ".cc", ".cpp", ".cxx", ".hpp", ".cs", ".java", ".kt", ".kts", ".scala", ".swift", ".m", ".sh", ".bash",
    ".zsh", ".fish", ".ps1", ".bat", ".sql", ".graphql", ".proto", ".diff", ".patch", ".srt", ".vtt", ".ics", ".vcf",
    ".eml", ".tf", ".hcl",
})  # fmt: skip

_DETAIL = {"low": "low", "high": "high", "original": "high"}
"""Chat has no `original`; `auto` is what an absent detail means."""


def image_part(part: InputImage, param: str) -> dict[str, Any]:
    """Return the Chat content part for an image; raises `ClientError` where it is no URL."""
    if not part.image_url:
        raise refusals.not_served(f"{param}.file_id") if part.file_id else refusals.missing(f"{param}.image_url")
    image: dict[str, str] = {"url": part.image_url}
    if part.detail in _DETAIL:
        image["detail"] = _DETAIL[part.detail]
    return {"type": "image_url", "image_url": image}


def file_part(part: InputFile, dialect: Dialect, param: str) -> dict[str, Any]:
    """Return the Chat content part for a file.

    `param` is the part's path in the request, for errors. Raises `ClientError` where the file's data is not base64,
    or where the dialect has no place for it.
    """
    if part.file_id:
        raise refusals.not_served(f"{param}.file_id")
    if part.file_url:
        return _by_url(part, part.file_url, dialect, f"{param}.file_url")
    if part.file_data:
        return _by_data(part, part.file_data, dialect, f"{param}.file_data")
    raise refusals.missing(f"{param}.file_data")


def _by_url(part: InputFile, url: str, dialect: Dialect, param: str) -> dict[str, Any]:
    if not (dialect.file_part and dialect.file_urls):
        raise refusals.invalid(param, "files by URL are not supported with this model. Send 'file_data' instead.")
    return _FILE_PARTS[dialect.file_part](part.filename or _name_in(url), url)


def _by_data(part: InputFile, data: str, dialect: Dialect, param: str) -> dict[str, Any]:
    media_type, raw = _decode(data, param)
    name = part.filename or "file"
    extension = PurePosixPath(name.lower()).suffix
    text = _as_text(media_type, extension, raw)
    if text is not None:
        return {"type": "text", "text": f'<file name="{name}">\n{text}\n</file>'}
    if not dialect.file_part:
        raise refusals.invalid(param, f"only text files are supported with this model. {_remedy(dialect)}")
    media_type = media_type or _told_by_content(raw)
    return _FILE_PARTS[dialect.file_part](name, f"data:{media_type};base64,{_encode(raw)}")


def _remedy(dialect: Dialect) -> str:
    """Return which settings of the backend let other files through."""
    return (
        f"Its backend has the dialect '{dialect.name}', which cannot carry other files. If the model reads them, the "
        'server\'s operator sets `dialect` of this backend to one with a file part, or `api` to "responses".'
    )


def _decode(data: str, param: str) -> tuple[str, bytes]:
    """Return the media type, empty where unsaid, and the bytes of base64 that may be a `data:` URL."""
    media_type, begin = data_of(data) if data[:5].lower() == "data:" else ("", 0)
    if media_type is None:
        raise refusals.invalid(param, "expected a data URL with base64-encoded data.")
    try:
        return media_type, b"".join(base64_of(data, begin))
    except ValueError:
        raise refusals.invalid(param, "expected base64-encoded data.") from None


def _encode(raw: bytes) -> str:
    """Return base64, made in slices, so that other threads run in between."""
    size = SLICE // 4 * 3
    return "".join(base64.b64encode(raw[at : at + size]).decode() for at in range(0, len(raw), size))


def _as_text(media_type: str, extension: str, raw: bytes) -> str | None:
    is_text = media_type.startswith("text/") or media_type in _TEXT_TYPES or extension in _TEXT_EXTENSIONS
    if not is_text:
        return None
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None


def _told_by_content(raw: bytes) -> str:
    return "application/pdf" if raw.startswith(b"%PDF-") else "application/octet-stream"


def _name_in(url: str) -> str:
    return PurePosixPath(url.partition("?")[0]).name or "file"


_FILE_PARTS: dict[str, Callable[[str, str], dict[str, Any]]] = {
    "file": lambda name, data: {"type": "file", "file": {"filename": name, "file_data": data}},
    "document_url": lambda name, data: {"type": "document_url", "document_name": name, "document_url": data},
}
