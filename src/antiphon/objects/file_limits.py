"""The limits of stored files, and the errors for requests that exceed them."""

from dataclasses import dataclass, field

from antiphon.errors import ClientError
from antiphon.storage.records.files import FileQuota, FileUse


@dataclass(frozen=True, slots=True)
class FileLimits:
    """The limits. `stored_bytes` of 0 means no limit."""

    file: int = 512 * 1024 * 1024
    """Maximum bytes of a file that is sent in one request."""
    upload: int = 8 * 1024**3
    """Maximum bytes of a file that is uploaded in parts."""
    quota: FileQuota = field(default_factory=lambda: FileQuota(10_000, 10 * 1024**3))
    """The file quota of each tenant."""
    stored_bytes: int = 0
    """Maximum bytes of all data that a tenant stores."""


@dataclass(frozen=True, slots=True)
class ContentRoom:
    """The maximum number of bytes of new content, and the error for larger content.

    `owner` groups uploads: all content that is being received for the same owner has at most
    `shared` bytes together, so that concurrent uploads cannot fill the disk before one of them is
    stored.
    """

    size: int
    error: ClientError
    owner: str
    shared: int
    shared_error: ClientError


def room_of(limits: FileLimits, tenant: str, use: FileUse, stored: int) -> ContentRoom:
    """Return the room for a file of a tenant.

    `use` is its file usage, and `stored` the bytes of all its data.

    Raises `ClientError` (429) if a limit is reached.
    """
    quota = over_quota(use, limits.quota)
    if use.files >= limits.quota.files or use.size >= limits.quota.size:
        raise quota
    left, error = within_storage(limits, stored, limits.quota.size - use.size, quota)
    return ContentRoom(limits.file, too_large(limits.file, "file"), tenant, left, error)


def within_storage(
    limits: FileLimits, stored: int, left: int, error: ClientError
) -> tuple[int, ClientError]:
    """Return how much of `left` bytes the storage limit allows, and the error for more: `error` if
    it allows all.

    `stored` is the bytes of all data of a tenant. Raises `ClientError` (429) if the limit is
    reached.
    """
    most = limits.stored_bytes
    if not most or most - stored >= left:
        return left, error
    if stored >= most:
        raise over_storage(stored, most)
    return most - stored, over_storage(stored, most)


def too_large(most: int, param: str) -> ClientError:
    """Return the error for content that is too large."""
    what = "file" if param == "file" else "part" if param == "data" else "upload"
    return ClientError(
        f"The {what} has more than {most} bytes, which is the limit of this server.",
        status=413,
        code="file_too_large",
        param=param,
    )


def over_quota(use: FileUse, quota: FileQuota) -> ClientError:
    """Return the error for a tenant that has reached its file quota."""
    return _over(
        f"{use.files} files with {use.size} bytes are stored, and {quota.files} "
        f"files with {quota.size} bytes are allowed: the new file does not fit. "
        "Delete files that you no longer need."
    )


def over_storage(stored: int, most: int) -> ClientError:
    """Return the error for a tenant that has reached its storage limit."""
    return _over(
        f"{stored} bytes are stored, and {most} are allowed. Delete files, "
        "responses or conversations."
    )


def _over(why: str) -> ClientError:
    return ClientError(
        f"You exceeded your storage quota: {why}",
        status=429,
        type="insufficient_quota",
        code="storage_quota_exceeded",
        headers={"x-should-retry": "false"},
    )
