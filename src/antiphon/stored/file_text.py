"""The text of a stored file, as an index and the endpoint of its content have it."""

from antiphon.documents.reader import LONGEST, Document, DocumentError
from antiphon.runs.engine import Engine
from antiphon.runs.kept_texts import keep_text, kept_text
from antiphon.storage.contract import StoredFile

PER_BYTE = 5
"""Bytes of memory for each byte of a text: as it comes, and as the string that it becomes."""

PARTS = 4 * 1024 * 1024
"""Bytes of memory for the parts of the content that are on their way to the process that reads them."""


def weight_of_file(file: StoredFile, most: int) -> int:
    """Return the bytes of memory that it takes to read a file and cut its text, at most `most`.

    The content passes in parts. What a file needs beyond `most` is no reason to refuse it: a limit of the text and the
    few processes that read at once bound it anyway.
    """
    return min(most, PARTS + PER_BYTE * min(LONGEST, 4 * file.size))


async def file_text(engine: Engine, file: StoredFile) -> str:
    """Return the text of a file, which is read if the store keeps none of this content.

    Raises `DocumentError` where it has none that can be read whole, `StoreError`.
    """
    document = await kept_text(engine, file.tenant, file.digest, file.filename)
    if document is None:
        document = await _read(engine, file)
    if document.is_cut:
        text = f"The file has more than {LONGEST // 1_000_000} MB of text. Split the file."
        raise DocumentError("invalid_file", text)
    return document.text


async def _read(engine: Engine, file: StoredFile) -> Document:
    content = engine.files.read(file)
    document = await engine.documents.read(content, file.filename, file.tenant, file.size)
    if await engine.files.find(file.tenant, file.id) is not None:  # a text goes with its last file
        await keep_text(engine, file.tenant, file.digest, document)
    return document
