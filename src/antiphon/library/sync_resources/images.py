"""The images of `Antiphon`.

Written by `scripts/sync_client.py`.
"""

from typing import Any, Literal, Unpack, overload

from antiphon.library.background_loop import LoopOwner
from antiphon.library.file_parameters import ImageEditParameters, NewImageParameters
from antiphon.library.forms import FileInput
from antiphon.library.resources.images import AsyncImages
from antiphon.library.signatures import spelled_out
from antiphon.library.streams import AsyncStream, Stream
from antiphon.protocol.forwarded_results import (
    ImageEditStreamEvent,
    ImageGenStreamEvent,
    ImagesResponse,
)


class Images:
    """Images, generated and edited by a backend."""

    def __init__(self, resource: AsyncImages, owner: LoopOwner) -> None:
        self._resource = resource
        self._owner = owner

    @overload
    def generate(
        self, *, stream: Literal[False] | None = None, **parameters: Unpack[NewImageParameters]
    ) -> ImagesResponse: ...

    @overload
    def generate(
        self, *, stream: Literal[True], **parameters: Unpack[NewImageParameters]
    ) -> Stream[ImageGenStreamEvent]: ...

    @spelled_out
    def generate(
        self, *, stream: bool | None = None, **parameters: Unpack[NewImageParameters]
    ) -> ImagesResponse | Stream[ImageGenStreamEvent]:
        """Return images of a text; with `stream=True`, return events with images as they are
        made."""
        method: Any = self._resource.generate
        result_stream: Any = self._owner.run(method(stream=stream, **parameters))
        result: ImagesResponse | Stream[ImageGenStreamEvent] = (
            Stream(result_stream, self._owner)
            if isinstance(result_stream, AsyncStream)
            else result_stream
        )
        return result

    @overload
    def edit(
        self,
        *,
        image: FileInput | list[FileInput],
        stream: Literal[False] | None = None,
        **parameters: Unpack[ImageEditParameters],
    ) -> ImagesResponse: ...

    @overload
    def edit(
        self,
        *,
        image: FileInput | list[FileInput],
        stream: Literal[True],
        **parameters: Unpack[ImageEditParameters],
    ) -> Stream[ImageEditStreamEvent]: ...

    @spelled_out
    def edit(
        self,
        *,
        image: FileInput | list[FileInput],
        stream: bool | None = None,
        **parameters: Unpack[ImageEditParameters],
    ) -> ImagesResponse | Stream[ImageEditStreamEvent]:
        """Return images that are made of one image or a list of several, and a text; or their
        events, as `generate`.

        See `files.create` for what a file can be.
        """
        method: Any = self._resource.edit
        result_stream: Any = self._owner.run(method(image=image, stream=stream, **parameters))
        result: ImagesResponse | Stream[ImageEditStreamEvent] = (
            Stream(result_stream, self._owner)
            if isinstance(result_stream, AsyncStream)
            else result_stream
        )
        return result
