"""The images of `AsyncAntiphon`."""

from typing import Literal, Unpack, overload

from antiphon.library.call import ApiCall
from antiphon.library.calls import Calls
from antiphon.library.file_parameters import ImageEditParameters, NewImageParameters
from antiphon.library.forms import FileInput, MultipartForm, form_fields
from antiphon.library.options import Options
from antiphon.library.parameters import with_extra
from antiphon.library.signatures import spelled_out
from antiphon.library.streams import AsyncStream
from antiphon.protocol.forwarded_results import (
    ImageEditStreamEvent,
    ImageGenStreamEvent,
    ImagesResponse,
)


class AsyncImages:
    """Images, generated and edited by a backend."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    @overload
    async def generate(
        self, *, stream: Literal[False] | None = None, **parameters: Unpack[NewImageParameters]
    ) -> ImagesResponse: ...

    @overload
    async def generate(
        self, *, stream: Literal[True], **parameters: Unpack[NewImageParameters]
    ) -> AsyncStream[ImageGenStreamEvent]: ...

    @spelled_out
    async def generate(
        self, *, stream: bool | None = None, **parameters: Unpack[NewImageParameters]
    ) -> ImagesResponse | AsyncStream[ImageGenStreamEvent]:
        """Return images of a text; with `stream=True`, return events with images as they are
        made.
        """
        body = with_extra(parameters) | ({"stream": True} if stream else {})
        call = ApiCall("POST", "/images/generations", body=body)
        options = Options.of(parameters)
        if stream:
            return await self._calls.image_events(call, options)
        return await self._calls.send(ImagesResponse, call, options)

    @overload
    async def edit(
        self,
        *,
        image: FileInput | list[FileInput],
        stream: Literal[False] | None = None,
        **parameters: Unpack[ImageEditParameters],
    ) -> ImagesResponse: ...

    @overload
    async def edit(
        self,
        *,
        image: FileInput | list[FileInput],
        stream: Literal[True],
        **parameters: Unpack[ImageEditParameters],
    ) -> AsyncStream[ImageEditStreamEvent]: ...

    @spelled_out
    async def edit(
        self,
        *,
        image: FileInput | list[FileInput],
        stream: bool | None = None,
        **parameters: Unpack[ImageEditParameters],
    ) -> ImagesResponse | AsyncStream[ImageEditStreamEvent]:
        """Return images that are made of one image or a list of several, and a text; or their
        events, as `generate`.

        See `files.create` for what a file can be.
        """
        named = with_extra(parameters) | ({"stream": True} if stream else {})
        files = (
            [("image[]", one) for one in image] if isinstance(image, list) else [("image", image)]
        )
        files += [
            (name, named.pop(name)) for name in ("mask", "markup") if named.get(name) is not None
        ]
        call = ApiCall("POST", "/images/edits", body=MultipartForm(form_fields(named), files))
        options = Options.of(parameters)
        if stream:
            return await self._calls.image_events(call, options)
        return await self._calls.send(ImagesResponse, call, options)
