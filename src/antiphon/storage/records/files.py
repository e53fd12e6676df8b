"""Files, the blobs that hold their content, and uploads in parts, as plain values."""

from msgspec import Struct

from antiphon.storage.records.pages import ListQuery

BLOB_PART = 1024 * 1024
"""Size of each part of a blob that the store holds, in bytes. The last part can be smaller."""


class StoredFile(Struct, frozen=True):
    """One file. `filename` is the client's file name, sanitized.

    It is never a path on the server.
    """

    id: str
    """`file-` and 22 characters of base62."""
    tenant: str
    filename: str
    purpose: str
    size: int
    """Size of the content in bytes."""
    digest: bytes
    """SHA-256 of the content."""
    blob: str
    """The name of the content in the blob storage. A tenant's files with the same content share one
    blob.
    """
    created_at: int
    expires_at: int | None
    """When the file expires; None means never."""


class FileQuery(ListQuery, frozen=True):
    """Which files to list: those with this purpose."""

    purpose: str | None = None


class FileQuota(Struct, frozen=True):
    """The limits of each tenant: the number of files, and their bytes. Pending uploads count."""

    files: int
    size: int


class FileUse(Struct, frozen=True):
    """The storage that one tenant uses: the number of files and pending uploads, and their
    bytes.
    """

    files: int
    size: int


class StoredUpload(Struct, frozen=True):
    """A file that is uploaded in parts.

    Until it is completed, it reserves `size` bytes of the tenant's quota.
    """

    id: str
    tenant: str
    filename: str
    purpose: str
    size: int
    """The total size of all parts in bytes."""
    mime_type: str
    created_at: int
    expires_at: int
    """When the upload expires and accepts no more parts."""
    lifetime: int | None
    """Seconds from the completion until the file expires; None means never."""
    status: str = "pending"
    """`pending`, `completed`, `cancelled` or `expired`."""
    file: str | None = None
    """The id of the resulting file."""


class StoredPart(Struct, frozen=True):
    """One part of an upload. It has its own blob."""

    id: str
    tenant: str
    upload: str
    size: int
    blob: str
    created_at: int


class FileText(Struct, frozen=True):
    """The text extracted from a file's content, stored so that each content is read only once."""

    tenant: str
    digest: bytes
    """SHA-256 of the content."""
    version: int
    """The version of the text reader. Another version can extract another text."""
    kind: str
    pages: int
    is_cut: bool
    body: bytes
    """The text in UTF-8, compressed with zlib."""
    expires_at: int
