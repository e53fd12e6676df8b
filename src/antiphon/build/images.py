"""Generates images; its dependencies are loaded by the first request for an image."""

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from antiphon import ids
from antiphon.build.attachments import FileParts
from antiphon.build.foundation import Foundation
from antiphon.config import Settings, clean_key
from antiphon.errors import ConfigError
from antiphon.extras import missing
from antiphon.gateway.parts import ImageParts
from antiphon.sharing.lazy import Lazy
from antiphon.sharing.offload import Offload
from antiphon.tools.base import HostedTool
from antiphon.upstream.backend import Listing
from antiphon.upstream.http import HttpBackend
from antiphon.upstream.registry import ModelRegistry
from antiphon.upstream.router import Router

if TYPE_CHECKING:
    from antiphon.history.attachments import Attachments


def check_images(settings: Settings) -> None:
    """Raise `ConfigError` for an image server without a model."""
    if settings.images_backend and not settings.images_model:
        raise ConfigError(
            "images_backend is set, and images_model is not. Set images_model to a model of that "
            "server. The model that a client names in the tool is ignored."
        )


def images_key(settings: Settings, environment: Mapping[str, str]) -> str:
    """Return the key of the images server, empty for none.

    Raises `ConfigError` if its variable is not set.
    """
    name = settings.images_key_env
    key = clean_key(environment, name) if name else ""
    if name and not key:
        raise ConfigError(
            f"images_key_env names the variable {name}, which is not set. "
            "Set it, or remove the setting."
        )
    return key


def image_parts_of(base: Foundation, files: FileParts, key: str = "") -> ImageParts:
    """Return what passes requests for images on; `key` is the key of the images server."""
    router = Lazy(lambda: images_router(base.settings, key) or base.router)
    return ImageParts(router, partial(_read_image, base.offload, files.attachments), base.router)


def image_tool_of(
    base: Foundation, files: FileParts, router: Lazy[Router]
) -> Lazy[HostedTool] | None:
    """Return the image generation tool, or None if the settings name no model."""
    return Lazy(partial(_open_tool, base, files, router)) if base.settings.images_model else None


def _open_tool(base: Foundation, files: FileParts, router: Lazy[Router]) -> HostedTool:
    from antiphon.build.routed_images import RoutedImages  # noqa: PLC0415 - for requests with the tool alone
    from antiphon.objects.images import StoredImages  # noqa: PLC0415 - the same
    from antiphon.tools.images.tool import ImageGeneration, image_turns  # noqa: PLC0415 - the same

    turns = base.shared.add("images", image_turns(base.settings.images_running))
    store = StoredImages(base.store, files.files.get)
    fetch = partial(_fetch, files.attachments)
    timeout = base.settings.images_timeout
    return ImageGeneration(RoutedImages(base, router), store, fetch, turns, base.offload, timeout)


def images_router(settings: Settings, key: str = "") -> Router | None:
    """Return the router to the image server of the settings, or None if the `backends` generate
    images.

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


async def _fetch(attachments: "Lazy[Attachments]", url: str, most: int, tenant: str) -> bytes:
    """Return the content at a URL from a client or an image server; allowed addresses only.

    Raises `OSError`.
    """
    from antiphon.history.attachments import UnfetchedFileError  # noqa: PLC0415 - for images by URL alone

    if (lack := missing("files", "Images by URL", "image_url")) is not None:
        raise OSError(lack.message)
    try:
        return (await attachments.get().fetch(url, most, tenant)).content
    except UnfetchedFileError as error:
        raise OSError(str(error)) from error


async def _read_image(
    offload: Offload, attachments: "Lazy[Attachments]", server: str, url: str, tenant: str
) -> str:
    """Return an image that a server returned by URL, as base64.

    See `ReadImage`; a `data:` URL is decoded.
    """
    from antiphon.build.routed_images import fetch_image, is_at  # noqa: PLC0415 - for images by URL alone
    from antiphon.protocol.stored_images import as_base64  # noqa: PLC0415 - the same
    from antiphon.tools.images.content import MOST_BYTES, NotAnImageError, inspect  # noqa: PLC0415 - the same
    from antiphon.tools.images.making import from_base64  # noqa: PLC0415 - the same

    try:
        if url.startswith("data:"):
            picture = await offload.run(tenant, len(url), from_base64, url)
        else:
            is_own = is_at(server, url)
            data = await (
                fetch_image(url, MOST_BYTES)
                if is_own
                else _fetch(attachments, url, MOST_BYTES, tenant)
            )
            picture = await offload.run(tenant, len(data), inspect, data)
    except NotAnImageError as error:
        raise OSError(f"its content {error}") from error
    return await offload.run(tenant, len(picture.data), as_base64, picture.data)
