"""Calls the model that generates images, with routing as for a chat model."""

from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from urllib.parse import urlsplit

from antiphon.access.spending import SpentTokens, cost_of, name_of
from antiphon.build.foundation import Foundation
from antiphon.errors import BackendError
from antiphon.protocol.response import Usage
from antiphon.sharing.lazy import Lazy
from antiphon.storage.records.jobs import Reservation
from antiphon.telemetry.context import about
from antiphon.telemetry.observers import ObservedCall
from antiphon.translation.to_chat_completions.tokens import by_size
from antiphon.upstream.backend import Reply, sent_as
from antiphon.upstream.backend_state import ModelTarget
from antiphon.upstream.call import UpstreamReply, call
from antiphon.upstream.http import HttpBackend
from antiphon.upstream.permitted import check_permitted
from antiphon.upstream.router import Router

Make = Callable[[str], tuple[bytes, str]]

FETCH_TIMEOUT = 60.0
"""Seconds to fetch an image by the URL in a reply."""


class RoutedImages:
    """An image model, with routing as for a chat model. See `ImagesServer`."""

    def __init__(self, base: Foundation, router: Lazy[Router]) -> None:
        self._base = base
        self._router = router
        self._model = base.settings.images_model
        self._url = base.settings.images_backend
        self.name = urlsplit(self._url).netloc or self._model

    async def post(self, path: str, make: Make, tenant: str) -> "RoutedReply":
        """See `ImagesServer.post`."""
        check_permitted(self._model, "The tool 'image_generation'")
        route = await self._router.get().route(self._model, tenant=tenant)

        def body(target: ModelTarget) -> bytes:
            sent, kind = make(target.model)
            sent_as.set(kind)
            return sent

        def record(target: ModelTarget) -> ObservedCall:
            return ObservedCall(None, target, {"model": target.model}, "images")

        token = sent_as.set("")
        try:
            upstream, _ = await call(
                route, path, body, self._base.observers, record, _begun, any_status=True
            )
        finally:
            sent_as.reset(token)
        return RoutedReply(upstream, partial(_charge, self._base, tenant, upstream.target))

    def has(self, url: str) -> bool:
        """See `ImagesServer.has`. Which of several backends answered is not known any more."""
        return is_at(self._url, url)

    async def get(self, url: str, most: int) -> bytes:
        """See `ImagesServer.get`."""
        return await fetch_image(url, most)

    async def close(self) -> None:
        """See `ImagesServer.close`: the backends are closed elsewhere."""


async def _begun(reply: Reply) -> None:
    """Accept a reply as soon as its head has arrived."""


def _charge(
    base: Foundation,
    tenant: str,
    target: ModelTarget,
    prompt: str,
    input_tokens: int,
    output_tokens: int,
) -> None:
    """Charge the API key of the request for an image; the request itself was counted on arrival."""
    input_tokens = input_tokens or (0 if output_tokens else by_size(prompt))
    usage = Usage(input_tokens=input_tokens, output_tokens=output_tokens)
    spent = SpentTokens(input_tokens, output_tokens, 0, name_of(target), cost_of(target, usage))
    base.meter.charge(tenant, Reservation(about().api_key_id, 0, 0), base.now(), 0, spent)


class RoutedReply:
    """The reply of a backend. Closing it releases the backend's slot. See `ImagesReply`."""

    def __init__(
        self, upstream: "UpstreamReply[ObservedCall]", charge: Callable[[str, int, int], None]
    ) -> None:
        reply = upstream.reply
        self.status = reply.status
        self.content_type = reply.content_type
        self.body = reply.body
        self._upstream = upstream
        self.charge = charge

    async def close(self) -> None:
        """See `ImagesReply.close`."""
        if self.status < HTTPStatus.BAD_REQUEST:
            self._upstream.spoke()
            self._upstream.succeeded()
        await self._upstream.close()


def is_at(server: str, url: str) -> bool:
    """Whether a URL is at the server with this base URL, which is empty if it is unknown."""
    own = urlsplit(server)
    other = urlsplit(url)
    return bool(own.netloc) and (own.scheme, own.netloc) == (other.scheme, other.netloc)


async def fetch_image(url: str, most: int) -> bytes:
    """Return an image of at most `most` bytes from its image server.

    A redirect is not followed. Raises `OSError`.
    """
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
