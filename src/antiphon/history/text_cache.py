"""Texts of files that the store caches by the digest of their content, so that each file is read
once.
"""

import zlib
from dataclasses import dataclass

from antiphon.documents.extraction.endings import is_as_named
from antiphon.documents.limits import REQUEST, DocumentLimits
from antiphon.documents.reader import Document
from antiphon.errors import StoreError, log
from antiphon.ids import Clock
from antiphon.sharing.offload import Offload
from antiphon.storage.operations import file_texts
from antiphon.storage.records.files import FileText
from antiphon.storage.store import Store

LARGEST_CACHED = 8 * 1024 * 1024
"""Bytes of a compressed text above which it is not stored: the file is read again."""
COMPRESSION = 1


@dataclass(frozen=True, slots=True)
class StoredTexts:
    """The texts of files in the store."""

    store: Store
    offload: Offload
    retention: int
    """Seconds for which a text is stored."""
    now: Clock

    async def find(
        self, tenant: str, digest: bytes, filename: str, limits: DocumentLimits = REQUEST
    ) -> Document | None:
        """Return the text of content for a file with this name; None if it is not stored, or as
        another kind.

        A text within the limits of a request is also the text within those of ingestion, unless
        something was cut.
        """
        try:
            found = await self.store.read(file_texts.find, tenant, digest, limits.version)
            if found is None and limits is not REQUEST:
                found = await self.store.read(file_texts.find, tenant, digest, REQUEST.version)
                found = None if found is not None and found.is_cut else found
        except StoreError as error:
            log.warning("Cannot read the text of a file from the store: %s", error)
            return None
        if found is None or not is_as_named(found.kind, filename):
            return None
        text = await self.offload.in_thread(tenant, _text, found.body)
        return Document(text, found.pages, found.is_cut, found.kind)

    async def save(
        self, tenant: str, digest: bytes, document: Document, limits: DocumentLimits = REQUEST
    ) -> None:
        """Store a text, unless it is too large. Errors are logged: the file can be read again.

        The store has one text for each content: the one within other limits is replaced.
        """
        size = len(document.text)
        body = await self.offload.run(tenant, size, _compressed, document.text)
        if len(body) > LARGEST_CACHED:
            return
        expires_at = int(self.now()) + self.retention
        about = digest, limits.version, document.kind, document.pages, document.is_cut
        try:
            await self.store.write(file_texts.put, FileText(tenant, *about, body, expires_at))
        except StoreError as error:
            log.warning("Cannot store the text of a file: %s", error)


def _text(body: bytes) -> str:
    return zlib.decompress(body).decode()


def _compressed(text: str) -> bytes:
    return zlib.compress(text.encode(), COMPRESSION)
