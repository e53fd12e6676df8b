"""The text of a stored file, for indexing and for the content endpoint."""

from typing import Protocol

from antiphon.documents.limits import INGESTION
from antiphon.documents.reader import Document, DocumentError, DocumentReader
from antiphon.history.kept_texts import Keeping, keep_text, kept_text
from antiphon.storage.blobs.base import FileReader
from antiphon.storage.records.files import StoredFile

PER_BYTE = 5
"""Bytes of memory per byte of text: the received bytes, and the decoded string."""

PARTS = 4 * 1024 * 1024
"""Bytes of memory for the parts of the content on their way to the reading process."""


class TextSources(Keeping, Protocol):
    """The parts that read the text of a file; an `Engine` has them."""

    @property
    def files(self) -> FileReader:
        """Reads the content of files."""
        ...

    @property
    def documents(self) -> DocumentReader:
        """Reads the text of content."""
        ...


def weight_of_file(file: StoredFile, most: int) -> int:
    """Return the bytes of memory needed to read a file and split its text, at most `most`.

    The content is streamed in parts. A file that needs more than `most` is not rejected: the limit of the text and the
    small number of concurrent reader processes bound the memory anyway.
    """
    return min(most, PARTS + PER_BYTE * min(INGESTION.longest, 4 * file.size))


async def file_text(sources: TextSources, file: StoredFile) -> str:
    """Return the text of a file. The file is read if the store does not have the text of its content.

    Raises `DocumentError` if the file has no readable text or too much of it, and `StoreError`.
    """
    document = await kept_text(sources, file.tenant, file.digest, file.filename, INGESTION)
    if document is None:
        document = await _read(sources, file)
    if document.is_cut:
        text = f"The file has more than {INGESTION.longest // 1_000_000} MB of text. Split the file."
        raise DocumentError("invalid_file", text)
    return document.text


async def _read(sources: TextSources, file: StoredFile) -> Document:
    content = sources.files.read(file)
    document = await sources.documents.read(content, file.filename, file.tenant, file.size, INGESTION)
    if await sources.files.find(file.tenant, file.id) is not None:  # a text is deleted with its last file
        await keep_text(sources, file.tenant, file.digest, document, INGESTION)
    return document
