"""The files of `Antiphon`.

Written by `scripts/sync_client.py`.
"""

from typing import Unpack

from antiphon.library.background_loop import LoopOwner
from antiphon.library.contents import BinaryContent
from antiphon.library.file_parameters import FilePageParameters, NewFile
from antiphon.library.forms import FileInput
from antiphon.library.pages import Pages
from antiphon.library.parameters import CallOptions
from antiphon.library.resources.files import AsyncFiles
from antiphon.library.signatures import spelled_out
from antiphon.protocol.hosted_results import FileDeleted, FileObject


class Files:
    """Files: upload, list, read and delete them."""

    def __init__(self, resource: AsyncFiles, owner: LoopOwner) -> None:
        self._resource = resource
        self._owner = owner

    @spelled_out
    def create(self, *, file: FileInput, **parameters: Unpack[NewFile]) -> FileObject:
        """Upload a file: bytes, a path, an object that was opened for reading bytes, or a tuple of name and content.

        A file with the purpose `assistants` or `user_data` can be sent to a model, and searched in vector stores. Its
        content is read in pieces while it is stored.

        >>> from antiphon import Antiphon
        >>> with Antiphon() as client:
        ...     file = client.files.create(file=("tides.txt", b"High at noon."), purpose="user_data")
        ...     content = client.files.content(file.id)
        ...     print(file.filename, content.text)
        tides.txt High at noon.
        """  # noqa: E501 - a table, a diagram or an example
        return self._owner.run(self._resource.create(file=file, **parameters))

    @spelled_out
    def retrieve(self, file_id: str, **options: Unpack[CallOptions]) -> FileObject:
        """Return a file, without its content."""
        return self._owner.run(self._resource.retrieve(file_id, **options))

    @spelled_out
    def list(self, **parameters: Unpack[FilePageParameters]) -> Pages[FileObject]:
        """Return the files, newest first unless `order` is `asc`."""
        return Pages(self._resource.list(**parameters), self._owner)

    @spelled_out
    def delete(self, file_id: str, **options: Unpack[CallOptions]) -> FileDeleted:
        """Delete a file, also from all vector stores."""
        return self._owner.run(self._resource.delete(file_id, **options))

    @spelled_out
    def content(self, file_id: str, **options: Unpack[CallOptions]) -> BinaryContent:
        """Return the content of a file, held in memory."""
        return self._owner.run(self._resource.content(file_id, **options))
