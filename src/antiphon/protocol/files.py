"""The bodies and queries of `/v1/files` and `/v1/uploads`."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

Purpose = Literal["assistants", "batch", "fine-tune", "vision", "user_data", "evals"]
"""The purposes of an uploaded file. This server treats all of them alike, except for the expiry of
`batch`.
"""

BATCH_LIFETIME = 30 * 86_400
"""Seconds after which a file with the purpose `batch` expires, unless the request says
otherwise.
"""

UploadName = Annotated[str, Meta(min_length=1, max_length=1024)]
MOST_PARTS = 10_000
"""Parts of an upload."""

PartIds = Annotated[list[str], Meta(min_length=1, max_length=MOST_PARTS, title="array of part IDs")]


class ExpiresAfter(Struct, kw_only=True, forbid_unknown_fields=True):
    """When a file expires: this number of seconds after it was created."""

    anchor: Literal["created_at"]
    seconds: Annotated[int, Meta(ge=3600, le=2_592_000)]


class FileForm(Struct, kw_only=True, forbid_unknown_fields=True):
    """The fields of the form of `POST /files`, in addition to the file."""

    purpose: Purpose
    expires_after: ExpiresAfter | None = None


class FilesQuery(Struct, kw_only=True):
    """`GET /files`: a page of at most `limit` files with this purpose; `after` is a file's id."""

    after: Annotated[str, Meta(max_length=64)] | None = None
    limit: Annotated[int, Meta(ge=1, le=10_000)] = 10_000
    order: Literal["asc", "desc"] = "desc"
    purpose: Annotated[str, Meta(max_length=64)] | None = None


class CreateUpload(Struct, kw_only=True, forbid_unknown_fields=True):
    """The body of `POST /uploads`."""

    filename: UploadName
    purpose: Purpose
    bytes: Annotated[int, Meta(ge=0, le=2**53)]
    mime_type: Annotated[str, Meta(min_length=1, max_length=255)]
    expires_after: ExpiresAfter | None = None


class CompleteUpload(Struct, kw_only=True, forbid_unknown_fields=True):
    """The body of `POST /uploads/{id}/complete`: the parts in order, and the MD5 of all bytes in
    hexadecimal.
    """

    part_ids: PartIds
    md5: Annotated[str, Meta(max_length=64)] | None = None


def lifetime_of(purpose: str, expires_after: ExpiresAfter | None) -> int | None:
    """Return the seconds after which a file expires, None for never."""
    if expires_after is not None:
        return expires_after.seconds
    return BATCH_LIFETIME if purpose == "batch" else None
