"""Answers of `/v1/images/…` on their way to the client: an image by URL becomes `b64_json`, as the
tool returns it.

A URL can lead into the network of the image server, or to content that is no image. An answer
without one is passed on byte for byte. What is held until it is checked counts as memory of its
tenant.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any

from antiphon.errors import BackendError
from antiphon.forwarding.passthrough import Passing, PassthroughSink
from antiphon.protocol.json_pieces import encoded
from antiphon.protocol.json_slices import decoded
from antiphon.sharing.memory import PER_BYTE, Account
from antiphon.sharing.offload import Offload

MOST_ANSWER = 256 * 1024 * 1024
"""Bytes of an answer, or of a line of a stream, that are held until it is checked: 10 images of 19
MB.

The images by URL in one have as many characters of base64 together.
"""

ReadImage = Callable[[str, str, str], Awaitable[str]]
"""Returns an image as base64: of the base URL of the server that answered, the image's URL, and the
tenant.

Raises `OSError` with the reason why the address is not allowed, cannot be read, or is not an image.
"""

_MARKS = (b'"url"', b"\\u")
"""Without them, JSON has no key `url`, however it is escaped; base64 never has them."""

SEAM = max(map(len, _MARKS)) - 1
"""Bytes on either side of the border of two parts that can have a mark together."""


class PassingImages(Passing):
    """A request for images. See `Passing`."""

    read: ReadImage | None = None
    offload: Offload
    account: Account
    """What is held of the answer, as memory of the tenant."""
    most: int
    """Bytes that the tenant can ever hold."""

    async def run(self, sink: PassthroughSink) -> None:
        """See `Passing.run`. Raises `BackendError` also for an image by URL that cannot be
        returned.

        Raises `AntiphonError` (503) if the server has no memory to hold the answer now.
        """
        try:
            await super().run(_Checked(sink, self))
        finally:
            self.account.close()

    def count(self, size: int) -> None:
        """Count more bytes as held.

        Raises `AntiphonError` (503) without room, `BackendError` if there never is any.
        """
        if self.account.retained + size > self.most:
            raise self.too_large(self.most)
        self.account.take(size)

    async def checked(self, answer: bytes) -> bytes:
        """Return JSON without URLs of images, unchanged if it has none. Raises `BackendError`."""
        if not _is_marked(answer):
            return answer
        try:
            value, found = await self.offload.run(self.tenant, len(answer), _with_urls, answer)
        except (ValueError, RecursionError):
            raise self.error("returned an answer that is not valid JSON") from None
        left = MOST_ANSWER
        for one in found:
            left -= await self._replace(one)
            if left < 0:
                raise self.error(f"returned images by URL of more than {MOST_ANSWER} bytes")
        if not found:
            return answer
        size = self.account.retained
        return await self.offload.run(self.tenant, size, encoded, value, size)

    async def _replace(self, image: dict[str, Any]) -> int:
        """Replace the URL of an image by its content, unless it has that already; return the
        characters of that.
        """
        url = image.pop("url")
        if image.get("b64_json") or not url:
            return 0
        if self.read is None:
            raise self.error("returned an image by URL, which this server does not fetch")
        try:
            content = await self.read(self.target.backend.url, url, self.tenant)
        except (OSError, ValueError) as error:
            raise self.error(f"returned a URL that could not be fetched: {error}") from error
        self.count(PER_BYTE * len(content))
        image["b64_json"] = content
        return len(content)

    def error(self, reason: str) -> BackendError:
        """Return the error for an answer of the server.

        `reason` is a predicate without a full stop.
        """
        return self.target.state.identity.error(reason, "Set it to return base64 (`b64_json`).")

    def too_large(self, most: int) -> BackendError:
        """Return the error for an answer that needs more than this many bytes."""
        reason = f"returned images that need more than {most} bytes of memory here"
        return self.target.state.identity.error(
            reason, "Request fewer or smaller images, or raise `max_bodies`."
        )


def _with_urls(answer: bytes) -> tuple[Any, list[dict[str, Any]]]:
    """Return JSON as Python's values, and the objects in it that have a URL."""
    value = decoded(answer)
    return value, [one for one in _objects(value) if isinstance(one.get("url"), str)]


def _is_marked(text: bytes) -> bool:
    return any(mark in text for mark in _MARKS)


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            yield one
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one


class _Checked:
    """A destination that receives checked answers: a plain one at its end, a stream line by line.

    See `PassthroughSink`.
    """

    def __init__(self, sink: PassthroughSink, passing: PassingImages) -> None:
        self._sink = sink
        self._passing = passing
        self._head: tuple[int, str, Mapping[str, str]] | None = None
        """Of a plain answer, which can still become an error."""
        self._retained: list[bytes] = []
        self._size = 0
        self._end_of_last = b""
        self._is_marked = False

    async def begin(self, status: int, backend: str, headers: Mapping[str, str]) -> None:
        """The answer starts."""
        if headers.get("content-type", "").lower().startswith("text/event-stream"):
            await self._sink.begin(status, backend, headers)
        else:
            self._head = status, backend, headers

    async def write(self, part: bytes, *, more_body: bool = True) -> None:
        """A part of it arrives."""
        line_end = part.rfind(b"\n") + 1 if self._head is None else 0
        if line_end:
            self._hold(part[:line_end])
            await self._pass_on(self._lines)
        self._hold(part[line_end:])
        if not more_body:
            await self._pass_on(self._lines if self._head is None else self._passing.checked)
            await self._sink.write(b"", more_body=False)

    def _hold(self, part: bytes) -> None:
        self._size += len(part)
        if self._size > MOST_ANSWER:
            raise self._passing.too_large(MOST_ANSWER)
        self._passing.count(len(part))
        self._retained.append(part)
        self._is_marked = (
            self._is_marked or _is_marked(part) or _is_marked(self._end_of_last + part[:SEAM])
        )
        self._end_of_last = (self._end_of_last + part[-SEAM:])[-SEAM:]

    async def _pass_on(self, check: Callable[[bytes], Awaitable[bytes]]) -> None:
        """Write what is held; only what may have a URL is put together, and checked."""
        account = self._passing.account
        if self._is_marked:
            self._passing.count((PER_BYTE - 1) * self._size)
            self._retained = [text := await check(b"".join(self._retained))]
            account.release(account.retained - len(text))  # taking it again could be refused by now
        if self._head is not None:
            await self._sink.begin(*self._head)
        for part in self._retained:
            account.release(len(part))  # the server counts what it sends
            await self._sink.write(part)
        self._retained = []
        self._size = 0
        self._end_of_last = b""
        self._is_marked = False

    async def _lines(self, text: bytes) -> bytes:
        return b"".join([await self._line(line) for line in text.splitlines(keepends=True)])

    async def _line(self, line: bytes) -> bytes:
        if not _is_marked(line):
            return line
        name, colon, data = line.partition(b":")
        end = data[len(data.rstrip(b"\r\n")) :]
        return b"".join((name, colon, b" ", await self._passing.checked(data.strip()), end))
