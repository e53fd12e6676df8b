"""The containers of `AsyncAntiphon`, and the files in them."""

from typing import Unpack

from antiphon.library.call import ApiCall, path
from antiphon.library.calls import Calls
from antiphon.library.contents import BinaryContent
from antiphon.library.file_parameters import (
    ContainerFilePageParameters,
    ContainerPageParameters,
    NewContainer,
)
from antiphon.library.forms import FileInput, MultipartForm
from antiphon.library.options import Options
from antiphon.library.pages import AsyncPages
from antiphon.library.parameters import CallOptions, without_options
from antiphon.library.signatures import spelled_out
from antiphon.protocol.hosted_results import (
    Container,
    ContainerDeleted,
    ContainerFile,
    ContainerFileDeleted,
)

ONE = "/containers/{}"
FILE = "/containers/{}/files/{}"


class AsyncContainers:
    """Containers, in which the tool `code_interpreter` runs its code.

    `files` are the files in them.
    """

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self.files = AsyncContainerFiles(calls)

    @spelled_out
    async def create(self, **parameters: Unpack[NewContainer]) -> Container:
        """Create a container with its first files.

        >>> import asyncio
        >>> from antiphon import AsyncAntiphon
        >>> async def main() -> None:
        ...     async with AsyncAntiphon() as client:
        ...         container = await client.containers.create(name="sums")
        ...         file = await client.containers.files.create(container.id, file=("a.csv", b"1,2"))
        ...         content = await client.containers.files.content.retrieve(file.id, container_id=container.id)
        ...         print(content.text)
        >>> asyncio.run(main())
        1,2
        """  # noqa: E501 - a table, a diagram or an example
        call = ApiCall("POST", "/containers", body=without_options(parameters))
        return await self._calls.send(Container, call, Options.of(parameters))

    @spelled_out
    async def retrieve(self, container_id: str, **options: Unpack[CallOptions]) -> Container:
        """Return a container."""
        return await self._calls.send(
            Container, ApiCall("GET", path(ONE, container_id)), Options.of(options)
        )

    @spelled_out
    def list(self, **parameters: Unpack[ContainerPageParameters]) -> AsyncPages[Container]:
        """Return the containers, newest first unless `order` is `asc`."""
        return self._calls.pages(Container, "/containers", parameters)

    @spelled_out
    async def delete(self, container_id: str, **options: Unpack[CallOptions]) -> ContainerDeleted:
        """Delete a container with its files."""
        return await self._calls.send(
            ContainerDeleted, ApiCall("DELETE", path(ONE, container_id)), Options.of(options)
        )


class AsyncContainerFiles:
    """The files in containers. `content` reads them."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self.content = AsyncContainerFileContent(calls)

    @spelled_out
    async def create(
        self,
        container_id: str,
        *,
        file: FileInput | None = None,
        file_id: str | None = None,
        **options: Unpack[CallOptions],
    ) -> ContainerFile:
        """Add a file: either upload `file`, or copy the file with `file_id`.

        Raises `TypeError` for both or neither.
        """
        if (file is None) == (file_id is None):
            raise TypeError("Pass either `file` or `file_id`.")
        body = {"file_id": file_id} if file is None else MultipartForm({}, [("file", file)])
        call = ApiCall("POST", path(f"{ONE}/files", container_id), body=body)
        return await self._calls.send(ContainerFile, call, Options.of(options))

    @spelled_out
    async def retrieve(
        self, file_id: str, *, container_id: str, **options: Unpack[CallOptions]
    ) -> ContainerFile:
        """Return a file in a container, without its content."""
        return await self._calls.send(
            ContainerFile, ApiCall("GET", path(FILE, container_id, file_id)), Options.of(options)
        )

    @spelled_out
    def list(
        self, container_id: str, **parameters: Unpack[ContainerFilePageParameters]
    ) -> AsyncPages[ContainerFile]:
        """Return the files in a container, newest first unless `order` is `asc`."""
        return self._calls.pages(ContainerFile, path(f"{ONE}/files", container_id), parameters)

    @spelled_out
    async def delete(
        self, file_id: str, *, container_id: str, **options: Unpack[CallOptions]
    ) -> ContainerFileDeleted:
        """Delete a file from a container."""
        call = ApiCall("DELETE", path(FILE, container_id, file_id))
        return await self._calls.send(ContainerFileDeleted, call, Options.of(options))


class AsyncContainerFileContent:
    """The content of files in containers."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    @spelled_out
    async def retrieve(
        self, file_id: str, *, container_id: str, **options: Unpack[CallOptions]
    ) -> BinaryContent:
        """Return the content of a file, held in memory."""
        return await self._calls.content(
            path(f"{FILE}/content", container_id, file_id), Options.of(options)
        )
