"""Texts that were read in files, as acts."""

from antiphon.storage.operations.step import Operation, ask, first
from antiphon.storage.records import FileText


def keep(text: FileText) -> Operation[None]:
    """Keep a text in place of the one that was there."""
    about = text.tenant, text.digest, text.version, text.kind, text.pages
    yield from ask("keep_file_text", *about, text.is_cut, text.body, text.expires_at)


def find(tenant: str, digest: bytes, version: int, now: int) -> Operation[FileText | None]:
    """Get a text that this version of the reader has read."""
    row = yield from first("find_file_text", tenant, digest, version, now)
    if row is None:
        return None
    kind, pages, is_cut, body, expires_at = row
    return FileText(tenant, digest, version, kind, pages, bool(is_cut), bytes(body), expires_at)
