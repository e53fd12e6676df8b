"""Reads the files in a request for backends that cannot read files: `input_file` by data, URL or
`file_id`.

A file is read once. Its text is cached by the digest of its content: in this process and, unless
the request sets `store: false`, in the store. So every turn of a conversation sends the same bytes,
and the prompt cache stays valid.
"""

import asyncio
import mimetypes
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from typing import TypeVar
from urllib.parse import unquote

from antiphon.documents.extraction.endings import NAMES, ending_of
from antiphon.documents.reader import Document, DocumentError, DocumentReader
from antiphon.errors import AntiphonError, ClientError, log
from antiphon.extras import missing
from antiphon.history.context import Context
from antiphon.history.text_cache import StoredTexts
from antiphon.history.wanted_files import Wanted, wanted_files
from antiphon.protocol.items.content import InputFile
from antiphon.protocol.items.messages import InputItem
from antiphon.protocol.requests import CreateResponse
from antiphon.protocol.untrusted import framed_file
from antiphon.protocol.validation import refusals
from antiphon.runs.steps import AttachFiles
from antiphon.sharing.lazy import Lazy
from antiphon.sharing.memory import Account, Memory, weight
from antiphon.sharing.offload import Offload
from antiphon.sharing.recent import Recent
from antiphon.storage.blobs.base import FileReader
from antiphon.storage.records.files import StoredFile
from antiphon.translation.files import NONE_READ, PAST, ReadFile, ReadFiles
from antiphon.translation.to_chat_completions.media import decode, encode, name_in

MOST_BYTES = 50 * 1024 * 1024
"""Maximum bytes of all files of one request."""
MOST_PAGES = 20
"""Pages of a PDF that are sent as images."""
USUAL_PIXELS, HIGH_PIXELS = 1_024, 1_536
"""Longest side of a page's image in pixels; the second value is for the detail `high`."""
REMEMBERED = 32 * 1024 * 1024
"""Bytes of texts, and of images, that this process caches."""
CHARACTERS = 8
"""Characters of files that are translated and encoded in the time of a byte of other JSON."""

BUSY = 1.0
"""Seconds until a background response retries to read a file when the readers had no capacity."""

NO_TEXT = "(The pages of this file have no text. Images of them follow.)"
FIRST_IMAGES = (
    "\n(Only the first {displayed} of the {pages} pages of this file are shown as images.)"
)


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class FetchedFile:
    """A file at a URL."""

    content: bytes
    media_type: str


class UnfetchedFileError(Exception):
    """A file could not be fetched; the message is the reason, worded for the client."""


FetchFile = Callable[[str, int, str], Awaitable[FetchedFile]]
"""Fetches a file from a URL, up to a number of bytes, for a tenant. Raises `UnfetchedFileError`,
`AntiphonError`.
"""


@dataclass(slots=True)
class AttachmentReading:
    """The limits of one request while its files are read."""

    tenant: str
    memory: Account
    is_stored: bool
    left: int = field(default_factory=lambda: MOST_BYTES)
    """Bytes that are left for its files."""
    reserved: int = 0
    """Memory account for the content of the file that is being read."""

    async def spend(self, size: int, path: str) -> None:
        """Count the content of a file, and reserve memory for it.

        Raises `ClientError` above the limit.
        """
        if size > self.left:
            words = (
                f"the files of a request may have at most {MOST_BYTES // 1024 // 1024} MB together."
            )
            raise refusals.invalid(path, words)
        self.left -= size
        await self.memory.obtain(2 * size)
        self.reserved += 2 * size

    def release(self) -> None:
        """Release the memory of the content after the file was read."""
        self.memory.release(self.reserved)
        self.reserved = 0


async def attach(
    attachments: "Attachments",
    request: CreateResponse,
    context: Context,
    items: Sequence[InputItem],
    files: ReadFiles,
    step: AttachFiles,
) -> ReadFiles:
    """Return the read files of a conversation with those that a backend needs in this form, at
    least the step's file.

    They count in `context.work`. For a file that cannot be read, the result contains the reason.
    Raises `AntiphonError` (503) if no capacity is free.
    """
    if files is NONE_READ:
        files = ReadFiles()
    if context.memory is None:
        context.memory = Account(attachments.memory, context.tenant)
    size = 0
    reading = AttachmentReading(context.tenant, context.memory, request.store is not False)
    for wanted in wanted_files(request, items, len(context.history), step):
        if not files.has(wanted.part, wanted.form):
            file = await attachments.read(wanted, reading)
            files.add(file, wanted.form)
            size += len(file.text) + len(file.data) + sum(map(len, file.images))
    context.work = max(context.work, size // CHARACTERS)
    return files


class Attachments:
    """Reads the files of all requests of this process.

    `open_fetch` creates the client that fetches files from URLs.
    """

    def __init__(
        self,
        files: Lazy[FileReader],
        documents: Lazy[DocumentReader],
        texts: StoredTexts,
        memory: Memory,
        offload: Offload,
        open_fetch: Callable[[], Awaitable[FetchFile]],
    ) -> None:
        self.memory = memory
        """The memory of this process, in which files count for their tenants."""
        self._files = files
        self._readers = documents
        self._texts = texts
        self._offload = offload
        self._open_fetch = open_fetch
        self._fetch: FetchFile | None = None
        self._documents: Recent[bytes, Document | DocumentError] = Recent(REMEMBERED, _size_of)
        self._images: Recent[tuple[bytes, int], Sequence[str]] = Recent(
            REMEMBERED, lambda urls: sum(map(len, urls))
        )

    async def read(self, wanted: Wanted, reading: AttachmentReading) -> ReadFile:
        """Return a file in the form that a backend needs, or the reason why not.

        Raises `AntiphonError` (503).
        """
        try:
            content = await self._content(wanted, reading)
            return await (self._data if wanted.form == "data" else self._text)(
                wanted, content, reading
            )
        except DocumentError as error:
            if error.reason == "busy":
                raise AntiphonError.overloaded(error.message) from error
            is_opaque = error.code == "unsupported_file" or error.reason == "no_text"
            return ReadFile(wanted.part, error=_unreadable(error, wanted.path), is_opaque=is_opaque)
        except ClientError as error:
            if (
                wanted.path == PAST
            ):  # its path in the request is unknown, and the conversation must be able to continue
                error = ClientError(error.message, status=error.status, code=error.code, param=PAST)
            return ReadFile(wanted.part, error=error)
        finally:
            reading.release()

    async def fetch(self, url: str, most: int, tenant: str) -> FetchedFile:
        """Return the content at a URL. Raises `UnfetchedFileError`, `AntiphonError`."""
        if self._fetch is None:
            self._fetch = await self._open_fetch()
        return await self._fetch(url, most, tenant)

    # Content.

    async def _content(self, wanted: Wanted, reading: AttachmentReading) -> "_Content":
        """Return the content of a part; a stored file is read later, when its content is needed."""
        part = wanted.part
        path = wanted.path
        if part.file_id:
            found = await self._files.get().find(reading.tenant, part.file_id)
            if found is None:
                message = f"No such File object: {part.file_id[:100]}"
                raise ClientError(message, status=404, param=_below(path, "file_id"))
            await reading.spend(found.size, path)
            return _Content(part.filename or found.filename, found.digest, stored=found)
        if part.file_url:
            return await self._fetched(part, part.file_url, _below(path, "file_url"), reading)
        if not part.file_data:
            raise refusals.missing(_below(path, "file_data"))
        await reading.spend(len(part.file_data) * 3 // 4, path)
        run = self._offload.run
        tenant = reading.tenant
        size = len(part.file_data)
        within = _below(path, "file_data")
        media_type, data = await run(tenant, size, decode, part.file_data, within)
        name = _named(part.filename or "file", media_type)
        return _Content(name, await run(tenant, size, _digest, data), media_type, data)

    async def _fetched(
        self, part: InputFile, url: str, path: str, reading: AttachmentReading
    ) -> "_Content":
        if (error := missing("files", "Files by URL", path)) is not None:
            raise error
        try:
            found = await self.fetch(url, reading.left, reading.tenant)
        except UnfetchedFileError as error:
            raise ClientError(
                f"Invalid '{path}': the file could not be fetched: {error}.",
                code="invalid_file",
                param=path,
            ) from error
        await reading.spend(len(found.content), path)
        name = _named(part.filename or unquote(name_in(url)), found.media_type)
        size = len(found.content)
        digest = await self._offload.run(reading.tenant, size, _digest, found.content)
        return _Content(name, digest, found.media_type, found.content)

    async def _bytes(self, content: "_Content") -> bytes:
        if content.data is None:
            assert content.stored is not None  # noqa: S101 - what is not stored is at hand
            data = bytearray()
            async for part in self._files.get().read(content.stored):
                data += part
            content.data = bytes(data)
        return content.data

    # Forms.

    async def _data(
        self, wanted: Wanted, content: "_Content", reading: AttachmentReading
    ) -> ReadFile:
        data = await self._bytes(content)
        media_type = (
            content.media_type
            or mimetypes.guess_type(content.name)[0]
            or "application/octet-stream"
        )
        await reading.memory.obtain(weight(4 * len(data) // 3))
        text = await self._offload.run(reading.tenant, len(data), encode, data)
        return ReadFile(wanted.part, content.name, data=f"data:{media_type};base64,{text}")

    async def _text(
        self, wanted: Wanted, content: "_Content", reading: AttachmentReading
    ) -> ReadFile:
        is_scan = False
        try:
            document = await self._document(content, reading)
        except DocumentError as error:
            if wanted.form != "pages" or error.reason != "no_text":
                raise
            document = Document(NO_TEXT, error.pages, is_cut=False, kind="pdf")
            is_scan = True
        images: Sequence[str] = ()
        if wanted.form == "pages" and document.kind == "pdf":
            images = await self._pages(wanted.part, content, reading)
        if is_scan and not images:
            raise DocumentError(
                "invalid_file",
                "The PDF contains no text, and its pages cannot be shown.",
                "no_text",
            )
        size = len(document.text)
        await reading.memory.obtain(weight(size, wide=0 if document.text.isascii() else size))
        run = self._offload.run
        text = await run(
            reading.tenant, size, framed_file, document.text, content.name, is_cut=document.is_cut
        )
        if images and len(images) < document.pages:
            text += FIRST_IMAGES.format(displayed=len(images), pages=document.pages)
        return ReadFile(wanted.part, content.name, text=text, images=images)

    async def _document(self, content: "_Content", reading: AttachmentReading) -> Document:
        """Return the text of a file: from the cache, or by reading it now.

        Raises `DocumentError`.
        """
        tenant = reading.tenant
        key = content.digest + NAMES.get(ending_of(content.name), "text").encode()
        known = self._documents.find(tenant, key)
        if known is None:
            known = await self._texts.find(tenant, content.digest, content.name)
            if known is None:
                data = await self._bytes(content)
                try:
                    known = await _in_turn(
                        reading, partial(self._readers.get().read, data, content.name, tenant)
                    )
                except DocumentError as error:
                    if error.reason == "busy":
                        raise
                    known = error
                else:
                    if reading.is_stored or content.stored is not None:
                        await self._texts.save(tenant, content.digest, known)
            self._documents.put(tenant, key, known)
        if isinstance(known, DocumentError):
            raise DocumentError(known.code, known.message, known.reason, known.pages)
        return known

    async def _pages(
        self, part: InputFile, content: "_Content", reading: AttachmentReading
    ) -> Sequence[str]:
        """Return images of the first pages of a PDF as URLs; empty if they cannot be rendered."""
        pixels = HIGH_PIXELS if part.detail == "high" else USUAL_PIXELS
        images = self._images.find(reading.tenant, (content.digest, pixels))
        if images is None:
            data = await self._bytes(content)
            read = self._readers.get().pages
            tenant = reading.tenant
            try:
                pages = await _in_turn(
                    reading,
                    partial(read, data, first=0, count=MOST_PAGES, pixels=pixels, tenant=tenant),
                )
            except DocumentError as error:
                if error.reason == "busy":
                    raise
                log.warning("The pages of a file are not sent as images: %s", error.message)
                return ()
            images = await self._offload.in_thread(reading.tenant, _as_urls, pages)
            self._images.put(reading.tenant, (content.digest, pixels), images)
        await reading.memory.obtain(weight(sum(map(len, images))))
        return images


@dataclass(slots=True)
class _Content:
    """The known facts about a file; the bytes of a stored one are read when they are needed."""

    name: str
    digest: bytes
    """SHA-256."""
    media_type: str = ""
    data: bytes | None = None
    stored: StoredFile | None = None


async def _in_turn(reading: AttachmentReading, read: Callable[[], Awaitable[T]]) -> T:
    """Return the result of a document reader.

    A background response waits while the readers are busy.

    Raises `DocumentError`.
    """
    while True:
        try:
            return await read()
        except DocumentError as error:
            if error.reason != "busy" or not reading.memory.is_patient:
                raise
        await asyncio.sleep(BUSY)


def _unreadable(error: DocumentError, path: str) -> ClientError:
    message = f"Invalid '{path}': {error.message}"
    if error.code == "unsupported_file":
        return ClientError(message, code="unsupported_file", param=path)
    return ClientError(message, code="invalid_file", param=path)


def _below(path: str, field: str) -> str:
    return path if path == PAST else f"{path}.{field}"


def _named(name: str, media_type: str) -> str:
    """Return a file name with an extension that matches the media type, if that is known."""
    if ending_of(name) or media_type == "application/octet-stream":
        return name
    return name + (mimetypes.guess_extension(media_type) or "")


def _digest(data: bytes) -> bytes:
    return sha256(data).digest()


def _as_urls(pages: Sequence[bytes]) -> Sequence[str]:
    return [f"data:image/png;base64,{encode(page)}" for page in pages]


def _size_of(known: Document | DocumentError) -> int:
    return sys.getsizeof(known.text) if isinstance(known, Document) else len(known.message)
