"""The text of a stored file, for indexing and for the content endpoint."""

from antiphon.documents.limits import INGESTION
from antiphon.documents.reader import Document, DocumentError, DocumentReader
from antiphon.history.text_cache import StoredTexts
from antiphon.sharing.lazy import Lazy
from antiphon.storage.blobs.base import FileReader
from antiphon.storage.records.files import StoredFile

PER_BYTE = 5
"""Bytes of memory per byte of text: the received bytes, and the decoded string."""

PARTS = 4 * 1024 * 1024
"""Bytes of memory for the parts of the content on their way to the reading process."""


def weight_of_file(file: StoredFile, most: int) -> int:
    """Return the bytes of memory needed to read a file and split its text, at most `most`.

    The content is streamed in parts. A file that needs more than `most` is not rejected: the limit
    of the text and the small number of concurrent reader processes bound the memory anyway.
    """
    return min(most, PARTS + PER_BYTE * min(INGESTION.longest, 4 * file.size))


class FileTexts:
    """Reads the texts of stored files; the store has those that were read before."""

    def __init__(
        self, files: Lazy[FileReader], documents: Lazy[DocumentReader], texts: StoredTexts
    ) -> None:
        self._files = files
        self._documents = documents
        self._texts = texts

    async def load(self, file: StoredFile) -> str:
        """Return the text of a file.

        The file is read if the store does not have the text of its content.

        Raises `DocumentError` if the file has no readable text or too much of it, and `StoreError`.
        """
        document = await self._texts.find(file.tenant, file.digest, file.filename, INGESTION)
        if document is None:
            document = await self._read(file)
        if document.is_cut:
            text = (
                f"The file has more than {INGESTION.longest // 1_000_000} MB of text. "
                "Split the file."
            )
            raise DocumentError("invalid_file", text)
        return document.text

    async def _read(self, file: StoredFile) -> Document:
        files = self._files.get()
        content = files.read(file)
        document = await self._documents.get().read(
            content, file.filename, file.tenant, file.size, INGESTION
        )
        if (
            await files.find(file.tenant, file.id) is not None
        ):  # a text is deleted with its last file
            await self._texts.save(file.tenant, file.digest, document, INGESTION)
        return document
