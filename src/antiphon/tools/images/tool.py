"""The `image_generation` tool, for all requests of this process (specification section 8)."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from antiphon.errors import AntiphonError, log
from antiphon.protocol.items.content import InputImage
from antiphon.protocol.items.hosted import ImageGenerationCall
from antiphon.protocol.kept_images import KeptImage
from antiphon.protocol.tools import Tool
from antiphon.sharing.scheduler import FairScheduler, NoRoomError
from antiphon.tools.base import ToolResult, Use
from antiphon.tools.images.content import MOST_BYTES, NotAnImageError, Picture, look_at
from antiphon.tools.images.contract import FetchImage, ImagesServer, ImageStore
from antiphon.tools.images.conversation import Seen, has_image, images_of
from antiphon.tools.images.making import Made, Maker, NotMadeError, Order, from_base64
from antiphon.tools.images.options import Options, read_options

MOST_HELD = 128 * 1024 * 1024
"""Characters of base64 images in the items of a response while it runs; beyond that no more are generated."""

LONGEST_PROMPT = 32_000
"""Characters of a prompt."""

MOST_WAITING = 1_000
"""Images that can wait to be generated."""


def image_turns(at_once: int) -> FairScheduler:
    """Return the scheduler that shares the capacity for images between tenants."""
    return FairScheduler(at_once, MOST_WAITING)


class ImageGeneration:
    """Generates and edits images. It is a `HostedTool`.

    The model chooses the prompt, and which image is edited; everything else is from the request, and the name of the
    images model is the operator's: no server knows the tool's own default.
    """

    def __init__(
        self, server: ImagesServer, store: ImageStore, fetch: FetchImage, turns: FairScheduler, timeout: float
    ) -> None:
        self._maker, self._server = Maker(server, fetch), server
        self._store, self._fetch, self._turns, self._timeout = store, fetch, turns, timeout

    def check(self, tool: Tool, path: str = "tools") -> None:
        """Raise `ClientError` (400) for invalid fields."""
        read_options(tool, path)

    async def run(self, use: Use) -> ToolResult:
        """Generate the image of the model's call."""
        options = read_options(use.tool)
        number = len(images_of(use.conversation())) + 1  # in the order of the calls, whichever ends first
        try:
            order = await self._order(use, options)
            made = await self._in_turn(order)
            kept = await self._keep(use, made)
        except NotMadeError as error:
            return _failed(error)
        except AntiphonError as error:
            return _failed(NotMadeError(error.message, code=error.code), error)
        except NoRoomError:
            return _failed(NotMadeError("The server is overloaded: too many images wait to be made."))
        return _report(order, made, kept, number)

    async def close(self) -> None:
        """Release connections."""
        await self._server.close()

    async def _in_turn(self, order: Order) -> Made:
        async with self._turns.slot(order.tenant):
            try:
                async with asyncio.timeout(self._timeout) as limit:
                    return await self._maker.make(order)
            except TimeoutError:
                if not limit.expired():
                    raise
                text = f"The images server '{self._server.name}' did not answer within {self._timeout:g} seconds."
                raise NotMadeError(text, cause=text) from None

    async def _keep(self, use: Use, made: Made) -> KeptImage:
        blob = await self._store.keep(use.tenant, made.picture.data) if use.is_stored else ""
        return KeptImage(blob, len(made.picture.data), made.usage)

    # The request.

    async def _order(self, use: Use, options: Options) -> Order:
        prompt = use.arguments.get("prompt")
        if not isinstance(prompt, str) or not prompt.strip():
            raise NotMadeError("`image_generation` needs a `prompt`.", "invalid_request_error")
        values = prompt[:LONGEST_PROMPT], options
        seen = images_of(use.conversation())
        if sum(len(one.result or "") for one in seen if isinstance(one, ImageGenerationCall)) > MOST_HELD:
            raise NotMadeError("The response has too many images. Ask for more in the next response.")
        source = _source(use.arguments, options.action, seen)
        if source is None:
            return Order(*values, tenant=use.tenant, report=use.report)
        mask = await self._mask(options.mask, use.tenant) if options.mask else None
        picture = await self._picture(source, use.tenant)
        return Order(*values, [picture], mask, use.tenant, use.report)

    async def _mask(self, given: Mapping[str, Any], tenant: str) -> Picture:
        return await self._picture(InputImage(image_url=given.get("image_url"), file_id=given.get("file_id")), tenant)

    async def _picture(self, seen: Seen, tenant: str) -> Picture:
        """Return an image of the conversation."""
        try:
            if isinstance(seen, ImageGenerationCall):
                return await self._made_before(seen, tenant)
            return await self._given(seen, tenant)
        except NotAnImageError as error:
            raise NotMadeError(f"The image cannot be changed: it {error}.", "invalid_request_error") from error

    async def _made_before(self, item: ImageGenerationCall, tenant: str) -> Picture:
        kept = KeptImage.read(item.result)
        if kept is None:
            return await asyncio.to_thread(from_base64, str(item.result))
        data = await self._store.load(tenant, kept)
        if data is None:
            raise NotMadeError("The image was deleted, so it cannot be changed.", "invalid_request_error")
        return look_at(data)

    async def _given(self, part: InputImage, tenant: str) -> Picture:
        if part.file_id:
            data = await self._store.load_file(tenant, part.file_id, MOST_BYTES)
            if data is None:
                text = f"No such File object: {part.file_id[:100]}"
                raise NotMadeError(text, "invalid_request_error", param="file_id")
            return look_at(data)
        url = part.image_url or ""
        if url.startswith("data:"):
            return await asyncio.to_thread(from_base64, url)
        try:
            return look_at(await self._fetch(url, MOST_BYTES, tenant))
        except OSError as error:
            text = f"The image could not be fetched: {error}."
            raise NotMadeError(text, "invalid_request_error", param="image_url") from error


def _source(arguments: Mapping[str, Any], action: str, seen: Sequence[Seen]) -> Seen | None:
    """Return the image to edit, None to generate a new one. Raises `NotMadeError`."""
    number = _number(arguments.get("edit_of"))
    wanted = arguments.get("action") if action == "auto" else action
    is_edit = wanted == "edit" or (wanted != "generate" and number is not None)
    if not is_edit:
        return None
    there = [one for one in seen if has_image(one)]
    if not there:
        text = "There is no image to edit: the conversation has none. Make a new image with action `generate`."
        raise NotMadeError(text, "invalid_request_error", param="action")
    if number is None:
        return there[-1]
    if not 1 <= number <= len(seen):
        text = f"There is no image {number}: the conversation has the images 1 to {len(seen)}."
        raise NotMadeError(text, "invalid_request_error", param="edit_of")
    if not has_image(seen[number - 1]):
        text = f"Image {number} was not made, or is not made yet. Change another one."
        raise NotMadeError(text, "invalid_request_error", param="edit_of")
    return seen[number - 1]


def _number(given: Any) -> int | None:
    if isinstance(given, bool) or not isinstance(given, int | str):
        return None
    text = str(given).strip()
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else None


def _report(order: Order, made: Made, kept: KeptImage, number: int) -> ToolResult:
    sent, said = order.options.sent, made.said
    fields = {
        "action": "edit" if order.images else "generate",
        "background": said.get("background") or sent.get("background", "auto"),
        "output_format": made.picture.format,
        "quality": said.get("quality") or sent.get("quality", "auto"),
        "result": made.base64,
        "revised_prompt": said.get("revised_prompt") or order.prompt,
        "size": said.get("size") or made.picture.size,
        "kept": kept,
    }
    text = f"Made image {number} ({made.picture.format}, {fields['size']}). The user already sees it."
    return ToolResult(text, fields)


def _failed(error: NotMadeError, cause: AntiphonError | None = None) -> ToolResult:
    """Return the result of a failed call, and log failures that the operator can correct."""
    if cause or error.cause:
        log.warning("Cannot generate an image: %s", cause or error.cause)
    return ToolResult(f"The image was not made: {error}", {"error": error.error}, is_failed=True)
