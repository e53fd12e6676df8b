"""Operations on texts that were extracted from files."""

from antiphon.storage.operations.step import Operation, ask, first
from antiphon.storage.records import FileText


def keep(text: FileText) -> Operation[None]:
    """Store or replace a text."""
    about = text.tenant, text.digest, text.version, text.kind, text.pages
    yield from ask("keep_file_text", *about, text.is_cut, text.body, text.expires_at)


def find(tenant: str, digest: bytes, version: int, now: int) -> Operation[FileText | None]:
    """Return a text that this version of the reader has extracted."""
    row = yield from first("find_file_text", tenant, digest, version, now)
    if row is None:
        return None
    kind, pages, is_cut, body, expires_at = row
    return FileText(tenant, digest, version, kind, pages, bool(is_cut), bytes(body), expires_at)
