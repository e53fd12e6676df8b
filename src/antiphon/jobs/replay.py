"""A background response's stream, read from its log: past events from any number on,
then new ones (section 9).
"""

from collections.abc import AsyncGenerator
from functools import partial

import msgspec

from antiphon.errors import ClientError
from antiphon.objects.items import RETAINED, ItemViews
from antiphon.objects.pages import not_found
from antiphon.process import ProcessState
from antiphon.protocol.json_pieces import encode_large
from antiphon.protocol.json_slices import decoded
from antiphon.storage.operations import event_log, responses
from antiphon.storage.records.jobs import EventFrames
from antiphon.storage.records.responses import StoredResponse
from antiphon.storage.store import Store

POLL_INTERVAL = 1.0
"""Seconds between two checks of the log without a notification: another replica's may be lost."""

OPEN = frozenset({"queued", "in_progress"})


class CutOff(Exception):  # noqa: N818 - the reader must reconnect; this is not an error
    """The log lost its open end: a reader that has received it must not continue
    with the events that follow.
    """


class Replays:
    """The streams of all background responses of one store, until this process serves no more."""

    def __init__(self, store: Store, views: ItemViews, process: ProcessState) -> None:
        self._store = store
        self._views = views
        self._process = process

    async def check(self, tenant: str, response_id: str) -> None:
        """Raise `ClientError` unless the response has a log: 404 if it is unknown, else 400."""
        tail = await self._store.read(event_log.tail, tenant, response_id, -1)
        if tail is None:
            raise not_found("Response", response_id)
        if not tail.is_streamed:
            raise _no_log(await self._store.read(responses.load, tenant, response_id))

    async def events(
        self, tenant: str, response_id: str, after: int = -1, *, padding: bool = True
    ) -> AsyncGenerator[bytes, None]:
        """Yield the events after a number as server-sent events, to the end of the stream.

        Raises `CutOff`.
        """
        generation: int | None = None
        offload = self._views.capacity.offload
        with self._process.wakes.expect(response_id) as change:
            while True:
                read = partial(self._store.read, event_log.tail, tenant, response_id, after)
                tail = await change.shared_read((tenant, after), read)
                if (
                    tail is None
                    or self._process.is_over
                    or generation not in (None, tail.generation)
                ):
                    raise CutOff
                generation = tail.generation
                for frames in tail.frames:
                    body = frames.body
                    if not padding or frames.first <= after:
                        body = await offload.run(tenant, len(body), _part, frames, after, padding)
                    if RETAINED not in body:
                        yield body
                    else:
                        async for event in self._with_images(tenant, body):
                            yield event
                    after = frames.last
                if not tail.frames and tail.status not in OPEN:
                    return
                if not tail.frames:
                    await change.wait(POLL_INTERVAL)

    async def _with_images(self, tenant: str, body: bytes) -> AsyncGenerator[bytes, None]:
        """Yield each event, with its images."""
        from antiphon.objects.images import event_with_images  # noqa: PLC0415 - few responses have images

        for event in filter(None, body.split(b"\n\n")):
            yield await event_with_images(self._views, tenant, event) + b"\n\n"


def _part(frames: EventFrames, after: int, padding: bool) -> bytes:
    """Return the frames that a client has not received."""
    body = frames.body
    if frames.first <= after:
        events = body.split(b"\n\n")
        body = b"\n\n".join(events[after - frames.first + 1 :])
    return body if padding else _without_padding(body)


def _without_padding(body: bytes) -> bytes:
    return b"\n\n".join(map(_bare, body.split(b"\n\n")))


def _bare(event: bytes) -> bytes:
    head, mark, data = event.partition(b"data: ")
    if b'"obfuscation"' not in data:
        return event
    values = decoded(data)
    values.pop("obfuscation", None)
    return head + mark + encode_large(values)


def _no_log(stored: StoredResponse | None) -> ClientError:
    is_background = stored is not None and msgspec.json.decode(stored.body)["background"]
    reason = "stream=true" if is_background else "background=true"
    return ClientError(
        f"This response cannot be streamed because it was not created with {reason}.",
        param="stream",
    )
