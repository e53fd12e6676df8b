"""Images and files in a request: text goes into the message, any other file is read or becomes the
dialect's part.
"""

import base64
from collections.abc import Callable
from pathlib import PurePosixPath
from typing import Any

from antiphon.errors import ClientError
from antiphon.protocol.items.content import InputFile, InputImage
from antiphon.protocol.untrusted import framed_file
from antiphon.protocol.validation import refusals
from antiphon.protocol.validation.media import SLICE, base64_of, data_of
from antiphon.translation.dialects.dialect import Dialect
from antiphon.translation.files import ReadFiles

_TEXT_TYPES = frozenset({
    "application/json", "application/jsonl", "application/x-ndjson", "application/ld+json", "application/geo+json",  # noqa: E501 - one text, or a row of a table
    "application/xml", "application/xhtml+xml", "application/yaml", "application/x-yaml", "application/toml",  # noqa: E501 - one text, or a row of a table
    "application/sql", "application/javascript", "application/x-javascript", "application/typescript",  # noqa: E501 - one text, or a row of a table
    "application/x-sh", "application/x-python", "application/graphql", "application/x-tex", "application/x-subrip",  # noqa: E501 - one text, or a row of a table
    "image/svg+xml",
})  # fmt: skip

_TEXT_EXTENSIONS = frozenset({
    ".txt", ".md", ".markdown", ".rst", ".adoc", ".tex", ".log", ".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".yaml",  # noqa: E501 - one text, or a row of a table
    ".yml", ".toml", ".ini", ".cfg", ".conf", ".env", ".xml", ".html", ".htm", ".css", ".scss", ".less", ".svg", ".js",  # noqa: E501 - one text, or a row of a table
    ".mjs", ".cjs", ".jsx", ".ts", ".tsx", ".py", ".pyi", ".rb", ".php", ".pl", ".lua", ".r", ".jl", ".go", ".rs",  # noqa: E501 - one text, or a row of a table
    ".c", ".h", ".cc", ".cpp", ".cxx", ".hpp", ".cs", ".java", ".kt", ".kts", ".scala", ".swift", ".m", ".sh", ".bash",  # noqa: E501 - one text, or a row of a table
    ".zsh", ".fish", ".ps1", ".bat", ".sql", ".graphql", ".proto", ".diff", ".patch", ".srt", ".vtt", ".ics", ".vcf",  # noqa: E501 - one text, or a row of a table
    ".eml", ".tf", ".hcl",
})  # fmt: skip

_LAID_OUT = frozenset({".html", ".htm", ".xhtml", ".csv", ".tsv", ".iif"})
_LAID_OUT_TYPES = frozenset(
    {"text/html", "text/csv", "text/tab-separated-values", "application/xhtml+xml"}
)

_DETAIL = {"low": "low", "high": "high", "original": "high"}
"""Chat has no `original`; `auto` is the meaning of an absent detail."""


def image_part(part: InputImage, param: str) -> dict[str, Any]:
    """Return the Chat content part for an image; raises `ClientError` if it has no URL."""
    if not part.image_url:
        raise (
            refusals.unsupported(f"{param}.file_id")
            if part.file_id
            else refusals.missing(f"{param}.image_url")
        )
    image: dict[str, str] = {"url": part.image_url}
    if part.detail in _DETAIL:
        image["detail"] = _DETAIL[part.detail]
    return {"type": "image_url", "image_url": image}


def file_parts(
    part: InputFile, dialect: Dialect, param: str, files: ReadFiles | None = None
) -> list[dict[str, Any]]:
    """Return the Chat content parts for a file: its text, with images of its pages, or the
    dialect's part for files.

    `param` is the part's path in the request, for errors. `files` are those that were read for the
    request; without it, only text in `file_data` becomes text. Raises `ClientError` for a file that
    cannot be sent, and `UnreadFile` for one that must be read first.
    """
    if files is None:
        return [_unread_part(part, dialect, param)]
    if dialect.file_part:
        native = _native_part(part, dialect, param, files)
        if not (dialect.pdf_only and _is_foreign(native)):
            return [native]
    if part.file_data and is_plain_text(part) and (text := _inline(part, part.file_data, param)):
        return [text]
    file = files.find(part, "pages" if dialect.sees_images and part.detail != "low" else "text")
    if file.error is not None:
        raise _with_remedy(file.error, dialect) if file.is_opaque else file.error
    images = [{"type": "image_url", "image_url": {"url": url}} for url in file.images]
    return [*([{"type": "text", "text": file.text}] if file.text else []), *images]


def _is_foreign(native: dict[str, Any]) -> bool:
    """Whether this is the data of a file that is neither a PDF file nor an image."""
    data = native["file"]["file_data"] if native["type"] == "file" else ""
    return data.startswith("data:") and not data.startswith(("data:application/pdf", "data:image/"))


def _native_part(part: InputFile, dialect: Dialect, param: str, files: ReadFiles) -> dict[str, Any]:
    """Return the part of a backend that reads files itself; it receives the content if it cannot
    fetch the file.
    """
    if not part.file_id and (part.file_data or dialect.file_urls):
        return _unread_part(part, dialect, param)
    file = files.find(part, "data")
    if file.error is not None:
        raise file.error
    return _by_data(file.name, file.data, dialect, param)


def _unread_part(part: InputFile, dialect: Dialect, param: str) -> dict[str, Any]:
    if part.file_id:
        raise refusals.unsupported(f"{param}.file_id")
    if part.file_url:
        return _by_url(part, part.file_url, dialect, f"{param}.file_url")
    if part.file_data:
        return _by_data(part.filename or "file", part.file_data, dialect, f"{param}.file_data")
    raise refusals.missing(f"{param}.file_data")


def _inline(part: InputFile, data: str, param: str) -> dict[str, Any] | None:
    """Return the text of a file that is plain text; None if it must be read."""
    _, raw = decode(data, f"{param}.file_data")
    text = _decoded(raw)
    return None if text is None else _text_part(part.filename or "file", text)


def is_plain_text(part: InputFile) -> bool:
    """Whether a file in the request is text by its name or its media type, and need not be read for
    that.

    HTML pages and tables are text, but are better read: as Markdown, and not longer than a model
    can use.
    """
    if not part.file_data:
        return False
    media_type = data_of(part.file_data)[0] if part.file_data[:5].lower() == "data:" else ""
    extension = _extension(part.filename or "")
    is_laid_out = extension in _LAID_OUT or media_type in _LAID_OUT_TYPES
    return not is_laid_out and _is_text(media_type or "", extension)


def _text_part(name: str, text: str) -> dict[str, Any]:
    return {"type": "text", "text": framed_file(text, name)}


def _extension(name: str) -> str:
    return PurePosixPath(name.lower()).suffix


def _by_url(part: InputFile, url: str, dialect: Dialect, param: str) -> dict[str, Any]:
    if not (dialect.file_part and dialect.file_urls):
        raise refusals.invalid(
            param, "files by URL are not supported with this model. Send 'file_data' instead."
        )
    return _FILE_PARTS[dialect.file_part](part.filename or name_in(url), url)


def _by_data(name: str, data: str, dialect: Dialect, param: str) -> dict[str, Any]:
    media_type, raw = decode(data, param)
    text = _as_text(media_type, _extension(name), raw)
    if text is not None:
        return _text_part(name, text)
    if not dialect.file_part:
        raise refusals.invalid(
            param, f"only text files are supported with this model. {_remedy(dialect)}"
        )
    media_type = media_type or _type_by_content(raw)
    return _FILE_PARTS[dialect.file_part](name, f"data:{media_type};base64,{encode(raw)}")


def _with_remedy(error: ClientError, dialect: Dialect) -> ClientError:
    return ClientError(
        f"{error.message} {_remedy(dialect)}",
        status=error.status,
        code=error.code,
        param=error.param,
    )


def _remedy(dialect: Dialect) -> str:
    """Return which settings of the backend let other files through."""
    return (
        f"Its backend has the dialect '{dialect.name}', which does not accept files. "
        "If the model reads them, the server's operator sets `dialect` of this backend to one "
        'with a file part, or `api` to "responses".'
    )


def decode(data: str, param: str) -> tuple[str, bytes]:
    """Return the media type, empty if missing, and the bytes of base64 that can be a `data:`
    URL.
    """
    media_type, begin = data_of(data) if data[:5].lower() == "data:" else ("", 0)
    if media_type is None:
        raise refusals.invalid(param, "expected a data URL with base64-encoded data.")
    try:
        return media_type, b"".join(base64_of(data, begin))
    except ValueError:
        raise refusals.invalid(param, "expected base64-encoded data.") from None


def encode(raw: bytes) -> str:
    """Return base64, created in slices, so that other threads run in between."""
    size = SLICE // 4 * 3
    return "".join(
        base64.b64encode(raw[at : at + size]).decode() for at in range(0, len(raw), size)
    )


def _as_text(media_type: str, extension: str, raw: bytes) -> str | None:
    return _decoded(raw) if _is_text(media_type, extension) else None


def _is_text(media_type: str, extension: str) -> bool:
    return (
        media_type.startswith("text/") or media_type in _TEXT_TYPES or extension in _TEXT_EXTENSIONS
    )


def _decoded(raw: bytes) -> str | None:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None


def _type_by_content(raw: bytes) -> str:
    return "application/pdf" if raw.startswith(b"%PDF-") else "application/octet-stream"


def name_in(url: str) -> str:
    """Return the name of the file at a URL."""
    return PurePosixPath(url.partition("?")[0]).name or "file"


_FILE_PARTS: dict[str, Callable[[str, str], dict[str, Any]]] = {
    "file": lambda name, data: {"type": "file", "file": {"filename": name, "file_data": data}},
    "document_url": lambda name, data: {
        "type": "document_url",
        "document_name": name,
        "document_url": data,
    },
}
