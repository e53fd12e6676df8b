"""Describes images for models without vision, using a model with vision (`vision` in the settings).

Each image is described once, with the question next to it in view: as a response of its own, which
occupies a slot of its backend in the tenant's turn, and is counted like any other. The description
is cached, also in the store unless the request sets `store: false`, so that later turns read the
same words.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass

from antiphon.cache.cache import AnswerCache
from antiphon.errors import AntiphonError, BackendError, StoreError, log
from antiphon.protocol.items.content import ContentPart, InputImage, InputText
from antiphon.protocol.items.messages import Message
from antiphon.protocol.requests import CreateResponse
from antiphon.protocol.response import Response, Usage
from antiphon.sharing.recent import Recent
from antiphon.telemetry.kinds import Counter
from antiphon.translation.to_chat_completions.vision import PROMPT, RequestImage
from antiphon.translation.writer import output_text

AT_ONCE = 4
"""Images of one request that are described at once."""

MOST_BYTES = 16 * 1024 * 1024
"""Bytes of descriptions that a process caches."""

Respond = Callable[[CreateResponse, str], Awaitable[Response]]
"""Runs a response for a tenant. Raises `AntiphonError`."""


@dataclass(slots=True)
class _Making:
    """A description in progress, and how many requests wait for it."""

    task: asyncio.Task[tuple[str, Usage | None]]
    waiting: int = 0
    is_counted: bool = False
    """Its tokens count for one of these requests."""


class Vision:
    """All descriptions of images. `model` describes them; its name is the one that clients use."""

    def __init__(self, model: str, respond: Respond, cache: AnswerCache, count: Counter) -> None:
        self.model = model
        self._respond = respond
        self._cache = cache
        self._count = count
        self._known: Recent[bytes, str] = Recent(MOST_BYTES, len)
        self._making: dict[bytes, _Making] = {}

    async def describe(
        self,
        images: Collection[RequestImage],
        tenant: str,
        see: Callable[[Usage], None],
        *,
        is_stored: bool,
    ) -> dict[RequestImage, str]:
        """Return the description of each image.

        `see` is called with the tokens of each new one, even if another one fails. `is_stored`
        caches them in the store. Raises `BackendError` (502), which names the setting, if one
        fails.
        """
        slots = asyncio.Semaphore(AT_ONCE)

        async def one(image: RequestImage) -> str:
            async with slots:
                text, usage = await self._description(image, tenant, is_stored=is_stored)
            if usage is not None:
                see(usage)
            return text

        wanted = list(dict.fromkeys(images))
        tasks = [asyncio.create_task(one(image)) for image in wanted]
        try:
            created = await asyncio.gather(*tasks)
        finally:
            for task in tasks:  # after a failure the others are useless
                task.cancel()
        return dict(zip(wanted, created, strict=True))

    async def _description(
        self, image: RequestImage, tenant: str, *, is_stored: bool
    ) -> tuple[str, Usage | None]:
        key = await self._cache.digest(tenant, "vision", self.model, image.url, image.question)
        if known := await self._find(tenant, key):
            self._count.add("known")
            return known, None
        making = self._making.get(key)
        if making is None:
            making = self._making[key] = _Making(
                asyncio.create_task(self._make(image, tenant, key))
            )
        making.waiting += 1
        try:
            text, usage = await asyncio.shield(making.task)
        finally:
            making.waiting -= 1
            if not making.waiting:  # no request waits for it any more
                del self._making[key]
                making.task.cancel()
        is_counted = making.is_counted
        making.is_counted = True
        if is_stored:
            await self._store(tenant, key, text)
        return text, None if is_counted else usage

    async def _find(self, tenant: str, key: bytes) -> str:
        """Return a known description, else an empty text."""
        known = self._known.find(tenant, key)
        if known is None:
            try:
                stored = await self._cache.find(tenant, key)
            except StoreError as error:
                log.warning("Cannot read the description of an image from the store: %s", error)
                stored = None
            if stored is None:
                return ""
            known = stored.decode()
            self._known.put(tenant, key, known)
        return known

    async def _make(self, image: RequestImage, tenant: str, key: bytes) -> tuple[str, Usage | None]:
        try:
            response = await self._respond(request_for(image, self.model), tenant)
        except AntiphonError as error:
            self._count.add("failed")
            raise failed(self.model, error.message, error.gist) from error
        text = output_text(response).strip()
        if not text:
            self._count.add("failed")
            raise failed(self.model, f"its response is '{response.status}' and has no text.")
        self._count.add("described")
        self._known.put(tenant, key, text)
        return text, response.usage

    async def _store(self, tenant: str, key: bytes, text: str) -> None:
        try:
            await self._cache.save(tenant, key, text.encode(), self._cache.longest)
        except StoreError as error:
            log.warning("Cannot store the description of an image: %s", error)


def request_for(image: RequestImage, model: str) -> CreateResponse:
    """Return the request to describe an image."""
    content: list[ContentPart] = [
        InputText(text=PROMPT + image.question),
        InputImage(image_url=image.url),
    ]
    return CreateResponse(model=model, input=[Message(role="user", content=content)], store=False)


def failed(model: str, reason: str, gist: str | None = None) -> BackendError:
    """Return the error for an image that could not be described."""
    what = (
        f"The model does not accept images, and the model '{model}' that describes them "
        "(setting `vision`) failed: "
    )
    return BackendError(what + reason, gist=what + (gist or reason))
