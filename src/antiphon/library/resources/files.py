"""The files of `AsyncAntiphon`."""

from typing import Unpack

from antiphon.library.call import ApiCall, path
from antiphon.library.calls import Calls
from antiphon.library.contents import BinaryContent
from antiphon.library.file_parameters import FilePageParameters, NewFile
from antiphon.library.forms import FileInput, MultipartForm, form_fields
from antiphon.library.options import Options
from antiphon.library.pages import AsyncPages
from antiphon.library.parameters import CallOptions, without_options
from antiphon.library.signatures import spelled_out
from antiphon.protocol.hosted_results import FileDeleted, FileObject


class AsyncFiles:
    """Files: upload, list, read and delete them."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    @spelled_out
    async def create(self, *, file: FileInput, **parameters: Unpack[NewFile]) -> FileObject:
        """Upload a file: bytes, a path, an object that was opened for reading bytes, or a tuple of name and content.

        A file with the purpose `assistants` or `user_data` can be sent to a model, and searched in vector stores. Its
        content is read in pieces while it is stored.

        >>> import asyncio
        >>> from antiphon import AsyncAntiphon
        >>> async def main() -> None:
        ...     async with AsyncAntiphon() as client:
        ...         file = await client.files.create(file=("tides.txt", b"High at noon."), purpose="user_data")
        ...         content = await client.files.content(file.id)
        ...         print(file.filename, content.text)
        >>> asyncio.run(main())
        tides.txt High at noon.
        """  # noqa: E501 - a table, a diagram or an example
        form = MultipartForm(form_fields(without_options(parameters)), [("file", file)])
        return await self._calls.send(
            FileObject, ApiCall("POST", "/files", body=form), Options.of(parameters)
        )

    @spelled_out
    async def retrieve(self, file_id: str, **options: Unpack[CallOptions]) -> FileObject:
        """Return a file, without its content."""
        return await self._calls.send(
            FileObject, ApiCall("GET", path("/files/{}", file_id)), Options.of(options)
        )

    @spelled_out
    def list(self, **parameters: Unpack[FilePageParameters]) -> AsyncPages[FileObject]:
        """Return the files, newest first unless `order` is `asc`."""
        return self._calls.pages(FileObject, "/files", parameters)

    @spelled_out
    async def delete(self, file_id: str, **options: Unpack[CallOptions]) -> FileDeleted:
        """Delete a file, also from all vector stores."""
        return await self._calls.send(
            FileDeleted, ApiCall("DELETE", path("/files/{}", file_id)), Options.of(options)
        )

    @spelled_out
    async def content(self, file_id: str, **options: Unpack[CallOptions]) -> BinaryContent:
        """Return the content of a file, held in memory."""
        return await self._calls.content(path("/files/{}/content", file_id), Options.of(options))
