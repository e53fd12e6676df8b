"""Operations on texts that were extracted from files."""

from antiphon.storage.operations.step import NOW, SHIFT, Operation, first, query_rows, reads, writes
from antiphon.storage.records.files import FileText


@writes("keep_file_text")
def put(text: FileText) -> Operation[None]:
    """Store the text of a file's content.

    It replaces the tenant's earlier text of the same content.

    The text is deleted with the last of the tenant's files that have this content.
    """
    expires_at = text.expires_at + (yield SHIFT)
    about = text.tenant, text.digest, text.version, text.kind, text.pages
    yield from query_rows("keep_file_text", *about, text.is_cut, text.body, expires_at)


@reads("find_file_text")
def find(tenant: str, digest: bytes, version: int) -> Operation[FileText | None]:
    """Return the text that this version of the text reader extracted from a content, or None."""
    now: int = yield NOW
    row = yield from first("find_file_text", tenant, digest, version, now)
    if row is None:
        return None
    kind, pages, is_cut, body, expires_at = row
    return FileText(tenant, digest, version, kind, pages, bool(is_cut), bytes(body), expires_at)
