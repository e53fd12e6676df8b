"""Texts of files that the store caches by the digest of their content, so that each file is read once."""

import zlib
from typing import Protocol

from antiphon.documents.extraction.endings import is_as_named
from antiphon.documents.limits import REQUEST, Limits
from antiphon.documents.reader import Document
from antiphon.errors import StoreError, log
from antiphon.ids import Clock
from antiphon.sharing.offload import Offload
from antiphon.storage.operations import file_texts
from antiphon.storage.records.files import FileText
from antiphon.storage.store import Store

LARGEST_KEPT = 8 * 1024 * 1024
"""Bytes of a compressed text above which it is not stored: the file is read again."""
COMPRESSION = 1


class Keeping(Protocol):
    """The parts needed to cache texts; an `Engine` has them."""

    store: Store
    offload: Offload
    retention: int

    @property
    def now(self) -> Clock:
        """Return the time, in seconds."""
        ...


async def kept_text(
    engine: Keeping, tenant: str, digest: bytes, filename: str, limits: Limits = REQUEST
) -> Document | None:
    """Return the text of content for a file with this name; None if it is not stored, or as another kind.

    A text within the limits of a request is also the text within those of ingestion, unless something was cut.
    """
    try:
        found = await engine.store.read(file_texts.find, tenant, digest, limits.version)
        if found is None and limits is not REQUEST:
            found = await engine.store.read(file_texts.find, tenant, digest, REQUEST.version)
            found = None if found is not None and found.is_cut else found
    except StoreError as error:
        log.warning("Cannot read the text of a file from the store: %s", error)
        return None
    if found is None or not is_as_named(found.kind, filename):
        return None
    text = await engine.offload.run(tenant, _text, found.body)
    return Document(text, found.pages, found.is_cut, found.kind)


async def keep_text(engine: Keeping, tenant: str, digest: bytes, document: Document, limits: Limits = REQUEST) -> None:
    """Store a text, unless it is too large. Errors are logged: the file can be read again.

    The store has one text for each content: the one within other limits is replaced.
    """
    body = await engine.offload.run(tenant, _compressed, document.text)
    if len(body) > LARGEST_KEPT:
        return
    expires_at = int(engine.now()) + engine.retention
    about = digest, limits.version, document.kind, document.pages, document.is_cut
    try:
        await engine.store.write(file_texts.keep, FileText(tenant, *about, body, expires_at))
    except StoreError as error:
        log.warning("Cannot store the text of a file: %s", error)


def _text(body: bytes) -> str:
    return zlib.decompress(body).decode()


def _compressed(text: str) -> bytes:
    return zlib.compress(text.encode(), COMPRESSION)
