"""The `image_generation` tool, for all requests of this process (specification section 8)."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from antiphon.errors import AntiphonError, log
from antiphon.protocol.items.content import InputImage
from antiphon.protocol.items.hosted import ImageGenerationCall
from antiphon.protocol.stored_images import StoredImage
from antiphon.protocol.tools import Tool
from antiphon.sharing.offload import Offload
from antiphon.sharing.scheduler import FairScheduler, NoRoomError
from antiphon.tools.base import ToolOutcome, Use
from antiphon.tools.images.content import MOST_BYTES, NotAnImageError, Picture, inspect
from antiphon.tools.images.contract import FetchImage, ImagesServer, ImageStore
from antiphon.tools.images.conversation import Seen, has_image, images_of
from antiphon.tools.images.making import CreatedImage, ImageError, Maker, Order, from_base64
from antiphon.tools.images.options import ImageOptions, read_options

MAX_BUFFERED = 128 * 1024 * 1024
"""Characters of base64 images in the items of a response while it runs; beyond that no more are
generated.
"""

LONGEST_PROMPT = 32_000
"""Characters of a prompt."""

MOST_WAITING = 1_000
"""Images that can wait to be generated."""


def image_turns(at_once: int) -> FairScheduler:
    """Return the scheduler that shares the capacity for images between tenants."""
    return FairScheduler(at_once, MOST_WAITING)


class ImageGeneration:
    """Generates and edits images. It is a `HostedTool`.

    The model chooses the prompt, and which image is edited; everything else is from the request,
    and the name of the images model is the operator's: no server knows the tool's own default.
    """

    def __init__(
        self,
        server: ImagesServer,
        store: ImageStore,
        fetch: FetchImage,
        turns: FairScheduler,
        offload: Offload,
        timeout: float,
    ) -> None:
        self._maker = Maker(server, fetch, offload)
        self._offload = offload
        self._server = server
        self._store = store
        self._fetch = fetch
        self._turns = turns
        self._timeout = timeout

    def check(self, tool: Tool, path: str = "tools") -> None:
        """Raise `ClientError` (400) for invalid fields."""
        read_options(tool, path)

    async def run(self, use: Use) -> ToolOutcome:
        """Generate the image of the model's call."""
        options = read_options(use.tool)
        number = (
            len(images_of(use.conversation())) + 1
        )  # in the order of the calls, whichever ends first
        try:
            order = await self._order(use, options)
            created = await self._in_turn(order)
            stored = await self._save(use, created)
        except ImageError as error:
            return _failed(error)
        except AntiphonError as error:
            return _failed(ImageError(error.message, code=error.code), error)
        except NoRoomError:
            return _failed(ImageError("The server is overloaded: too many images wait to be made."))
        return _report(order, created, stored, number)

    async def close(self) -> None:
        """Release connections."""
        await self._server.close()

    async def _in_turn(self, order: Order) -> CreatedImage:
        async with self._turns.slot(order.tenant):
            try:
                async with asyncio.timeout(self._timeout) as limit:
                    return await self._maker.make(order)
            except TimeoutError:
                if not limit.expired():
                    raise
                text = (
                    f"The images server '{self._server.name}' did not answer within "
                    f"{self._timeout:g} seconds."
                )
                raise ImageError(text, cause=text) from None

    async def _save(self, use: Use, created: CreatedImage) -> StoredImage:
        blob = await self._store.save(use.tenant, created.picture.data) if use.is_stored else ""
        return StoredImage(blob, len(created.picture.data), created.usage)

    # The request.

    async def _order(self, use: Use, options: ImageOptions) -> Order:
        prompt = use.arguments.get("prompt")
        if not isinstance(prompt, str) or not prompt.strip():
            raise ImageError("`image_generation` needs a `prompt`.", "invalid_request_error")
        values = prompt[:LONGEST_PROMPT], options
        seen = images_of(use.conversation())
        if (
            sum(len(one.result or "") for one in seen if isinstance(one, ImageGenerationCall))
            > MAX_BUFFERED
        ):
            raise ImageError("The response has too many images. Ask for more in the next response.")
        source = _source(use.arguments, options.action, seen)
        if source is None:
            return Order(*values, tenant=use.tenant, report=use.report)
        mask = await self._mask(options.mask, use.tenant) if options.mask else None
        picture = await self._picture(source, use.tenant)
        return Order(*values, [picture], mask, use.tenant, use.report)

    async def _mask(self, provided: Mapping[str, Any], tenant: str) -> Picture:
        return await self._picture(
            InputImage(image_url=provided.get("image_url"), file_id=provided.get("file_id")), tenant
        )

    async def _picture(self, seen: Seen, tenant: str) -> Picture:
        """Return an image of the conversation."""
        try:
            if isinstance(seen, ImageGenerationCall):
                return await self._created_before(seen, tenant)
            return await self._provided(seen, tenant)
        except NotAnImageError as error:
            raise ImageError(
                f"The image cannot be changed: it {error}.", "invalid_request_error"
            ) from error

    async def _created_before(self, item: ImageGenerationCall, tenant: str) -> Picture:
        stored = StoredImage.read(item.result)
        if stored is None:
            text = str(item.result)
            return await self._offload.run(tenant, len(text), from_base64, text)
        data = await self._store.load(tenant, stored)
        if data is None:
            raise ImageError(
                "The image was deleted, so it cannot be changed.", "invalid_request_error"
            )
        return inspect(data)

    async def _provided(self, part: InputImage, tenant: str) -> Picture:
        if part.file_id:
            data = await self._store.load_file(tenant, part.file_id, MOST_BYTES)
            if data is None:
                text = f"No such File object: {part.file_id[:100]}"
                raise ImageError(text, "invalid_request_error", param="file_id")
            return inspect(data)
        url = part.image_url or ""
        if url.startswith("data:"):
            return await self._offload.run(tenant, len(url), from_base64, url)
        try:
            return inspect(await self._fetch(url, MOST_BYTES, tenant))
        except OSError as error:
            text = f"The image could not be fetched: {error}."
            raise ImageError(text, "invalid_request_error", param="image_url") from error


def _source(arguments: Mapping[str, Any], action: str, seen: Sequence[Seen]) -> Seen | None:
    """Return the image to edit, None to generate a new one. Raises `ImageError`."""
    number = _number(arguments.get("edit_of"))
    wanted = arguments.get("action") if action == "auto" else action
    is_edit = wanted == "edit" or (wanted != "generate" and number is not None)
    if not is_edit:
        return None
    there = [one for one in seen if has_image(one)]
    if not there:
        text = (
            "There is no image to edit: the conversation has none. "
            "Make a new image with action `generate`."
        )
        raise ImageError(text, "invalid_request_error", param="action")
    if number is None:
        return there[-1]
    if not 1 <= number <= len(seen):
        text = f"There is no image {number}: the conversation has the images 1 to {len(seen)}."
        raise ImageError(text, "invalid_request_error", param="edit_of")
    if not has_image(seen[number - 1]):
        text = f"Image {number} was not made, or is not made yet. Change another one."
        raise ImageError(text, "invalid_request_error", param="edit_of")
    return seen[number - 1]


def _number(value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | str):
        return None
    text = str(value).strip()
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else None


def _report(
    order: Order, created: CreatedImage, stored_image: StoredImage, number: int
) -> ToolOutcome:
    sent = order.options.sent
    stated = created.stated
    fields = {
        "action": "edit" if order.images else "generate",
        "background": stated.get("background") or sent.get("background", "auto"),
        "output_format": created.picture.format,
        "quality": stated.get("quality") or sent.get("quality", "auto"),
        "result": created.base64,
        "revised_prompt": stated.get("revised_prompt") or order.prompt,
        "size": stated.get("size") or created.picture.size,
        "kept": stored_image,
    }
    text = (
        f"Made image {number} ({created.picture.format}, {fields['size']}). "
        "The user already sees it."
    )
    return ToolOutcome(text, fields)


def _failed(error: ImageError, cause: AntiphonError | None = None) -> ToolOutcome:
    """Return the result of a failed call, and log failures that the operator can correct."""
    if cause or error.cause:
        log.warning("Cannot generate an image: %s", cause or error.cause)
    return ToolOutcome(f"The image was not made: {error}", {"error": error.error}, is_failed=True)
