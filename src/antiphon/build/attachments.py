"""Reads files for requests; what that needs is loaded by the first request with a file."""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from antiphon.build.files import open_files
from antiphon.build.foundation import Foundation
from antiphon.errors import AntiphonError
from antiphon.sharing.lazy import Lazy
from antiphon.sharing.loading import load
from antiphon.sharing.scheduler import FairScheduler, NoRoomError

if TYPE_CHECKING:
    from antiphon.documents.reader import DocumentReader
    from antiphon.history.attachments import Attachments, FetchedFile, FetchFile
    from antiphon.history.text_cache import StoredTexts
    from antiphon.objects.file_text import FileTexts
    from antiphon.objects.files import Files

AT_ONCE = 8
WAITING = 32
SECONDS = 60.0
"""For a whole file."""


@dataclass(slots=True, eq=False)
class FileParts:
    """What finds files and reads their contents."""

    files: "Lazy[Files]"
    texts: "Lazy[FileTexts]"
    """The texts of stored files."""
    attachments: "Lazy[Attachments]"
    """The files in requests."""


def file_parts_of(base: Foundation) -> FileParts:
    """Return what reads files."""
    files = Lazy(partial(open_files, base))
    documents = Lazy(partial(_open_documents, base))
    return FileParts(
        files,
        Lazy(partial(_open_texts, base, files, documents)),
        Lazy(partial(_open_attachments, base, files, documents)),
    )


def _open_documents(base: Foundation) -> "DocumentReader":
    from antiphon.documents.reader import DocumentReader  # noqa: PLC0415 - for requests with files alone
    from antiphon.sharing.child import child_turns  # noqa: PLC0415 - the same

    return DocumentReader(base.shared.add("documents", child_turns()))


def _stored_texts(base: Foundation) -> "StoredTexts":
    from antiphon.history.text_cache import StoredTexts  # noqa: PLC0415 - the same

    return StoredTexts(base.store, base.offload, base.retention, base.now)


def _open_texts(
    base: Foundation, files: "Lazy[Files]", documents: "Lazy[DocumentReader]"
) -> "FileTexts":
    from antiphon.objects.file_text import FileTexts  # noqa: PLC0415 - the same

    return FileTexts(files, documents, _stored_texts(base))


def _open_attachments(
    base: Foundation, files: "Lazy[Files]", documents: "Lazy[DocumentReader]"
) -> "Attachments":
    from antiphon.history.attachments import Attachments  # noqa: PLC0415 - the same

    return Attachments(
        files, documents, _stored_texts(base), base.memory, base.offload, partial(_open_fetch, base)
    )


async def _open_fetch(base: Foundation) -> "FetchFile":
    """Return the fetcher of files by URL."""
    await load("antiphon.outbound.fetch")
    from antiphon.history.attachments import FetchedFile, UnfetchedFileError  # noqa: PLC0415 - the same
    from antiphon.outbound.fetch import Fetcher, FetchError  # noqa: PLC0415 - an HTTP client is large
    from antiphon.outbound.lookups import Lookups, lookup_turns  # noqa: PLC0415 - the same
    from antiphon.outbound.ssrf import Reach, read_networks  # noqa: PLC0415 - the same

    networks = read_networks(base.settings.outgoing_networks)
    fetcher = Fetcher(Reach(networks, resolve=base.resolve or Lookups(lookup_turns())))
    turns = base.shared.add("file_fetches", FairScheduler(AT_ONCE, WAITING, leaves_room=True))

    async def fetch(url: str, most: int, tenant: str) -> "FetchedFile":
        try:
            async with turns.slot(tenant):
                found = await fetcher.fetch(
                    url, ["*"], max_bytes=most, seconds=SECONDS, tenant=tenant
                )
        except NoRoomError as error:
            raise AntiphonError.overloaded(
                "Too many files are being fetched at once. Please try again."
            ) from error
        except FetchError as error:
            raise UnfetchedFileError(str(error)) from error
        if not 200 <= found.status < 300:
            raise UnfetchedFileError(f"its server answered with status {found.status}")
        return FetchedFile(found.body, found.content_type)

    return fetch
