"""The containers of `Antiphon`, and the files in them.

Written by `scripts/sync_client.py`.
"""

from typing import Unpack

from antiphon.library.background_loop import LoopOwner
from antiphon.library.contents import BinaryContent
from antiphon.library.file_parameters import (
    ContainerFilePageParameters,
    ContainerPageParameters,
    NewContainer,
)
from antiphon.library.forms import FileInput
from antiphon.library.pages import Pages
from antiphon.library.parameters import CallOptions
from antiphon.library.resources.containers import (
    AsyncContainerFileContent,
    AsyncContainerFiles,
    AsyncContainers,
)
from antiphon.library.signatures import spelled_out
from antiphon.protocol.hosted_results import (
    Container,
    ContainerDeleted,
    ContainerFile,
    ContainerFileDeleted,
)


class Containers:
    """Containers, in which the tool `code_interpreter` runs its code.

    `files` are the files in them.
    """

    def __init__(self, resource: AsyncContainers, owner: LoopOwner) -> None:
        self._resource = resource
        self._owner = owner
        self.files = ContainerFiles(resource.files, owner)

    @spelled_out
    def create(self, **parameters: Unpack[NewContainer]) -> Container:
        """Create a container with its first files.

        >>> from antiphon import Antiphon
        >>> with Antiphon() as client:
        ...     container = client.containers.create(name="sums")
        ...     file = client.containers.files.create(container.id, file=("a.csv", b"1,2"))
        ...     content = client.containers.files.content.retrieve(file.id, container_id=container.id)
        ...     print(content.text)
        1,2
        """  # noqa: E501 - a table, a diagram or an example
        return self._owner.run(self._resource.create(**parameters))

    @spelled_out
    def retrieve(self, container_id: str, **options: Unpack[CallOptions]) -> Container:
        """Return a container."""
        return self._owner.run(self._resource.retrieve(container_id, **options))

    @spelled_out
    def list(self, **parameters: Unpack[ContainerPageParameters]) -> Pages[Container]:
        """Return the containers, newest first unless `order` is `asc`."""
        return Pages(self._resource.list(**parameters), self._owner)

    @spelled_out
    def delete(self, container_id: str, **options: Unpack[CallOptions]) -> ContainerDeleted:
        """Delete a container with its files."""
        return self._owner.run(self._resource.delete(container_id, **options))


class ContainerFiles:
    """The files in containers. `content` reads them."""

    def __init__(self, resource: AsyncContainerFiles, owner: LoopOwner) -> None:
        self._resource = resource
        self._owner = owner
        self.content = ContainerFileContent(resource.content, owner)

    @spelled_out
    def create(
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
        return self._owner.run(
            self._resource.create(container_id, file=file, file_id=file_id, **options)
        )

    @spelled_out
    def retrieve(
        self, file_id: str, *, container_id: str, **options: Unpack[CallOptions]
    ) -> ContainerFile:
        """Return a file in a container, without its content."""
        return self._owner.run(
            self._resource.retrieve(file_id, container_id=container_id, **options)
        )

    @spelled_out
    def list(
        self, container_id: str, **parameters: Unpack[ContainerFilePageParameters]
    ) -> Pages[ContainerFile]:
        """Return the files in a container, newest first unless `order` is `asc`."""
        return Pages(self._resource.list(container_id, **parameters), self._owner)

    @spelled_out
    def delete(
        self, file_id: str, *, container_id: str, **options: Unpack[CallOptions]
    ) -> ContainerFileDeleted:
        """Delete a file from a container."""
        return self._owner.run(self._resource.delete(file_id, container_id=container_id, **options))


class ContainerFileContent:
    """The content of files in containers."""

    def __init__(self, resource: AsyncContainerFileContent, owner: LoopOwner) -> None:
        self._resource = resource
        self._owner = owner

    @spelled_out
    def retrieve(
        self, file_id: str, *, container_id: str, **options: Unpack[CallOptions]
    ) -> BinaryContent:
        """Return the content of a file, held in memory."""
        return self._owner.run(
            self._resource.retrieve(file_id, container_id=container_id, **options)
        )
