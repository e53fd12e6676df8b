"""Reads and fetches the files in requests; its dependencies are loaded by the first request with a file."""

from functools import partial
from typing import TYPE_CHECKING

from antiphon.config import Settings
from antiphon.errors import AntiphonError
from antiphon.outbound.ssrf import LookUp
from antiphon.runs.engine import Engine
from antiphon.sharing.loading import load
from antiphon.sharing.scheduler import FairScheduler, NoRoomError

if TYPE_CHECKING:
    from antiphon.documents.reader import DocumentReader
    from antiphon.history.attachments import Attachments, FetchedFile, FetchFile

AT_ONCE = 8
WAITING = 32
SECONDS = 60.0
"""For a whole file."""


def read_attachments(engine: Engine, settings: Settings, look_up: LookUp | None = None) -> None:
    """Have an engine read documents and the files in requests. `look_up` resolves names to addresses."""
    engine.open_documents = partial(_open_documents, engine)
    engine.open_attachments = partial(_open_attachments, engine, settings, look_up)


def _open_documents(engine: Engine) -> "DocumentReader":
    from antiphon.documents.reader import DocumentReader  # noqa: PLC0415 - for requests with files alone
    from antiphon.sharing.child import child_turns  # noqa: PLC0415 - the same

    return DocumentReader(engine.shared.add("documents", child_turns()))


def _open_attachments(engine: Engine, settings: Settings, look_up: LookUp | None) -> "Attachments":
    from antiphon.history.attachments import Attachments  # noqa: PLC0415 - the same

    return Attachments(engine, partial(_open_fetch, engine, settings, look_up))


async def _open_fetch(engine: Engine, settings: Settings, look_up: LookUp | None) -> "FetchFile":
    """Return the fetcher of files by URL."""
    await load("antiphon.outbound.fetch")
    from antiphon.history.attachments import FetchedFile, UnfetchedFileError  # noqa: PLC0415 - the same
    from antiphon.outbound.fetch import Fetcher, FetchError  # noqa: PLC0415 - an HTTP client is large
    from antiphon.outbound.lookups import Lookups, lookup_turns  # noqa: PLC0415 - the same
    from antiphon.outbound.ssrf import Reach, read_networks  # noqa: PLC0415 - the same

    fetcher = Fetcher(Reach(read_networks(settings.outgoing_networks), look_up=look_up or Lookups(lookup_turns())))
    turns = engine.shared.add("file_fetches", FairScheduler(AT_ONCE, WAITING, leaves_room=True))

    async def fetch(url: str, most: int, tenant: str) -> "FetchedFile":
        try:
            async with turns.slot(tenant):
                found = await fetcher.fetch(url, ["*"], max_bytes=most, seconds=SECONDS, tenant=tenant)
        except NoRoomError as error:
            raise AntiphonError.overloaded("Too many files are being fetched at once. Please try again.") from error
        except FetchError as error:
            raise UnfetchedFileError(str(error)) from error
        if not 200 <= found.status < 300:
            raise UnfetchedFileError(f"its server answered with status {found.status}")
        return FetchedFile(found.body, found.content_type)

    return fetch
