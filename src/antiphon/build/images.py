"""Builds the image generation tool; its dependencies are loaded by the first request that uses it."""

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from http import HTTPStatus
from urllib.parse import urlsplit

from antiphon import ids
from antiphon.access.spending import Spent, cost_of, name_of
from antiphon.config import Settings, clean_key
from antiphon.errors import BackendError, ConfigError
from antiphon.extras import missing
from antiphon.protocol.response import Usage
from antiphon.runs.engine import Engine
from antiphon.storage.records.jobs import Reservation
from antiphon.telemetry.context import about
from antiphon.telemetry.observers import Call
from antiphon.tools.base import HostedTool
from antiphon.translation.to_chat_completions.tokens import by_size
from antiphon.upstream.backend import Listing, Reply, sent_as
from antiphon.upstream.backend_state import Target
from antiphon.upstream.call import UpstreamReply, call
from antiphon.upstream.http import HttpBackend
from antiphon.upstream.permitted import check_permitted
from antiphon.upstream.registry import ModelRegistry
from antiphon.upstream.router import Router

Make = Callable[[str], tuple[bytes, str]]

FETCH_TIMEOUT = 60.0
"""Seconds to fetch an image by the URL in a reply."""


def images_of(settings: Settings, engine: Callable[[], Engine]) -> Callable[[], HostedTool] | None:
    """Return the function that builds the tool, or None if the settings name no model. Raises `ConfigError`."""
    check_images(settings)
    if not settings.images_model:
        return None
    return lambda: open_images(settings, engine())


def check_images(settings: Settings) -> None:
    """Raise `ConfigError` for an image server without a model."""
    if settings.images_backend and not settings.images_model:
        raise ConfigError(
            "images_backend is set, and images_model is not. Set images_model to a model of that server. The model "
            "that a client names in the tool is ignored."
        )


def images_key(settings: Settings, environment: Mapping[str, str]) -> str:
    """Return the key of the images server, empty for none. Raises `ConfigError` if its variable is not set."""
    name = settings.images_key_env
    key = clean_key(environment, name) if name else ""
    if name and not key:
        raise ConfigError(f"images_key_env names the variable {name}, which is not set. Set it, or remove the setting.")
    return key


def open_images(settings: Settings, engine: Engine) -> HostedTool:
    """Return the image generation tool."""
    from antiphon.objects.files import storing  # noqa: PLC0415 - for requests with the tool alone
    from antiphon.objects.images import Images  # noqa: PLC0415 - the same
    from antiphon.tools.images.tool import ImageGeneration, image_turns  # noqa: PLC0415 - the same

    server = RoutedImages(engine, settings.images_model, settings.images_backend)
    turns = engine.shared.add("images", image_turns(settings.images_running))
    store = Images(engine.store, lambda: storing(engine.files))
    return ImageGeneration(server, store, partial(_fetch, engine), turns, settings.images_timeout)


def images_router(settings: Settings, key: str = "") -> Router | None:
    """Return the router to the image server of the settings, or None if the `backends` generate images.

    It has a registry of its own, with one model: chat requests never reach that server.
    """
    if not settings.images_backend:
        return None
    timeout = settings.images_timeout
    backend = ImagesBackend(
        "images",
        settings.images_backend,
        key,
        connect_timeout=settings.connect_timeout,
        first_byte_timeout=timeout,
        idle_timeout=timeout,
        key_env=settings.images_key_env,
    )
    backend.model = settings.images_model
    return Router(ModelRegistry([backend], ids.now))


class ImagesBackend(HttpBackend):
    """The server of the settings. It serves one model, regardless of its list."""

    FIRST_BYTE_SETTING = IDLE_SETTING = "images_timeout"

    model = ""

    async def list_models(self) -> Listing:
        """See `Backend.list_models`."""
        return Listing([{"id": self.model, "object": "model", "owned_by": "images"}])


async def _fetch(engine: Engine, url: str, most: int, tenant: str) -> bytes:
    """Return the content at a URL from a client or an image server; allowed addresses only. Raises `OSError`."""
    from antiphon.history.attachments import UnfetchedFileError  # noqa: PLC0415 - for requests with the tool alone

    if (lack := missing("files", "Images by URL", "image_url")) is not None:
        raise OSError(lack.message)
    try:
        return (await engine.attachments.fetch(url, most, tenant)).content
    except UnfetchedFileError as error:
        raise OSError(str(error)) from error


async def read_image(engine: Engine, server: str, url: str, tenant: str) -> str:
    """Return an image that a server returned by URL, as base64. See `ReadImage`; a `data:` URL is decoded."""
    from antiphon.protocol.kept_images import as_base64  # noqa: PLC0415 - for images by URL alone
    from antiphon.tools.images.content import MOST_BYTES, NotAnImageError, look_at  # noqa: PLC0415 - the same
    from antiphon.tools.images.making import from_base64  # noqa: PLC0415 - the same

    own = RoutedImages(engine, "", server)
    try:
        if url.startswith("data:"):
            picture = await asyncio.to_thread(from_base64, url)
        else:
            data = await (own.get(url, MOST_BYTES) if own.has(url) else _fetch(engine, url, MOST_BYTES, tenant))
            picture = await asyncio.to_thread(look_at, data)
    except NotAnImageError as error:
        raise OSError(f"its content {error}") from error
    return await asyncio.to_thread(as_base64, picture.data)


class RoutedImages:
    """An image model, with routing as for a chat model. See `ImagesServer`."""

    def __init__(self, engine: Engine, model: str, url: str) -> None:
        self._engine, self._model, self._url = engine, model, url
        self.name = urlsplit(url).netloc or model

    async def post(self, path: str, make: Make, tenant: str) -> "RoutedReply":
        """See `ImagesServer.post`."""
        check_permitted(self._model, "The tool 'image_generation'")
        route = await self._engine.image_router.route(self._model, tenant=tenant)

        def body(target: Target) -> bytes:
            sent, kind = make(target.model)
            sent_as.set(kind)
            return sent

        def record(target: Target) -> Call:
            return Call(None, target, {"model": target.model}, "images")

        token = sent_as.set("")
        try:
            upstream, _ = await call(route, path, body, self._engine.observers, record, _begun, any_status=True)
        finally:
            sent_as.reset(token)
        return RoutedReply(upstream, partial(_charge, self._engine, tenant, upstream.target))

    def has(self, url: str) -> bool:
        """See `ImagesServer.has`. Which of several backends answered is not known any more."""
        own, other = urlsplit(self._url), urlsplit(url)
        return bool(own.netloc) and (own.scheme, own.netloc) == (other.scheme, other.netloc)

    async def get(self, url: str, most: int) -> bytes:
        """See `ImagesServer.get`; a redirect is not followed."""
        parts = urlsplit(url)
        # A backend of its own, since a backend remembers every path.
        own = HttpBackend("images", f"{parts.scheme}://{parts.netloc}", list_timeout=FETCH_TIMEOUT)
        try:
            reply = await own.get(parts.path + (f"?{parts.query}" if parts.query else ""))
            try:
                if reply.status != HTTPStatus.OK:
                    raise OSError(f"its server answered with status {reply.status}")
                return await reply.read(most)
            finally:
                await reply.close()
        except BackendError as error:
            raise OSError(error.message) from error
        finally:
            await own.close()

    async def close(self) -> None:
        """See `ImagesServer.close`: the backends belong to the engine."""


async def _begun(reply: Reply) -> None:
    """Accept a reply as soon as its head has arrived."""


def _charge(engine: Engine, tenant: str, target: Target, prompt: str, input_tokens: int, output_tokens: int) -> None:
    """Charge the API key of the request for an image; the request itself was counted on arrival."""
    input_tokens = input_tokens or (0 if output_tokens else by_size(prompt))
    usage = Usage(input_tokens=input_tokens, output_tokens=output_tokens)
    spent = Spent(input_tokens, output_tokens, 0, name_of(target), cost_of(target, usage))
    engine.meter.charge(tenant, Reservation(about().api_key_id, 0, 0), engine.now(), 0, spent)


class RoutedReply:
    """The reply of a backend. Closing it releases the backend's slot. See `ImagesReply`."""

    def __init__(self, upstream: "UpstreamReply[Call]", charge: Callable[[str, int, int], None]) -> None:
        reply = upstream.reply
        self.status, self.content_type, self.body = reply.status, reply.content_type, reply.body
        self._upstream, self.charge = upstream, charge

    async def close(self) -> None:
        """See `ImagesReply.close`."""
        if self.status < HTTPStatus.BAD_REQUEST:
            self._upstream.spoke()
            self._upstream.succeeded()
        await self._upstream.close()
