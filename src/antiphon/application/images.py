"""Settings become the tool that makes images; all that it needs is loaded by the first request that has it."""

from collections.abc import Callable, Mapping
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from antiphon.config import Settings, clean_key
from antiphon.errors import BackendError, ConfigError
from antiphon.extras import missing
from antiphon.runs.engine import Engine
from antiphon.telemetry.observers import Call
from antiphon.tools.base import HostedTool
from antiphon.upstream.backend import Reply, sent_as
from antiphon.upstream.backend_state import Target
from antiphon.upstream.call import UpstreamReply, call

if TYPE_CHECKING:
    from antiphon.stored.files import Files

Make = Callable[[str], tuple[bytes, str]]

FETCH_TIMEOUT = 60.0
"""Seconds to fetch an image by the URL in a reply."""


def images_of(
    settings: Settings, environment: Mapping[str, str], engine: Callable[[], Engine]
) -> "Callable[[], HostedTool] | None":
    """Return what builds the tool, None where the settings name no model. Raises `ConfigError` for a missing key."""
    if not settings.images_model:
        if settings.images_backend:
            raise ConfigError(
                "images_backend names a server of images, and images_model names no model. Set images_model to a "
                "model of that server: no server has the models that clients name."
            )
        return None
    name = settings.images_key_env
    key = clean_key(environment, name) if name else ""
    if name and not key:
        raise ConfigError(f"images_key_env names the variable {name}, which is not set. Set it, or remove the setting.")
    return lambda: open_images(settings, engine(), key)


def open_images(settings: Settings, engine: Engine, key: str = "") -> HostedTool:
    """Return the tool that makes images."""
    from antiphon.stored.images import Images  # noqa: PLC0415 - for requests with the tool alone
    from antiphon.tools.images.tool import ImageGeneration, image_turns  # noqa: PLC0415 - the same

    server: OwnServer | Routed
    if settings.images_backend:
        server = OwnServer(settings.images_backend, settings.images_model, key, settings.images_timeout)
    else:
        server = Routed(engine, settings.images_model)
    turns = engine.shared.add("images", image_turns(settings.images_running))
    store = Images(partial(_files_of, engine), engine)
    return ImageGeneration(server, store, partial(_fetch, engine), turns, settings.images_timeout)


def _files_of(engine: Engine) -> "Files":
    from antiphon.stored.files import Files  # noqa: PLC0415 - for requests with the tool alone

    files = engine.files
    if not isinstance(files, Files):
        raise TypeError("this engine stores no files")
    return files


async def _fetch(engine: Engine, url: str, most: int, tenant: str) -> bytes:
    """Return what is at a URL that a client or a server of images names, from within reach alone. Raises `OSError`."""
    from antiphon.runs.attachments import UnfetchedFileError  # noqa: PLC0415 - for requests with the tool alone

    if (lack := missing("files", "Images by URL", "image_url")) is not None:
        raise OSError(lack.message)
    try:
        return (await engine.attachments.fetch(url, most, tenant)).content
    except UnfetchedFileError as error:
        raise OSError(str(error)) from error


class OwnServer:
    """The server of the settings. See `ImagesServer`."""

    def __init__(self, url: str, model: str, key: str, timeout: float) -> None:
        from antiphon.upstream.http import HttpBackend  # noqa: PLC0415 - for requests with the tool alone

        self.name, self._url, self._model = urlsplit(url).netloc, url, model
        self._open = partial(
            HttpBackend, "images", key=key, first_byte_timeout=timeout, idle_timeout=timeout, list_timeout=FETCH_TIMEOUT
        )
        self._backend = self._open(url)

    async def post(self, path: str, make: Make, tenant: str) -> Reply:
        """See `ImagesServer.post`."""
        body, kind = make(self._model)
        token = sent_as.set(kind)
        try:
            return await self._backend.post(path, body)
        finally:
            sent_as.reset(token)

    def has(self, url: str) -> bool:
        """Whether a URL is one of this server."""
        own, other = urlsplit(self._url), urlsplit(url)
        return (own.scheme, own.netloc) == (other.scheme, other.netloc)

    async def get(self, url: str, most: int) -> bytes:
        """Return what is at a URL of this server; a redirect is not followed. Raises `OSError`."""
        parts = urlsplit(url)
        own = self._open(f"{parts.scheme}://{parts.netloc}")  # of its own: a backend remembers every path
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
        """Close every connection."""
        await self._backend.close()


class Routed:
    """A model of the backends, which is routed to as a chat model is. See `ImagesServer`."""

    def __init__(self, engine: Engine, model: str) -> None:
        self._engine, self.name = engine, model

    async def post(self, path: str, make: Make, tenant: str) -> "RoutedReply":
        """See `ImagesServer.post`."""
        route = await self._engine.router.route(self.name, tenant=tenant)

        def body(target: Target) -> bytes:
            sent, kind = make(target.model)
            sent_as.set(kind)
            return sent

        def record(target: Target) -> Call:
            return Call(None, target, {"model": target.model}, "images")

        token = sent_as.set("")
        try:
            upstream, _ = await call(route, path, body, self._engine.observers, record, _begun, takes_any_status=True)
        finally:
            sent_as.reset(token)
        return RoutedReply(upstream)

    def has(self, url: str) -> bool:
        """See `ImagesServer.has`: which backend answered is not known any more."""
        return False

    async def get(self, url: str, most: int) -> bytes:
        """See `ImagesServer.get`."""
        raise OSError("the model's backend has no URLs of its own")

    async def close(self) -> None:
        """See `ImagesServer.close`: the backends belong to the server."""


async def _begun(reply: Reply) -> None:
    """Take an answer as soon as its head came."""


class RoutedReply:
    """The answer of a backend, whose slot is held until it is closed. See `ImagesReply`."""

    def __init__(self, upstream: "UpstreamReply[Call]") -> None:
        reply = upstream.reply
        self.status, self.content_type, self.body = reply.status, reply.content_type, reply.body
        self._upstream = upstream

    async def close(self) -> None:
        """See `ImagesReply.close`."""
        if self.status < HTTPStatus.BAD_REQUEST:
            self._upstream.spoke()
            self._upstream.succeeded()
        await self._upstream.close()
