"""Files, the blobs that hold their content, and uploads in parts, as plain values."""

from dataclasses import dataclass

BLOB_PART = 1024 * 1024
"""Bytes of each part of a blob that the store holds; the last part may have fewer."""


@dataclass(frozen=True, slots=True)
class StoredFile:
    """One file. `filename` is what the client sent, cleaned; it is never a path of the server."""

    id: str
    """`file-` and 22 characters of base62."""
    tenant: str
    filename: str
    purpose: str
    size: int
    """Bytes of the content."""
    digest: bytes
    """SHA-256 of the content."""
    blob: str
    """Names the content in the blob storage. Files of one tenant with the same content have one blob."""
    created_at: int
    expires_at: int | None
    """From when on it is unknown; None for never."""


@dataclass(frozen=True, slots=True)
class FileQuery:
    """Which files to list: at most `limit`, in the order of creation, with this purpose.

    `after` is the id of the file before the page.
    """

    limit: int
    after: str | None = None
    descending: bool = True
    purpose: str | None = None


@dataclass(frozen=True, slots=True)
class FilePage:
    """A part of the list. `is_unknown` where `after` names no file; then there is no part."""

    files: tuple[StoredFile, ...] = ()
    has_more: bool = False
    is_unknown: bool = False


@dataclass(frozen=True, slots=True)
class FileQuota:
    """How much one tenant may store: files, and their bytes. Pending uploads count."""

    files: int
    size: int


@dataclass(frozen=True, slots=True)
class FileUse:
    """How much one tenant has stored: files with pending uploads, and their bytes."""

    files: int
    size: int


@dataclass(frozen=True, slots=True)
class StoredUpload:
    """A file that is uploaded in parts. Until it is completed it reserves `size` bytes of its tenant's quota."""

    id: str
    tenant: str
    filename: str
    purpose: str
    size: int
    """Bytes that all parts have together."""
    mime_type: str
    created_at: int
    expires_at: int
    """From when on no part is accepted."""
    lifetime: int | None
    """Seconds from the completion after which the file expires; None for never."""
    status: str = "pending"
    """`pending`, `completed`, `cancelled` or `expired`."""
    file: str | None = None
    """Id of the file that it became."""


@dataclass(frozen=True, slots=True)
class StoredPart:
    """One part of an upload, with a blob of its own."""

    id: str
    tenant: str
    upload: str
    size: int
    blob: str
    created_at: int


@dataclass(frozen=True, slots=True)
class FileText:
    """The text that was read in a file's content, kept so that the content is read once."""

    tenant: str
    digest: bytes
    """SHA-256 of the content."""
    version: int
    """Of the reader: another one may read another text."""
    kind: str
    pages: int
    is_cut: bool
    body: bytes
    """The text in UTF-8, compressed with zlib."""
    expires_at: int
